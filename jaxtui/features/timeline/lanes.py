"""The lanes of a loop: one repeat on one time axis, and its drawing as cells.

The stamps may be anything, and what comes out can be drawn. The host lane is what was
recorded; so is the device lane where the calls have the device's own times. Else it is
inferred from the order in which results became ready, because a device that works
through a queue begins one when it ends the last.

The device is one row of calls in their order, however high. Calls have two shades by
turns, so that neighbours can be told apart; a call too short for a cell keeps one.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Literal

import msgspec
from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core import stats
from jaxtui.core.model import LoopCall
from jaxtui.ui.plot.axes import Axis, Scale, ticks

Kind = Literal["dispatch", "wait", "compute"]
"""The activity of a bar: a call until it returned, the host waiting, the device at
work."""

LONGEST = 1e9
"""Seconds; later stamps are drawn there."""

# One repeat.


class Bar(msgspec.Struct, frozen=True):
    """Something that one call did, from when to when."""

    call: int
    """Index of the call."""
    kind: Kind
    start: float
    end: float
    """Seconds; not before ``start``."""


class Timeline(msgspec.Struct, frozen=True):
    """The two lanes, and what can be read off them; times in seconds."""

    host: tuple[Bar, ...] = ()
    """Dispatches in the order of the calls, then the waits."""
    device: tuple[Bar, ...] = ()
    """The bar of each call, in their order."""
    through: float = 0.0
    """The loop's own code was through: where a stopwatch around it stops."""
    total: float = 0.0
    """Every result was ready, and the host through."""
    measured: bool = False
    """The device lane has the device's own times."""
    in_flight: tuple[int, ...] = ()
    """The results that were not ready when each call was entered; never more than the
    queue takes."""
    held: tuple[int, ...] = ()
    """Indices of the calls that were held back because the queue was full."""

    @property
    def calls(self) -> int:
        """The number of known calls."""
        return len(self.device)

    def computing_at(self, time: float) -> int:
        """Index of the call that the device works on, or of the last one."""
        ready = bisect_right([bar.end for bar in self.device], time)
        return max(0, min(ready, self.calls - 1))


def timeline(calls: Sequence[LoopCall], held_from: int | None = None) -> Timeline:
    """Put calls on two lanes.

    Args:
        calls: of one repeat, from the first on.
        held_from: index of the first call that the runtime held back; the engine
            judges that.
    """
    dispatches = tuple(_dispatch(index, call) for index, call in enumerate(calls))
    measured = bool(calls) and all(call.device_end is not None for call in calls)
    device = tuple(
        _measured_bars(calls) if measured else _inferred_bars(calls, dispatches)
    )
    host = (*dispatches, *_waits(calls, dispatches))
    through = max((bar.end for bar in host), default=0.0)
    total = max((bar.end for bar in (*host, *device)), default=0.0)
    in_flight, held = _flights(dispatches, device, held_from)
    return Timeline(host, device, through, total, measured, in_flight, held)


def _bounded(seconds: float) -> float:
    # In this order: comparisons with NaN are false, so that NaN becomes zero.
    return min(max(0.0, seconds), LONGEST)


def _dispatch(index: int, call: LoopCall) -> Bar:
    entered = _bounded(call.entered)
    return Bar(index, "dispatch", entered, max(entered, _bounded(call.returned)))


def _inferred_bars(
    calls: Sequence[LoopCall], dispatches: Sequence[Bar]
) -> Iterator[Bar]:
    """Each begins when it was asked for and the one before was ready."""
    before = 0.0
    for call, dispatch in zip(calls, dispatches, strict=True):
        start = max(before, dispatch.start)
        before = max(start, _bounded(call.ready))
        yield Bar(dispatch.call, "compute", start, before)


def _measured_bars(calls: Sequence[LoopCall]) -> Iterator[Bar]:
    """Yield the bars of the calls; each ends no earlier than the one before."""
    before = 0.0
    for index, call in enumerate(calls):
        start = _bounded(call.device_start or 0.0)
        before = max(before, start, _bounded(call.device_end or 0.0))
        yield Bar(index, "compute", start, before)


