"""The chips drawn where they sit, as text: x to the right, y down, a panel per z.

Chips are told apart by their slice and ``coords``; a chip of a TPU v2, v3 or 7x holds
two devices, one per core. Devices without coords stand in a grid in the order of their
ids. The roles of the spans are ``chip``, ``selected``, ``process-0`` to ``process-7``,
``muted``, ``label``, ``simulated``, and those of marks, each also with ``-selected``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from jaxtui.core.format import plural, runs
from jaxtui.core.model import Device
from jaxtui.core.model.machine import chip_count
from jaxtui.machine.topologies import SLICE_IDS
from jaxtui.ui.text import Line, Span, wrap_spans

PROCESS_ROLES = 8
"""The number of processes before the roles repeat."""

CHOSEN = "*"
"""Behind the id of a device that is marked for the next run."""

ONE_ROW = 4
"""The devices without coords that stand side by side."""


class Mark(msgspec.Struct, frozen=True):
    """A mark on a device, next to its number."""

    text: str
    """The text, one cell or none."""
    word: str
    """The meaning in the legend; empty if the map has a legend of its own."""
    role: str
    figure: str = ""
    """The figure below the number where there is room."""


class Panel(msgspec.Struct, frozen=True):
    """The chips of one slice that have the same z."""

    title: str
    """The slice and the z, where there are several."""
    columns: tuple[int, ...]
    """The x of each column."""
    rows: tuple[int, ...]
    """The y of each row."""
    chips: dict[tuple[int, int], tuple[Device, ...]]
    """The devices of a chip in the order of their cores, by x and y."""


class ChipMap(msgspec.Struct, frozen=True):
    devices: tuple[Device, ...]
    panels: tuple[Panel, ...]
    offsets: dict[int, int]
    """The number to add to the drawn ids, by slice; empty when ids are drawn whole."""
    placed: bool = True
    """The devices have coords."""
    marks: Mapping[str, Mark] = msgspec.field(default_factory=dict)
    """Marks by device name, for some devices or none."""
    legend: tuple[Line, ...] = ()
    """The legend of marks that have no words; each line is wrapped."""
    chosen: frozenset[str] = frozenset()
    """Devices that are marked for the next run."""

    processes: tuple[int, ...] = ()
    """The processes of all devices, ascending."""

    def short(self, device: Device) -> str:
        return str(device.id - self.offsets.get(device.slice_index or 0, 0))

    def drawn(self, device: Device) -> str:
        """The id with its mark, if there are marks."""
        mark = self.marks.get(device.name)
        text = self.short(device) + (mark.text if mark else "")
        return text + CHOSEN * (device.name in self.chosen)

    def role(self, device: Device, selected: str | None) -> str:
        if (mark := self.marks.get(device.name)) is not None:
            return f"{mark.role}{'-selected' * (device.name == selected)}"
        if device.name == selected:
            return "selected"
        if self.marks:
            return "muted"
        if len(self.processes) == 1:
            return "chip"
        return process_role(bisect_left(self.processes, device.process_index))


def process_role(place: int) -> str:
    """The role of a process, by its place among all."""
    return f"process-{place % PROCESS_ROLES}"


def layout(devices: Sequence[Device]) -> ChipMap:
    ordered = tuple(sorted(devices, key=lambda device: device.id))
    processes = tuple(sorted({device.process_index for device in ordered}))
    if not ordered or any(not device.coords for device in ordered):
        return ChipMap(ordered, _grid(ordered), {}, placed=False, processes=processes)
    slices: dict[int, list[Device]] = {}
    for device in ordered:
        slices.setdefault(device.slice_index or 0, []).append(device)
    panels, offsets = [], {}
    for index, members in sorted(slices.items()):
        if len(slices) > 1:
            offsets[index] = members[0].id // SLICE_IDS * SLICE_IDS
        planes: dict[int, dict[tuple[int, int], tuple[Device, ...]]] = {}
        for device in sorted(members, key=lambda d: (d.core_on_chip or 0, d.id)):
            x, y, z = device.place
            chips = planes.setdefault(z, {})
            chips[x, y] = (*chips.get((x, y), ()), device)
        columns = tuple(sorted({x for chips in planes.values() for x, _ in chips}))
        rows = tuple(sorted({y for chips in planes.values() for _, y in chips}))
        for z, chips in sorted(planes.items()):
            title = [f"slice {index}"] * (len(slices) > 1)
            title += [f"z={z}"] * (len(planes) > 1)
            panels.append(Panel(" ".join(title), columns, rows, chips))
    return ChipMap(ordered, tuple(panels), offsets, processes=processes)


def _grid(devices: Sequence[Device]) -> tuple[Panel, ...]:
    """Rows of one length if that is possible, wider than high."""
    count = len(devices)
    if not count:
        return ()
    side = math.isqrt(count - 1) + 1
    across = count if count <= ONE_ROW else side
    across = next((n for n in range(across, 2 * side) if count % n == 0), across)
    chips: dict[tuple[int, int], tuple[Device, ...]] = {
        (at % across, at // across): (device,) for at, device in enumerate(devices)
    }
    down = -(-count // across)
    return (Panel("", tuple(range(across)), tuple(range(down)), chips),)


Style = Literal["large", "small", "dots"]
"""A chip with its ids above its figures, its ids in brackets, or its colour alone."""

_GAPS: dict[Style, int] = {"large": 2, "small": 1, "dots": 1}
"""Blanks between chips."""

_PADDING = 4
"""Cells that a large chip is wider than its text."""

CROWDED = 64
"""The largest number of devices with ids; more are drawn as dots."""

DOT = "▆"
"""Leaves a line between a chip and that below it."""


def render(
    chipmap: ChipMap,
    width: int,
    height: int,
    selected: str | None = None,
    *,
    roomy: bool = False,
) -> list[Line]:
    """Draw the map.

    Args:
        chipmap: What to draw.
        width: Cells of a line; no line is longer.
        height: Lines that are there; more are returned where the map needs them, so
            that it can be scrolled.
        selected: The name of the device to highlight and to describe.
        roomy: Draw large chips where there is room for them.
    """
    if not chipmap.devices:
        return [(Span("no devices"[:width], "muted"),)]
    captions = _captions(chipmap, width, selected)
    crowded = len(chipmap.devices) > CROWDED
    if roomy and not crowded:
        lines = _Drawing(chipmap, width, "large", selected).lines()
        # The style must not change while the selection moves.
        widest = max(len(where(device)) for device in chipmap.devices)
        below = len(_captions(chipmap, width, None)) - (-widest // max(1, width))
        if lines is not None and len(lines) + below <= height:
            return lines + captions
    drawing = _Drawing(chipmap, width, "dots" if crowded else "small", selected)
    lines = drawing.lines()
    return (drawing.boxes() if lines is None else lines) + captions


class _Drawing(msgspec.Struct, frozen=True):
    chipmap: ChipMap
    width: int
    style: Style
    selected: str | None

    @property
    def _cores(self) -> int:
        """Devices of a chip."""
        panels = self.chipmap.panels
        return max(len(chip) for panel in panels for chip in panel.chips.values())

    @property
    def _cell(self) -> int:
        """Cells of a chip."""
        cores = self._cores
        if self.style == "dots":
            return cores
        texts = [len(self.chipmap.drawn(device)) for device in self.chipmap.devices]
        if self.style == "small":
            return cores * (max(texts) + 1) + 1
        texts += [len(mark.figure) for mark in self.chipmap.marks.values()]
        return cores * (max(texts) + 1) + 1 + _PADDING

    @property
    def _margin(self) -> int:
        """Cells of the names of rows."""
        if not self.chipmap.placed or self.style == "dots":
            return 0
        return 2 + max(len(str(y)) for panel in self.chipmap.panels for y in panel.rows)

    def lines(self) -> list[Line] | None:
        """The panels, or ``None`` when one of them is wider than the lines."""
        panels, margin, cell = self.chipmap.panels, self._margin, self._cell
        gap = _GAPS[self.style]
        widths = [
            max(len(panel.columns) * (cell + gap) - gap, len(panel.title))
            for panel in panels
        ]
        room = self.width - margin - 1
        if max(widths) > room:
            return None
        lines: list[Line] = []
        for band in _bands(widths, room):
            lines += self._band([(panels[i], widths[i]) for i in band], margin, cell)
        return lines

    def _band(
        self, panels: Sequence[tuple[Panel, int]], margin: int, cell: int
    ) -> list[Line]:
        """Panels side by side: titles, the x of the columns, then a row per y."""
        lines: list[Line] = []
        if any(panel.title for panel, _ in panels):
            titles = "  ".join(panel.title.ljust(room) for panel, room in panels)
            lines.append((Span(" " * (margin + 1) + titles.rstrip()),))
        gap = " " * _GAPS[self.style]
        if margin:
            heads = "  ".join(
                gap.join(str(x).center(cell) for x in panel.columns).ljust(room)
                for panel, room in panels
            )
            lines.append((Span(f"{'x':>{margin}} {heads}".rstrip(), "muted"),))
        tall = 2 if self.style == "large" else 1
        for row, y in enumerate(panels[0][0].rows):
            if row and tall > 1:
                lines.append(())
            for part in range(tall):
                name = ("y" if row == 0 else "").ljust(margin - len(str(y))) + str(y)
                name = name if part == 0 and margin else ""
                spans = [Span(name.ljust(margin + 1), "muted")]
                for place, (panel, room) in enumerate(panels):
                    if place:
                        spans.append(Span("  "))
                    cells: list[Span] = []
                    for column, x in enumerate(panel.columns):
                        if column:
                            cells.append(Span(gap))
                        chip = panel.chips.get((x, y), ())
                        cells += self._chip(chip, cell, part)
                    spans += [*cells, _blank(room, cells)]
                lines.append(tuple(spans))
        return lines

    def _chip(self, chip: tuple[Device, ...], width: int, part: int) -> list[Span]:
        """Draw a line of ``[0]``, or of ``[0 1]`` for a chip with two devices; blank
        for none. A large one has a second line for figures.
        """
        spans = list[Span]()
        if self.style == "dots":
            spans += [self._device(DOT, device) for device in chip]
            return [*spans, _blank(width, spans)]
        large = self.style == "large"
        for core, device in enumerate(chip):
            room = (width - 1 - len(chip)) // len(chip)
            mark = self.chipmap.marks.get(device.name)
            text = self.chipmap.drawn(device) if part == 0 else ""
            if mark is not None and part == 1:
                text = mark.figure
            text = text.center(room) if large else text.rjust(room)
            if core == 0:
                text = "[" + text
            if core == len(chip) - 1:
                text += "]"
            if core:
                spans.append(Span(" ", "muted"))
            spans.append(self._device(text, device))
        return [*spans, _blank(width, spans)]

    def _device(self, text: str, device: Device) -> Span:
        return Span(text, self.chipmap.role(device, self.selected), device.name)

    def boxes(self) -> list[Line]:
        """A row of boxes, or of dots, in the order of ids, wrapped."""
        if self.style == "dots":
            dots = [self._device(DOT, device) for device in self.chipmap.devices]
            return wrap_spans(dots, self.width, " ")
        whole = replace(self.chipmap, offsets={})
        names = [whole.drawn(device) for device in whole.devices]
        room = max(map(len, names))
        boxes = [
            self._device(f"[{name:>{room}}]"[: self.width], device)
            for name, device in zip(names, whole.devices, strict=True)
        ]
        lines = wrap_spans(boxes, self.width, "")
        if self.chipmap.placed:
            note = [Span("too wide to draw by coords: drawn in id order", "muted")]
            lines += wrap_spans(note, self.width, " ")
        return lines


def _captions(chipmap: ChipMap, width: int, selected: str | None) -> list[Line]:
    """Write what the drawing cannot show: offsets, processes, the selected device.

    The meaning of the marks comes first, each once.
    """
    marks = dict.fromkeys(
        (mark.text, mark.word, mark.role)
        for mark in chipmap.marks.values()
        if mark.word
    )
    legend = [Span(f"{text} {word}", role) for text, word, role in marks]
    lines = wrap_spans(legend, width, "  ")
    for line in chipmap.legend:
        # Colours stand together, words apart.
        between = " " if line[0].role.startswith("check") else ""
        lines += wrap_spans(line, width, between)
    if not chipmap.placed:
        lines += wrap_spans([Span("no coords: drawn in id order", "muted")], width, " ")
    offsets = [f"{index}: {offset}+" for index, offset in chipmap.offsets.items()]
    if offsets:
        text = "ids in slice " + ", ".join(offsets)
        lines += wrap_spans([Span(text, "muted")], width, " ")
    if len(chipmap.processes) > 1:
        lines += wrap_spans(_processes(chipmap), width, " ")
    for device in chipmap.devices:
        if device.name == selected:
            lines += wrap_spans([Span(where(device), "muted")], width, " ")
    if any(device.simulated for device in chipmap.devices):
        mark = Span("SIMULATED", "simulated")
        words = summary(chipmap.devices).split(" ")
        parts = [mark, *(Span(word, "muted") for word in words)]
        lines += wrap_spans(parts, width, " ")
    return lines


def _processes(chipmap: ChipMap) -> list[Span]:
    """Write the ids of each process: ``process 0: 0-3, 8-11; 1: 4-7``."""
    spans = []
    by_process: dict[int, list[Device]] = {}
    for device in chipmap.devices:
        by_process.setdefault(device.process_index, []).append(device)
    for place, process in enumerate(chipmap.processes):
        members = by_process[process]
        numbers = runs([int(chipmap.short(device)) for device in members])
        if chipmap.offsets:
            slices = runs([*{device.slice_index or 0 for device in members}])
            numbers = f"s{slices} {numbers}"
        noun = "process " if place == 0 else ""
        end = "" if process == chipmap.processes[-1] else ";"
        # Where colours tell verdicts they do not tell processes.
        role = "muted" if chipmap.marks else process_role(place)
        spans.append(Span(f"{noun}{process}: {numbers}{end}", role))
    return spans


def _bands(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Panels side by side, as many as fit, two blanks apart."""
    band: list[int] = []
    used = 0
    for index, width in enumerate(widths):
        if band and used + 2 + width > room:
            yield band
            band, used = [], 0
        used += width + 2 * bool(band)
        band.append(index)
    yield band


