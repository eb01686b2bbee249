"""A minute of load as gauges: a name, how it went, and the figure now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.machine.load import Load
from jaxtui.model import Device
from jaxtui.view.text import Line, Span, cut

SECONDS = 60
"""Readings that are kept, one a second: a minute fits the width of a small terminal."""

_LEVELS = " ▁▂▃▄▅▆▇█"

_NAME, _FIGURE = 7, 14
"""Cells of a gauge beside its curve: ``memory``, and `` 11.2/15.7 GiB``."""

_GAP = 2

_LEAST = 4
"""Cells of a curve; with less room there are figures alone."""


@dataclass(frozen=True, slots=True)
class Gauge:
    name: str
    figure: str
    shares: tuple[float, ...]
    """From 0 to 1, one a second, the newest last."""
    role: str


def gauges(loads: Sequence[Load], devices: Sequence[Sequence[Device]]) -> list[Gauge]:
    """The host's processors and memory, then the memory of the devices together.

    Args:
        loads: of the last minute, the newest last.
        devices: the devices as they were at each of these seconds.
    """
    if not loads:
        return []
    now = loads[-1]
    used = fmt.bytes_used(now.memory_used_bytes, now.memory_total_bytes)
    memory = tuple(load.memory_used_bytes / load.memory_total_bytes for load in loads)
    found = [
        Gauge("cpu", fmt.percent(now.cpu), tuple(load.cpu for load in loads), "host"),
        Gauge("memory", used, memory, "host"),
    ]
    sums = [(_sum(each, "used"), _sum(each, "limit")) for each in devices]
    if sums and sums[-1][1]:
        shares = tuple(part / whole if whole else 0.0 for part, whole in sums)
        name = devices[-1][0].platform
        found.append(Gauge(name, fmt.bytes_used(*sums[-1]), shares, "device"))
    return found


def _sum(devices: Sequence[Device], which: str) -> int:
    name = f"memory_{which}_bytes"
    return sum(getattr(device, name) or 0 for device in devices)


def lines(found: Sequence[Gauge], width: int, rows: int) -> list[Line]:
    """The gauges side by side, each ``rows`` lines high."""
    if not found:
        return []
    share = (width - _GAP * (len(found) - 1)) // len(found)
    room = min(SECONDS, share - _NAME - _FIGURE)
    if room < _LEAST:
        figures = "  ".join(f"{gauge.name} {gauge.figure}" for gauge in found)
        return [*[()] * (rows - 1), cut((Span(figures, "value"),), width)]
    drawn: list[Line] = []
    for row in reversed(range(rows)):
        spans: list[Span] = []
        for gauge in found:
            if spans:
                spans.append(Span(" " * (_GAP + share - room - _NAME - _FIGURE)))
            cells = "".join(_cell(part * rows - row) for part in gauge.shares[-room:])
            spans += (
                Span(("" if row else gauge.name).ljust(_NAME), "muted"),
                Span(cells.rjust(room), f"{gauge.role}-curve"),
                Span(("" if row else gauge.figure).rjust(_FIGURE), "value"),
            )
        drawn.append(tuple(spans))
    return drawn


def _cell(height: float) -> str:
    """A cell, filled from below; what is more than nothing is seen."""
    eighths = round(min(max(height, 0.0), 1.0) * 8)
    return _LEVELS[max(eighths, 1) if 0 < height <= 1 else eighths]
