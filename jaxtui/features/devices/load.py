"""The last seconds of load as gauges: a name, a meter, the figure now, and a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from jaxtui.core import format as fmt
from jaxtui.core.model import Device
from jaxtui.ui.text import Line, Span, bar, cut

if TYPE_CHECKING:
    # What it imports would delay the app's first frame.
    from jaxtui.machine.load import Load

NEARLY_FULL = 0.9
"""The share of a memory from which on it is said to be full."""

_LEVELS = " ▁▂▃▄▅▆▇█"

_GAP = 3
"""Blanks between two gauges."""

_LEAST = 30
"""Cells of a gauge beside others; with less room they stand below each other."""

_FIGURES_ALONE = 10
"""Cells for meter and curve below which there are neither."""


class Gauge(msgspec.Struct, frozen=True):
    name: str
    figure: str
    shares: tuple[float, ...]
    """Shares from 0 to 1, one a second, the newest last."""
    role: str
    widest: int
    """Cells that its figure takes at most."""


def gauges(loads: Sequence[Load], devices: Sequence[Sequence[Device]]) -> list[Gauge]:
    """The host's processors and memory, then the memory of the devices together.

    Args:
        loads: of the last seconds, the newest last.
        devices: the devices as they were at each of these seconds.
    """
    if not loads:
        return []
    now = loads[-1]
    busy = tuple(load.cpu for load in loads)
    cpu = Gauge("cpu", f"{100 * now.cpu:.0f} %", busy, "host", 5)
    sums = [(_sum(group, "used"), _sum(group, "limit")) for group in devices]
    memory = [(load.memory_used_bytes, load.memory_total_bytes) for load in loads]
    result = [cpu, _memory("memory", memory, "host")]
    if sums and sums[-1][1]:
        result.append(_memory(devices[-1][0].platform, sums, "device"))
    return result


def _sum(devices: Sequence[Device], which: str) -> int:
    name = f"memory_{which}_bytes"
    return sum(getattr(device, name) or 0 for device in devices)


def _memory(name: str, used: Sequence[tuple[int, int]], role: str) -> Gauge:
    shares = tuple(part / whole if whole else 0.0 for part, whole in used)
    now, limit = used[-1]
    widest = len(fmt.bytes_used(limit, limit))
    full = shares[-1] >= NEARLY_FULL
    role = "danger" if full else role
    return Gauge(name, fmt.bytes_used(now, limit), shares, role, widest)


def lines(gauges: Sequence[Gauge], width: int, rows: int) -> list[Line]:
    """The gauges in so many lines: side by side, or below each other if that is narrow.

    Each is a meter with its figure, and its curve, which fills what is left: the rest
    of the line where there is only one, or the lines below it.
    """
    if not gauges:
        return []
    share = (width - _GAP * (len(gauges) - 1)) // len(gauges)
    name = max(len(gauge.name) for gauge in gauges) + 1
    if share < _LEAST and rows >= len(gauges):
        height, more = divmod(rows, len(gauges))
        return [
            line
            for place, gauge in enumerate(gauges)
            for line in _gauge(gauge, width, height + (place < more), name)
        ]
    if share < name + max(gauge.widest for gauge in gauges) + _FIGURES_ALONE:
        figures = "  ".join(f"{gauge.name} {gauge.figure}" for gauge in gauges)
        return [cut((Span(figures, "value"),), width), *[()] * (rows - 1)]
    drawn = [_gauge(gauge, share, rows, len(gauge.name) + 1) for gauge in gauges]
    between = Span(" " * _GAP)
    return [
        tuple(span for part in row for span in (between, *part))[1:]
        for row in zip(*drawn, strict=True)
    ]


def _gauge(gauge: Gauge, width: int, rows: int, name: int) -> list[Line]:
    head = Span(gauge.name.ljust(name), "muted")
    figure = Span(gauge.figure.rjust(gauge.widest + 1), "value")
    room = width - name - gauge.widest - 1
    length = room if rows > 1 else room // 2
    meter = bar(gauge.shares[-1], length)
    track = Span("░" * (length - len(meter)), "muted")
    if rows == 1:
        beside = _curve(gauge.shares, room - length - 1, 1, gauge.role)[0]
        return [(head, Span(meter, gauge.role), track, Span(" "), *beside, figure)]
    below = _curve(gauge.shares, width, rows - 1, gauge.role)
    return [(head, Span(meter, gauge.role), track, figure), *below]


def _curve(shares: Sequence[float], width: int, rows: int, role: str) -> list[Line]:
    """Filled from below, a cell a second; where nothing was read yet there are dots."""
    role = role if role == "danger" else f"{role}-curve"
    newest = shares[-width:]
    blank = width - len(newest)
    return [
        (
            Span((" " if row else "·") * blank, "muted"),
            Span("".join(_cell(share * rows - row) for share in newest), role),
        )
        for row in reversed(range(rows))
    ]


def _cell(height: float) -> str:
    """A cell, filled from below; what is more than nothing is seen."""
    eighths = round(min(max(height, 0.0), 1.0) * 8)
    return _LEVELS[max(eighths, 1) if 0 < height <= 1 else eighths]
