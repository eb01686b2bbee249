"""The key of the tab Bench that closes in on the crossing of two curves."""

from __future__ import annotations

from msgspec.structs import replace

from jaxtui.core.model import Case
from jaxtui.features.crossover.judge import around, of_curves, partner
from jaxtui.features.crossover.messages import BUDGET_SECONDS, GRID_SHARE, experiment
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.state import State


def why_not(state: State) -> str | None:
    """Return why the key does nothing."""
    if state.busy or _sides(state) is not None:
        return None
    return (
        "A crossing needs two curves of one op over two or more sizes: w times the case"
        " over a range."
    )


def _sides(state: State) -> tuple[Case, Case] | None:
    """The selected curve and the one that it is compared with."""
    run = state.run
    sides = partner(run, state.case_index) if run and run.cases else None
    if sides is None or len(of_curves(state, sides).sizes) < 2:
        return None
    return sides


def begin(app: BaseApp) -> None:
    """Add the sizes around the crossing of the selected curve to the run."""
    session = app.session
    if (sides := _sides(session.state)) is None:
        return

    def tell() -> None:
        app.say(of_curves(session.state, sides).verdict)

    def add() -> None:
        jobs = session.state.jobs
        run, closer = jobs["bench"], jobs["crossover"]
        longer = replace(run, cases=(*run.cases, *closer.cases))
        session.update(jobs={**jobs, "bench": longer})
        tell()

    session.update(view="sweep", metric="time")
    if sizes := around(of_curves(session.state, sides)):
        budget = (1 - GRID_SHARE) * BUDGET_SECONDS
        app.start(experiment(sides, sizes, budget), "crossover", add)
    else:
        tell()
