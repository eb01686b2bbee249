"""What a case raised, told in words: of ops and of functions of a file.

The sentences are those of ``jaxtui.machine.messages``, and the original text always
stays in ``detail``.

Of a function of a file the traceback is cut to that file and what lies beside it: the
frames of JAX and of jaxtui around it say nothing about the mistake.
"""

from __future__ import annotations

import os
import traceback

import msgspec

from jaxtui.machine import messages
from jaxtui.measure import own
from jaxtui.measure.errors import RefusedError, full_text, headline
from jaxtui.model import Case, Failure
from jaxtui.model.own import short_name

FAULTS = (Exception, SystemExit)
"""What a case may raise; a function of a file may call ``sys.exit``."""

INSTALLED = ("site-packages", "dist-packages")
"""Folders whose files are not one's own, even where they lie beside the file."""

SMALLER = (
    "Give it smaller arguments; if it keeps something of every call, that adds up."
)

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

OWN_PHASES = {
    **PHASES,
    "import": "while its file was imported",
    "inputs": "while its arguments were made",
}

FILTERED = "--------------------\nFor simplicity, JAX has removed its internal frames"
"""What JAX adds to an exception whose traceback it has shortened."""

GUARD = 'Put what runs the file under `if __name__ == "__main__":`.'


def translate(exc: BaseException, case: Case, phase: str) -> Failure:
    """What happened, as a sentence, with what to do about it.

    An asynchronous call returns before it fails, so an error in the phase ``block``
    belongs to an earlier dispatch.
    """
    text = full_text(exc)
    when = PHASES.get(phase, f"in the phase {phase}")
    if found := messages.find(text, "case", case=case.label, when=when):
        return Failure(case=case, error=found.what, hint=found.advice, detail=text)
    first = str(exc).strip().splitlines()
    what = first[0] if first else f"{type(exc).__name__} without a message"
    return Failure(
        case=case,
        error=f"{case.label} failed {when}: {what.rstrip('.')}.",
        hint="The original text has the details.",
        detail=text,
    )


def explain(error: BaseException, case: Case, phase: str) -> Failure:
    """What happened: in a function of a file with the line of that file."""
    source = own.source(case.op)
    if source is None:
        return translate(error, case, phase)
    if isinstance(error, RefusedError):
        return Failure(case=case, error=error.failed.error, hint=error.failed.hint)
    known = messages.kind_of(full_text(error))
    # That is no mistake in the code.
    if known == "memory":
        told = translate(error, case, phase)
        return msgspec.structs.replace(told, hint=SMALLER)
    place, detail = cut_traceback(error, source.file)
    name, when = short_name(case.op), OWN_PHASES.get(phase, f"in the phase {phase}")
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)
        said = f"{name} called sys.exit({code}){place} {when}."
        hint = GUARD if phase == "import" else "Let it return its result."
    elif known == "deleted":
        said = (
            f"{name} was given an array that is deleted {when}: it donates its"
            " arguments, and every call gets the same ones."
        )
        hint = "Time it in mode jit, where donation is left out."
    else:
        what = headline(error).rstrip(".:")
        if isinstance(error, SyntaxError):
            what = f"{type(error).__name__}: {error.msg}"  # without its file and line
        said, hint = f"{name} failed {when}{place}: {what}.", ""
    return Failure(case=case, error=said, hint=hint, detail=detail)


def cut_traceback(error: BaseException, file: str) -> tuple[str, str]:
    """Where it was raised, as `` (file.py:12)``, and the traceback cut to the file."""
    folder = os.path.join(os.path.dirname(file), "")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.abspath(frame.filename).startswith(folder)
        and not any(part in INSTALLED for part in frame.filename.split(os.sep))
    ]
    last = "".join(traceback.format_exception_only(type(error), error))
    last = last.partition(FILTERED)[0]
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({os.path.basename(error.filename)}:{error.lineno})", last
    if not frames:
        return "", last
    name = os.path.basename(frames[-1].filename)
    head = "Traceback (most recent call last), only your own files:\n"
    detail = head + "".join(traceback.format_list(frames)) + last
    return f" ({name}:{frames[-1].lineno})", detail
