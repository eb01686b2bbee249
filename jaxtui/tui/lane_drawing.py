"""The lanes as cells: bars in rows, the two clocks as spans, a time axis below.

Pure: a drawing is rows of cells, whose roles a widget turns into colours and whose
calls into clicks. Calls take turns in the rows of a lane and have two shades, so that
neighbours can be told apart; a call too short for a cell keeps one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxtui import format as fmt
from jaxtui.plot.axes import Axis, Scale, ticks
from jaxtui.tui.lanes import Bar, Kind, Timeline, Window

MOST_ROWS = 8
"""Rows of a lane; more would pull a loop's calls apart."""

GUTTER = 9
"""Cells at the left for the names of the lanes, ``measured`` and a blank."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One character, what it is, and the call that it belongs to."""

    text: str = " "
    role: str = "blank"
    """``host-0`` and ``host-1`` by turns, ``wait``, ``device-0`` and ``device-1``,
    ``selected``, ``number``, ``clock``, ``work``, ``cursor``, ``axis`` or ``name``."""
    call: int | None = None


BLANK = Cell()

Row = list[Cell]


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of a drawing."""

    shades: tuple[str, str] = ("▓", "▒")
    """Of neighbouring calls."""
    selected: str = "█"
    wait: str = "─"
    waited: str = "═"
    """Waiting for the selected call."""
    ends: tuple[str, str] = ("├", "┤")
    line: str = "─"
    tick: str = "┬"
    cursor: str = "│"


BLOCKS = Glyphs()
SOLID = Glyphs(shades=("█", "█"))
"""Where colours tell neighbours apart."""


@dataclass(frozen=True, slots=True)
class Shot:
    """What of a loop is drawn."""

    line: Timeline
    window: Window
    selected: int = 0
    until: float | None = None
    """Nothing later than this time; ``None`` for all."""
    count: int | None = None
    """Only so many calls; ``None`` for all."""
    complete: bool = True
    """The loop has ended, so that its clocks can be drawn."""
    inline: bool = False
    """The calls computed before they returned."""

    def bars(self, bars: Sequence[Bar]) -> Iterator[Bar]:
        """Those that are drawn, cut off where the drawing ends; the selected last."""
        chosen: list[Bar] = []
        for bar in bars:
            if self.count is not None and bar.call >= self.count:
                continue
            if self.until is not None:
                if bar.start > self.until:
                    continue
                if bar.end > self.until:
                    bar = replace(bar, end=self.until)
            if not self.window.shows(bar):
                continue
            if bar.call == self.selected:
                chosen.append(bar)
            else:
                yield bar
        yield from chosen


@dataclass(frozen=True, slots=True)
class Layout:
    """How many rows each part has."""

    host: int
    device: int
    clocks: bool
    """Whether the stopwatch and the work are drawn as spans."""
    axis: int

    @property
    def rows(self) -> int:
        """All of them."""
        return self.host + self.device + 2 * self.clocks + self.axis


def layout(height: int) -> Layout:
    """Share the rows out; at least one for each lane and one for the axis."""
    axis = 2 if height >= 6 else 1
    clocks = height >= 8
    room = max(2, height - axis - 2 * clocks)
    host = min(room // 2, MOST_ROWS)
    return Layout(host, min(room - host, MOST_ROWS), clocks, axis)


def draw(shot: Shot, width: int, height: int, glyphs: Glyphs = BLOCKS) -> list[Row]:
    """Draw both lanes.

    Args:
        shot: what is drawn.
        width: cells of every row.
        height: number of rows; below three, only some parts are in view.
        glyphs: the characters.

    Returns:
        ``height`` rows of ``width`` cells.
    """
    columns = width - GUTTER
    if height < 1 or width < 1:
        return []
    if columns < 1:
        return [[BLANK] * width for _ in range(height)]
    plan = layout(height)
    scale = _Scale(shot.window, columns)
    host = _lane(shot.line.host, plan.host, shot, scale, glyphs)
    device = _lane(shot.line.device, plan.device, shot, scale, glyphs)
    _cursor((*host, *device), shot, scale, glyphs)
    source = "measured" if shot.line.measured else "inferred"
    names = ("device", "inline" if shot.inline else source)
    rows = _named(host, "host")
    if plan.clocks:
        text = f"stopwatch {fmt.seconds(shot.line.through)}"
        clock = _clock(shot.line.through, text, "clock", shot, scale, glyphs)
        rows += _named([clock], "")
    rows += _named(device, *names)
    if plan.clocks:
        text = f"work {fmt.seconds(shot.line.total)}"
        work = _clock(shot.line.total, text, "work", shot, scale, glyphs)
        rows += _named([work], "")
    rows += _named(_axis(shot.window, columns, plan.axis, glyphs), "")
    rows += [[BLANK] * width for _ in range(height - len(rows))]
    return rows[:height]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Which column shows a time."""

    window: Window
    columns: int

    def place(self, time: float) -> float:
        """Columns from the left end, kept just outside where it is out of view."""
        share = (time - self.window.start) / self.window.span
        return max(-1.0, min(share, 2.0)) * self.columns

    def cells(self, start: float, end: float) -> range:
        """The columns of a stretch that is in view: at least one."""
        last = self.columns - 1
        first = max(0, min(math.floor(self.place(start)), last))
        stop = min(round(self.place(end)), self.columns)
        return range(first, max(stop, first + 1))


