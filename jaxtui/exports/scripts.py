"""The plain Python that does what a run did."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.exports.files import ExportError
from jaxtui.model import PlannedCase
from jaxtui.scripts.turns import turns_script


def as_script(planned: Sequence[PlannedCase]) -> str:
    """One case alone as it is shown for itself; several take turns, as they did.

    Args:
        planned: As the engine planned them; those that cannot run are left out.

    Raises:
        ExportError: None of them can.
    """
    able = [one for one in planned if one.setup]
    if not able:
        raise ExportError(_none(planned))
    return able[0].script if len(able) == 1 else turns_script(able)


def _none(planned: Sequence[PlannedCase]) -> str:
    """Why there is no script: the first reason stands for all."""
    problem = next((one.problem for one in planned if one.problem), None)
    why = f" {problem.error} {problem.hint}".rstrip() if problem else ""
    return f"No case of this run can be written as plain Python.{why}"
