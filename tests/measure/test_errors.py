"""Recorded messages of a JAX that does not start and of cases that fail."""

from __future__ import annotations

import builtins
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.machine import packages
from jaxtui.machine.messages import MESSAGES, kind_of
from jaxtui.measure.errors import full_text, translate_backend, translate_import
from jaxtui.measure.failures import PHASES, translate
from tests.measure.running import case

JAX = packages.installed().jax

CASE = case("matmul", 64, device="tpu:0")


def raised(text: str) -> Exception:
    """What prints so at the end of a traceback; of no type it is a RuntimeError."""
    name, _, rest = text.partition(": ")
    kind = getattr(builtins, name, None)
    return kind(*[rest] * bool(rest)) if kind else RuntimeError(text)


# Cases.

FAILURES = [
    (
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the"
        " total memory required for HLO temporaries (48.00G) exceeds available HBM"
        " (15.75G). HLO module: jit__lambda.\nSee https://openxla.org",
        "needs 48.00G of device memory; the device has 15.75G",
    ),
    (
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: XLA:TPU compile permanent error."
        " Ran out of memory in memory space hbm. Used 215.17G of 31.25G hbm. Exceeded"
        " hbm capacity by 183.92G.",
        "needs 215.17G of device memory; the device has 31.25G",
    ),
    (
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate"
        " 4.39G. That was not possible. There are 2.30G free.; (0x0x0_HBM0)",
        "it asked for 4.39G, 2.30G were free",
    ),
    (
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes.",
        "it asked for 4.8 GB",
    ),
    ("RESOURCE_EXHAUSTED: something new", "ran out of memory"),
    ("MemoryError", "ran out of memory"),
    ("Out of memory", "ran out of memory"),
    (
        "MemoryError: Unable to allocate 7.11 PiB for an array with shape (…)",
        "ran out of host memory while XLA compiled it: it asked for 7.11 PiB",
    ),
    (
        "ValueError: Received incompatible devices for jitted computation. Got argument"
        " x of add with shape float32[4] and with device ids [0] on platform CPU and"
        " argument y of add with shape float32[4] and with device ids [1] on platform"
        " CPU",
        "arguments on two devices, 0 and 1",
    ),
    (
        "INVALID_ARGUMENT: Disallowed host-to-device transfer: aval=…",
        "moved data from host to device inside the timed call",
    ),
    (
        "ValueError: Received incompatible devices for jitted computation.",
        "got arguments on several devices",
    ),
    (
        "INTERNAL: Mosaic failed to compile TPU kernel: bad layout",
        "the TPU's compiler for kernels refuses it",
    ),
    (
        "INVALID_ARGUMENT: Array has been deleted with shape=f32[4].",
        "used an array that had been freed",
    ),
    (
        "TypeError: cholesky does not accept dtype float16 at position 0. Accepted"
        " dtypes at position 0 are subtypes of float32, complex128, complex64,"
        " float64.",
        "cholesky does not accept float16, only float32",
    ),
    (
        "TypeError: grad requires real- or complex-valued inputs (input dtype …)",
        "JAX refuses its dtype",
    ),
    (
        "ValueError: The precision 'F16_F16_F32' is not supported by dot_general on"
        " CPU",
        "precision F16_F16_F32 is not supported on CPU",
    ),
    (
        "NotImplementedError: MLIR translation rule for primitive 'eig' not found",
        "does not implement it",
    ),
]


@pytest.mark.parametrize(("text", "says"), FAILURES)
def test_known_failures_in_plain_words(text: str, says: str) -> None:
    failure = translate(raised(text), CASE, "compile")
    assert says in failure.error
    assert failure.error.startswith("matmul 64 float32 jit on tpu:0 ")
    assert failure.error.endswith(".")
    assert failure.hint
    assert text in failure.detail
    assert failure.case == CASE
    kinds = {
        r"of memory|device memory|asked for": "memory",
        "been freed": "deleted",
        "implement|not supported on|for kernels refuses": "unsupported",
    }
    kind = next((kinds[one] for one in kinds if re.search(one, says)), "")
    assert kind_of(full_text(raised(text))) == kind


