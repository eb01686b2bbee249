"""A plot that sends the terminal only the cells that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from jaxtui.plot import Row

Draw = Callable[[int, int], Sequence[Row]]
"""Draws for a width and a height: exactly that many lines."""

_GAP = 6
"""Unchanged cells between two changed ones that are cheaper sent than skipped."""


class PlotView(Widget):
    """Shows what a drawing function makes of the size that there is."""

    DEFAULT_CSS = """
    PlotView { height: 1fr; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._draw: Draw | None = None
        self._shown_rows: list[Row] = []
        self._strips: list[Strip] = []
        self._style = Style.null()

    @property
    def text(self) -> str:
        """What is drawn, without its colours."""
        return "\n".join(strip.text for strip in self._strips)

    @property
    def shown(self) -> Draw | None:
        """What draws it; ``None`` while there is nothing to draw."""
        return self._draw

    def show(self, draw: Draw | None) -> None:
        """Draw something else, and refresh the cells in which it differs."""
        self._draw = draw
        self._redraw()

    def on_resize(self) -> None:
        """Draw anew for the new size."""
        self._shown_rows, self._strips = [], []
        self._redraw()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines that are in view."""
        # Once and not for each line, as it is made of the styles of all ancestors.
        self._style = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One line of the drawing."""
        if y < len(self._strips):
            return self._strips[y].apply_style(self._style)
        return Strip.blank(self.size.width, self._style)

    def _redraw(self) -> None:
        width, height = self.size
        if not width or not height:
            return
        rows = list(self._draw(width, height) if self._draw is not None else ())
        rows += [()] * (height - len(rows))
        old_rows, old_strips = self._shown_rows, self._strips
        self._shown_rows = rows = rows[:height]
        self._strips = [
            old_strips[y]
            if y < len(old_rows) and old_rows[y] == row
            else Strip(
                [Segment(text, _style(color)) for text, color in row]
            ).adjust_cell_length(width)
            for y, row in enumerate(rows)
        ]
        if len(old_strips) != len(rows):
            self.refresh()
        else:
            regions = _changed(old_strips, self._strips)
            if regions:
                self.refresh(*regions)


@lru_cache(maxsize=64)
def _style(color: tuple[int, int, int] | None) -> Style:
    return Style.null() if color is None else Style(color=Color.from_rgb(*color))


def _changed(old: list[Strip], new: list[Strip]) -> list[Region]:
    """The runs of cells in which two drawings of one size differ."""
    return [
        Region(start, y, stop - start, 1)
        for y, (before, after) in enumerate(zip(old, new, strict=True))
        if before is not after
        for start, stop in _runs(_cells(before), _cells(after))
    ]


def _cells(strip: Strip) -> list[tuple[str, object]]:
    return [
        (character, segment.style) for segment in strip for character in segment.text
    ]


def _runs(
    old: list[tuple[str, object]], new: list[tuple[str, object]]
) -> Iterator[tuple[int, int]]:
    """Runs of differing places, joined across small gaps."""
    if len(old) != len(new):
        yield 0, max(len(old), len(new))
        return
    start = stop = -1
    for place, (before, after) in enumerate(zip(old, new, strict=True)):
        if before == after:
            continue
        if start >= 0 and place - stop > _GAP:
            yield start, stop
            start = -1
        if start < 0:
            start = place
        stop = place + 1
    if start >= 0:
        yield start, stop
