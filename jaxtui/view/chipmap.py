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

import msgspec
from msgspec.structs import replace

from jaxtui.format import plural, runs
from jaxtui.machine.topologies import SLICE_IDS
from jaxtui.model import Device
from jaxtui.model.machine import chip_count
from jaxtui.view import fleet
from jaxtui.view.text import Line, Span, words, wrap_spans

PROCESS_ROLES = 8
"""How many processes have a role of their own before the roles repeat."""

MOST_PROCESSES = 64
"""Of more the ids are not spelled out."""

CHOSEN = "*"
"""Behind the id of a device that is marked for the next run."""

ONE_ROW = 4
"""So many devices without coords stand side by side."""


class Mark(msgspec.Struct, frozen=True):
    """What is said of a device, beside its number."""

    text: str
    """One cell, or none."""
    word: str
    """What it means, for the legend; empty if the map has a legend of its own."""
    role: str
    figure: str = ""
    """What stands below the number where there is room."""


class Panel(msgspec.Struct, frozen=True):
    """The chips of one slice that have the same z."""

    title: str
    """Which slice and which z, where there are several."""
    columns: tuple[int, ...]
    """The x of each column."""
    rows: tuple[int, ...]
    """The y of each row."""
    chips: dict[tuple[int, int], tuple[Device, ...]]
    """By x and y: the devices of a chip in the order of their cores."""


class ChipMap(msgspec.Struct, frozen=True):
    devices: tuple[Device, ...]
    panels: tuple[Panel, ...]
    offsets: dict[int, int]
    """What to add to the drawn ids, by slice; empty when ids are drawn whole."""
    placed: bool = True
    """The devices have coords."""
    marks: Mapping[str, Mark] = msgspec.field(default_factory=dict)
    """Of devices by name, of some or of none."""
    legend: tuple[Line, ...] = ()
    """What the marks mean, where they have no words; each line is wrapped."""
    chosen: frozenset[str] = frozenset()
    """Devices that are marked for the next run."""

    processes: tuple[int, ...] = ()
    """Of all devices, ascending."""

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


class _Style(msgspec.Struct, frozen=True):
    """One way to draw; the later ones take less room."""

    gap: int
    """Blanks between chips."""
    spelled: bool
    """Whether each process is spelled out, and the counts are given."""
    describe: bool = True
    """Whether the selected device is described."""
    brackets: bool = True
    more: int = 0
    """Cells that a chip is wider than its numbers need."""
    dense: bool = False
    """Whether chips are tiles without numbers, and axes without heads."""
    tall: int = 1
    """Lines of a chip; its numbers stand in the middle one, figures below them."""


_TALLEST = 12
"""Lines of a chip where there is room for them."""

_ROOMY = (
    # Square, as a cell is twice as high as it is wide.
    *(_Style(2, True, more=2 * tall, tall=tall) for tall in range(_TALLEST, 2, -1)),
    _Style(1, True, more=4, tall=3),
    _Style(1, True, more=4, tall=2),
    _Style(1, True, more=2, tall=2),
    _Style(1, True, more=4),
    _Style(1, True, more=2),
)
"""Where a screen has more room than the map needs."""

_STYLES = (
    _Style(1, True),
    _Style(0, True),
    _Style(0, False),
    _Style(0, False, describe=False),
)
_DENSE = tuple(
    _Style(0, False, brackets=False, dense=True, more=more) for more in (1, 0)
)
"""For more chips than can be read, in colours alone."""

CROWDED = 64
"""More devices than this may be drawn without their numbers."""

_NARROW = _Style(1, False, describe=False, brackets=False)
"""For panels that are wider than the lines with brackets."""


def render(
    chipmap: ChipMap,
    width: int,
    height: int,
    selected: str | None = None,
    *,
    roomy: bool = False,
) -> list[Line]:
    """Draw the map in the roomiest style that fits.

    Args:
        chipmap: What to draw.
        width: Cells of a line; no line is longer.
        height: Lines that are there; more are returned where the map needs them, so
            that it can be scrolled.
        selected: The name of the device to highlight and to describe.
        roomy: Let chips grow with the room.
    """
    if not chipmap.devices:
        return [(Span("no devices"[:width], "muted"),)]
    figures = [len(mark.figure) for mark in chipmap.marks.values()]
    extent = _Extent(
        digits=max(len(chipmap.drawn(device)) for device in chipmap.devices),
        figures=max(figures, default=0),
        cores=max(
            len(chip) for panel in chipmap.panels for chip in panel.chips.values()
        ),
        # The style must not change while the selection moves.
        widest=max(len(where(device)) for device in chipmap.devices),
    )
    # Two lines are for figures alone.
    styles = [style for style in _ROOMY * roomy if extent.figures or style.tall != 2]
    dense = _DENSE * (roomy and len(chipmap.devices) > CROWDED)
    best, captions = None, dict[tuple[bool, bool], int]()
    for style in (*styles, *_STYLES, *dense):
        drawing = _Drawing(chipmap, extent, width, style, selected)
        # Words stand below in a few ways only.
        said = style.spelled, style.describe
        if said not in captions:
            captions[said] = drawing.captions
        lines = drawing.height(captions[said])
        if lines is not None and (lines <= height or style not in styles):
            best = drawing
        if lines is not None and lines <= height:
            break
    if best is None:
        best = _Drawing(chipmap, extent, width, _NARROW, selected)
    return best.lines() or best.boxes()


