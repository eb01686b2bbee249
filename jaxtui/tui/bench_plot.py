"""What the plot of the tab Bench shows: a picture, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui.plot import Color, Picture
from jaxtui.state import CaseState, Job
from jaxtui.tui import roofline
from jaxtui.tui.state import State, view_of
from jaxtui.view import calls, curves
from jaxtui.view.curves import clock_of


@dataclass(frozen=True)
class Plot:
    """A picture, or the text in its place."""

    picture: Picture | None
    text: str = ""


def plot(state: State, colors: Sequence[Color]) -> Plot:
    """The view of the run that is asked for.

    Args:
        state: what is on screen.
        colors: of the curves, in turn.
    """
    run, case = state.run, state.case
    if run is None or case is None:
        return Plot(None)
    match view_of(state):
        case "sweep":
            drawn = curves.picture(
                run, state.metric, colors, clock=state.clock, selected=case
            )
            return Plot(drawn, _no_curves(state, run))
        case "histogram":
            return Plot(calls.histogram(case, colors), _no_calls(case))
        case "roofline":
            text = roofline.explanation(state)
            return Plot(roofline.picture(state, colors), text)
        case _:
            return Plot(calls.live(case, colors), _no_calls(case))


def _no_calls(case: CaseState) -> str:
    if case.failure is not None:
        return f"{case.failure.error} {case.failure.hint}".rstrip()
    doing = case.doing.replace("_", " ")
    return f"No call of {case.case.label} was timed yet{f': {doing}' * bool(doing)}."


def _no_curves(state: State, run: Job) -> str:
    """Why there is no curve of what is asked for."""
    timed = [case for case in run.cases if case.measurement and case.measurement.ready]
    if not timed:
        if all(case.failure for case in run.cases):
            return "Every case failed: the table says why."
        return "No call was timed yet."
    match state.metric:
        case "numpy" if not any(case.case.mode == "numpy" for case in run.cases):
            return "There is no × NumPy without NumPy: run the mode numpy too."
        case "numpy":
            return "NumPy and JAX have not both been timed at one size yet."
        case "peak":
            return "No peak of these devices is known, so there is no share of it."
        case "flops" | "bytes":
            return (
                "No case has such a rate: it is not known, or the host hands calls "
                "over more slowly than they are computed (host-bound)."
            )
        case _:
            return f"No case was timed by the clock {clock_of('time', state.clock)}."
