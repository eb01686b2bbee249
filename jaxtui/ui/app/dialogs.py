"""A page to be read and taken away, and a question before something is done."""

from __future__ import annotations

from typing import ClassVar

from rich.console import RenderableType
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.highlight import highlight
from textual.screen import ModalScreen
from textual.visual import VisualType
from textual.widgets import Label, Static

from jaxtui.ui import words
from jaxtui.ui.app.base import base
from jaxtui.ui.report import PROSE, written
from jaxtui.ui.widgets.panel import ScrollPanel, hint


class Page(ModalScreen[None]):
    """A text that scrolls.

    Args:
        title: of what it is.
        content: the text as it is drawn.
        plain: the text as ``y`` takes it away.
        name: of the file that it is written to.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v,enter", "dismiss", "Close"),
        Binding("y", "copy", "Copy"),
    ]

    DEFAULT_CSS = """
    Page {
        align: center middle;
        #page {
            width: 96%; max-width: 104; max-height: 94%; background: $background;
        }
        #page-file {
            dock: bottom; display: none; width: 100%;
            color: $text-accent; background: $background;
        }
    }
    """

    def __init__(self, title: str, content: VisualType, plain: str, name: str) -> None:
        super().__init__()
        self._heading = title
        self._content = content
        self._plain = plain
        self._file = name

    def compose(self) -> ComposeResult:
        with ScrollPanel(
            self._heading,
            [hint(self, "dismiss", "close"), hint(self, "copy")],
            id="page",
        ):
            yield Static(self._content, id="page-text")
            yield Label("", id="page-file", markup=False)

    def on_mount(self) -> None:
        self.query_one("#page").focus()

    def action_copy(self) -> None:
        app = base(self)
        app.copy_to_file(self._plain, self._file)
        answer = self.query_one("#page-file", Label)
        answer.update(words.to_text(app.session.state.message))
        answer.display = True


class CodeScreen(Page):
    """A script that gives a number without jaxtui."""

    def __init__(self, title: str, script: str) -> None:
        drawn = highlight(script, language="python")
        super().__init__(title, drawn, script, "case.py")


class NotesScreen(Page):
    """All that there is to say of a case.

    Args:
        title: the case.
        content: about it, with the original text of what was raised.
    """

    def __init__(self, title: str, content: RenderableType) -> None:
        text = f"{title}\n{written(content, PROSE)}\n"
        super().__init__(title, content, text, "notes.txt")


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
            background: $background; padding: 1 2; border: round $warning;
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
        with Vertical(id="question"):
            yield Label(self._text, markup=False)
            yield Label(self._answers, id="answers", markup=False)
