"""A plot before it has a size."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui.plot.axes import Axis
from jaxtui.plot.drawing import Mark, Series, draw


@dataclass(frozen=True)
class Picture:
    """Everything that ``draw`` needs besides a size."""

    series: tuple[Series, ...]
    x: Axis
    y: Axis
    title: str
    marks: tuple[Mark, ...] = ()

    def draw(
        self,
        width: int,
        height: int,
        *,
        color: bool = True,
        ascii: bool = False,  # noqa: A002
    ) -> str:
        """ANSI text of exactly ``height`` lines of ``width`` cells."""
        return draw(
            self.series,
            width=width,
            height=height,
            x=self.x,
            y=self.y,
            title=self.title,
            color=color,
            ascii=ascii,
            marks=self.marks,
        )