def _lane(
    bars: Sequence[Bar], count: int, shot: Shot, scale: _Scale, glyphs: Glyphs
) -> list[Row]:
    rows = [[BLANK] * scale.columns for _ in range(count)]
    drawn: list[tuple[Bar, range]] = []
    for bar in shot.bars(bars):
        cells = scale.cells(bar.start, bar.end)
        cell = _cell(bar, shot.selected, glyphs)
        row = rows[bar.call % count]
        for column in cells:
            # A wait shorter than a cell must not hide the call.
            if bar.kind != "wait" or row[column].call != bar.call:
                row[column] = cell
        if bar.kind != "wait":
            drawn.append((bar, cells))
    shared = Counter((bar.call % count, x) for bar, cells in drawn for x in cells)
    for bar, cells in drawn:
        place = bar.call % count
        # Several calls in one cell: the number of one of them would be a riddle.
        if all(shared[place, column] == 1 for column in cells):
            _number(rows[place], bar.call, cells)
    return rows


def _cell(bar: Bar, selected: int, glyphs: Glyphs) -> Cell:
    chosen, odd = bar.call == selected, bar.call % 2
    if bar.kind == "wait":
        text = glyphs.waited if chosen else glyphs.wait
        return Cell(text, "selected" if chosen else "wait", bar.call)
    if chosen:
        return Cell(glyphs.selected, "selected", bar.call)
    return Cell(glyphs.shades[odd], f"{_LANES[bar.kind]}-{odd}", bar.call)


_LANES: dict[Kind, str] = {"dispatch": "host", "compute": "device"}


def _number(row: Row, call: int, cells: range) -> None:
    """Write the call's number into its bar, or behind it where that is free."""
    text = str(call + 1)
    if len(cells) >= len(text) + 4:
        start = cells.start + (len(cells) - len(text)) // 2
    else:
        start = cells.stop
        while start < len(row) and row[start].call == call:
            start += 1
        behind = row[start : start + len(text) + 1]
        if len(behind) <= len(text) or any(cell is not BLANK for cell in behind):
            return
    for column, character in enumerate(text, start):
        row[column] = Cell(character, "number", call)


def _cursor(rows: Sequence[Row], shot: Shot, scale: _Scale, glyphs: Glyphs) -> None:
    if shot.until is None or not shot.window.start <= shot.until <= shot.window.end:
        return
    column = scale.cells(shot.until, shot.until).start
    for row in rows:
        if row[column] is BLANK:
            row[column] = Cell(glyphs.cursor, "cursor")


def _clock(
    end: float, text: str, role: str, shot: Shot, scale: _Scale, glyphs: Glyphs
) -> Row:
    """A line from the first call to where a clock stops, with what it then reads."""
    row = [BLANK] * scale.columns
    over = shot.until is None or shot.until >= end
    until = end if shot.until is None else min(end, shot.until)
    if not shot.complete or shot.count is not None or until < shot.window.start:
        return row
    cells = scale.cells(0.0, until)
    for column in cells:
        row[column] = Cell(glyphs.line, role)
    if shot.window.start <= 0:
        row[cells.start] = Cell(glyphs.ends[0], role)
    if over and end <= shot.window.end:
        row[cells.stop - 1] = Cell(glyphs.ends[1], role)
    if over:
        _caption(row, f" {text} ", cells, role)
    return row


def _caption(row: Row, text: str, cells: range, role: str) -> None:
    """Into the line, or else behind it."""
    if len(cells) >= len(text) + 4:
        start = cells.start + (len(cells) - len(text)) // 2
    elif cells.stop + len(text) <= len(row):
        start = cells.stop
    else:
        return
    for column, character in enumerate(text, start):
        row[column] = Cell(character, role)


def _axis(window: Window, columns: int, count: int, glyphs: Glyphs) -> list[Row]:
    """The rule, where there is room for it, and the labels of round times."""
    rule = [Cell(glyphs.line, "axis")] * columns
    labels = [BLANK] * columns
    scale = Scale(window.start, window.end)
    axis = Axis(format=lambda value: tick(value, window))
    for mark in ticks(scale, axis, columns, along=True):
        rule[mark.cell] = Cell(glyphs.tick, "axis")
        for column, character in enumerate(mark.label, mark.start):
            labels[column] = Cell(character, "axis")
    return [rule, labels][-count:]


_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def tick(seconds: float, window: Window) -> str:
    """A time on the axis, with the digits that a close-up needs: ``100.12ms``."""
    if abs(seconds) < 1e-3 * window.span:
        return "0"
    unit, name = next((one for one in _UNITS if window.end >= one[0]), (1e-9, "ns"))
    decimals = max(0, min(9, math.ceil(-math.log10(window.span / 10 / unit))))
    text = f"{seconds / unit:.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + name


def _named(rows: Sequence[Row], *names: str) -> list[Row]:
    """The rows with the names of what they are at their left."""
    wanted = [*names, *[""] * len(rows)]
    return [
        [Cell(one, "name") if one != " " else BLANK for one in name.ljust(GUTTER)] + row
        for name, row in zip(wanted, rows, strict=False)
    ]
