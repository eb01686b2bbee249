"""What a case may raise, told in words, whoever wrote the code."""

from __future__ import annotations

import msgspec

from jaxtui.measure import errors, own
from jaxtui.model import Case, Failure

FAULTS = (Exception, SystemExit)
"""What a case may raise; a user's function may call ``sys.exit``."""


def explained(error: BaseException, case: Case, phase: str) -> Failure:
    """What happened: of a user's function with the line of their file.

    Args:
        error: What was raised.
        case: The case that was running.
        phase: Where it surfaced.
    """
    source = own.source(case.op)
    if source is None:
        failure = errors.translate(error, case, phase)
    else:
        failure = own.explain(error, case, phase, source.file)
    if others := own.replaced(apart_from=source.file if source else ""):
        hint = f"{others} {failure.hint}".rstrip()
        return msgspec.structs.replace(failure, hint=hint)
    return failure


def not_itself(case: Case) -> Failure | None:
    """Why an op of the catalogue is not what it is called any more, if so."""
    others = own.replaced()
    if not others or own.source(case.op) is not None:
        return None
    return Failure(
        case=case,
        error=f"{others} {case.op} may be made of it, and would be something else.",
        hint="Run it without that file.",
    )
