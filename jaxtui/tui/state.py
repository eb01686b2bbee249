"""The state of the screens: the engine's, and the user's choices."""

from __future__ import annotations

from typing import get_args

from jaxtui import state
from jaxtui.model import Device
from jaxtui.state import CaseState, Job
from jaxtui.view import rates
from jaxtui.view.bench import notes
from jaxtui.view.bench_plot import View
from jaxtui.view.collectives import rates_of
from jaxtui.view.curves import METRICS, Metric, sizes, swept
from jaxtui.view.figures import share_of_peak
from jaxtui.view.rates import Rates, Shown

MOST = 8
"""Functions of files that are offered again."""


class State(state.State, frozen=True):
    """Everything that the screens show."""

    opened: tuple[str, ...] = ()
    """Functions of files that were opened, such as ``/path/train.py:step,loss``, the
    last ones first."""
    cursor: str | None = None
    """Name of the device that is selected; ``None`` for the first."""
    marked: tuple[str, ...] = ()
    """Names of the devices that the next run is for; none for the selected one."""
    heat: Shown | None = None
    """The rate that colours the chip map; ``None`` for processes."""
    picked: tuple[int, int] | None = None
    """Number of a run, and index of its case that is selected; ``None`` for the first
    that JAX runs."""
    view: View | None = None
    """The view of the plot of the tab Bench; ``None`` for what fits."""
    metric: Metric = "time"
    """The metric of the curves over size."""

    @property
    def no_jax(self) -> str:
        """The reason why JAX cannot be asked."""
        match self.engine:
            case "failed":
                return "There is no engine: R tries again."
            case "released":
                return "The engine was released: the next run starts it again."
            case _:
                return "JAX is not ready yet."

    @property
    def chosen(self) -> tuple[str, ...]:
        """The marked devices that are still there, in the order of all."""
        if not self.marked:
            return ()
        return tuple(d.name for d in self.devices if d.name in self.marked)

    @property
    def rates(self) -> tuple[Rates, ...]:
        """The rates that the chip map can show: those of the selected case, where
        several devices have any.
        """
        return rates.of_run(self.run, self.case.case if self.case else None)

    @property
    def device(self) -> Device | None:
        if self.cursor is not None:
            number = int(self.cursor.rpartition(":")[2])
            for device in self.devices:
                # Of thousands, few have the number.
                if device.id == number and device.name == self.cursor:
                    return device
        return self.devices[0] if self.devices else None

    @property
    def case_index(self) -> int:
        """Index of the case that is selected, or else of the first that JAX runs."""
        run = self.run
        if run is None:
            return 0
        if self.picked is not None and self.picked[0] == run.origin:
            return min(self.picked[1], max(0, len(run.cases) - 1))
        jax = (i for i, case in enumerate(run.cases) if not case.case.on_host)
        return next(jax, 0)

    @property
    def case(self) -> CaseState | None:
        """The case that is selected; ``None`` without a run."""
        if self.run is None or not self.run.cases:
            return None
        return self.run.cases[self.case_index]

    @property
    def run_disturbed(self) -> bool:
        """True if others used the cores during the whole run of cases."""
        run = self.run
        return run is not None and any(note.code == "contended" for note in notes(run))


EMPTY = State()
"""The state while the engine starts."""


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
