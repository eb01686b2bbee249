"""All keys, made from the declaration of the bindings."""

from __future__ import annotations

from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from jaxtui.tui import bindings
from jaxtui.tui.command import key_names

_WORDS = """\
ready     until block_until_ready returned: what a call costs
dispatch  until the call returned: all that a naive stopwatch sees
pipelined per call, from bursts of queued calls: rates stand on this clock
± %       half the 95 % interval of the medians of the rounds
"""


class HelpScreen(ModalScreen[None]):
    """Keys by group, and the words on the screens."""

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
    }
    """

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll():
            yield Static(self._text())

    def on_mount(self) -> None:
        """Arrows scroll at once."""
        self.query_one(VerticalScroll).focus()

    def _text(self) -> Content:
        lines = [Content.styled("Keys (Esc closes)", "bold")]
        for group, commands in groupby(bindings.ALL, lambda one: one.group):
            lines += [Content(""), Content.styled(group, "bold $text-accent")]
            lines += [
                Content.assemble(
                    (key_names(command).ljust(14), "bold"),
                    command.description,
                )
                for command in commands
            ]
        lines += [Content(""), Content.styled("Words", "bold $text-accent")]
        return Content("\n").join([*lines, Content(_WORDS)])
