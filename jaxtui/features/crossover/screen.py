"""The crossing of two curves in the tab Bench."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.features.crossover.judge import around, curve, of_curves, partner, title_of
from jaxtui.features.crossover.messages import (
    BUDGET_SECONDS,
    GRID_SHARE,
    Crossover,
    experiment,
)
from jaxtui.features.crossover.report import picture
from jaxtui.model import Case, Remark
from jaxtui.model.document import Note
from jaxtui.plot import Color, Picture
from jaxtui.tui.base import BaseApp
from jaxtui.tui.state import State
from jaxtui.view.report import Statement


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
    """Time the sizes around the crossing of the selected curve."""
    if (sides := _sides(app.session.state)) is None:
        return
    app.session.update(crossed=sides, view="crossover")

    def tell() -> None:
        app.say(of_curves(app.session.state, sides).verdict)

    if sizes := around(of_curves(app.session.state, sides)):
        budget = (1 - GRID_SHARE) * BUDGET_SECONDS
        app.start(experiment(sides, sizes, budget), "crossover", tell)
    else:
        tell()


def _shown(state: State) -> Crossover | None:
    """The last crossing, as long as its curves are those of the run that is shown."""
    run, sides = state.run, state.crossed
    curves = {curve(case.case) for case in run.cases} if run else set()
    return of_curves(state, sides) if sides and {*sides} <= curves else None


def is_available(state: State) -> bool:
    """Return whether there is a view."""
    return _shown(state) is not None


def plot(
    state: State, selected: int, colors: Sequence[Color]
) -> tuple[str, Picture | None, str]:
    """Return the title, the picture, and the text in its place."""
    crossover = _shown(state)
    assert crossover is not None
    drawn = picture(crossover, colors)
    return title_of(crossover), drawn, "A crossing needs two timed sizes."


def statements(state: State, selected: int) -> tuple[Statement, ...]:
    """Return what stands below the results."""
    if (crossover := _shown(state)) is None:
        return ()
    verdict = Note(flag="crossing", text=crossover.verdict)
    return tuple(
        Statement(Remark(note.flag, severity=note.level, text=note.text))
        for note in (verdict, *crossover.notes)
    )
