from __future__ import annotations

import re

import pytest

from jaxtui.machine.messages import MESSAGES, find, from_log

RECORDED = [
    (
        "ModuleNotFoundError: No module named 'msgspec'",
        "packages",
        "has no msgspec",
        "-m pip install msgspec",
    ),
    (
        "WARNING:2026-08-10 12:00:00,000:jax._src.xla_bridge:907: A Google TPU may be"
        " present on this machine, but either a TPU-enabled jaxlib or libtpu is not"
        " installed. Falling back to cpu.",
        "fallback",
        "seems to have a TPU, but JAX has no library for it and uses cpu",
        'pip install "jax[tpu]"',
    ),
    (
        "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not"
        " installed. Falling back to cpu.",
        "fallback",
        "seems to have an NVIDIA GPU",
        "jax[cuda12]",
    ),
    (
        "WARNING:jax._src.xla_bridge:901: CUDA backend failed to initialize: INTERNAL:"
        " no supported devices found for platform CUDA.This may be due to JAX"
        " pre-allocating too much device memory, leaving too little for CUDA library"
        " initialization.",
        "gpu-memory-taken",
        "may have no memory left",
        "XLA_PYTHON_CLIENT_PREALLOCATE=false",
    ),
    (
        "CUDA backend failed to initialize: FAILED_PRECONDITION: No visible GPU"
        " devices..(Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)",
        "cuda-failed",
        "did not start, so JAX does without",
        "nvidia-smi",
    ),
    (
        "E0810 cuda_executor.cc:1228] failed call to cuDevicePrimaryCtxRetain:"
        " CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "gpu-memory-taken",
        "may have no memory left",
        "CUDA_VISIBLE_DEVICES",
    ),
    (
        "E0810 cuda_platform.cc:51] failed call to cuInit: INTERNAL:"
        " CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        "cuda-failed",
        "NVIDIA's driver did not answer (INTERNAL: CUDA_ERROR_NO_DEVICE",
        "restart",
    ),
    (
        "RuntimeError: Unable to load cuDNN. Is it installed?",
        "cuda-library",
        "library cuDNN is missing",
        'pip install "jax[cuda12]"`, or with cuda13',
    ),
    (
        "RuntimeError: Unable to load CUDA. Is it installed?",
        "cuda-library",
        "library CUDA",
        "one version",
    ),
    (
        "RuntimeError: Found cuBLAS version 120205, but JAX was built against version"
        " 120304, which is newer. The copy of cuBLAS that is installed must be at least"
        " as new as the version against which JAX was built.",
        "cuda-library",
        "cuBLAS that is found has version 120205, and JAX's CUDA plugin needs 120304",
        "unset LD_LIBRARY_PATH",
    ),
    (
        "RuntimeWarning: JAX plugin jax_cuda12_plugin version 0.11.2 is installed, but"
        " it is not compatible with the installed jaxlib version 0.12.0.1, so it will"
        " not be used.",
        "plugin-mismatch",
        "jax_cuda12_plugin 0.11.2 was not made for jaxlib 0.12.0.1",
        "one version",
    ),
    (
        "INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.54) and framework"
        " PJRT API version 0.51)",
        "plugin-mismatch",
        "speaks version 0.54 of JAX's device interface, and jaxlib speaks 0.51",
        "one version",
    ),
    (
        "ERROR:jax._src.xla_bridge:521: Jax plugin configuration error: Exception when"
        " calling jax_plugins.xla_cuda12.initialize()",
        "plugin-broken",
        "could not be set up",
        "uninstall",
    ),
    (
        "xla_bridge.py:225: UserWarning: TPU backend initialization is taking more than"
        " 60.0 seconds. Did you run your code on all TPU hosts? See"
        " https://docs.jax.dev/en/latest/501/multiprocess.html for more information.",
        "slice-waits",
        "waiting for the TPU for 60.0 s",
        "TPU_PROCESS_BOUNDS=1,1,1",
    ),
    (
        "cloud_tpu_init.py:90: UserWarning: Transparent hugepages are not enabled. TPU"
        " runtime startup and shutdown time should be significantly improved on TPU v5e"
        " and newer.",
        "hugepages",
        "slow to start",
        "echo always",
    ),
    (
        "cloud_tpu_init.py:47: UserWarning: TPU_LIBRARY_PATH is set to a non-existent"
        " path: /opt/libtpu.so. Falling back to default libtpu path. Please unset",
        "library-path",
        "TPU_LIBRARY_PATH names /opt/libtpu.so,",
        "Unset TPU_LIBRARY_PATH",
    ),
    (
        "F1121 12:45:29.848927 20629 parse_flags_from_env.cc:234] Unknown flag in"
        " XLA_FLAGS: --xla_nonsense=1",
        "flags",
        "XLA_FLAGS has a flag that XLA does not know: --xla_nonsense=1.",
        "Take it out",
    ),
    (
        'F1121 parse_flags_from_env.cc:171] Could not open file "foo" to read flags for'
        ' environment variable "XLA_FLAGS". (We assumed "foo" was a file name because'
        ' it did not start with a "--".)',
        "flags",
        "XLA_FLAGS is 'foo'",
        "two dashes",
    ),
    (
        "x.py:1: UserWarning: Explicitly requested dtype float64 requested in ones is"
        " not available, and will be truncated to dtype float32. To enable more dtypes,"
        " set the jax_enable_x64",
        "x64-off",
        "float64 was asked for and float32 was made",
        "JAX_ENABLE_X64=1",
    ),
    (
        "WARNING: Platform 'METAL' is experimental and not all JAX functionality may be"
        " correctly supported!",
        "experimental",
        "METAL experimental",
        "a case that fails says so",
    ),
]


@pytest.mark.parametrize(("line", "name", "says", "advises"), RECORDED)
def test_recorded_lines_are_understood_and_kept(line, name, says, advises):
    finding = from_log(f"{line}\n")
    assert finding is not None
    assert finding.name == name
    assert says in finding.what
    assert advises in finding.advice
    assert finding.how
    assert finding.detail == line
    assert bool(finding.maker) == (name == "fallback")
    assert "{" not in finding.what + finding.advice


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Traceback (most recent call last):",
        "I0810 compiled in 3 s",
        "x" * 70_000,
        # Like known ones, but not they.
        "W0810 [Compiling module jit_f] Very slow compile? It is taking more than 60 s",
        "E0810 alarm.cc:73] Constant folding is taking more than 1.5 seconds",
        "I0810 CUDA runtime: 12.4, cuDNN 9.1",
        "I0810 platform 'Host' has 4 devices: not enabled",
        "Received incompatible devices for jitted computation.",
        "RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes",
    ],
)
def test_other_lines_mean_nothing(line):
    assert from_log(line) is None


def test_only_the_text_of_a_case_has_several_lines():
    text = "Attempting to allocate 16.0G. That was not possible.\nThere are 7.2G free."
    found = find(text, "case", case="c", when="in a call")
    assert found is not None
    assert found[1] == (
        "c ran out of device memory in a call: it asked for 16.0G, 7.2G were free."
    )
    falls_back = "A Google TPU may be present\nFalling back to cpu"
    assert find(falls_back, "log") is None


def test_every_known_line_was_recorded():
    known = [message for message in MESSAGES if "log" in message.sources]
    assert {row[1] for row in RECORDED} == {message.name for message in known}
    used = {
        next(one for one in known if re.search(one.pattern, line))
        for line, *_ in RECORDED
    }
    assert used == set(known)