def forbidden(*_: object) -> None:
    with jax.transfer_guard("disallow"):
        jax.jit(jnp.negative)(np.ones(4, np.float32))


REAL = [
    (lambda x, y: jax.jit(jnp.add)(x, y), "two devices, 0 and 1"),
    (forbidden, "moved data from host to device"),
    (lambda *_: jax.lax.logistic(np.ones(4, np.int8)), "does not accept int8"),
    (lambda *_: jax.jit(lambda: jnp.zeros(10**12))(), "ran out of memory"),
    (lambda *_: np.empty(10**15), "ran out of host memory"),
]


@pytest.mark.parametrize(("call", "says"), REAL, ids=[says for _, says in REAL])
def test_real_failures_of_this_jax(call, says) -> None:
    data = np.ones(4, np.float32)
    args = [jax.device_put(data, device) for device in jax.devices()[:2]]
    found: Exception | None = None
    try:
        jax.block_until_ready(call(*args))
    except Exception as error:
        found = error
    assert found is not None
    assert says in translate(found, CASE, "block").error


@pytest.mark.parametrize(("phase", "says"), PHASES.items())
def test_unknown_failures_say_where_they_surfaced(phase: str, says: str) -> None:
    failure = translate(KeyError("odd\nmore"), CASE, phase)
    assert says in failure.error
    assert "odd" in failure.error
    assert "more" in failure.detail
    assert "RuntimeError without a message" in (
        translate(RuntimeError(), CASE, "a new phase").error
    )


# Starts.

STARTS = {
    # By the reason and JAX_PLATFORMS: the text, what is said, what is advised.
    ("held", "tpu"): [
        (
            "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by"
            " process with pid 16601. Not attempting to load libtpu.so in this one.",
            "in use by process 16601",
            "ps -o user,args -p 16601",
        ),
        (
            "ABORTED: The TPU is already in use by another process probably owned by"
            ' another user. Run "$ sudo lsof -w /dev/accel0" …',
            "probably of another user",
            "sudo lsof",
        ),
        (
            "ABORTED: Internal error when accessing libtpu multi-process lockfile. Run"
            ' "$ sudo rm /tmp/libtpu_lockfile".',
            "could not take its lock",
            "only if there is none",
        ),
    ],
    ("backend", "tpu"): [
        (
            "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so:"
            " libtpu.so: cannot open shared object file",
            "libtpu is not installed",
            f'pip install "jax[tpu]=={JAX}"',
        ),
        (
            "Unable to initialize backend 'tpu': NOT_FOUND: TPU initialization failed:"
            " No jellyfish device found.",
            "no TPU chip was found",
            "no TPU VM, or the container was not given its devices (--privileged",
        ),
        (
            "TPU initialization failed: open(/dev/accel2): Operation not permitted",
            "may not open /dev/accel2.",
            "--device",
        ),
        (
            "Couldn't open device: /dev/accel0 (Operation not permitted)",
            "may not open /dev/accel0.",
            "--privileged",
        ),
        (
            "TPU initialization failed: Permission denied",
            "may not open the accelerator's device files.",
            "ls -l",
        ),
        (
            "Unable to initialize backend 'tpu': ABORTED: odd",
            "could not start its tpu backend",
            "original text",
        ),
    ],
    ("backend", "gpu"): [
        (
            "Unable to initialize backend 'rocm': Backend 'rocm' is not in the list of"
            " known backends: ['cpu', 'tpu', 'proxy']. (set JAX_PLATFORMS='' …)",
            "no platform 'rocm' (JAX tries it for 'gpu') here",
            "jax[rocm7-local]",
        ),
    ],
    ("backend", "cuda"): [
        ("AssertionError", "shows no NVIDIA GPU", "nvidia-smi"),
    ],
    ("backend", ""): [
        ("AssertionError", "did not say why", "try again"),
        (
            "Unknown backend: 'gpu' requested, but no platforms that are instances of"
            " gpu are present. Platforms present are: cpu",
            "no platform 'gpu' here",
            "jax[cuda12]",
        ),
        # A library that is missing is not a missing jax.
        (
            "ImportError: libcudart.so.12: cannot open it",
            "did not start",
            "original text",
        ),
        (
            "ValueError: XLA_CLIENT_MEM_FRACTION is specified together with"
            " XLA_PYTHON_CLIENT_MEM_FRACTION. Remove the latter one, it is deprecated.",
            "are both set, which JAX refuses",
            "unset XLA_PYTHON_CLIENT_MEM_FRACTION",
        ),
        (
            "ValueError: XLA_PYTHON_CLIENT_ALLOCATOR env var must be one of"
            ' "default", "platform", "bfc", got "mine"',
            "The environment variable XLA_PYTHON_CLIENT_ALLOCATOR",
            "Unset XLA_PYTHON_CLIENT_ALLOCATOR",
        ),
        (
            "Unable to load cuDNN. Is it installed?",
            "its library cuDNN is missing or does not fit",
            f'pip install "jax[cuda12]=={JAX}"',
        ),
        (
            "Backend 'cuda' provides no devices.",
            "it has no devices",
            "CUDA_VISIBLE_DEVICES",
        ),
    ],
    ("jax-missing", ""): [
        (
            "ModuleNotFoundError: No module named 'jax'",
            "cannot be imported",
            "environment where jax works",
        ),
    ],
}


