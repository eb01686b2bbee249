"""The plot that is shown, for files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtui.tui import run_files

if TYPE_CHECKING:
    from jaxtui.plot import Picture


def plot(picture: Picture | None) -> run_files.Plot:
    """What draws it, in colour or without; nothing if there is none."""
    columns, lines = run_files.COLUMNS, run_files.LINES

    def draw(colour: bool) -> str:
        if picture is None:
            return ""
        return picture.draw(columns, lines, color=colour)

    return draw
