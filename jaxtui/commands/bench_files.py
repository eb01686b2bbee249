"""What a bench run is in each kind of file."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.commands.exporting import Contents
from jaxtui.commands.plots import plot
from jaxtui.commands.report import overview, report
from jaxtui.document import Results, encode
from jaxtui.exports import as_csv, as_markdown
from jaxtui.exports.pictures import as_svg
from jaxtui.exports.scripts import as_script
from jaxtui.model import Host, PlannedCase
from jaxtui.model.own import short_name
from jaxtui.tui.state import RunState

COLUMNS, LINES = 100, 28
"""Of the plot in a file: a picture of some 5 : 3."""


def contents(
    results: Results, run: RunState, planned: Sequence[PlannedCase]
) -> Contents:
    """Every kind of file.

    Args:
        results: what the run yielded.
        run: the same, as the screens show it.
        planned: its cases as the engine planned them; needed for ``.py`` alone.
    """
    everything = (results.host, results.measurements, results.failures)
    return {
        ".json": lambda: encode(results).decode(),
        ".csv": lambda: as_csv(*everything),
        ".md": lambda: as_markdown(*everything),
        ".svg": lambda: _picture(results, run),
        ".txt": lambda: _text(results, run),
        ".py": lambda: as_script(planned),
    }


def _picture(results: Results, run: RunState) -> str:
    """The plot; where a run has none, its table."""
    drawing = _plot(run, colour=True)
    ops = " and ".join(dict.fromkeys(short_name(one.case.op) for one in run.cases))
    what = run.cases[0].case.label if len(run.cases) == 1 else ops
    where = f" · {_machine(results.host)}" if results.host else ""
    return as_svg(drawing or overview(run), f"{what}{where}")


def _text(results: Results, run: RunState) -> str:
    drawing = _plot(run, colour=False)
    parts = [drawing, report(run), _machine(results.host) if results.host else ""]
    lines = "\n\n".join(part for part in parts if part).split("\n")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _plot(run: RunState, *, colour: bool) -> str:
    return plot(run, width=COLUMNS, height=LINES, colour=colour, ascii_only=False)


def _machine(host: Host) -> str:
    return f"{host.hostname}, jax {host.jax}, numpy {host.numpy}"
