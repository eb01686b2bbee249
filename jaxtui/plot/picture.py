"""A plot before it has a size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from jaxtui.plot.axes import Axis
from jaxtui.plot.drawing import columns_of, draw
from jaxtui.plot.header import Reading
from jaxtui.plot.series import Mark, Series
from jaxtui.plot.spots import Spot
from jaxtui.text import Painted

_FEWEST = 30
"""Cells below which there is no room for two plots side by side."""


@dataclass(frozen=True)
class Picture:
    """Everything that ``draw`` needs besides a size."""

    series: tuple[Series, ...]
    x: Axis
    y: Axis
    title: str
    marks: tuple[Mark, ...] = ()
    spots: tuple[Spot, ...] = ()
    places: Sequence[float] = ()
    """Where values can be read off, ascending in x."""
    read: Callable[[int], Reading] = lambda _: Reading("")
    """What is read off at one of the places."""
    start: int = 0
    """The place where reading begins."""
    left: Picture | None = None
    """Another plot at the left of this one, with axes of its own; its places come
    before those of this one."""

    @property
    def count(self) -> int:
        """How many places there are to read off."""
        return self._before + len(self.places)

    @property
    def begin(self) -> int:
        """Where reading begins, of all places."""
        return self._before + self.start

    @property
    def _before(self) -> int:
        return self.left.count if self.left is not None else 0

    def draw(
        self,
        width: int,
        height: int,
        *,
        color: bool = True,
        ascii: bool = False,  # noqa: A002
        cursor: int | None = None,
    ) -> str:
        """ANSI text of exactly ``height`` lines of ``width`` cells.

        Args:
            width: cells of a line.
            height: lines.
            color: by ANSI escape codes; curves differ without them too.
            ascii: use no character beyond ASCII, except those in labels.
            cursor: the place whose values stand in the place of title and legend.
        """
        beside = self._beside(width)
        here = None if cursor is None else cursor - self._before
        own = self._draw(width - beside, height, color, ascii, here)
        if self.left is None or not beside:
            return own
        gap = " " * (beside - _left(width))
        other = self.left.draw(
            _left(width), height, color=color, ascii=ascii, cursor=cursor
        )
        rows = zip(other.split("\n"), own.split("\n"), strict=True)
        return Painted("\n".join(gap.join(row) for row in rows))

    def _draw(
        self, width: int, height: int, color: bool, only_ascii: bool, place: int | None
    ) -> str:
        if place is not None and not 0 <= place < len(self.places):
            place = None
        return draw(
            self.series,
            width=width,
            height=height,
            x=self.x,
            y=self.y,
            title=self.title,
            color=color,
            ascii=only_ascii,
            marks=self.marks,
            spots=self.spots,
            readable=bool(self.places),
            cursor=None if place is None else self.places[place],
            reading=None if place is None else self.read(place),
        )

    def nearest(self, column: int, width: int, height: int) -> int | None:
        """The place that is nearest to a column of the plot; ``None`` without places.

        Args:
            column: from 0 at the left.
            width: cells of a line.
            height: lines.
        """
        beside = self._beside(width)
        if self.left is not None and column < beside:
            return self.left.nearest(column, _left(width), height)
        columns = columns_of(
            self.places,
            self.series,
            width=width - beside,
            height=height,
            x=self.x,
            y=self.y,
            title=self.title,
        )
        place = _nearest(columns, column - beside)
        return None if place is None else self._before + place

    def _beside(self, width: int) -> int:
        """Cells of a line that come before this plot."""
        if self.left is None or width < _FEWEST:
            return 0
        return _left(width) + 1


def _left(width: int) -> int:
    """The width of the plot at the left."""
    return (width - 1) // 2


def _nearest(columns: Iterable[int], column: int) -> int | None:
    apart = [(abs(one - column), place) for place, one in enumerate(columns)]
    return min(apart, default=(0, None))[1]
