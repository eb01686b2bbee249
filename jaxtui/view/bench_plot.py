"""The plot of the tab Bench: which picture a view of the run has, or why none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from jaxtui.model import Case
from jaxtui.model.own import brief_name
from jaxtui.plot import Color, Picture
from jaxtui.state import CaseState, Job, State
from jaxtui.view import calls, crossover, curves, words
from jaxtui.view.curves import Metric
from jaxtui.view.roofline import Roofline
from jaxtui.view.words.engine import doing

View = Literal["live", "sweep", "histogram", "crossing", "roofline"]
"""The calls as they come, curves over size, how calls spread, where two curves cross,
and the roofline."""


def short_label(case: Case) -> str:
    """A case in the lower border: ``matmul 1024 jit``."""
    size = f" {case.size}" if case.size else ""
    return f"{brief_name(case.op)}{size} {case.mode}"


def plot(
    state: State,
    selected: int,
    view: View,
    colors: Sequence[Color],
    metric: Metric = "time",
) -> tuple[str, Picture | None, str]:
    """One view of the run of cases: its title, the picture, and what stands in its
    place while there is none.

    Args:
        state: what is known of the run and of roofs.
        selected: index of a case.
        view: which one.
        colors: of the curves, in turn.
        metric: what curves over size show.
    """
    run = state.run
    if run is None or not run.cases:
        return "", None, ""
    case = run.cases[selected]
    label = short_label(case.case)
    match view:
        case "sweep":
            run = curves.swept(run, case, state.ops)
            drawn = curves.picture(run, metric, colors, selected=case)
            title = curves.title_of(metric, run.cases)
            return title, _bare(drawn), _why_no_curves(run, metric)
        case "histogram":
            return (
                f"how calls spread · {label}",
                calls.histogram(case, colors),
                _why_no_calls(case),
            )
        case "crossing":
            search = crossover.of_state(state)
            assert search is not None
            title, drawn = crossover.title_of(search), crossover.picture(search)
            return title, _bare(drawn), "No two sizes were timed."
        case "roofline":
            found = Roofline.of(state, selected)
            assert found is not None
            title, drawn = f"roofline of {found.device}", found.picture(colors)
            return title, _bare(drawn), found.why_no_picture()
        case _:
            live = calls.live(case, colors)
            return f"time per call · {label}", _bare(live), _why_no_calls(case)


def _bare(picture: Picture | None) -> Picture | None:
    """With its curves named at their right ends; the panel has the title."""
    if picture is None:
        return None
    series = tuple(replace(one, named=True) for one in picture.series)
    return replace(picture, bare=True, series=series)


def _why_no_calls(case: CaseState) -> str:
    if case.failure is not None:
        return words.why(case.failure)
    phase = doing(case.doing)
    return f"No call of {case.case.label} was timed yet{f': {phase}' * bool(phase)}."


def _why_no_curves(run: Job, metric: Metric) -> str:
    """Why there is no curve of what is wanted."""
    timed = [case for case in run.cases if case.measurement and case.measurement.ready]
    if not timed:
        if run.outcome == "cancelled":
            return "It was stopped before any call was timed: r runs it again."
        if all(case.failure for case in run.cases):
            return "Every case failed: the table says why."
        return "No call was timed yet."
    match metric:
        case "numpy" if not any(case.case.mode == "numpy" for case in run.cases):
            return "There is no × NumPy without NumPy: run the mode numpy too."
        case "numpy":
            return "NumPy and JAX have not both been timed at one size yet."
        case "peak":
            return "No published peak of these devices: no share of it."
        case _:
            return (
                "No case has such a rate: it is not known, or the host hands calls "
                "over more slowly than they are computed (host-bound)."
            )
