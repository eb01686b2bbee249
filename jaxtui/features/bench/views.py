"""The plot of the tab Bench: which picture a view of the run has, or why none."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.core.model import Case
from jaxtui.core.model.own import brief_name
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.bench import calls, curves
from jaxtui.registry import part
from jaxtui.ui import words
from jaxtui.ui.app.state import Metric, View
from jaxtui.ui.plot import Color, Picture
from jaxtui.ui.progress import doing

Plot = tuple[str, Picture | None, str]
"""A title, the picture, and the text in its place while there is none."""


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
) -> Plot:
    """Return a view of the run of cases.

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
            return title, drawn, _why_no_curves(run, metric)
        case "histogram":
            drawn, title = calls.histogram(case, colors), "how calls spread"
            title = f"{drawn.title if drawn else title} · {label}"
            return title, drawn, _why_no_calls(case)
        case "roofline":
            plot: Plot = part(view, "screen").plot(state, selected, colors)
            return plot
        case _:
            live = calls.live(case, colors)
            why = _why_no_calls(case)
            return f"time per call · {label}", live, why


def _why_no_calls(case: CaseState) -> str:
    if case.failure is not None:
        return words.text(case.failure.remark)
    phase = f": {doing(case.doing)}" if case.doing else ""
    return f"No timed call of {case.case.label} yet{phase}."


def _why_no_curves(run: Job, metric: Metric) -> str:
    """Return why there is no curve of the metric."""
    if not any(case.measurement and case.measurement.ready for case in run.cases):
        if run.outcome == "cancelled":
            return "Stopped before the first timed call. r runs it again."
        if all(case.failure for case in run.cases):
            return "Every case failed: the table says why."
        return "No timed call yet."
    match metric:
        case "numpy" if not any(case.case.mode == "numpy" for case in run.cases):
            return "× NumPy needs NumPy. Add mode numpy."
        case "numpy":
            return "NumPy and JAX have no timed size in common yet."
        case "peak":
            return "No published peak for this device, so no % of peak."
        case _:
            return (
                "No case has this rate: jaxtui doesn't know it, or dispatch takes"
                " longer than the work (host-bound)."
            )
