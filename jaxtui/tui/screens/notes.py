"""All that there is to say of a case: its notes, or why it failed, in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label, Static

from jaxtui.view.bench import Sentence

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp


class NotesScreen(ModalScreen[None]):
    """To be read, scrolled and taken away.

    Args:
        title: the case.
        said: its sentences.
        detail: the original text of what was raised; may be empty.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close"),
        Binding("y,ctrl+y", "copy", "Copy"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]

    DEFAULT_CSS = """
    NotesScreen {
        align: center middle;
        #all-notes {
            width: 96%; max-width: 104; height: auto; max-height: 94%;
            background: $panel; padding: 0 1; scrollbar-size-vertical: 1;
        }
        #notes-title { text-style: bold; width: 1fr; }
        #notes-detail { margin: 1 0 0 0; }
        #notes-kept { color: $text-accent; }
    }
    """

    def __init__(self, title: str, said: Sequence[Sentence], detail: str = "") -> None:
        super().__init__()
        self._title = title
        self._said = tuple(said)
        self._detail = detail.rstrip()

    def compose(self) -> ComposeResult:
        """Title, sentences, the original text."""
        with VerticalScroll(id="all-notes"):
            title = f"{self._title}   (Esc closes, y copies)"
            yield Static(title, id="notes-title", markup=False)
            for one in self._said:
                style = "bold $text-error" if one.bad else "bold"
                yield Static(Content.assemble((f"{one.flag}: ", style), one.text))
            if self._detail:
                yield Static(self._detail, id="notes-detail", markup=False)
            yield Label("", id="notes-kept", markup=False)

    def on_mount(self) -> None:
        """Arrows scroll at once."""
        self.query_one("#all-notes").focus()

    def action_copy(self) -> None:
        """Copy all of it and say where it was written."""
        app = cast("JaxtuiApp", self.app)
        said = [f"{one.flag}: {one.text}" for one in self._said]
        text = "\n".join([self._title, *said, *filter(None, ["", self._detail])])
        app.take_away(f"{text}\n", "notes.txt")
        self.query_one("#notes-kept", Label).update(app.session.state.message)
