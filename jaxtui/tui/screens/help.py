"""All keys, made from the declaration of the bindings; first those that work here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Label, Static

from jaxtui.tui import bindings
from jaxtui.tui.command import Command, key_names

Rows = Sequence[tuple[str, str]]

EVERYWHERE = "On every tab"

_WORDS = (
    ("ready", "until block_until_ready returned: what a call costs"),
    ("dispatch", "until the call returned: all that a naive stopwatch sees"),
    ("pipelined", "per call, from bursts of queued calls: rates stand on this clock"),
    ("± %", "half the interval of the medians of the rounds: 99 % from 8 rounds on"),
)


def sections(here: str) -> dict[str, list[Command]]:
    """The commands by the place where they work.

    Args:
        here: the place that comes first: a tab's, or the group of a screen that has
            keys of its own.
    """
    found: dict[str, list[Command]] = {here: [], EVERYWHERE: []}
    for command in bindings.ALL:
        for place in _places(command):
            found.setdefault(place, []).append(command)
    return {place: commands for place, commands in found.items() if commands}


def _places(command: Command) -> tuple[str, ...]:
    if command.group in bindings.ELSEWHERE:
        return (command.group,)
    return tuple(map(on_tab, command.tabs)) or (EVERYWHERE,)


def on_tab(tab: str) -> str:
    """What the place is called in which the keys of a tab work."""
    return f"On the tab {tab.capitalize()}"


class HelpScreen(ModalScreen[None]):
    """Keys by the place where they work, and the words on the screens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "Close")
    ]

    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        VerticalScroll {
            width: 78; max-width: 96%; height: auto; max-height: 94%;
            background: $panel; padding: 0 2; scrollbar-size-vertical: 1;
        }
        Label { text-style: bold; }
        .place { margin-top: 1; color: $text-accent; }
    }
    """

    def __init__(self, here: str) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        """A table for each place."""
        places = sections(self._here)
        width = max(len(key_names(one)) for one in bindings.ALL)
        with VerticalScroll():
            yield Label("Keys (Esc closes)")
            for place, commands in places.items():
                rows = [(key_names(one), one.description) for one in commands]
                yield Label(place, classes="place")
                yield Static(_table(rows, width))
            yield Label("Words", classes="place")
            yield Static(_table(_WORDS, width))

    def on_mount(self) -> None:
        """Arrows scroll at once."""
        self.query_one(VerticalScroll).focus()


def _table(rows: Rows, width: int) -> Table:
    """Two columns; what is too long is wrapped under its own beginning."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", width=width)
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return table
