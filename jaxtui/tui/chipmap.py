"""The chips drawn where they sit, as text: x to the right, y down, a panel per z.

Chips are told apart by their slice and ``coords``; a chip of a TPU v2, v3 or 7x holds
two devices, one per core. Nothing here knows about Textual: a line is a row of spans,
whose roles a widget turns into colours (``chip``, ``selected``, ``process-0`` to
``process-7``, ``muted``, ``label``, ``simulated``, and those of the marks of a health
check, each also with ``-selected``) and whose devices into clicks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxtui.format import runs
from jaxtui.tui.chiplayout import (
    Chip,
    ChipMap,
    Mark,
    Panel,
    layout,
    process_role,
)
from jaxtui.tui.chipwords import explain, summary, where
from jaxtui.view.text import Line, Span, device_at, plain, words, wrap_spans

__all__ = [
    "ChipMap",
    "Line",
    "Mark",
    "Panel",
    "Span",
    "device_at",
    "explain",
    "layout",
    "plain",
    "process_role",
    "render",
]


@dataclass(frozen=True, slots=True)
class _Style:
    """One way to draw; the later ones take less room."""

    gap: int
    """Blanks between chips."""
    spelled: bool
    """Whether each process is spelled out, and the counts are given."""
    describe: bool = True
    """Whether the selected device is described."""
    brackets: bool = True


_STYLES = (
    _Style(1, True),
    _Style(0, True),
    _Style(0, False),
    _Style(0, False, describe=False),
)
_NARROW = _Style(1, False, describe=False, brackets=False)
"""For panels that are wider than the lines with brackets."""


def render(
    chipmap: ChipMap, width: int, height: int, selected: str | None = None
) -> list[Line]:
    """Draw the map in the roomiest style that fits.

    Args:
        chipmap: What to draw.
        width: Cells of a line; no line is longer.
        height: Lines that are there; more are returned where the map needs them, so
            that it can be scrolled.
        selected: The name of the device to highlight and to describe.
    """
    if not chipmap.devices:
        return [(Span("no devices"[:width], "muted"),)]
    # The style must not change while the selection moves: the wordiest device counts.
    wordiest = max(chipmap.devices, key=lambda device: len(where(device))).name
    styles = []
    for style in _STYLES:
        lines = _drawing(chipmap, width, style, selected and wordiest)
        if lines is not None:
            styles.append(style)
            if len(lines) <= height:
                break
    style = styles[-1] if styles else _NARROW
    reason = "too wide to draw by coords"
    return _drawing(chipmap, width, style, selected) or _boxes(
        chipmap, width, selected, reason
    )


def _drawing(
    chipmap: ChipMap, width: int, style: _Style, selected: str | None
) -> list[Line] | None:
    """The whole drawing, or ``None`` when a panel is wider than the lines."""
    if not chipmap.panels:
        return _boxes(chipmap, width, selected, "no coords")
    cell = _cell_width(chipmap, style)
    margin = 2 + max(len(str(y)) for panel in chipmap.panels for y in panel.rows)
    widths = [
        max(len(panel.columns) * (cell + style.gap) - style.gap, len(panel.title))
        for panel in chipmap.panels
    ]
    if margin + 1 + max(widths) > width:
        return None
    lines: list[Line] = []
    for band in _bands(widths, width - margin - 1):
        panels = [chipmap.panels[index] for index in band]
        rooms = [widths[index] for index in band]
        lines += _band(chipmap, panels, rooms, margin, style, cell, selected)
    return lines + _captions(chipmap, width, style, selected)


def _cell_width(chipmap: ChipMap, style: _Style) -> int:
    digits = max(len(chipmap.drawn(device)) for device in chipmap.devices)
    cores = max(len(chip) for panel in chipmap.panels for chip in panel.chips.values())
    return cores * (digits + 1) - 1 + 2 * style.brackets


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


def _band(
    chipmap: ChipMap,
    panels: Sequence[Panel],
    rooms: Sequence[int],
    margin: int,
    style: _Style,
    cell: int,
    selected: str | None,
) -> list[Line]:
    """Panels side by side: titles, the x of the columns, then a row per y."""
    lines: list[Line] = []
    if any(panel.title for panel in panels):
        titles = (p.title.ljust(room) for p, room in zip(panels, rooms, strict=True))
        lines.append((Span(" " * (margin + 1) + "  ".join(titles).rstrip()),))
    heads = [
        (" " * style.gap).join(str(x).center(cell) for x in panel.columns).ljust(room)
        for panel, room in zip(panels, rooms, strict=True)
    ]
    label = "x".rjust(margin) + " "
    lines.append((Span((label + "  ".join(heads)).rstrip(), "muted"),))
    for row, y in enumerate(panels[0].rows):
        name = ("y" if row == 0 else "").ljust(margin - len(str(y))) + str(y) + " "
        spans = [Span(name, "muted")]
        for place, (panel, room) in enumerate(zip(panels, rooms, strict=True)):
            if place:
                spans.append(Span("  "))
            spans += _row(chipmap, panel, y, room, style, cell, selected)
        lines.append(tuple(spans))
    return lines


def _row(
    chipmap: ChipMap,
    panel: Panel,
    y: int,
    room: int,
    style: _Style,
    cell: int,
    selected: str | None,
) -> list[Span]:
    spans: list[Span] = []
    for column, x in enumerate(panel.columns):
        if column and style.gap:
            spans.append(Span(" " * style.gap))
        chip = panel.chips.get((x, y))
        spans += _chip(chipmap, chip, cell, style, selected) if chip else [_blank(cell)]
    return [*spans, _blank(room - sum(len(span.text) for span in spans))]


def _blank(width: int) -> Span:
    return Span(" " * width)


def _chip(
    chipmap: ChipMap, chip: Chip, width: int, style: _Style, selected: str | None
) -> list[Span]:
    """``[0]``, or ``[0 1]`` for a chip with two devices."""
    edges = 2 * style.brackets
    room = (width - edges - len(chip) + 1) // len(chip)
    spans: list[Span] = []
    for core, device in enumerate(chip):
        text = chipmap.drawn(device).rjust(room)
        role = chipmap.role(device, selected)
        if style.brackets and core == 0:
            text = "[" + text
        if style.brackets and core == len(chip) - 1:
            text += "]"
        if core:
            spans.append(Span(" ", "muted"))
        spans.append(Span(text, role, device.name))
    return [*spans, _blank(width - sum(len(span.text) for span in spans))]


def _boxes(
    chipmap: ChipMap, width: int, selected: str | None, reason: str
) -> list[Line]:
    """A row of boxes in the order of ids, wrapped."""
    whole = replace(chipmap, panels=(), offsets={})
    room = max(len(whole.drawn(device)) for device in whole.devices)
    boxes = [
        Span(
            f"[{whole.drawn(device):>{room}}]"[:width],
            chipmap.role(device, selected),
            device.name,
        )
        for device in chipmap.devices
    ]
    lines = wrap_spans(boxes, width, "")
    lines += wrap_spans(words(f"{reason}: drawn in id order"), width, " ")
    return lines + _captions(whole, width, _STYLES[-1], selected)


def _captions(
    chipmap: ChipMap, width: int, style: _Style, selected: str | None
) -> list[Line]:
    """What the drawing cannot say: offsets, processes, counts, the selected device."""
    lines = wrap_spans(_legend(chipmap), width, "  ")
    offsets = [f"{index}: {offset}+" for index, offset in chipmap.offsets.items()]
    if offsets:
        lines += wrap_spans(words("ids in slice " + ", ".join(offsets)), width, " ")
    if len(chipmap.processes) > 1:
        lines += wrap_spans(
            _processes(chipmap, style), width, "  " if style.spelled else " "
        )
    chosen = [d for d in chipmap.devices if d.name == selected and style.describe]
    lines += [line for d in chosen for line in wrap_spans(words(where(d)), width, " ")]
    simulated = any(device.simulated for device in chipmap.devices)
    if style.spelled or simulated or not chipmap.panels:
        mark = [Span("SIMULATED", "simulated")] * simulated
        lines += wrap_spans([*mark, *words(summary(chipmap.devices))], width, " ")
    return lines


def _legend(chipmap: ChipMap) -> list[Span]:
    """What the marks mean, each once, in the order of the devices."""
    marks = dict.fromkeys(chipmap.marks.values())
    return [Span(f"{mark.text} {mark.word}", mark.role) for mark in marks]


def _processes(chipmap: ChipMap, style: _Style) -> list[Span]:
    """Which ids belong to which process: ``process 0: 0-3, 8-11``."""
    spans = []
    for place, process in enumerate(chipmap.processes):
        members = [d for d in chipmap.devices if d.process_index == process]
        numbers = runs([int(chipmap.short(device)) for device in members])
        if chipmap.offsets:
            slices = runs([*{device.slice_index or 0 for device in members}])
            numbers = (
                f"slice {slices} {numbers}" if style.spelled else f"s{slices} {numbers}"
            )
        noun = "process " if style.spelled or place == 0 else ""
        last = style.spelled or process == chipmap.processes[-1]
        end = "" if last else ";"
        # Where colours tell verdicts they do not tell processes.
        role = "muted" if chipmap.marks else process_role(place)
        spans.append(Span(f"{noun}{process}: {numbers}{end}", role))
    return spans
