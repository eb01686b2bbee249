"""Recorded messages of a JAX that does not start and of cases that fail."""

from __future__ import annotations

import builtins
import contextlib
import re
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.machine import packages
from jaxtui.machine.messages import MESSAGES, kind_of
from jaxtui.tasks.errors import (
    check_fault,
    full_text,
    headline,
    translate_backend,
    translate_import,
)
from jaxtui.tasks.failures import translate
from jaxtui.ui import words
from tests.tasks.running import case

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
        "out-of-memory",
        {"asked": "48.00G", "free": "15.75G", "found_by": "compiler"},
    ),
    (
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: XLA:TPU compile permanent error."
        " Ran out of memory in memory space hbm. Used 215.17G of 31.25G hbm. Exceeded"
        " hbm capacity by 183.92G.",
        "out-of-memory",
        {"asked": "215.17G", "free": "31.25G"},
    ),
    (
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate"
        " 4.39G. That was not possible. There are 2.30G free.; (0x0x0_HBM0)",
        "out-of-memory",
        {"asked": "4.39G", "free": "2.30G"},
    ),
    (
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes.",
        "out-of-memory",
        {"bytes": 4770354232},
    ),
    (
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
        "\nBufferAssignment OOM Debugging.\nPeak buffers:\n\tBuffer 1:\n\t\tSize:"
        ' 8.00GiB\n\t\tOperator: op_name="jit(step)/dot" source_file="/ada/train.py"'
        " source_line=12\n\t\tXLA Label: custom-call\n\t\tShape: f32[32768,65536]{1,0}"
        "\n\t\t==========\n\n\tBuffer 2:\n\t\tSize: 4.00GiB\n\t\tEntry Parameter"
        " Subshape: f32[32768,32768]\n\t\t==========\n",
        "out-of-memory",
        {
            "buffers": (
                "8.00GiB f32[32768,65536] (train.py:12)",
                "4.00GiB f32[32768,32768]",
            ),
        },
    ),
    ("RESOURCE_EXHAUSTED: something new", "out-of-memory", {}),
    ("MemoryError", "out-of-memory", {}),
    ("Out of memory", "out-of-memory", {}),
    (
        "MemoryError: Unable to allocate 7.11 PiB for an array with shape (…)",
        "out-of-memory",
        {"asked": "7.11 PiB", "found_by": "host"},
    ),
    (
        "CUDA Runtime error: [0] Failed call to cudaGetFuncBySymbol:"
        " cudaErrorNoKernelImageForDevice: no kernel image is available for execution",
        "no-kernel-image",
        {},
    ),
    (
        "INTERNAL: Mosaic failed to compile TPU kernel: bad layout",
        "unsupported",
        {},
    ),
    (
        "INVALID_ARGUMENT: Array has been deleted with shape=f32[4].",
        "array-deleted",
        {},
    ),
    (
        "TypeError: cholesky does not accept dtype float16 at position 0. Accepted"
        " dtypes at position 0 are subtypes of float32, complex128, complex64,"
        " float64.",
        "dtype-unsupported",
        {
            "error": "cholesky does not accept dtype float16 at position 0. Accepted"
            " dtypes at position 0 are subtypes of float32, complex128, complex64,"
            " float64."
        },
    ),
    (
        "TypeError: grad requires real- or complex-valued inputs (input dtype …)",
        "dtype-unsupported",
        {},
    ),
    (
        "ValueError: The precision 'F16_F16_F32' is not supported by dot_general on"
        " CPU",
        "unsupported",
        {},
    ),
    (
        "NotImplementedError: MLIR translation rule for primitive 'eig' not found",
        "unsupported",
        {},
    ),
]


