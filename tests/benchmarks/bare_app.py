"""A Textual app with the widgets of jaxtui and nothing behind them."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import (
    Button,
    DataTable,
    Footer,
    Input,
    Static,
    TabbedContent,
    TabPane,
)


class BareApp(App[None]):
    """Two tabs of tables, forms and panels."""

    BINDINGS = [("q", "quit", "quit"), ("r", "run", "run"), ("s", "stop", "stop")]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        """What jaxtui composes, empty."""
        yield Static("status-line")
        with TabbedContent():
            with TabPane("Devices"):
                with Horizontal():
                    yield DataTable()
                    yield Static("map")
                yield Static("the line that says what Enter does")
                yield Static("details")
            with TabPane("Bench"):
                with Horizontal():
                    for label in ("op", "dtype", "device", "mode", "inputs"):
                        yield Button(label, compact=True)
                    yield Input("1000", compact=True)
                    yield Input("10", compact=True)
                yield Static("plot")
                yield Static("phases")
                yield DataTable()
                yield Static("notes")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Columns and a few rows."""
        for table in self.query(DataTable):
            table.add_columns(*"abcdefgh")
            for row in range(8):
                table.add_row(*(f"{row}{column}" for column in "abcdefgh"))


if __name__ == "__main__":
    BareApp().run()
