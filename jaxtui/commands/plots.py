"""The plot under the table of a bench run, the same one that the screen draws."""

from __future__ import annotations

from jaxtui.plot import Color
from jaxtui.tui.plots.shown import of_run
from jaxtui.tui.run_state import RunState

HEIGHT = 16
"""Lines: with the table above it still fits a small terminal."""

WIDEST = 120
"""Columns; wider only stretches the same points."""

COLORS: tuple[Color, ...] = (
    (0, 160, 200),
    (220, 150, 0),
    (200, 80, 180),
    (60, 170, 80),
    (90, 120, 230),
    (220, 80, 70),
)
"""Told apart on a dark and on a light background."""


def plot(
    run: RunState, *, width: int, colour: bool, ascii_only: bool, height: int = HEIGHT
) -> str:
    """The samples of a single case, or curves over size; empty if there is neither.

    Args:
        run: what was measured.
        width: columns of the terminal.
        colour: whether to use colours; curves differ by their marker otherwise.
        ascii_only: use no character beyond ASCII.
        height: lines.
    """
    single = run.cases[0] if len(run.cases) == 1 else None
    drawn = of_run(run, single, COLORS)
    if drawn is None:
        return ""
    return drawn.draw(min(width, WIDEST), height, color=colour, ascii=ascii_only)
