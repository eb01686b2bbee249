"""What a bench run is in each kind of file, with the plot of the commands."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.commands.plots import plot
from jaxtui.document import Results
from jaxtui.exports.files import Contents
from jaxtui.model import PlannedCase
from jaxtui.tui import run_files
from jaxtui.tui.run_files import COLUMNS, LINES
from jaxtui.tui.run_state import RunState


def contents(
    results: Results, run: RunState, planned: Sequence[PlannedCase]
) -> Contents:
    """Every kind of file.

    Args:
        results: what the run yielded.
        run: the same, as the screens show it.
        planned: its cases as the engine planned them; needed for ``.py`` alone.
    """

    def drawn(colour: bool) -> str:
        return plot(run, width=COLUMNS, height=LINES, colour=colour, ascii_only=False)

    return run_files.contents(results, run, planned, drawn)
