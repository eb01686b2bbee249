"""What the plot of the tab Bench shows: a picture, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxtui.model import Case
from jaxtui.model.own import brief_name
from jaxtui.plot import Color, Picture
from jaxtui.state import CaseState, Job
from jaxtui.tui import roofline
from jaxtui.tui.state import State, view_of
from jaxtui.view import calls, curves
from jaxtui.view.curves import clock_of, sizes


def short_label(case: Case) -> str:
    """A case in the lower border: ``matmul 1024 jit``."""
    size = f" {case.size}" if case.size else ""
    return f"{brief_name(case.op)}{size} {case.mode}"


def why_not_plot(action: str, state: State) -> str | None:
    """Why the picture cannot be changed like this now, or ``None``.

    Args:
        action: its name without arguments.
        state: what is on screen.
    """
    if action not in ("view", "metric", "clock"):
        return None
    if state.run is None:
        return "There is nothing to draw yet: run something first."
    if action == "view":
        return None
    if view_of(state) != "sweep":
        if len(sizes(state.run)) > 1:
            return f"The {action} is of the curves over size: g goes there."
        return f"The {action} is of curves over size, and there is only one size."
    if action == "clock" and clock_of(state.metric, state.clock) is None:
        return (
            "Rates have one clock, pipelined where it is known: time and × NumPy have "
            "others (m)."
        )
    return None


def plot(state: State, colors: Sequence[Color]) -> tuple[str, Picture | None, str]:
    """The view of the run that is wanted: its title, and a picture or a text.

    Args:
        state: what is on screen.
        colors: of the curves, in turn.
    """
    run, case = state.run, state.case
    if run is None or case is None:
        return "", None, ""
    label = short_label(case.case)
    match view_of(state):
        case "sweep":
            clock = state.clock
            drawn = curves.picture(
                run, state.metric, colors, clock=clock, selected=case
            )
            title = curves.title_of(state.metric, clock, run.cases)
            return title, _bare(drawn), _no_curves(state, run)
        case "histogram":
            return (
                f"how calls spread · {label}",
                calls.histogram(case, colors),
                (_no_calls(case)),
            )
        case "roofline":
            drawn = roofline.picture(state, colors)
            device = roofline.device(state) or ""
            title = f"roofline of {device}"
            return title, _bare(drawn), roofline.explanation(state)
        case _:
            live = calls.live(case, colors)
            return f"seconds per call · {label}", _bare(live), _no_calls(case)


def _bare(picture: Picture | None) -> Picture | None:
    """With its curves named at their right ends; the panel has the title."""
    if picture is None:
        return None
    series = tuple(replace(one, named=True) for one in picture.series)
    return replace(picture, bare=True, series=series)


def _no_calls(case: CaseState) -> str:
    if case.failure is not None:
        return f"{case.failure.error} {case.failure.hint}".rstrip()
    doing = case.doing.replace("_", " ")
    return f"No call of {case.case.label} was timed yet{f': {doing}' * bool(doing)}."


def _no_curves(state: State, run: Job) -> str:
    """Why there is no curve of what is wanted."""
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
            return "No published peak of these devices: no share of it."
        case "flops" | "bytes":
            return (
                "No case has such a rate: it is not known, or the host hands calls "
                "over more slowly than they are computed (host-bound)."
            )
        case _:
            return f"No case was timed by the clock {clock_of('time', state.clock)}."
