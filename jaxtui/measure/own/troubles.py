"""What went wrong in the user's own code, shown as the user would look for it.

A traceback is cut to the user's file and what lies beside it: the frames of JAX and of
jaxtui around it say nothing about the mistake.
"""

from __future__ import annotations

import os
import re
import traceback

import msgspec

from jaxtui.measure import errors
from jaxtui.model import Case, Failure
from jaxtui.model.own import short_name

INSTALLED = ("site-packages", "dist-packages")
"""Folders whose files are not the user's, even where they lie beside their file."""

MEMORY = re.compile(
    r"RESOURCE_EXHAUSTED|CompileTimeHbmOom|Out of memory|Attempting to allocate"
    r"|Unable to allocate|^MemoryError"
)
"""What is no mistake in the code, and is told as it is for any other case."""

SMALLER = (
    "Give it smaller arguments; if it keeps something of every call, that adds up."
)

DELETED = re.compile(r"has been deleted|has been donated|buffer.*donated")

PHASES = {
    **errors.PHASES,
    "import": "while its file was imported",
    "inputs": "while its arguments were made",
}

FILTERED = "--------------------\nFor simplicity, JAX has removed its internal frames"
"""What JAX adds to an exception whose traceback it has shortened."""

GUARD = 'Put what runs the file under `if __name__ == "__main__":`.'


class OwnError(Exception):
    """A function of the user's own cannot be timed; says why."""

    def __init__(self, error: str, hint: str = "") -> None:
        """Take the two sentences of a failure."""
        super().__init__(error)
        self.error = error
        self.hint = hint


def explain(error: BaseException, case: Case, phase: str, file: str) -> Failure:
    """What happened, as a sentence that names the line of the user's file.

    Args:
        error: What was raised.
        case: The case that was running.
        phase: Where it surfaced.
        file: The user's file.
    """
    if isinstance(error, OwnError):
        return Failure(case=case, error=error.error, hint=error.hint)
    text = errors.full_text(error)
    if MEMORY.search(text):
        told = errors.translate(error, case, phase)
        return msgspec.structs.replace(told, hint=SMALLER)
    place, detail = traced(error, file)
    when = PHASES.get(phase, f"in the phase {phase}")
    if isinstance(error, SystemExit):
        return Failure(
            case=case,
            error=f"{_name(case)} called sys.exit({_code(error)}){place} {when}.",
            hint=GUARD if phase == "import" else "Let it return its result.",
            detail=detail,
        )
    if DELETED.search(text):
        return Failure(
            case=case,
            error=f"{_name(case)} was given an array that is deleted {when}: it"
            " donates its arguments, and every call gets the same ones.",
            hint="Time it in mode jit, where donation is left out.",
            detail=detail,
        )
    return Failure(
        case=case,
        error=f"{_name(case)} failed {when}{place}: {headline(error)}.",
        hint="",
        detail=detail,
    )


def traced(error: BaseException, file: str) -> tuple[str, str]:
    """Where it was raised, as `` (file.py:12)``, and the traceback cut to the file."""
    folder = os.path.dirname(file)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if _is_users(frame.filename, folder)
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


def headline(error: BaseException) -> str:
    """The exception's type and the first line of what it says."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    lines = str(error).strip().splitlines()
    said = f": {lines[0].rstrip('.:')}" if lines else ""
    return f"{type(error).__name__}{said}"


def _is_users(filename: str, folder: str) -> bool:
    inside = os.path.abspath(filename).startswith(os.path.join(folder, ""))
    return inside and not any(part in INSTALLED for part in filename.split(os.sep))


def _name(case: Case) -> str:
    return short_name(case.op)


def _code(error: SystemExit) -> str:
    return "" if error.code is None else repr(error.code)
