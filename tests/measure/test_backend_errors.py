"""Recorded messages of a JAX that does not start, each with its sentence and advice."""

from __future__ import annotations

import pytest

from jaxtui.machine.plugins import packages
from jaxtui.measure.backend_errors import translate_backend, translate_import

JAX = packages().jax

IMPORTS = [
    (
        ModuleNotFoundError("No module named 'jax'"),
        "cannot be imported in the Python that runs jaxtui",
        "environment where jax works",
    ),
    (
        ModuleNotFoundError("jax requires jaxlib to be installed. See https://…"),
        "importing it fails: jax requires jaxlib to be installed",
        f"Installed are jax {JAX}",
    ),
    (
        RuntimeError(
            "jaxlib version 0.12.0 is newer than and incompatible with jax version"
            " 0.11.0. Please update your jax and/or jaxlib packages."
        ),
        "jaxlib version 0.12.0 is newer than and incompatible with jax version 0.11.0",
        "brings two that fit",
    ),
    (
        ImportError("numpy.core.multiarray failed to import"),
        "importing it fails: numpy.core.multiarray",
        "shows the whole message",
    ),
    (
        ValueError("invalid truth value 'maybe' for environment 'JAX_ENABLE_X64'"),
        "The environment variable JAX_ENABLE_X64",
        "Unset JAX_ENABLE_X64",
    ),
    (
        ValueError('Invalid value "many" for JAX flag jax_num_cpu_devices'),
        "The environment variable JAX_NUM_CPU_DEVICES",
        "Unset JAX_NUM_CPU_DEVICES",
    ),
    (KeyError(), "importing it fails: KeyError", "shows the whole message"),
]


@pytest.mark.parametrize(("exc", "says", "advises"), IMPORTS)
def test_imports_that_fail(exc, says, advises):
    failed = translate_import(exc)
    assert failed.reason == "jax-missing"
    assert says in failed.error
    assert advises in failed.hint
    assert str(exc) in failed.detail


def test_the_value_that_jax_refuses_is_shown(monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "maybe")
    failed = translate_import(IMPORTS[4][0])
    assert "JAX_ENABLE_X64 is 'maybe', which JAX does not accept" in failed.error


BACKENDS = [
    (
        ValueError(
            "XLA_CLIENT_MEM_FRACTION is specified together with"
            " XLA_PYTHON_CLIENT_MEM_FRACTION. Remove the latter one, it is deprecated."
        ),
        "are both set, which JAX refuses",
        "unset XLA_PYTHON_CLIENT_MEM_FRACTION",
    ),
    (
        ValueError(
            'XLA_PYTHON_CLIENT_ALLOCATOR env var must be one of "default", "platform",'
            ' "bfc", got "mine"'
        ),
        "The environment variable XLA_PYTHON_CLIENT_ALLOCATOR",
        "Unset XLA_PYTHON_CLIENT_ALLOCATOR",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'cuda': INTERNAL: no supported devices found"
            " for platform CUDA (set JAX_PLATFORMS='' …)"
        ),
        "may have no memory left",
        "nvidia-smi",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'cuda': INTERNAL: failed call to"
            " cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
        ),
        "may have no memory left",
        "CUDA_VISIBLE_DEVICES",
    ),
    (
        RuntimeError("Unable to load cuDNN. Is it installed?"),
        "did not find the library cuDNN",
        'pip install "jax[cuda12]==',
    ),
    (
        RuntimeError(
            "Found cuBLAS version 120205, but JAX was built against version 120304,"
            " which is newer."
        ),
        "cuBLAS 120205 is older than JAX's CUDA plugin needs (120304)",
        "unset LD_LIBRARY_PATH",
    ),
    (
        RuntimeError(
            "INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.54) and"
            " framework PJRT API version 0.51)"
        ),
        "speaks version 0.54 of JAX's device interface, and jaxlib speaks 0.51",
        "one version",
    ),
    (
        RuntimeError(
            "TPU initialization failed: open(/dev/accel2): Operation not permitted"
        ),
        "may not open /dev/accel2.",
        "--device",
    ),
    (
        RuntimeError("Couldn't open device: /dev/accel0 (Operation not permitted)"),
        "may not open /dev/accel0.",
        "--privileged",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'tpu': INTERNAL: Failed to open"
            " libtpu.so: libtpu.so: cannot open shared object file"
        ),
        "libtpu is not installed",
        f'pip install "jax[tpu]=={JAX}"',
    ),
    (
        RuntimeError("Backend 'cuda' provides no devices."),
        "it has no devices",
        "CUDA_VISIBLE_DEVICES",
    ),
    (
        RuntimeError(
            "Unknown backend: 'gpu' requested, but no platforms that are instances of"
            " gpu are present. Platforms present are: cpu"
        ),
        "no platform 'gpu' here",
        "jax[cuda12]",
    ),
]


@pytest.mark.parametrize(("exc", "says", "advises"), BACKENDS)
def test_backends_that_do_not_start(monkeypatch, exc, says, advises):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    failed = translate_backend(exc)
    assert failed.reason == "backend"
    assert says in failed.error
    assert advises in failed.hint
    assert str(exc) in failed.detail


@pytest.mark.parametrize(
    ("typed", "meant"), [("tup", "tpu"), ("cudaa", "cuda"), ("CPU", ""), ("metal", "")]
)
def test_the_nearest_platform_is_offered(monkeypatch, typed, meant):
    monkeypatch.setenv("JAX_PLATFORMS", typed)
    failed = translate_backend(
        RuntimeError(f"Backend '{typed}' is not in the list of known backends: ['cpu']")
    )
    assert (f"Did you mean {meant}?" in failed.hint) == bool(meant)
    assert "cpu, tpu, cuda, rocm" in failed.hint
    assert f"JAX_PLATFORMS is {typed!r}" in failed.hint


def test_the_process_that_the_text_names_is_kept():
    failed = translate_backend(
        RuntimeError("The TPU is already in use by process with pid 16601. Not …")
    )
    assert (failed.reason, [one.pid for one in failed.holders]) == ("held", [16601])


def test_a_library_that_is_missing_is_not_a_missing_jax():
    failed = translate_backend(ImportError("libcudart.so.12: cannot open it"))
    assert failed.reason == "backend"