@pytest.mark.parametrize(
    ("reason", "platforms", "text", "says", "advises"),
    [(*of, *row) for of, rows in STARTS.items() for row in rows],
)
def test_backends_that_do_not_start(
    monkeypatch, reason, platforms, text, says, advises
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    failed = translate_backend(raised(text))
    assert failed.reason == reason
    assert says in failed.error
    assert advises in failed.hint
    assert text in failed.detail
    if reason == "backend":
        assert (repr(platforms) if platforms else "not set") in failed.hint
        assert "Installed here" in failed.hint or "only cpu" in failed.hint
    pids = [int(pid) for pid in re.findall(r"with pid (\d+)", text)]
    assert [holder.pid for holder in failed.holders] == pids


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


IMPORTS = [
    (
        "ModuleNotFoundError: No module named 'jax'",
        "cannot be imported in the Python that runs jaxtui",
        "environment where jax works",
    ),
    (
        "ModuleNotFoundError: jax requires jaxlib to be installed. See https://…",
        "importing it fails: jax requires jaxlib to be installed",
        f"Installed are jax {JAX}",
    ),
    (
        "jaxlib version 0.12.0 is newer than and incompatible with jax version 0.11.0."
        " Please update your jax and/or jaxlib packages.",
        "jaxlib version 0.12.0 is newer than and incompatible with jax version 0.11.0",
        "brings two that fit",
    ),
    (
        "ValueError: invalid truth value 'maybe' for environment 'JAX_ENABLE_X64'",
        "JAX_ENABLE_X64 is 'maybe', which JAX does not accept",
        "Unset JAX_ENABLE_X64",
    ),
    (
        'ValueError: Invalid value "many" for JAX flag jax_num_cpu_devices',
        "The environment variable JAX_NUM_CPU_DEVICES",
        "Unset JAX_NUM_CPU_DEVICES",
    ),
    ("KeyError", "importing it fails: KeyError", "shows the whole message"),
]


@pytest.mark.parametrize(("text", "says", "advises"), IMPORTS)
def test_imports_that_fail(monkeypatch, text, says, advises):
    monkeypatch.setenv("JAX_ENABLE_X64", "maybe")
    failed = translate_import(raised(text))
    assert failed.reason == "jax-missing"
    assert says in failed.error
    assert advises in failed.hint
    assert text in failed.detail


# The table.


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("start", [text for rows in STARTS.values() for text, *_ in rows]),
        ("case", [text for text, _ in FAILURES]),
    ],
)
def test_every_known_message_was_recorded(source, texts) -> None:
    """Those of a log are in ``tests/machine/test_messages.py``."""
    known = [message for message in MESSAGES if source in message.sources]
    flags = re.DOTALL if source == "case" else 0
    used = set()
    for text in map(full_text, map(raised, texts)):
        used |= {*[one for one in known if re.search(one.pattern, text, flags)][:1]}
    assert not [one for one in known if one not in used and "log" not in one.sources]
