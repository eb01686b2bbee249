"""A question before something is done that cannot be undone."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label


class Question(ModalScreen[bool]):
    """Dismissed with True for yes alone.

    Args:
        text: the question.
        yes: what ``y`` does, one or two words.
        no: what every other key does.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes"),
        Binding("n,escape,q,enter", "dismiss(False)", "No"),
    ]

    DEFAULT_CSS = """
    Question {
        align: center middle;
        #question {
            width: auto; max-width: 90%; height: auto; max-height: 90%;
            background: $panel; padding: 1 2;
        }
        #question Label { width: auto; max-width: 100%; }
        #answers { text-style: bold; color: $text-accent; margin: 1 0 0 0; }
    }
    """

    def __init__(self, text: str, yes: str, no: str) -> None:
        super().__init__()
        self._text = text
        self._answers = f"y {yes}   Esc {no}"

    def compose(self) -> ComposeResult:
        """The question and the keys."""
        with Vertical(id="question"):
            yield Label(self._text, markup=False)
            yield Label(self._answers, id="answers", markup=False)
