"""Links: a heat map of the pairs of devices beside the chip map, one pair in both."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui import format as fmt
from jaxtui.analysis.links import choose
from jaxtui.machine.network import Network
from jaxtui.model import Remark
from jaxtui.model import links as model
from jaxtui.state import RUNNING
from jaxtui.tui.base import BaseApp
from jaxtui.tui.modal import Modal, modal_keys
from jaxtui.tui.state import State
from jaxtui.tui.status import MessageLine, StatusLine
from jaxtui.tui.widgets.chip_map import ChipMap
from jaxtui.tui.widgets.device_table import DeviceMoved
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.tui.widgets.panel import Hint, Panel, hint
from jaxtui.tui.widgets.paper import Paper, content
from jaxtui.view import links as view
from jaxtui.view import report, words
from jaxtui.view.links import FIGURES, Cell, Figure, Links
from jaxtui.view.report import statement_lines
from jaxtui.view.text import Line, Span, fold

SIZES = tuple(2**power for power in range(12, 31, 2))
"""Bytes of the large copy that the keys go through: 4 KiB to 1 GiB."""

_KEYS = (
    ("escape,q", "close", "Back", "Back to the devices."),
    ("r,f5", "again", "Again", "Time all links again."),
    ("g", "view", "View", "Bytes/s of the large copy, or the latency of 8 bytes."),
    ("plus,equals_sign", "more", "More", "Time all links with a larger copy."),
    ("minus", "fewer", "Less", "Time all links with a smaller copy."),
    ("y", "copy", "Copy", "Copy the report, also to a file next to the history."),
    ("u", "export", "Export", "Write the links to a file."),
)

_SHOWN = ("Back", "Again", "View", "More", "Less", "Export")


class PairMap(Widget, can_focus=True):
    """The heat map of the pairs; arrows and clicks select a cell."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(0, -1)", "Left", show=False),
        Binding("right", "step(0, 1)", "Right", show=False),
        Binding("up", "step(-1, 0)", "Up", show=False),
        Binding("down", "step(1, 0)", "Down", show=False),
    ]

    DEFAULT_CSS = """
    PairMap { height: auto; width: 1fr; }
    """

    class Selected(Message):
        """Another cell was selected."""

        def __init__(self, cell: Cell) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Links, Figure, Cell] | None = None
        self._rows = 0

    @property
    def text(self) -> str:
        """What is drawn, without its colours."""
        return self.render().plain

    def show(self, links: Links, of: Figure, cell: Cell) -> None:
        """Draw the pairs; laid out anew only where there are more rows."""
        rows = len(links.groups)
        self._shown = links, of, cell
        self.refresh(layout=rows != self._rows)
        self._rows = rows

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if self._shown is None:
            return 1
        return self._rows * self._shown[0].tall(container.height) + 1

    def render(self) -> Content:
        if self._shown is None:
            return Content("")
        links, of, cell = self._shown
        return content(links.lines(of, cell, self.size.width, self._room))

    @property
    def _room(self) -> int:
        """Lines of what it scrolls in."""
        parent = self.parent
        return parent.size.height if isinstance(parent, Widget) else 0

    def on_click(self, event: events.Click) -> None:
        if self._shown is None:
            return
        cell = self._shown[0].cell_at(event.x, event.y, self.size.width, self._room)
        if cell is not None:
            self.post_message(self.Selected(cell))

    def action_step(self, down: int, across: int) -> None:
        if self._shown is None:
            return
        links, _, (row, column) = self._shown
        last = len(links.groups) - 1
        row, column = (
            max(0, min(place, last)) for place in (row + down, column + across)
        )
        self.post_message(self.Selected((row, column)))


