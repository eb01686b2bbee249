"""A table of the view as rows with a cursor."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text
from textual.widgets import DataTable

from jaxtui.tui.themes import SERIES_COLORS
from jaxtui.tui.widgets.paper import STYLES
from jaxtui.view.check import ROLES
from jaxtui.view.text import Line, Table

_STYLES = {
    **STYLES,
    **{role: f"${role}" for role in ROLES.values()},
    **{f"{role}-selected": f"bold $background on ${role}" for role in ROLES.values()},
    **{f"series-{n}": f"$plot-{n + 1}" for n in range(SERIES_COLORS)},
    **{mode: f"${mode}" for mode in ("numpy", "eager", "jit")},
    **{f"bar-{mode}": f"${mode}" for mode in ("numpy", "eager", "jit")},
    **dict.fromkeys(("bar-pallas", "bar-tensorflow"), "$lane-device"),
    "spark": "$lane-device",
    "faster": "$check-pass",
    "slower": "$check-fail",
    "note": "$check-low",
    "bad": "$danger",
}
"""Of the roles in tables; a row has no room for much that is bold."""


class Grid(DataTable[Text]):
    """Only cells that changed are drawn where the columns are the same."""

    DEFAULT_CSS = """
    Grid {
        height: 1fr; scrollbar-size-horizontal: 0; background: transparent;
        &:focus { background-tint: transparent; }
        & > .datatable--header { background: transparent; color: $muted; }
        & > .datatable--cursor { background: $panel; color: $foreground; }
        &:focus > .datatable--cursor { background: $primary 35%; }
    }
    """

    def __init__(self) -> None:
        # The blanks between columns are part of the cells.
        super().__init__(
            cursor_type="row", cell_padding=0, cursor_foreground_priority="renderable"
        )
        self.drawn = Table()
        """What is drawn."""
        self.keys: tuple[str, ...] = ()
        """Of its rows."""
        self._look: object = None
        """What makes another table necessary."""
        self._lines: dict[tuple[str, str], Line] = {}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the arrows that a cursor of whole rows has no use for to the app."""
        if action in ("cursor_left", "cursor_right"):
            return False
        return super().check_action(action, parameters)

    def on_mount(self) -> None:
        """Colours of cells do not follow the theme by themselves."""
        self.app.theme_changed_signal.subscribe(
            self, lambda _: self.draw_table(self.drawn, self.keys)
        )

    @property
    def key_here(self) -> str | None:
        """Of the row under the cursor."""
        # Where there are no rows, a key may have put the cursor at -1.
        row = self.cursor_row
        return self.keys[row] if 0 <= row < len(self.keys) else None

    def draw_table(self, table: Table, keys: Sequence[str]) -> bool:
        """Draw what differs; the cursor stays on its row if that is still there.

        Args:
            table: its columns fit.
            keys: a name for each of its rows.

        Returns:
            Whether everything is new.
        """
        heads = [(one.key, one.head) for one in table.columns]
        look = heads, table.widths, table.gap, self.app.theme
        known = self.keys
        lines = {
            (key, column.key): table.cell(row, place)
            for row, key in enumerate(keys)
            for place, column in enumerate(table.columns)
        }
        anew = look != self._look or tuple(keys[: len(known)]) != known
        here = self.key_here
        with self.app.batch_update():
            if anew:
                known = ()
                self.clear(columns=True)
                for place, one in enumerate(table.columns):
                    width = table.widths[place] + table.gap
                    head = Text(table.head(place), no_wrap=True)
                    self.add_column(head, key=one.key, width=width)
            else:
                for (key, column), line in self._lines.items():
                    if lines[key, column] != line:
                        self.update_cell(key, column, self._painted(lines[key, column]))
            for key in keys[len(known) :]:
                texts = (self._painted(lines[key, one.key]) for one in table.columns)
                self.add_row(*texts, key=key)
            if anew and here in keys:
                self.move_cursor(row=keys.index(here))
        self.drawn, self.keys, self._look, self._lines = table, tuple(keys), look, lines
        return anew

    def _painted(self, line: Line) -> Text:
        colors = self.app.theme_variables
        text = Text(no_wrap=True)
        for span in line:
            style = _STYLES.get(span.role, "")
            text.append(
                span.text, re.sub(r"\$([\w-]+)", lambda name: colors[name[1]], style)
            )
        return text
