"""A table of the view with a cursor over its rows; only lines in view are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from jaxtui.ui.report import as_text
from jaxtui.ui.text import Line, Span, Table, plain

STRIPS = 256
"""Lines that are kept as they were drawn."""


class Grid(ScrollView, can_focus=True):
    """Heads that stay, and rows under them; only lines that changed are drawn."""

    class Chosen(Message):
        """Enter was pressed, or the row of the cursor was clicked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Up", show=False),
        Binding("down", "step(1)", "Down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("home", "scroll_home", "First", show=False),
        Binding("end", "scroll_end", "Last", show=False),
        Binding("enter", "select_cursor", "Select", show=False),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {"grid--head", "grid--cursor"}

    # The blanks between columns are part of the cells.
    DEFAULT_CSS = """
    Grid {
        height: 1fr; overflow-x: hidden;
        & > .grid--head { color: $muted; text-style: bold; }
        & > .grid--cursor { background: $panel; color: $foreground; }
        &:focus > .grid--cursor { background: $primary 35%; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.drawn = Table()
        """The table as drawn."""
        self.keys: tuple[str, ...] = ()
        """The keys of its rows."""
        self.cursor_row = 0
        self._strips: LRUCache[tuple[Line, str, int], Strip] = LRUCache(STRIPS)
        """Strips by text, style, and width."""

    def moved(self, key: str) -> None:
        """A key or a click has moved the cursor to a row."""

    @property
    def key_here(self) -> str | None:
        """Return the key of the row under the cursor."""
        return self.keys[self.cursor_row] if self.keys else None

    @property
    def text(self) -> str:
        """The text without its colours."""
        return "\n".join(self.drawn.lines()) if self.drawn.columns else ""

    def cell(self, key: str, column: str) -> str:
        """The text in a row and a column."""
        place = [c.key for c in self.drawn.columns].index(column)
        return plain(self.drawn.cell(self.keys.index(key), place)).strip()

    def draw_table(self, table: Table, keys: Sequence[str]) -> bool:
        """Draw what differs; the cursor stays on its row if that is still there.

        Args:
            table: its columns fit.
            keys: a name for each of its rows.

        Returns:
            Whether everything is new.
        """
        old, here, before = self.keys, self.key_here, self._lines_in_view()
        anew = _look(table) != _look(self.drawn) or tuple(keys[: len(old)]) != old
        self.drawn, self.keys = table, tuple(keys)
        if anew:
            self.cursor_row = self.keys.index(here) if here in self.keys else 0
        width = sum(w + table.gap for w in table.widths)
        self.virtual_size = Size(width, 1 + len(keys))
        after = self._lines_in_view()
        if len(before) != len(after):
            self.refresh()
        for place, line in enumerate(after):
            if [line] != before[place : place + 1]:
                self.refresh_line(place + self.scroll_offset.y)
        if anew:
            self._scroll_to_cursor()
        return anew

    def move_cursor(self, row: int) -> None:
        """Go to a row, or to the nearest that there is, and bring it into view."""
        before = self.cursor_row
        self.cursor_row = max(0, min(row, len(self.keys) - 1))
        if self.cursor_row != before:
            self.refresh_line(1 + before)
            self.refresh_line(1 + self.cursor_row)
        self._scroll_to_cursor()

    def _go(self, row: int) -> None:
        before = self.cursor_row
        self.move_cursor(row)
        if self.keys and self.cursor_row != before:
            self.moved(self.keys[self.cursor_row])

    def action_step(self, down: int) -> None:
        self._go(self.cursor_row + down)

    def action_page_up(self) -> None:
        self._go(self.cursor_row - self._rows_in_view)

    def action_page_down(self) -> None:
        self._go(self.cursor_row + self._rows_in_view)

    def action_scroll_home(self) -> None:
        self._go(0)

    def action_scroll_end(self) -> None:
        self._go(len(self.keys) - 1)

    def action_select_cursor(self) -> None:
        self.post_message(self.Chosen())

    def on_click(self, event: events.Click) -> None:
        """Go to a row; where the cursor is there already, choose it."""
        row = event.y - 1 + self.scroll_offset.y
        if event.y < 1 or row >= len(self.keys):
            return
        if row == self.cursor_row:
            self.action_select_cursor()
        self._go(row)

    def on_resize(self) -> None:
        self._scroll_to_cursor()

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        width, row = self.size.width, y - 1 + self.scroll_offset.y
        if row >= len(self.keys):
            return Strip.blank(width, self.rich_style)
        part = "head" if y == 0 else "cursor" if row == self.cursor_row else ""
        key = self._line(y), part, width
        if (strip := self._strips.get(key)) is None:
            style = self.visual_style
            if part:
                style = self.get_visual_style(f"grid--{part}")
            text = Content.from_rich_text(as_text(key[0]), console=self.app.console)
            (drawn,) = Visual.to_strips(self, text, width, 1, style)
            strip = drawn.extend_cell_length(width, style.rich_style)
            self._strips[key] = strip
        return strip

    @property
    def _rows_in_view(self) -> int:
        return max(0, self.size.height - 1)

    def _scroll_to_cursor(self) -> None:
        first, row = self.scroll_offset.y, self.cursor_row
        last = first + self._rows_in_view - 1
        if self._rows_in_view and not first <= row <= last:
            y = row if row < first else first + row - last
            self.scroll_to(y=y, animate=False, force=True)

    def _lines_in_view(self) -> list[Line]:
        """The heads, and the rows as far as there is room."""
        rows = len(self.keys) - self.scroll_offset.y
        return [self._line(y) for y in range(1 + min(self._rows_in_view, rows))]

    def _line(self, y: int) -> Line:
        """The heads, or a row, by where it is on screen."""
        table, row = self.drawn, y - 1 + self.scroll_offset.y
        spans: list[Span] = []
        for place in range(len(table.columns)):
            cell = table.cell(row, place) if y else (Span(table.head(place)),)
            spans += (*cell, Span(" " * table.gap))
        return tuple(spans)


def _look(table: Table) -> tuple[object, ...]:
    """Return the parts that make a table another one."""
    heads = [(column.key, column.head) for column in table.columns]
    return heads, table.widths, table.gap