class LinksScreen(Modal):
    """Times the links when it opens, unless they are known."""

    HELP: ClassVar[str] = "On the links"

    BINDINGS: ClassVar[list[BindingType]] = modal_keys("links", _KEYS, _SHOWN)

    DEFAULT_CSS = """
    LinksScreen {
        #links-upper { height: 1fr; }
        #links-pairs { width: 3fr; height: 100%; }
        #links-map { width: 2fr; height: 100%; }
        #links-pair { height: 4; }
        #links-notes { height: auto; max-height: 5; border: none; }
        #links-notes VerticalScroll { height: auto; max-height: 100%; }
        &.-narrow #links-map { display: none; }
        &.-tall #links-notes { max-height: 12; border: round $panel-border; }
    }
    """

    VERTICAL_BREAKPOINTS = [(0, "-flat"), (32, "-tall")]  # noqa: RUF012

    cell: reactive[Cell] = reactive((0, 1), init=False, repaint=False)
    """The selected one of the heat map."""
    figure: reactive[Figure] = reactive("rate", init=False, repaint=False)
    """What the heat map shows."""

    def __init__(self) -> None:
        super().__init__()
        self._nbytes = model.LINK_BYTES
        self._known: tuple[tuple[object, ...], Links] | None = None
        self._pairs = PairMap()
        self._map = ChipMap()
        self._about = Paper(id="links-about")
        self._notes = Paper(id="links-words")

    @property
    def links(self) -> Links:
        """What is known; nothing yet of what would be measured."""
        state = self.base.session.state
        key = state.jobs.get("links"), state.devices, self._nbytes
        # Working out who is how far from whom takes a while on a large slice.
        if self._known is None or key != self._known[0]:
            found = Links.of(key[0], state.devices)
            found = found or Links(self._work(), state.devices, {})
            if self._known is not None and key[1] == self._known[0][1]:
                found.__dict__["network"] = self._known[1].network
            self._known = key, found
        return self._known[1]

    def compose(self) -> ComposeResult:
        yield StatusLine(self.base.clock).data_bind(LinksScreen.state)
        with Horizontal(id="links-upper"):
            with Panel(id="links-pairs"), VerticalScroll(can_focus=False):
                yield self._pairs
            with Panel("map", [Hint("arrows", "select")], id="links-map"):
                yield self._map
        with Panel(id="links-pair", hints=[Hint("arrows", "select")]):
            yield self._about
        with Panel("notes", id="links-notes"), VerticalScroll(can_focus=False):
            yield self._notes
        yield MessageLine().data_bind(LinksScreen.state)
        yield KeysLine()

    def on_mount(self) -> None:
        self._pairs.focus()
        job = self.base.session.state.jobs.get("links")
        if job is not None and isinstance(job.work, model.Links):
            self._nbytes = job.work.nbytes
        if job is None:
            self.call_after_refresh(self.perform, "again")

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def follow(self, state: State) -> None:
        super().follow(state)
        self._draw()

    def watch_cell(self) -> None:
        self._draw()

    def watch_figure(self) -> None:
        self._draw()

    # Runs.

    def _work(self) -> model.Links:
        devices = self.base.session.state.devices
        mine = [device for device in devices if device.addressable]
        return model.Links(
            pairs=tuple(choose(mine, Network(devices))), nbytes=self._nbytes
        )

    def why_not(self, action: str) -> str | None:
        state = self.base.session.state
        known = bool(state.jobs.get("links"))
        match action:
            case "again" | "more" | "fewer" if state.busy:
                return words.text(RUNNING)
            case "again" | "more" | "fewer" if not state.can_run:
                return state.no_jax
            case "again" | "more" | "fewer" if not self._work().pairs:
                return words.text(Remark("link-across-hosts"))
            case "more" if self._nbytes >= SIZES[-1]:
                return words.of("largest-copy", size=fmt.bytes_text(SIZES[-1]))
            case "fewer" if self._nbytes <= SIZES[0]:
                return words.of("smallest-copy", size=fmt.bytes_text(SIZES[0]))
            case "copy" | "export" if not known:
                return words.of("no-links")
            case _:
                return None

    def action_again(self) -> None:
        self.base.start(self._work(), "links")

    def action_more(self) -> None:
        self._nbytes = min(size for size in SIZES if size > self._nbytes)
        self.action_again()

    def action_fewer(self) -> None:
        self._nbytes = max(size for size in SIZES if size < self._nbytes)
        self.action_again()

    def action_close(self) -> None:
        self.leave("links")

    # What is shown.

    @on(PairMap.Selected)
    def _select(self, event: PairMap.Selected) -> None:
        event.stop()
        self.cell = event.cell

    @on(DeviceMoved)
    def _aim(self, event: DeviceMoved) -> None:
        """On the map: the device that is copied to."""
        event.stop()
        groups = self.links.groups
        targets = [at for at, names in enumerate(groups) if event.name in names]
        if targets:
            self.cell = (self.cell[0], targets[0])

    def action_view(self) -> None:
        place = FIGURES.index(self.figure) + 1
        self.figure = FIGURES[place % len(FIGURES)]

    def action_copy(self) -> None:
        built = self.links.report(self.base.session.state.host)
        self.base.take_away(report.text(built), "links.txt")

    def action_export(self) -> None:
        from jaxtui.tui.export import links_screen

        self.app.push_screen(links_screen(self.base.session.state, self.links))

    def _draw(self) -> None:
        if not self.is_mounted or not self.size.area:
            return
        links = self.links
        last = len(links.groups) - 1
        cell = min(self.cell[0], last), min(self.cell[1], last)
        self._pairs.show(links, self.figure, cell)
        size = fmt.bytes_text(model.LATENCY_BYTES)
        if self.figure == "rate":
            size = links.size
        heat = links.heat(self.figure)
        unit = f"{heat.unit.name}, " if heat else ""
        other = "latency" if self.figure == "rate" else "bytes/s"
        again = hint(self, "again", "" if links.measured else "time")
        hints = [again, hint(self, "view", other), Hint("+ −", "size")]
        panel = self.query_one("#links-pairs", Panel)
        panel.entitle(f"links · {unit}{size} · row → column", hints)
        marks, legend = links.marks(self.figure, cell)
        selected = links.groups[cell[1]][0]
        self._map.show(links.devices, selected, marks, legend)
        pair = self.query_one("#links-pair", Panel)
        pair.entitle("selected pair, both ways")
        self._about.show(partial(links.about, cell))
        self._notes.show(partial(_notes, self.base.session.state, links))


def _notes(state: State, links: Links, width: int) -> list[Line]:
    """The headline, what went wrong, and what qualifies the figures."""
    job = state.jobs.get("links")
    lines: list[Line] = []
    if links.measured:
        lines += fold((Span(words.sentence(links.headline), "strong"),), width)
    if job is not None and job.failed is not None:
        lines += fold((Span(words.why(job.failed), "error"),), width)
    return [*lines, *statement_lines(links.statements(), width)]


def open_links(app: BaseApp) -> None:
    """Show the links of this process's devices, or say why there are none."""
    mine = [one for one in app.session.state.devices if one.addressable]
    if len(mine) < 2:
        app.say(words.text(view.one_device([one.name for one in mine])))
    else:
        app.push_screen(LinksScreen())
