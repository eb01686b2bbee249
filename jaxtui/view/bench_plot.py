"""The plot of the tab Bench: which picture a view of the run has, or why none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from jaxtui.model import Case, Remark
from jaxtui.model.own import brief_name
from jaxtui.plot import Color, Picture
from jaxtui.state import CaseState, Job, State
from jaxtui.view import calls, crossover, curves, words
from jaxtui.view.curves import Metric
from jaxtui.view.roofline import Roofline

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
    """Return a view of the run of cases: its title, the picture, and the text in its
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
            return title, drawn, words.text(_why_no_curves(run, metric))
        case "histogram":
            drawn, title = calls.histogram(case, colors), "how calls spread"
            title = f"{drawn.title if drawn else title} · {label}"
            return title, drawn, words.text(_why_no_calls(case))
        case "crossing":
            search = crossover.of_state(state)
            assert search is not None
            title, drawn = crossover.title_of(search), crossover.picture(search, colors)
            return title, drawn, words.text(Remark("sizes-needed"))
        case "roofline":
            roofline = Roofline.of(state, selected)
            assert roofline is not None
            title, drawn = f"roofline of {roofline.device}", roofline.picture(colors)
            return title, drawn, roofline.why_no_picture()
        case _:
            live = calls.live(case, colors)
            why = words.text(_why_no_calls(case))
            return f"time per call · {label}", live, why


def _why_no_calls(case: CaseState) -> Remark:
    if case.failure is not None:
        return case.failure.remark
    return Remark("no-calls", {"case": case.case.label, "doing": case.doing})


def _why_no_curves(run: Job, metric: Metric) -> Remark:
    """Return why there is no curve of the metric."""
    if not any(case.measurement and case.measurement.ready for case in run.cases):
        if run.outcome == "cancelled":
            return Remark("stopped-before-calls")
        if all(case.failure for case in run.cases):
            return Remark("all-failed")
        return Remark("no-calls")
    match metric:
        case "numpy" if not any(case.case.mode == "numpy" for case in run.cases):
            return Remark("numpy-needed")
        case "numpy":
            return Remark("no-common-size-yet")
        case "peak":
            return Remark("no-published-peak")
        case _:
            return Remark("no-such-rate")
