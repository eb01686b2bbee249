"""A table on a screen: what is drawn anew, and whose the moves of its cursor are."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import App, ComposeResult
from textual.coordinate import Coordinate

from jaxtui.ui.report import Cell, Column
from jaxtui.ui.table import Listing
from jaxtui.ui.text import Span
from jaxtui.ui.theme import TERMINAL

NAMES = "abcdefgh"


class Moves(Listing):
    def __init__(self) -> None:
        super().__init__()
        self.by_user: list[str] = []
        self.updated: list[Coordinate] = []

    def moved(self, key: str) -> None:
        self.by_user.append(key)

    def update_cell_at(
        self, coordinate: Coordinate, *value: object, **more: object
    ) -> None:
        self.updated.append(coordinate)
        super().update_cell_at(coordinate, *value, **more)  # type: ignore[arg-type]


class Screen(App[None]):
    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), "muted": "#808080"}

    def compose(self) -> ComposeResult:
        self.console.push_theme(TERMINAL)
        yield Moves()


def columns(figures: Sequence[Cell], names: str = NAMES) -> list[Column]:
    return [
        Column("name", names),
        Column("figure", figures, right=True, least=8),
        Column("notes", [""] * len(figures), grows=True),
    ]


def cell(table: Listing, row: int, place: int) -> str:
    return table.get_cell_at(Coordinate(row, place)).plain


async def test_only_cells_that_changed_are_drawn() -> None:
    async with Screen().run_test(size=(40, 6)) as pilot:
        table = pilot.app.query_one(Moves)
        cells: list[Cell] = ["1", Text("2", "muted"), (Span("3", "muted"),), "4"]
        assert table.show(columns(cells, "abcd"), "abcd")
        assert cell(table, 0, 1) == "       1"
        # The same text in another style is another cell.
        cells = ["1", Text("2", "error"), (Span("3", "error"),), "40"]
        assert not table.show(columns(cells, "abcd"), "abcd")
        assert table.updated == [(1, 1), (2, 1), (3, 1)]
        # Rows that come are added; a wider column makes all anew.
        assert not table.show(columns([*cells, "5"], "abcde"), "abcde")
        assert (table.row_count, len(table.updated)) == (5, 3)
        assert table.show(columns([*cells, "1234567890"], "abcde"), "abcde")
        assert cell(table, 4, 1) == "1234567890"
        assert table.virtual_size.width <= table.size.width


async def test_the_cursor_stays_on_its_row_and_only_the_user_moves_it() -> None:
    async with Screen().run_test(size=(40, 4)) as pilot:
        table = pilot.app.query_one(Moves)
        table.show(columns([*NAMES]), NAMES)
        table.focus()
        await pilot.press("down", "pagedown", "end", "home", "up")
        assert table.by_user == ["b", "e", "h", "a"]
        table.follow("c")
        assert table.show(columns([*NAMES[1:]], NAMES[1:]), NAMES[1:])
        assert (table.key_here, table.cursor_row) == ("c", 1)
        await pilot.click(Moves, offset=(2, 1))
        assert table.by_user[4:] == ["b"]
        assert table.scroll_offset.y == 0


async def test_a_cell_that_is_too_long_ends_in_an_ellipsis_or_begins_with_one() -> None:
    async with Screen().run_test(size=(10, 4)) as pilot:
        table = pilot.app.query_one(Moves)
        for tail, drawn in ((False, "much to…"), (True, "…oo long")):
            column = Column("", ["much too long"], grows=True, tail=tail)
            table.show([column], [drawn])
            assert cell(table, 0, 0).strip() == drawn