def _waits(calls: Sequence[LoopCall], dispatches: Sequence[Bar]) -> Iterator[Bar]:
    """The host does one thing at a time: it waits when it is through with calling."""
    entered = list(accumulate((bar.start for bar in dispatches), max))
    busy = list(accumulate((bar.end for bar in dispatches), max))
    before = 0.0
    for index, call in enumerate(calls):
        if call.waited is None:
            continue
        waited = _bounded(call.waited)
        entered_by_then = max(bisect_left(entered, waited), index + 1)
        start = max(before, busy[entered_by_then - 1])
        if waited > start:
            yield Bar(index, "wait", start, waited)
            before = waited


# The queue between host and device.


def _flights(
    dispatches: Sequence[Bar], device: Sequence[Bar], held_from: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the calls in flight at each entry, and the calls that this held."""
    entered = [bar.start for bar in dispatches]
    ready = [bar.end for bar in device]
    flying = stats.in_flight(entered, ready)
    if held_from is None:
        return tuple(flying), ()
    depth, returned = flying[held_from], [bar.end for bar in dispatches]
    later = stats.held_back(entered, returned, ready, depth)
    held = (held_from, *(index for index in later if index > held_from))
    # A watcher sees late that a result is ready.
    return tuple(min(count, depth) for count in flying), held


# Its drawing.

SMALLEST_SPAN = 1e-6
"""Seconds that are shown at least."""

GUTTER = 8
"""Cells at the left for the names of the lanes."""

FEW = 4
"""Calls in flight that fill the row of the queue at least: one alone is no queue."""

EIGHTHS = " ▁▂▃▄▅▆▇█"

_HEIGHTS = (
    (1, 1, 1),
    (1, 1, 2),
    (1, 2, 2),
    (1, 3, 2),
    (1, 3, 3),
    (1, 3, 4),
    (2, 3, 4),
    (2, 4, 4),
    (2, 5, 4),
    (2, 5, 5),
    (2, 5, 6),
)
"""Rows of host, device and queue, for each row that there is more than four."""


class Cell(msgspec.Struct, frozen=True):
    """A character, its role, and its call."""

    text: str = " "
    role: str = "blank"
    """``host-0`` and ``host-1`` by turns, ``wait``, ``device-0`` and ``device-1``,
    ``selected``, ``number``, ``clock``, ``queue``, ``cursor``, ``axis`` or ``name``."""
    call: int | None = None
    under: str = ""
    """The role of the bar that a number stands in."""


BLANK = Cell()

Row = list[Cell]


Shades = tuple[str, str]
"""The characters of neighbouring calls."""

BLOCKS: Shades = ("▓", "░")
SOLID: Shades = ("█", "█")
"""The shades where colours tell neighbours apart."""


class Shot(msgspec.Struct, frozen=True):
    """The drawn part of a loop, and how it goes on from there."""

    line: Timeline
    """The calls that are known."""
    selected: int = 0
    """Index of the call that is pointed out."""
    until: float | None = None
    """The end of the drawing; ``None`` for all."""
    complete: bool = True
    """The loop has ended, so that its stopwatch has stopped."""

    def selecting(self, call: int) -> Shot:
        """Another call pointed out."""
        return replace(self, selected=max(0, min(call, self.line.calls - 1)))

    def playing(self, time: float) -> Shot:
        """Everything up to a time, and the call pointed out that is computed."""
        call = self.line.computing_at(time)
        return replace(self, until=time, selected=call)

    def bars(self, bars: Sequence[Bar]) -> Iterator[Bar]:
        """Yield the drawn bars, cut off where the drawing ends; the selected last."""
        chosen: list[Bar] = []
        for bar in bars:
            if self.until is not None:
                if bar.start > self.until:
                    continue
                if bar.end > self.until:
                    bar = replace(bar, end=self.until)
            if bar.call == self.selected:
                chosen.append(bar)
            else:
                yield bar
        yield from chosen


def draw(shot: Shot, width: int, height: int, shades: Shades = BLOCKS) -> list[Row]:
    """Draw the lanes.

    Args:
        shot: what is drawn.
        width: cells of every row.
        height: number of rows; below four, only some parts are in view.
        shades: the characters of calls.

    Returns:
        ``height`` rows of ``width`` cells.
    """
    columns = width - GUTTER
    if height < 1 or width < 1:
        return []
    if columns < 1:
        return [[BLANK] * width for _ in range(height)]
    host, device, queue = _heights(height - 4)
    scale = _Scale(max(shot.line.total, SMALLEST_SPAN), columns)
    lanes = [
        *_with_name(_host(shot, scale, host, shades), "host"),
        *_with_name(_device(shot, scale, device, shades), "device"),
        *_with_name(_queue(shot, scale, queue), "queue"),
    ]
    _cursor(lanes, shot, scale)
    unit = fmt.common((scale.span, scale.span / 10))
    name = unit.name if shot.line.calls else ""
    rows = [*lanes, *_with_name([_axis(shot, scale, unit)], name.rjust(GUTTER - 2))]
    rows += [[BLANK] * width for _ in range(height - len(rows))]
    return rows[:height]


def _heights(more: int) -> tuple[int, int, int]:
    """Return the heights of host, device and queue for that many more rows."""
    last = len(_HEIGHTS) - 1
    host, device, queue = _HEIGHTS[max(0, min(more, last))]
    beyond = max(0, more - last)
    return host, device + beyond // 3, queue + beyond - beyond // 3


class _Scale(msgspec.Struct, frozen=True):
    """The scale from time to column."""

    span: float
    """Seconds in all columns."""
    columns: int

    def place(self, time: float) -> float:
        """Columns from the left end."""
        return time / self.span * self.columns

    def cells(self, start: float, end: float) -> range:
        """The columns of a stretch: at least one."""
        last = self.columns - 1
        first = max(0, min(math.floor(self.place(start)), last))
        stop = min(round(self.place(end)), self.columns)
        return range(first, max(stop, first + 1))


def _lane(
    bars: Sequence[Bar], shot: Shot, scale: _Scale, group: int, shades: Shades
) -> Row:
    """Draw a row: each call its cells, its shade and its number."""
    row = [BLANK] * scale.columns
    for bar in shot.bars(bars):
        chosen, odd = bar.call == shot.selected, bar.call // group % 2
        if bar.kind == "wait":
            text, role = "═" if chosen else "─", "wait"
        else:
            text = "█" if chosen else shades[odd]
            role = f"host-{odd}" if bar.kind == "dispatch" else f"device-{odd}"
        cell = Cell(text, "selected" if chosen else role, bar.call)
        for column in scale.cells(bar.start, bar.end):
            # A wait shorter than a cell must not hide the call.
            if bar.kind != "wait" or row[column].call != bar.call:
                row[column] = cell
    return row


def _host(shot: Shot, scale: _Scale, height: int, shades: Shades) -> list[Row]:
    row = _lane(shot.line.host, shot, scale, 1, shades)
    rows = [list(row) for _ in range(height)]
    stop = shot.line.through
    over = shot.until is None or shot.until >= stop
    if not (shot.complete and over):
        return rows
    column = scale.cells(stop, stop).start
    for row in rows:
        row[column] = Cell("▌", "clock")
    text = " stopwatch stops "
    if column + 1 + len(text) <= scale.columns:
        _write(rows[0], column + 1, text.rstrip(), "clock")
    elif column >= len(text):
        _write(rows[0], column - len(text), text, "clock")
    return rows


def _device(shot: Shot, scale: _Scale, height: int, shades: Shades) -> list[Row]:
    bars = shot.line.device
    width = len(bars) and scale.place(shot.line.total / len(bars))
    room = len(str(len(bars))) + 1
    step = next((n for n in (1, 2, 5, 10, 20, 50) if n * width >= room), 100)
    # Calls too short to be told apart share a shade.
    group = 1 if width >= 2 else step
    row = _lane(bars, shot, scale, group, shades)
    rows = [list(row) for _ in range(height)]
    middle = rows[(height - 1) // 2]
    after = 0
    for start, stop in _runs(row, group):
        first = row[start].call or 0
        text = str(first // group * group + 1)
        start += max(0, stop - start - len(text)) // 2
        inside = [cell.call is not None for cell in row[start : start + len(text)]]
        fits = all(inside) and len(inside) == len(text)
        # Two numbers side by side would read as one.
        if first % step == 0 and fits and start >= after:
            _write(middle, start, text, "number")
            after = start + len(text) + 1
    return rows


def _runs(row: Row, group: int) -> Iterator[tuple[int, int]]:
    """The stretches of cells of one call, or of calls with one number."""
    start = 0
    for number, run in groupby(
        row, lambda cell: None if cell.call is None else cell.call // group
    ):
        stop = start + len(list(run))
        if number is not None:
            yield start, stop
        start = stop


def _queue(shot: Shot, scale: _Scale, height: int) -> list[Row]:
    """Draw the results in flight, in eighths of a cell."""
    calls = shot.line.calls
    entered = [bar.start for bar in shot.line.host[:calls]]
    ready = [bar.end for bar in shot.line.device]
    rows = [[BLANK] * scale.columns for _ in range(height)]
    moments = sorted([(time, 1) for time in entered] + [(time, -1) for time in ready])
    levels, level, index = [], 0, 0
    for column in range(scale.columns):
        end = (column + 1) / scale.columns * scale.span
        highest = level
        while index < len(moments) and moments[index][0] <= end:
            level += moments[index][1]
            highest = max(highest, level)
            index += 1
        # The one that is computed is no longer in the queue.
        levels.append(max(0, highest - 1))
    most = max(shot.line.in_flight, default=0)
    for column, count in enumerate(levels):
        start = column / scale.columns * scale.span
        if not count or (shot.until is not None and start > shot.until):
            continue
        eighths = max(1, min(round(count / max(most, FEW) * height * 8), height * 8))
        for place in range(height):
            part = max(0, min(8, eighths - 8 * place))
            if part:
                rows[height - 1 - place][column] = Cell(EIGHTHS[part], "queue")
    text = f" {most} in flight" if most else " empty"
    if shot.until is None and calls and len(text) <= scale.columns:
        free = all(cell is BLANK for cell in rows[0][-len(text) :])
        if free or height == 1:
            _write(rows[0], scale.columns - len(text), text, "name")
    return rows


def _cursor(rows: Sequence[Row], shot: Shot, scale: _Scale) -> None:
    if shot.until is None:
        return
    column = GUTTER + scale.cells(shot.until, shot.until).start
    for row in rows:
        if row[column] is BLANK:
            row[column] = Cell("│", "cursor")


def _axis(shot: Shot, scale: _Scale, unit: fmt.Unit) -> Row:
    """A rule with the labels of round times in it."""
    row = [Cell("─", "axis")] * scale.columns
    if not shot.line.calls:
        return row
    axis = Axis(format=lambda seconds: f"{seconds / unit.factor:.6g}")
    marks = list(ticks(Scale(0.0, scale.span), axis, scale.columns, along=True))
    for mark in marks:
        row[mark.cell] = Cell("┼", "axis")
    for mark in marks:
        _write(row, mark.start, mark.label, "name")
    return row


def _write(row: Row, start: int, text: str, role: str) -> None:
    for column, character in enumerate(text, start):
        before = row[column]
        under = before.role if role == "number" else ""
        row[column] = Cell(character, role, before.call, under)


def _with_name(rows: Sequence[Row], name: str) -> list[Row]:
    """The rows with the name of what they are at their left."""
    labels = [name, *[""] * len(rows)]
    return [
        [Cell(c, "name") if c != " " else BLANK for c in name.ljust(GUTTER)] + row
        for name, row in zip(labels, rows, strict=False)
    ]
