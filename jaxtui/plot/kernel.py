"""Strokes drawn by plotext; nothing else here touches it.

plotext 6.1 aborts the process on NaN and takes gigabytes for points far outside the
limits, so it is given finite points in units of cells, clipped to the canvas, thinned
out, and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from jaxtui.plot.canvas import Cell, parse, rasterize
from jaxtui.plot.strokes import Stroke

_plotext_in_use = threading.Lock()
"""plotext's figure is global, and two threads in it raise KeyError."""


def drawn(strokes: Sequence[Stroke], width: int, height: int) -> list[list[Cell]]:
    """The strokes on an empty canvas, by plotext if possible."""
    plotext = _plotext()
    if plotext is None or not strokes or width < 2 or height < 2:
        return rasterize(strokes, width, height)
    try:
        with _plotext_in_use:
            rows = parse(_plotext_text(plotext, strokes, width, height))[:height]
    except Exception:  # A kernel and a parser not ours: a plainer plot beats none.
        return rasterize(strokes, width, height)
    if [len(row) for row in rows] != [width] * height:
        return rasterize(strokes, width, height)
    return rows


@cache
def _plotext() -> Any:
    """The plotext module, or ``None``; imported on first use, as that takes 0.1 s."""
    try:
        import plotext
    except (ImportError, OSError):  # OSError: its kernel is for another machine
        return None
    plotext.terminal.limit(False, False)
    return plotext


def _plotext_text(
    plotext: Any, strokes: Sequence[Stroke], width: int, height: int
) -> str:
    """Draw with plotext on a bare canvas whose unit is one cell."""
    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.plot_size(width, height)
    figure.axes(False)
    figure.ruler((0, 1), (0, 1)).frequency(0)
    # Limits are the centres of the outermost cells.
    figure.ruler(0).lim(0.5, width - 0.5)
    figure.ruler(1).lim(0.5, height - 0.5)
    for stroke in strokes:
        x = [point[0] for part in stroke.parts for point in part]
        y = [point[1] for part in stroke.parts for point in part]
        pixel = plotext.pixel(foreground=stroke.color)
        marker = plotext.marker(stroke.marker, pixel=pixel)
        signal = figure.signal(x, y, marker=marker)
        signal.lines()
        start = 0
        for part in stroke.parts:
            signal.line(start, False)
            start += len(part)
        figure.draw(signal)
    return str(figure.build().string())
