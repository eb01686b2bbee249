"""Links: a heat map of the pairs of devices beside the chip map, one pair in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.coordinate import Coordinate
from textual.reactive import reactive
from textual.widgets import DataTable

from jaxtui.core import format as fmt
from jaxtui.core.model import Experiment
from jaxtui.features.links.judge import choose, why_none
from jaxtui.features.links.messages import LINK_BYTES, experiment
from jaxtui.features.links.report import (
    FIGURES,
    OUTCOME,
    Figure,
    Heat,
    headline,
    taking_part,
)
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.modal import modal_keys
from jaxtui.ui.chipmap import Mark
from jaxtui.ui.report import Report
from jaxtui.ui.screen import ReportScreen
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.text import Span
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceMoved
from jaxtui.ui.widgets.panel import Hint, Panel, ScrollPanel, hint

SIZES = tuple(2**power for power in range(12, 31, 2))
"""Bytes of the large copy that the keys go through: 4 KiB to 1 GiB."""


class LinksScreen(ReportScreen):
    """Times the links when it opens, unless they are known."""

    HELP = "On the links"
    PURPOSE = "links"
    OUTCOME = OUTCOME

    BINDINGS: ClassVar[list[BindingType]] = modal_keys(
        "links",
        (
            *ReportScreen.KEYS,
            ("g", "view", "View", "Bytes/s of the large copy, or the latency."),
            ("plus,equals_sign", "resize(1)", "More", "Time with a larger copy."),
            ("minus", "resize(-1)", "Less", "Time with a smaller copy."),
        ),
        ("Back", "Again", "View", "More", "Less", "Export"),
    )

    DEFAULT_CSS = """
    LinksScreen {
        #links-upper { height: 1fr; }
        #links-pairs { width: 3fr; height: 100%; }
        DataTable { background: transparent; }
        .datatable--header { background: transparent; }
        #links-map { width: 2fr; height: 100%; }
        #links-pair { height: 4; }
        #links-notes { height: auto; max-height: 5; border: none; }
        &.-narrow #links-map { display: none; }
        &.-tall #links-notes { max-height: 12; border: round $panel-border; }
    }
    """

    figure: reactive[Figure] = reactive("rate", init=False, repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self._nbytes = LINK_BYTES
        self._heat: Heat | None = None
        self._layout: object = None
        self._cursor = (0, 0)
        self._wide, self._tall = 3, 1
        self.table: DataTable[object] = DataTable(cursor_type="cell", cell_padding=0)
        self.chips = ChipMap()

    def body(self) -> ComposeResult:
        with Horizontal(id="links-upper"):
            with Panel(id="links-pairs"):
                yield self.table
            with Panel("map", [Hint("arrows", "select")], id="links-map"):
                yield self.chips
        with Panel("selected pair, both ways", id="links-pair"):
            yield Sheet(id="links-about")
        with ScrollPanel("notes", id="links-notes"):
            yield Sheet(id="links-words")

    def on_mount(self) -> None:
        self.table.focus()
        if size := self.result.size_bytes:
            self._nbytes = size

    def watch_figure(self) -> None:
        self.redraw()

    def work(self) -> Experiment:
        return experiment(choose(self.base.session.state.devices), self._nbytes)

    def why_not(self, action: str) -> str | None:
        return super().why_not("again" if action == "resize" else action)

    def action_resize(self, by: int) -> None:
        sizes = [size for size in SIZES if (size - self._nbytes) * by > 0]
        if not sizes:
            ends = "largest" if by > 0 else "smallest"
            self.base.say(f"{fmt.bytes_text(self._nbytes)} is the {ends} copy.")
            return
        self._nbytes = sizes[0 if by > 0 else -1]
        self.action_again()

    def action_view(self) -> None:
        self.figure = FIGURES[(FIGURES.index(self.figure) + 1) % len(FIGURES)]

    @on(DataTable.CellHighlighted)
    def _select(self) -> None:
        self.redraw()

    @on(DeviceMoved)
    def _aim(self, event: DeviceMoved) -> None:
        """Move the cursor of the map to the target device."""
        event.stop()
        if self._heat is not None:
            self.table.move_cursor(column=self._heat.names.index(event.name))

    def draw(self) -> None:
        state, links = self.base.session.state, self.result
        devices = taking_part(links, state.devices)
        heat = self._heat = Heat(links, devices, self.figure)
        if not heat.names:
            return
        self._lay_out(heat)
        number = {name: place for place, name in enumerate(heat.names)}
        pairs = {(number[source], number[target]) for source, target in heat.known}
        cursor = self.table.cursor_coordinate
        for row, column in pairs | {self._cursor, (cursor.row, cursor.column)}:
            pair = heat.names[row], heat.names[column]
            cell = heat.text(pair, self._wide, self._tall)
            if (row, column) == cursor:
                cell = Text(cell.plain)  # in the colours of the cursor
            if self.table.get_cell_at(Coordinate(row, column)) != cell:
                self.table.update_cell_at(Coordinate(row, column), cell)
        self._cursor = cursor.row, cursor.column
        other = "latency" if self.figure == "rate" else "bytes/s"
        again = hint(self, "again", "" if heat.scale else "time")
        hints = [again, hint(self, "view", other), Hint("+ −", "size")]
        title = f"links · {heat.title} · row → column" if heat.scale else "links"
        self.query_one("#links-pairs", Panel).set_title(title, hints)
        self._show_pair(heat)
        summary = Report("", headline(links) if links.links else "", notes=links.notes)
        self.query_one("#links-words", Sheet).content = summary
        # Longer sentences leave the cells less room.
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        heat = self._heat
        if heat and self.is_attached and self._layout != self._laid_out(heat):
            self.redraw()

    def _lay_out(self, heat: Heat) -> None:
        if (layout := self._laid_out(heat)) == self._layout:
            return
        self._layout, self._cursor = layout, (0, 0)
        _, self._tall, self._wide = layout
        cursor = self.table.cursor_coordinate if self.table.row_count else (0, 1)
        self.table.clear(columns=True)
        for name in heat.ids:
            self.table.add_column(name.center(self._wide), width=self._wide + 1)
        empty = [heat.text(("", ""), self._wide, self._tall)] * len(heat.ids)
        for name in heat.ids:
            self.table.add_row(*empty, height=self._tall, label=name)
        self.table.cursor_coordinate = Coordinate(*cursor)

    def _laid_out(self, heat: Heat) -> tuple[Sequence[str], int, int]:
        """Lines and columns of a cell: as there is room, 3 and 7 at most."""
        count = max(1, len(heat.names))
        room = self.query_one("#links-pairs").content_size
        tall = max(1, min((room.height - 1) // count, 3))
        return heat.names, tall, max(3, min(room.width // (count + 1) - 1, 7))

    def _show_pair(self, heat: Heat) -> None:
        """Show the selected pair, and the ways from its source on the map."""
        row, column = self.table.cursor_coordinate
        source, target = heat.names[row], heat.names[column]
        self.query_one("#links-about", Sheet).content = heat.about((source, target))
        marks, legend = {source: Mark("", "", "source", "from")}, [Span("")]
        if heat.scale is not None:
            legend = [Span(f"from {heat.ids[row]}: "), *heat.scale.legend(heat.unit)]
            for (start, end), value in heat.values.items():
                if start == source:
                    text = heat.unit.text(value, 2)
                    marks[end] = Mark("", "", heat.scale.role(value), text)
        self.chips.show(heat.devices, target, marks, (tuple(legend),))


def open_links(app: BaseApp) -> None:
    """Show the links of this process's devices, or say why there are none."""
    devices = app.session.state.devices
    if choose(devices):
        app.push_screen(LinksScreen())
    else:
        app.say(why_none([device.name for device in devices]))
