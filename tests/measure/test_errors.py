from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.measure import errors
from jaxtui.model import Case

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


BACKEND = [
    (AssertionError(), "cuda", "backend", "shows no NVIDIA GPU"),
    (AssertionError(), "", "backend", "did not say why"),
    (
        RuntimeError(
            "Unable to initialize backend 'rocm': Backend 'rocm' is not in the list of"
            " known backends: ['cpu', 'tpu', 'proxy']. (set JAX_PLATFORMS='' …)"
        ),
        "gpu",
        "backend",
        "no platform 'rocm' (JAX tries it for 'gpu') here",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'foo': Backend 'foo' is not in the list of"
            " known backends: ['cpu']."
        ),
        "foo",
        "backend",
        "no platform 'foo' here",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so:"
            " libtpu.so: cannot open shared object file"
        ),
        "tpu",
        "backend",
        "libtpu is not installed",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'tpu': NOT_FOUND: TPU initialization failed:"
            " No jellyfish device found."
        ),
        "tpu",
        "backend",
        "no TPU chip was found",
    ),
    (
        RuntimeError("UNKNOWN: TPU initialization failed: No ba16c7433 device found."),
        "tpu",
        "backend",
        "no TPU chip was found",
    ),
    (
        RuntimeError(
            "TPU initialization failed: open(/dev/accel2): Operation not permitted"
        ),
        "tpu",
        "backend",
        "may not open",
    ),
    (
        RuntimeError("Unable to initialize backend 'tpu': ABORTED: odd"),
        "tpu",
        "backend",
        "could not start its tpu backend",
    ),
    (
        RuntimeError(
            "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by"
            " process with pid 16601. Not attempting to load libtpu.so in this process."
        ),
        "tpu",
        "held",
        "in use by process 16601",
    ),
    (
        RuntimeError(
            "ABORTED: The TPU is already in use by another process probably owned by"
            ' another user. Run "$ sudo lsof -w /dev/accel0" …'
        ),
        "tpu",
        "held",
        "probably of another user",
    ),
    (
        RuntimeError(
            "ABORTED: Internal error when accessing libtpu multi-process lockfile. Run"
            ' "$ sudo rm /tmp/libtpu_lockfile".'
        ),
        "tpu",
        "held",
        "could not take its lock",
    ),
    (ModuleNotFoundError("No module named 'jax'"), "", "jax-missing", "cannot be"),
]


@pytest.mark.parametrize(("exc", "platforms", "reason", "says"), BACKEND)
def test_backends_that_do_not_start(
    monkeypatch: pytest.MonkeyPatch,
    exc: Exception,
    platforms: str,
    reason: str,
    says: str,
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    failed = errors.translate_backend(exc)
    assert failed.reason == reason
    assert says in failed.error
    assert failed.hint
    assert str(exc) in failed.detail
    if reason == "backend":
        assert (repr(platforms) if platforms else "not set") in failed.hint
        assert "Installed here" in failed.hint or "only cpu" in failed.hint
