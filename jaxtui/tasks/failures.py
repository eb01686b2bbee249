"""Failures of ops and of functions of a file, from the exceptions they raise.

What JAX says is known by ``jaxtui.machine.messages``, and the original text always
stays in ``detail``.

Of a function of a file the traceback is cut to that file and what lies beside it: the
frames of JAX and of jaxtui around it say nothing about the mistake.
"""

from __future__ import annotations

import os
import re
import traceback

from msgspec.structs import replace

from jaxtui.core.model import Case, Failure, Remark
from jaxtui.core.model.own import short_name
from jaxtui.core.model.remark import Fact
from jaxtui.machine import messages
from jaxtui.tasks import own
from jaxtui.tasks.errors import RefusedError, check_fault, full_text, headline

FAULTS = (BaseException,)
"""Exceptions that a case may raise; ``check_fault`` raises those again that are not
its."""

INSTALLED = ("site-packages", "dist-packages")
"""Folders whose files are not one's own, even where they lie beside the file."""

_UNTRACED = re.compile(
    r"^\w*(Tracer|Concret)\w*Error|Non-hashable static arguments"
    r"|Error interpreting argument"
)
"""JAX's errors for code that needs concrete values, under a ``jit`` that its file
lacks."""

_FILTERED = re.compile("-{20}\nFor simplicity, JAX has removed its internal frames")
"""The sentence that JAX adds to an exception whose traceback it has shortened."""


def translate(exc: BaseException, case: Case, phase: str) -> Failure:
    """Return the failure of an op.

    An asynchronous call returns before it fails, so an error in the phase ``block``
    belongs to an earlier dispatch.
    """
    text = full_text(exc)
    if (remark := messages.find(text, "case")) is not None:
        facts = {**remark.facts, "phase": phase}
        if buffers := messages.largest_buffers(text):
            facts["buffers"] = buffers
        return Failure(case=case, remark=replace(remark, facts=facts, detail=text))
    facts = {"error": headline(exc), "phase": phase}
    return Failure(case=case, remark=Remark("raised", facts, "error", text))


def explain(error: BaseException, case: Case, phase: str) -> Failure:
    """Return the failure of a case; that of a file with its line."""
    check_fault(error)
    if isinstance(error, RefusedError):
        return Failure(case=case, remark=error.remark)
    source = own.source(case.op)
    if source is None:
        return translate(error, case, phase)
    kind = messages.kind_of(full_text(error))
    # That is no mistake in the code, unless that itself raises it.
    if kind == "out-of-memory" and type(error) is not MemoryError:
        failure = translate(error, case, phase)
        facts = {**failure.remark.facts, "own": True}
        return replace(failure, remark=replace(failure.remark, facts=facts))
    place, detail = _cut_traceback(error, source.file)
    function: dict[str, Fact] = {"function": short_name(case.op), "phase": phase}
    if isinstance(error, SystemExit):
        facts = {
            **function,
            **place,
            "exit": "" if error.code is None else repr(error.code),
        }
        remark = Remark("exit-called", facts, "error", detail)
        return Failure(case=case, remark=remark)
    if kind == "array-deleted":
        remark = Remark("arguments-donated", function, "error", detail)
        return Failure(case=case, remark=remark)
    what = headline(error).rstrip(".:")
    if isinstance(error, SyntaxError):
        what = f"{type(error).__name__}: {error.msg}"  # without its file and line
    facts = {**function, **place, "error": what}
    if case.mode == "jit" and phase == "trace" and _UNTRACED.search(what):
        facts["as_is"] = True
    return Failure(case=case, remark=Remark("function-raised", facts, "error", detail))


def _cut_traceback(error: BaseException, file: str) -> tuple[dict[str, Fact], str]:
    """The file and line where it was raised, and the traceback cut to that file."""
    folder = os.path.join(os.path.dirname(file), "")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.abspath(frame.filename).startswith(folder)
        and not any(part in INSTALLED for part in frame.filename.split(os.sep))
    ]
    cut = traceback.TracebackException.from_exception(error)
    cut.stack = traceback.StackSummary.from_list(frames)
    detail = _FILTERED.split("".join(cut.format(chain=False)))[0]
    if isinstance(error, SyntaxError) and error.filename:
        return _place(error.filename, error.lineno), detail
    if not frames:
        return {}, detail
    return _place(frames[-1].filename, frames[-1].lineno), detail


def _place(file: str, line: int | None) -> dict[str, Fact]:
    return {"file": os.path.basename(file), "line": line}