class _Extent(msgspec.Struct, frozen=True):
    """How much there is to write, whatever the style."""

    digits: int
    """Of the longest id, marks included."""
    figures: int
    """Cells of the longest figure."""
    cores: int
    """Devices of a chip."""
    widest: int
    """Cells of the longest description of a device."""


class _Drawing(msgspec.Struct, frozen=True):
    chipmap: ChipMap
    extent: _Extent
    width: int
    style: _Style
    selected: str | None

    @property
    def captions(self) -> int:
        """Lines of the words below the chips, whatever is selected."""
        lines = len(replace(self, selected=None)._captions())
        if self.selected is not None and self.style.describe:
            lines += -(-self.extent.widest // max(1, self.width))
        return lines

    def height(self, captions: int) -> int | None:
        """How many lines there are; ``None`` where a panel is wider than the lines."""
        widths = self._widths()
        if widths is None:
            return None
        rows, tall = len(self.chipmap.panels[0].rows), self.style.tall
        body = rows * tall + (rows - 1) * (tall > 2)
        body += any(panel.title for panel in self.chipmap.panels)
        body += self.chipmap.placed and not self.style.dense
        bands = list(_bands(widths, self.width - self._margin - 1))
        return len(bands) * body + captions

    @property
    def _cell(self) -> int:
        """Cells of a chip."""
        style, extent = self.style, self.extent
        digits = 0 if style.dense else extent.digits
        if style.tall > 1:
            digits = max(digits, extent.figures)
        if style.dense:
            return extent.cores * (1 + style.more)
        return extent.cores * (digits + 1) - 1 + 2 * style.brackets + style.more

    @property
    def _margin(self) -> int:
        if not self.chipmap.placed or self.style.dense:
            return 0
        return 2 + max(len(str(y)) for panel in self.chipmap.panels for y in panel.rows)

    def _widths(self) -> list[int] | None:
        """Of the panels; ``None`` where one is wider than the lines."""
        cell, gap = self._cell, self.style.gap
        widths = [
            max(len(panel.columns) * (cell + gap) - gap, len(panel.title))
            for panel in self.chipmap.panels
        ]
        return None if self._margin + 1 + max(widths) > self.width else widths

    def lines(self) -> list[Line] | None:
        """The whole drawing, or ``None`` when a panel is wider than the lines."""
        widths, panels = self._widths(), self.chipmap.panels
        if widths is None:
            return None
        margin, cell = self._margin, self._cell
        lines: list[Line] = []
        for band in _bands(widths, self.width - margin - 1):
            lines += self._band([(panels[i], widths[i]) for i in band], margin, cell)
        return lines + self._captions()

    def _band(
        self, panels: Sequence[tuple[Panel, int]], margin: int, cell: int
    ) -> list[Line]:
        """Panels side by side: titles, the x of the columns, then a row per y."""
        lines: list[Line] = []
        if any(panel.title for panel, _ in panels):
            titles = "  ".join(panel.title.ljust(room) for panel, room in panels)
            lines.append((Span(" " * (margin + 1) + titles.rstrip()),))
        gap = " " * self.style.gap
        heads = "  ".join(
            gap.join(str(x).center(cell) for x in panel.columns).ljust(room)
            for panel, room in panels
        )
        if self.chipmap.placed and not self.style.dense:
            lines.append((Span(f"{'x':>{margin}} {heads}".rstrip(), "muted"),))
        tall = self.style.tall
        for row, y in enumerate(panels[0][0].rows):
            if row and tall > 2:
                lines.append(())
            for part in range(tall):
                middle = part == (tall - 1) // 2
                name = ("y" if row == 0 else "").ljust(margin - len(str(y))) + str(y)
                name = name if middle and margin else ""
                spans = [Span(name.ljust(margin + 1), "muted")]
                for place, (panel, room) in enumerate(panels):
                    if place:
                        spans.append(Span("  "))
                    cells: list[Span] = []
                    for column, x in enumerate(panel.columns):
                        if column and gap:
                            cells.append(Span(gap))
                        chip = panel.chips.get((x, y), ())
                        cells += self._chip(chip, cell, part)
                    spans += [*cells, _blank(room, cells)]
                lines.append(tuple(spans))
        return lines

    def _chip(self, chip: tuple[Device, ...], width: int, part: int) -> list[Span]:
        """One line of ``[0]``, or of ``[0 1]`` for a chip with two devices; blank for
        none. The name stands in the middle, a figure below it.
        """
        brackets, spans = self.style.brackets, list[Span]()
        middle = (self.style.tall - 1) // 2
        if self.style.dense:
            text = " " * (width // self.extent.cores)
            return [self._device(text, device) for device in chip] + [
                _blank(width, [Span(text)] * len(chip))
            ]
        for core, device in enumerate(chip):
            room = (width - 2 * brackets - len(chip) + 1) // len(chip)
            mark = self.chipmap.marks.get(device.name)
            text = self.chipmap.drawn(device) if part == middle else ""
            if mark is not None and part == middle + 1:
                text = mark.figure
            text = text.center(room) if self.style.more else text.rjust(room)
            if brackets and core == 0:
                text = "[" + text
            if brackets and core == len(chip) - 1:
                text += "]"
            if core:
                spans.append(Span(" ", "muted"))
            spans.append(self._device(text, device))
        return [*spans, _blank(width, spans)]

    def _device(self, text: str, device: Device) -> Span:
        return Span(text, self.chipmap.role(device, self.selected), device.name)

    def boxes(self) -> list[Line]:
        """A row of boxes in the order of ids, wrapped."""
        placed = self.chipmap.placed
        reason = "too wide to draw by coords" if placed else "no coords"
        whole = replace(
            self,
            chipmap=replace(self.chipmap, panels=(), offsets={}),
            style=_STYLES[-1],
        )
        names = [whole.chipmap.drawn(device) for device in self.chipmap.devices]
        room = max(map(len, names))
        boxes = [
            whole._device(f"[{name:>{room}}]"[: self.width], device)
            for name, device in zip(names, self.chipmap.devices, strict=True)
        ]
        lines = wrap_spans(boxes, self.width, "")
        lines += wrap_spans(words(f"{reason}: drawn in id order"), self.width, " ")
        return lines + whole._captions()

    def _captions(self) -> list[Line]:
        """What the drawing cannot say: offsets, processes, counts, the selected device.

        The meaning of the marks comes first, each once.
        """
        chipmap, width, style = self.chipmap, self.width, self.style
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
        if not chipmap.placed and style.spelled:
            lines += wrap_spans(words("no coords: drawn in id order"), width, " ")
        offsets = [f"{index}: {offset}+" for index, offset in chipmap.offsets.items()]
        if offsets:
            text = "ids in slice " + ", ".join(offsets)
            lines += wrap_spans(words(text), width, " ")
        if 1 < len(chipmap.processes) <= MOST_PROCESSES:
            between = "  " if style.spelled else " "
            lines += wrap_spans(self._processes(), width, between)
        for device in chipmap.devices:
            if device.name == self.selected and style.describe:
                lines += wrap_spans(words(where(device)), width, " ")
        simulated = any(device.simulated for device in chipmap.devices)
        if style.spelled or simulated or not chipmap.placed:
            mark = [Span("SIMULATED", "simulated")] * simulated
            lines += wrap_spans([*mark, *words(summary(chipmap.devices))], width, " ")
        return lines

    def _processes(self) -> list[Span]:
        """Which ids belong to which process: ``process 0: 0-3, 8-11``."""
        chipmap, spelled, spans = self.chipmap, self.style.spelled, []
        by_process: dict[int, list[Device]] = {}
        for device in chipmap.devices:
            by_process.setdefault(device.process_index, []).append(device)
        for place, process in enumerate(chipmap.processes):
            members = by_process[process]
            numbers = runs([int(chipmap.short(device)) for device in members])
            if chipmap.offsets:
                slices = runs([*{device.slice_index or 0 for device in members}])
                numbers = f"{'slice ' if spelled else 's'}{slices} {numbers}"
            noun = "process " if spelled or place == 0 else ""
            end = "" if spelled or process == chipmap.processes[-1] else ";"
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
    """The counts in one phrase: ``8 chips, 1 process``; ``512 hosts, 4096 devices``."""
    if devices and (noun := fleet.NOUNS.get(devices[0].platform)):
        count = sum(map(fleet.size, devices))
        return f"{plural(len(devices), noun)}, {plural(count, 'device')}"
    parts = [plural(len(devices), "device")]
    if all(device.coords for device in devices):
        count = chip_count(devices)
        parts = [plural(count, "chip")] + parts * (count != len(devices))
    parts.append(plural(len({d.process_index for d in devices}), "process"))
    return ", ".join(parts)


def where(device: Device) -> str:
    """One device and its place: ``tpu:3 at 1,0,0 core 1, process 0``."""
    if device.platform in fleet.NOUNS:
        return f"{device.label}: {plural(fleet.size(device), 'device')}"
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