def _blank(width: int, used: Sequence[Span]) -> Span:
    return Span(" " * (width - sum(len(span.text) for span in used)))


def summary(devices: Sequence[Device]) -> str:
    """The counts in one phrase: ``8 chips, 1 process``."""
    parts = [plural(len(devices), "device")]
    if all(device.coords for device in devices):
        count = chip_count(devices)
        parts = [plural(count, "chip")] + parts * (count != len(devices))
    parts.append(plural(len({d.process_index for d in devices}), "process"))
    return ", ".join(parts)


def where(device: Device) -> str:
    """Write a device and its place: ``tpu:3 at 1,0,0 core 1, process 0``."""
    slices = "" if device.slice_index is None else f", slice {device.slice_index}"
    return f"{device.label}{slices}, process {device.process_index}"


def neighbour(lines: Sequence[Line], name: str, across: int, down: int) -> str:
    """The device that is drawn next in a direction; the same one at an edge.

    ``across`` is 1 to the right, ``down`` is 1 down.
    """
    spots: dict[str, tuple[int, float]] = {}
    for y, line in enumerate(lines):
        x = 0
        for span in line:
            if span.device is not None:
                spots[span.device] = (y, x + len(span.text) / 2)
            x += len(span.text)
    if name not in spots:
        return name
    row, column = spots[name]
    if across:
        ahead = [
            ((x - column) * across, 0.0, other)
            for other, (y, x) in spots.items()
            if y == row and (x - column) * across > 0
        ]
    else:
        ahead = [
            ((y - row) * down, abs(x - column), other)
            for other, (y, x) in spots.items()
            if (y - row) * down > 0
        ]
    return min(ahead)[2] if ahead else name