@pytest.mark.parametrize(("text", "code", "facts"), FAILURES)
def test_known_failures(text: str, code: str, facts: dict[str, object]) -> None:
    failure = translate(raised(text), CASE, "compile")
    assert failure.case == CASE
    assert failure.remark.code == kind_of(full_text(raised(text))) == code
    assert {**facts, "phase": "compile"}.items() <= failure.remark.facts.items()
    assert text in failure.remark.detail
    assert words.text(failure.remark)


REAL = [
    (lambda *_: jax.lax.logistic(np.ones(4, np.int8)), "dtype-unsupported"),
    (lambda *_: jax.jit(lambda: jnp.zeros(10**12))(), "out-of-memory"),
    (lambda *_: np.empty(10**15), "out-of-memory"),
]


@pytest.mark.parametrize(("call", "code"), REAL)
def test_real_failures_of_this_jax(call, code) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        jax.block_until_ready(call())
    assert translate(caught.value, CASE, "block").remark.code == code


def test_unknown_failures_say_where_they_surfaced() -> None:
    remark = translate(KeyError("odd\nmore"), CASE, "trace").remark
    assert (remark.code, remark.facts["phase"]) == ("raised", "trace")
    assert "odd" in remark.facts["error"]
    assert "more" in remark.detail
    nothing = translate(RuntimeError(), CASE, "a new phase").remark
    assert nothing.facts["error"] == "RuntimeError"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It broke.\nLine 2", "ValueError: It broke."),
        ("It was:\nTypeError: x\nmore", "ValueError: It was: TypeError: x"),
        ("It was:", "ValueError: It was"),
    ],
)
def test_a_headline_is_the_first_line_and_what_it_announces(text, line) -> None:
    assert headline(ValueError(text)) == line


def test_what_is_no_fault_of_a_case_is_raised_again(monkeypatch) -> None:
    with pytest.raises(GeneratorExit):
        check_fault(GeneratorExit())
    # In an engine Ctrl-C ends the process: only a user's code raises this there.
    for handler, raises in (
        (signal.default_int_handler, pytest.raises(KeyboardInterrupt)),
        (signal.SIG_DFL, contextlib.nullcontext()),
    ):
        monkeypatch.setattr(signal, "getsignal", lambda _, handler=handler: handler)
        with raises:
            check_fault(KeyboardInterrupt())


# Starts.

STARTS = [
    # JAX_PLATFORMS, the text, the code, and facts.
    (
        "tpu",
        "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by"
        " process with pid 16601. Not attempting to load libtpu.so in this one.",
        "held",
        {"pid": 16601},
    ),
    (
        "tpu",
        "ABORTED: The TPU is already in use by another process probably owned by"
        ' another user. Run "$ sudo lsof -w /dev/accel0" …',
        "held",
        {},
    ),
    (
        "tpu",
        "ABORTED: Internal error when accessing libtpu multi-process lockfile. Run"
        ' "$ sudo rm /tmp/libtpu_lockfile".',
        "held",
        {"lock": True},
    ),
    (
        "tpu",
        "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so:"
        " libtpu.so: cannot open shared object file",
        "libtpu-missing",
        {},
    ),
    (
        "tpu",
        "Unable to initialize backend 'tpu': NOT_FOUND: TPU initialization failed:"
        " No jellyfish device found.",
        "no-tpu",
        {},
    ),
    (
        "tpu",
        "TPU initialization failed: open(/dev/accel2): Operation not permitted",
        "permission",
        {"path": "/dev/accel2"},
    ),
    (
        "tpu",
        "Couldn't open device: /dev/accel0 (Operation not permitted)",
        "permission",
        {"path": "/dev/accel0"},
    ),
    ("tpu", "TPU initialization failed: Permission denied", "permission", {}),
    (
        "tpu",
        "Unable to initialize backend 'tpu': ABORTED: odd",
        "backend-failed",
        {"backend": "tpu", "asked": "tpu"},
    ),
    (
        "gpu",
        "Unable to initialize backend 'rocm': Backend 'rocm' is not in the list of"
        " known backends: ['cpu', 'tpu', 'proxy']. (set JAX_PLATFORMS='' …)",
        "platform-unknown",
        {"platform": "gpu", "asked": "gpu", "jax": JAX},
    ),
    (
        "tup",
        "Backend 'tup' is not in the list of known backends: ['cpu']",
        "platform-unknown",
        {"platform": "tup", "asked": "tup"},
    ),
    ("cuda", "AssertionError", "no-gpu", {"asked": "cuda"}),
    ("", "AssertionError", "backend-failed", {}),
    (
        "",
        "Unknown backend: 'gpu' requested, but no platforms that are instances of"
        " gpu are present. Platforms present are: cpu",
        "platform-unknown",
        {"platform": "gpu"},
    ),
    # A library that is missing is not a missing jax.
    ("", "ImportError: libcudart.so.12: cannot open it", "backend-failed", {}),
    (
        "",
        "Unable to load cuDNN. Is it installed?",
        "cuda-library",
        {"error": "Unable to load cuDNN. Is it installed?"},
    ),
    # As a driver that is too old has it.
    (
        "",
        "RuntimeError: Found CUDA version 12010, but JAX was built against version"
        " 12080, which is newer.",
        "cuda-library",
        {"error": "Found CUDA version 12010, but JAX was built against version 12080"},
    ),
    ("", "CUDA_ERROR_OUT_OF_MEMORY: out of memory", "gpu-memory-taken", {}),
    (
        "",
        "Mismatched PJRT plugin PJRT API version (0.54) and framework PJRT API version"
        " 0.51)",
        "plugin-mismatch",
        {},
    ),
    ("", "ModuleNotFoundError: No module named 'jax'", "jax-missing", {}),
]


