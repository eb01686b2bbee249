"""What JAX says when a case fails, in plain words.

The original text always stays whole in ``detail``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from jaxtui.measure.backend_errors import full_text, translate_backend
from jaxtui.model import Case, Failure

__all__ = ["full_text", "translate", "translate_backend"]

PHASES = {
    "inputs": "while its inputs were made",
    "transfer": "while its inputs were sent to the device",
    "trace": "while JAX traced it",
    "lower": "while JAX lowered it",
    "compile": "while XLA compiled it",
    "first_call": "in its first call",
    "dispatch": "when it was dispatched",
    "block": "when its result was waited for, so the call itself had returned",
    "sampling": "while it was timed",
    "fetch": "while its result was fetched",
    "check": "while its result was checked",
    "warm-up": "while it warmed up",
}
"""Where an error surfaced, as the end of a sentence."""


@dataclass(frozen=True)
class Rule:
    """A kind of failure: how it is recognised and what is said about it."""

    pattern: re.Pattern[str]
    error: Callable[[re.Match[str], Case, str], str]
    hint: str


def _rule(
    pattern: str, error: Callable[[re.Match[str], Case, str], str], hint: str
) -> Rule:
    return Rule(re.compile(pattern, re.DOTALL), error, hint)


def _says(sentence: str) -> Callable[[re.Match[str], Case, str], str]:
    """A sentence about the case, with ``{0}``, ``{1}`` … for what the pattern found."""

    def error(match: re.Match[str], case: Case, when: str) -> str:
        found = (group or "" for group in match.groups())
        return f"{case.label} {sentence.format(*found, when=when)}."

    return error


SMALLER = "Take a smaller size or a narrower dtype, or free memory on the device."

RULES = (
    _rule(
        r"CompileTimeHbmOom.*?required for \S+ ?\w* ?\(([^)]+)\) exceeds"
        r" available HBM \(([^)]+)\)",
        _says("needs {0} of device memory; the device has {1}, says the compiler"),
        SMALLER,
    ),
    _rule(
        r"CompileTimeHbmOom.*?Used (\S+) of (\S+) hbm",
        _says("needs {0} of device memory; the device has {1}, says the compiler"),
        SMALLER,
    ),
    _rule(
        r"Attempting to allocate (\S+?)\. .*?There are (\S+) free",
        _says("ran out of device memory {when}: it asked for {0}, {1} were free"),
        SMALLER,
    ),
    _rule(
        r"Out of memory (?:while trying to allocate|allocating) (\d+) bytes",
        lambda match, case, when: (
            f"{case.label} ran out of memory {when}: it asked for"
            f" {int(match[1]) / 1e9:.1f} GB."
        ),
        SMALLER,
    ),
    _rule(
        r"Unable to allocate ([\d.]+ \w+)",
        _says("ran out of host memory {when}: it asked for {0}"),
        "Take a smaller size: inputs and the float64 reference live on the host.",
    ),
    _rule(
        r"CompileTimeHbmOom|RESOURCE_EXHAUSTED|^MemoryError",
        _says("ran out of memory {when}"),
        SMALLER,
    ),
    _rule(
        r"Received incompatible devices.*?device ids \[(\d+)\].*?device ids \[(\d+)\]",
        _says("got arguments on two devices, {0} and {1}"),
        "All arguments of one computation must be on the same device.",
    ),
    _rule(
        r"Received incompatible devices",
        _says("got arguments on several devices"),
        "All arguments of one computation must be on the same device.",
    ),
    _rule(
        r"Disallowed (\S+)-to-(\S+) transfer",
        _says("moved data from {0} to {1} inside the timed call, which was forbidden"),
        "Some argument was not on the device; choose inputs=host to time transfers.",
    ),
    _rule(
        r"^TypeError: (\w+) does not accept dtype (\w+).*?Accepted dtypes.*? are"
        r" (?:subtypes of )?([^.]+)\.",
        _says("cannot run: JAX's {0} does not accept {1}, only {2}"),
        "Choose another dtype; `jaxtui ops` lists those of each op.",
    ),
    _rule(
        r"^(?:TypeError|ValueError|TypePromotionError): .*dtype",
        _says("cannot run: JAX refuses its dtype"),
        "Choose another dtype; `jaxtui ops` lists those of each op.",
    ),
    _rule(
        r"precision '(\w+)' is not supported by dot_general on (\w+)",
        _says("cannot run: precision {0} is not supported on {1}"),
        "Choose the precision default.",
    ),
    _rule(
        r"Mosaic failed to compile TPU kernel",
        _says("cannot run: the TPU's compiler for kernels refuses it"),
        "Choose float32 or bfloat16, or the mode jit.",
    ),
    _rule(
        r"UNIMPLEMENTED|NotImplementedError",
        _says("cannot run: the device's compiler or runtime does not implement it"),
        "Choose another dtype, precision or device.",
    ),
    _rule(
        r"has been deleted|donated",
        _says("used an array that had been freed"),
        "This is a fault of jaxtui; please report it with the original text.",
    ),
)
"""Tried in order against ``Type: text``."""


def translate(exc: BaseException, case: Case, phase: str) -> Failure:
    """What happened, as a sentence, with what to do about it.

    Args:
        exc: What was raised.
        case: The case that was running.
        phase: Where it surfaced. An asynchronous call returns before it fails, so an
            error at ``block`` belongs to an earlier dispatch.
    """
    text = full_text(exc)
    when = PHASES.get(phase, f"in the phase {phase}")
    for rule in RULES:
        match = rule.pattern.search(text)
        if match:
            return Failure(
                case=case,
                error=rule.error(match, case, when),
                hint=rule.hint,
                detail=text,
            )
    first = str(exc).strip().splitlines()
    what = first[0] if first else f"{type(exc).__name__} without a message"
    return Failure(
        case=case,
        error=f"{case.label} failed {when}: {what.rstrip('.')}.",
        hint="The original text has the details.",
        detail=text,
    )
