"""Recorded messages of a JAX that does not start and of cases that fail."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.machine import packages
from jaxtui.machine.messages import MESSAGES
from jaxtui.measure import errors
from jaxtui.measure.errors import full_text, translate_backend, translate_import
from jaxtui.model import Case

JAX = packages.installed().jax

CASE = Case(op="matmul", size=64, dtype="float32", device="tpu:0", mode="jit")

TEXTS = [
    (
        RuntimeError(
            "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM,"
            " the total memory required for HLO temporaries (48.00G) exceeds available"
            " HBM (15.75G). HLO module: jit__lambda.\nSee https://openxla.org"
        ),
        "needs 48.00G of device memory; the device has 15.75G",
    ),
    (
        RuntimeError(
            "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: XLA:TPU compile permanent"
            " error. Ran out of memory in memory space hbm. Used 215.17G of 31.25G hbm."
            " Exceeded hbm capacity by 183.92G."
        ),
        "needs 215.17G of device memory; the device has 31.25G",
    ),
    (
        RuntimeError(
            "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate"
            " 4.39G. That was not possible. There are 2.30G free.; (0x0x0_HBM0)"
        ),
        "it asked for 4.39G, 2.30G were free",
    ),
    (
        RuntimeError(
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate"
            " 4770354232 bytes."
        ),
        "it asked for 4.8 GB",
    ),
    (
        RuntimeError(
            "RESOURCE_EXHAUSTED: Out of memory allocating 4398046511104 bytes."
        ),
        "it asked for 4398.0 GB",
    ),
    (RuntimeError("RESOURCE_EXHAUSTED: something new"), "ran out of memory"),
    (MemoryError(), "ran out of memory"),
    (
        ValueError(
            "Received incompatible devices for jitted computation. Got argument x of"
            " add with shape float32[4] and with device ids [0] on platform CPU and"
            " argument y of add with shape float32[4] and with device ids [1] on"
            " platform CPU"
        ),
        "arguments on two devices, 0 and 1",
    ),
    (
        ValueError("Received incompatible devices for jitted computation."),
        "got arguments on several devices",
    ),
    (
        RuntimeError("INVALID_ARGUMENT: Disallowed host-to-device transfer: aval=…"),
        "moved data from host to device inside the timed call",
    ),
    (
        MemoryError("Unable to allocate 7.11 PiB for an array with shape (…)"),
        "ran out of host memory while XLA compiled it: it asked for 7.11 PiB",
    ),
    (
        RuntimeError("INTERNAL: Mosaic failed to compile TPU kernel: bad layout"),
        "the TPU's compiler for kernels refuses it",
    ),
    (
        RuntimeError("INVALID_ARGUMENT: Array has been deleted with shape=f32[4]."),
        "used an array that had been freed",
    ),
    (
        TypeError(
            "logistic does not accept dtype int8. Accepted dtypes are subtypes of"
            " floating, complexfloating."
        ),
        "JAX's logistic does not accept int8, only floating, complexfloating",
    ),
    (
        TypeError(
            "cholesky does not accept dtype float16 at position 0. Accepted dtypes at"
            " position 0 are subtypes of float32, complex128, complex64, float64."
        ),
        "cholesky does not accept float16, only float32",
    ),
    (
        TypeError("grad requires real- or complex-valued inputs (input dtype …)"),
        "JAX refuses its dtype",
    ),
    (
        ValueError(
            "The precision 'F16_F16_F32' is not supported by dot_general on CPU"
        ),
        "precision F16_F16_F32 is not supported on CPU",
    ),
    (
        NotImplementedError("MLIR translation rule for primitive 'eig' not found"),
        "does not implement it",
    ),
]


@pytest.mark.parametrize(("exc", "says"), TEXTS)
def test_known_failures_in_plain_words(exc: Exception, says: str) -> None:
    failure = errors.translate(exc, CASE, "compile")
    assert says in failure.error
    assert failure.error.startswith("matmul 64 float32 jit on tpu:0 ")
    assert failure.error.endswith(".")
    assert failure.hint
    assert failure.detail == f"{type(exc).__name__}: {exc}".rstrip()
    assert failure.case == CASE


@pytest.mark.parametrize(("phase", "says"), errors.PHASES.items())
def test_unknown_failures_say_where_they_surfaced(phase: str, says: str) -> None:
    failure = errors.translate(KeyError("odd\nmore"), CASE, phase)
    assert says in failure.error
    assert "odd" in failure.error
    assert "more" in failure.detail
    assert "RuntimeError without a message" in (
        errors.translate(RuntimeError(), CASE, "a new phase").error
    )


def test_real_failures_of_this_jax() -> None:
    one, other = jax.devices()[:2]
    x = jax.device_put(np.ones(4, np.float32), one)
    y = jax.device_put(np.ones(4, np.float32), other)
    with pytest.raises(ValueError, match="incompatible") as mixed:
        jax.jit(jnp.add)(x, y)
    assert "two devices, 0 and 1" in errors.translate(mixed.value, CASE, "block").error

    compiled = jax.jit(lambda a: a + 1).lower(x).compile()
    with (
        jax.transfer_guard("disallow"),
        pytest.raises(jax.errors.JaxRuntimeError) as moved,
    ):
        compiled(np.ones(4, np.float32))
    said = errors.translate(moved.value, CASE, "dispatch").error
    assert "moved data from host to device" in said

    with pytest.raises(TypeError) as dtype:
        jax.lax.logistic(np.ones(4, np.int8))
    assert "does not accept int8" in errors.translate(dtype.value, CASE, "trace").error

    zeros = jax.jit(lambda: jnp.zeros(10**12)).lower().compile()
    with pytest.raises(jax.errors.JaxRuntimeError) as memory:
        zeros().block_until_ready()
    assert "ran out of memory" in errors.translate(memory.value, CASE, "block").error

    with pytest.raises(MemoryError) as host:
        np.empty(10**15)
    assert "ran out of host memory" in (
        errors.translate(host.value, CASE, "inputs").error
    )


START = [
    # The exception, JAX_PLATFORMS, the reason, what is said, and what is advised.
    (AssertionError(), "cuda", "backend", "shows no NVIDIA GPU", "nvidia-smi"),
    (AssertionError(), "", "backend", "did not say why", "try again"),
    (
        RuntimeError(
            "Unable to initialize backend 'rocm': Backend 'rocm' is not in the list of"
            " known backends: ['cpu', 'tpu', 'proxy']. (set JAX_PLATFORMS='' …)"
        ),
        "gpu",
        "backend",
        "no platform 'rocm' (JAX tries it for 'gpu') here",
        "jax[rocm7-local]",
    ),
    (
        RuntimeError(
            "Unknown backend: 'gpu' requested, but no platforms that are instances of"
            " gpu are present. Platforms present are: cpu"
        ),
        "",
        "backend",
        "no platform 'gpu' here",
        "jax[cuda12]",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so:"
            " libtpu.so: cannot open shared object file"
        ),
        "tpu",
        "backend",
        "libtpu is not installed",
        f'pip install "jax[tpu]=={JAX}"',
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'tpu': NOT_FOUND: TPU initialization failed:"
            " No jellyfish device found."
        ),
        "tpu",
        "backend",
        "no TPU chip was found",
        "--privileged",
    ),
    (
        RuntimeError("UNKNOWN: TPU initialization failed: No ba16c7433 device found."),
        "tpu",
        "backend",
        "no TPU chip was found",
        "no TPU VM",
    ),
    (
        RuntimeError(
            "TPU initialization failed: open(/dev/accel2): Operation not permitted"
        ),
        "tpu",
        "backend",
        "may not open /dev/accel2.",
        "--device",
    ),
    (
        RuntimeError("Couldn't open device: /dev/accel0 (Operation not permitted)"),
        "tpu",
        "backend",
        "may not open /dev/accel0.",
        "--privileged",
    ),
    (
        RuntimeError("TPU initialization failed: Permission denied"),
        "tpu",
        "backend",
        "may not open the accelerator's device files.",
        "ls -l",
    ),
    (
        RuntimeError("Unable to initialize backend 'tpu': ABORTED: odd"),
        "tpu",
        "backend",
        "could not start its tpu backend",
        "original text",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by"
            " process with pid 16601. Not attempting to load libtpu.so in this process."
        ),
        "tpu",
        "held",
        "in use by process 16601",
        "ps -o user,args -p 16601",
    ),
    (
        RuntimeError(
            "ABORTED: The TPU is already in use by another process probably owned by"
            ' another user. Run "$ sudo lsof -w /dev/accel0" …'
        ),
        "tpu",
        "held",
        "probably of another user",
        "sudo lsof",
    ),
    (
        RuntimeError(
            "ABORTED: Internal error when accessing libtpu multi-process lockfile. Run"
            ' "$ sudo rm /tmp/libtpu_lockfile".'
        ),
        "tpu",
        "held",
        "could not take its lock",
        "only if there is none",
    ),
    (
        ModuleNotFoundError("No module named 'jax'"),
        "",
        "jax-missing",
        "cannot be imported",
        "environment where jax works",
    ),
    # A library that is missing is not a missing jax.
    (
        ImportError("libcudart.so.12: cannot open it"),
        "",
        "backend",
        "did not start",
        "original text",
    ),
    (
        ValueError(
            "XLA_CLIENT_MEM_FRACTION is specified together with"
            " XLA_PYTHON_CLIENT_MEM_FRACTION. Remove the latter one, it is deprecated."
        ),
        "",
        "backend",
        "are both set, which JAX refuses",
        "unset XLA_PYTHON_CLIENT_MEM_FRACTION",
    ),
    (
        ValueError(
            'XLA_PYTHON_CLIENT_ALLOCATOR env var must be one of "default", "platform",'
            ' "bfc", got "mine"'
        ),
        "",
        "backend",
        "The environment variable XLA_PYTHON_CLIENT_ALLOCATOR",
        "Unset XLA_PYTHON_CLIENT_ALLOCATOR",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'cuda': INTERNAL: no supported devices found"
            " for platform CUDA (set JAX_PLATFORMS='' …)"
        ),
        "cuda",
        "backend",
        "may have no memory left",
        "nvidia-smi",
    ),
    (
        RuntimeError("Unable to load cuDNN. Is it installed?"),
        "",
        "backend",
        "its library cuDNN is missing or does not fit",
        f'pip install "jax[cuda12]=={JAX}"',
    ),
    (
        RuntimeError(
            "Found cuBLAS version 120205, but JAX was built against version 120304,"
            " which is newer."
        ),
        "",
        "backend",
        "has version 120205, and JAX's CUDA plugin needs 120304 or newer",
        "unset LD_LIBRARY_PATH",
    ),
    (
        RuntimeError(
            "INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.54) and"
            " framework PJRT API version 0.51)"
        ),
        "",
        "backend",
        "speaks version 0.54 of JAX's device interface, and jaxlib speaks 0.51",
        "one version",
    ),
    (
        RuntimeError("Backend 'cuda' provides no devices."),
        "",
        "backend",
        "it has no devices",
        "CUDA_VISIBLE_DEVICES",
    ),
]


@pytest.mark.parametrize(("exc", "platforms", "reason", "says", "advises"), START)
def test_backends_that_do_not_start(
    monkeypatch, exc, platforms, reason, says, advises
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    failed = translate_backend(exc)
    assert failed.reason == reason
    assert says in failed.error
    assert advises in failed.hint
    assert str(exc) in failed.detail
    if reason == "backend":
        assert (repr(platforms) if platforms else "not set") in failed.hint
        assert "Installed here" in failed.hint or "only cpu" in failed.hint
    pids = [int(pid) for pid in re.findall(r"with pid (\d+)", str(exc))]
    assert [holder.pid for holder in failed.holders] == pids


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("start", [full_text(exc) for exc, *_ in START]),
        ("case", [full_text(exc) for exc, _ in TEXTS]),
    ],
)
def test_every_known_message_was_recorded(source, texts) -> None:
    known = [message for message in MESSAGES if source in message.sources]
    flags = re.DOTALL if source == "case" else 0
    first = (
        next((one for one in known if re.search(one.pattern, text, flags)), None)
        for text in texts
    )
    assert set(known) - {*first} == set()


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