@pytest.mark.parametrize(("platforms", "text", "code", "facts"), STARTS)
def test_backends_that_do_not_start(monkeypatch, platforms, text, code, facts) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    failed = translate_backend(raised(text))
    assert failed.remark.code == code
    assert facts.items() <= failed.remark.facts.items()
    assert text in failed.remark.detail
    assert words.text(failed.remark)
    pids = [int(pid) for pid in re.findall(r"with pid (\d+)", text)]
    assert [holder.pid for holder in failed.holders] == pids


IMPORTS = [
    ("ModuleNotFoundError: No module named 'jax'", "jax-missing", {}),
    (
        "ModuleNotFoundError: jax requires jaxlib to be installed. See https://…",
        "jax-broken",
        {"jax": JAX},
    ),
    (
        "jaxlib version 0.12.0 is newer than and incompatible with jax version 0.11.0."
        " Please update your jax and/or jaxlib packages.",
        "jax-broken",
        {},
    ),
    (
        "ValueError: invalid truth value 'maybe' for environment 'JAX_ENABLE_X64'",
        "setting-refused",
        {"variable": "JAX_ENABLE_X64", "value": "maybe"},
    ),
    ("KeyError", "jax-broken", {"error": "KeyError"}),
]


@pytest.mark.parametrize(("text", "code", "facts"), IMPORTS)
def test_imports_that_fail(monkeypatch, text, code, facts):
    monkeypatch.setenv("JAX_ENABLE_X64", "maybe")
    remark = translate_import(raised(text)).remark
    assert remark.code == code
    assert facts.items() <= remark.facts.items()
    assert text in remark.detail
    assert words.text(remark)


# The table.


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("start", [text for _, text, *_ in STARTS]),
        ("case", [text for text, *_ in FAILURES]),
    ],
)
def test_every_known_message_was_recorded(source, texts) -> None:
    """Those of a log are in ``tests/machine/test_messages.py``."""
    known = [message for message in MESSAGES if source in message.sources]
    used: list[str] = []
    for text in map(full_text, map(raised, texts)):
        used += [one.pattern for one in known if re.search(one.pattern, text)][:1]
    assert not [one for one in known if one.pattern not in used]
