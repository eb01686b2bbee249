"""The pictures and rates that fit the run that is shown, and the one that is chosen."""

from __future__ import annotations

from typing import get_args

from jaxtui.core.state import Job
from jaxtui.features.bench import rates
from jaxtui.features.bench.collectives import rates_of
from jaxtui.features.bench.curves import METRICS, sizes, swept
from jaxtui.features.bench.figures import share_of_peak
from jaxtui.features.bench.rates import Rates
from jaxtui.features.bench.report import notes
from jaxtui.ui.app.state import Metric, State, View


def rates_shown(state: State) -> tuple[Rates, ...]:
    """The rates that the chip map can show: those of the selected case, where several
    devices have any.
    """
    return rates.of_run(state.run, state.case.case if state.case else None)


def disturbed(state: State) -> bool:
    """True if others used the cores during the whole run of cases."""
    run = state.run
    return run is not None and any(note.code == "contended" for note in notes(run))


def curves_of(state: State) -> Job:
    """The cases of the run whose sizes mean the same as those of the selected one."""
    assert state.run is not None
    return swept(state.run, state.case, state.ops)


VIEWS: tuple[View, ...] = get_args(View)
"""The views in the order of the key."""


def view_of(state: State) -> View:
    """The view that is shown: the one that was asked for, or else what fits."""
    views = _views(state)
    if state.view in views:
        return state.view
    return "sweep" if "sweep" in views else "live"


def next_picture(state: State) -> tuple[View, Metric]:
    """The view after the one that is shown, with what its curves show.

    Curves over size have a turn for each metric.
    """
    ring: list[tuple[View, Metric]] = []
    for view in _views(state):
        metrics = _metrics(state) if view == "sweep" else METRICS[:1]
        ring += [(view, metric) for metric in metrics]
    shown = view_of(state)
    here = shown, state.metric if shown == "sweep" else METRICS[0]
    if here not in ring:  # a metric of an earlier run
        here = shown, METRICS[0]
    return ring[(ring.index(here) + 1) % len(ring)]


def _metrics(state: State) -> list[Metric]:
    """Return the metrics of the curves; busbw for collectives alone, and a share of the
    peak where one is published.
    """
    cases = state.run.cases if state.run else ()
    measured = [case.measurement for case in cases if case.measurement is not None]
    absent = {
        "busbw": not any(map(rates_of, measured)),
        "peak": not any(map(share_of_peak, measured)),
    }
    return [metric for metric in METRICS if not absent.get(metric)]


def _views(state: State) -> list[View]:
    """Return the possible views: curves need several sizes."""
    curved = state.run is not None and len(sizes(curves_of(state))) > 1
    return [view for view in VIEWS if view != "sweep" or curved]
