"""The crossing of two curves in the tab Bench."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jaxtui.features.crossover import report
from jaxtui.features.crossover.judge import Search
from jaxtui.plot import Color, Picture
from jaxtui.tui.base import BaseApp
from jaxtui.tui.state import State
from jaxtui.view import words
from jaxtui.view.report import Statement


def why_not(state: State) -> str | None:
    """Return why the key does nothing."""
    if state.busy or _search(state) is not None:
        return None
    return (
        "A crossing needs two curves of one op over two or more sizes: w times the case"
        " over a range."
    )


def _search(state: State) -> Search | None:
    run = state.run
    return report.of_run(run, state.case_index) if run and run.cases else None


def begin(app: BaseApp) -> None:
    """Time the sizes around the crossing of the selected curve."""
    if (search := _search(app.session.state)) is not None:
        app.session.update(view="crossover")
        app.background(partial(_find, app, search))


async def _find(app: BaseApp, search: Search) -> None:
    result = await app.session.play(search, "crossover")
    app.say(words.sentence(report.verdict(result)))


def is_available(state: State) -> bool:
    """Return whether there is a view."""
    return report.of_state(state) is not None


def plot(
    state: State, selected: int, colors: Sequence[Color]
) -> tuple[str, Picture | None, str]:
    """Return the title, the picture, and the text in its place."""
    search = report.of_state(state)
    assert search is not None
    title, drawn = report.title_of(search), report.picture(search, colors)
    return title, drawn, "A crossing needs two timed sizes."


def statements(state: State, selected: int) -> tuple[Statement, ...]:
    """Return what stands below the results."""
    search = report.of_state(state)
    return report.statements(search) if search is not None else ()
