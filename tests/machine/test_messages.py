from __future__ import annotations

import re

import pytest

from jaxtui.machine.messages import (
    MESSAGES,
    find,
    kind_of,
    last_words,
    lost_processes,
)

RECORDED = [
    (
        "ModuleNotFoundError: No module named 'msgspec'",
        "package-missing",
        {"package": "msgspec"},
    ),
    (
        (
            "WARNING:2026-08-10 12:00:00,000:jax._src.xla_bridge:907: A Google TPU"
            " may be present on this machine, but either a TPU-enabled jaxlib or"
            " libtpu is not installed. Falling back to cpu."
        ),
        "fallback",
        {"maker": "tpu", "uses": "cpu"},
    ),
    (
        (
            "An NVIDIA GPU may be present on this machine, but a CUDA-enabled"
            " jaxlib is not installed. Falling back to cpu."
        ),
        "fallback",
        {"maker": "cuda", "uses": "cpu"},
    ),
    (
        (
            "WARNING:jax._src.xla_bridge:901: CUDA backend failed to initialize:"
            " INTERNAL: no supported devices found for platform CUDA.This may be"
            " due to JAX pre-allocating too much device memory, leaving too little"
            " for CUDA library initialization."
        ),
        "gpu-memory-taken",
        {},
    ),
    (
        (
            "CUDA backend failed to initialize: FAILED_PRECONDITION: No visible"
            " GPU devices..(Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)"
        ),
        "cuda-failed",
        {
            "error": "FAILED_PRECONDITION: No visible GPU devices..(Set"
            " TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)"
        },
    ),
    (
        (
            "E0810 cuda_executor.cc:1228] failed call to cuDevicePrimaryCtxRetain:"
            " CUDA_ERROR_OUT_OF_MEMORY: out of memory"
        ),
        "gpu-memory-taken",
        {},
    ),
    (
        (
            "E0810 cuda_platform.cc:51] failed call to cuInit: INTERNAL:"
            " CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
        ),
        "cuda-failed",
        {"error": "INTERNAL: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"},
    ),
    (
        "RuntimeError: Unable to load cuDNN. Is it installed?",
        "cuda-library",
        {"error": "Unable to load cuDNN. Is it installed?"},
    ),
    (
        "RuntimeError: Unable to load CUDA. Is it installed?",
        "cuda-library",
        {"error": "Unable to load CUDA. Is it installed?"},
    ),
    (
        (
            "RuntimeError: Found cuBLAS version 120205, but JAX was built against"
            " version 120304, which is newer. The copy of cuBLAS that is installed"
            " must be at least as new as the version against which JAX was built."
        ),
        "cuda-library",
        {
            "error": "Found cuBLAS version 120205, but JAX was built against version"
            " 120304"
        },
    ),
    (
        (
            "RuntimeWarning: JAX plugin jax_cuda12_plugin version 0.11.2 is"
            " installed, but it is not compatible with the installed jaxlib"
            " version 0.12.0.1, so it will not be used."
        ),
        "plugin-mismatch",
        {
            "error": "JAX plugin jax_cuda12_plugin version 0.11.2 is installed, but it"
            " is not compatible with the installed jaxlib version 0.12.0.1"
        },
    ),
    (
        (
            "INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.54) and"
            " framework PJRT API version 0.51)"
        ),
        "plugin-mismatch",
        {
            "error": "Mismatched PJRT plugin PJRT API version (0.54) and framework PJRT"
            " API version 0.51"
        },
    ),
]


@pytest.mark.parametrize(("line", "code", "facts"), RECORDED)
def test_recorded_lines_are_understood_and_kept(line, code, facts):
    remark = find(f"{line}\n", "log")
    assert (remark.code, remark.facts, remark.detail) == (code, facts, line)


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
        "RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes",
        # Rare ones, which say themselves what they mean.
        "UserWarning: Transparent hugepages are not enabled. TPU runtime startup",
        "WARNING: Platform 'METAL' is experimental and not all JAX functionality",
    ],
)
def test_other_lines_mean_nothing(line):
    assert find(line, "log") is None


def test_only_the_text_of_a_case_has_several_lines():
    text = "Attempting to allocate 16.0G. That was not possible.\nThere are 7.2G free."
    remark = find(text, "case")
    assert (remark.facts["asked"], remark.facts["free"]) == ("16.0G", "7.2G")
    assert kind_of(text) == "out-of-memory"
    falls_back = "A Google TPU may be present\nFalling back to cpu"
    assert find(falls_back, "log") is None


def test_every_known_line_was_recorded():
    known = [message for message in MESSAGES if "log" in message.sources]
    used = {
        next(one.pattern for one in known if re.search(one.pattern, line))
        for line, *_ in RECORDED
    }
    assert used == {one.pattern for one in known}


@pytest.mark.parametrize(
    ("log", "code", "process"),
    [
        (
            "UNAVAILABLE: The following tasks are unhealthy (stopped sending"
            " heartbeats):\n1\nThe tasks have crashed.",
            "host-lost",
            1,
        ),
        (
            "The following tasks are unhealthy (stopped sending heartbeats):\n"
            "/job:jax_worker/replica:0/task:3\nThe tasks have crashed.",
            "host-lost",
            3,
        ),
        (
            "UNAVAILABLE: Failed to send RPC to coordination service. Either the"
            " leader task was preempted/died/restarted unexpectedly",
            "leader-lost",
            0,
        ),
        (
            "absl::Status: DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC:"
            " /xla.coordination.CoordinationService/Heartbeat",
            "leader-lost",
            0,
        ),
    ],
)
def test_processes_that_are_gone(log, code, process):
    remark = lost_processes(log)
    assert (remark.code, remark.facts["process"]) == (code, process)
    assert lost_processes("Check failed: buffer != nullptr") is None


FLAG = "parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_nonsense=1"
FAULT = (
    "Fatal Python error: Aborted",
    "",
    "Current thread 0x00007f1426215b80 (most recent call first):",
    *(f'  File "jax/_src/xla_bridge.py", line {line} in backends' for line in range(9)),
    "",
    "Extension modules: jaxlib.cpu_feature_guard, numpy.random.mtrand (total: 2)",
)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ((f"F1126 23:59:36.600533    2408 {FLAG}", *FAULT), FLAG),
        (  # jaxlib 0.6.2
            (f"2026-11-26 23:59:15.621833: F external/xla/{FLAG}", *FAULT),
            f"external/xla/{FLAG}",
        ),
        (
            ("a", "b", "  what():  bad_alloc", *FAULT),
            f"b what():  bad_alloc {FAULT[0]}",
        ),
        (("a", "b", "c", "d"), "b c d"),
    ],
)
def test_the_last_words_are_the_reason_and_not_where_python_was(log, words) -> None:
    assert last_words(log) == words
