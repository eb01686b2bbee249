"""What a bench run is in each kind of file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxtui import scripts
from jaxtui.document import Results, encode
from jaxtui.exports import as_csv, as_markdown
from jaxtui.exports.files import Contents
from jaxtui.exports.pictures import DARK, Look, as_svg
from jaxtui.model import Host, PlannedCase
from jaxtui.model.own import short_name
from jaxtui.tui.report import overview, report
from jaxtui.tui.run_state import RunState

COLUMNS, LINES = 100, 28
"""Of the plot in a file: a picture of some 5 : 3."""

Plot = Callable[[bool], str]
"""Draws with colours or without, ``LINES`` of ``COLUMNS`` cells; empty if there is
nothing to draw."""


def contents(
    results: Results,
    run: RunState,
    planned: Sequence[PlannedCase],
    plot: Plot,
    look: Look = DARK,
) -> Contents:
    """Every kind of file.

    Args:
        results: what the run yielded.
        run: the same, as the screens show it.
        planned: its cases as the engine planned them; needed for ``.py`` alone.
        plot: draws it.
        look: of the picture.
    """
    return {
        ".json": lambda: encode(results).decode(),
        ".csv": lambda: as_csv(results),
        ".md": lambda: as_markdown(results),
        ".svg": lambda: _picture(results, run, plot, look),
        ".txt": lambda: _text(results.host, run, plot(False)),
        ".py": lambda: scripts.of_cases(planned),
    }


def _text(host: Host | None, run: RunState, drawing: str) -> str:
    """The plot, if there is one, the table, and all that is to be said of it."""
    parts = [drawing, report(run), _machine(host) if host else ""]
    lines = "\n\n".join(part for part in parts if part).split("\n")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def title(run: RunState) -> str:
    """What was run, in a few words."""
    if len(run.cases) == 1:
        return run.cases[0].case.label
    return " and ".join(dict.fromkeys(short_name(one.case.op) for one in run.cases))


def _picture(results: Results, run: RunState, plot: Plot, look: Look) -> str:
    """The plot; where a run has none, its table."""
    where = f" · {_machine(results.host)}" if results.host else ""
    return as_svg(plot(True) or overview(run), f"{title(run)}{where}", look)


def _machine(host: Host) -> str:
    return f"{host.hostname}, jax {host.jax}, numpy {host.numpy}"
