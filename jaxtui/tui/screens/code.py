"""The code that reproduces a number without jaxtui."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.highlight import highlight
from textual.screen import ModalScreen
from textual.widgets import Label, Static

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp


class CodeScreen(ModalScreen[None]):
    """A script, to be read or taken away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v,ctrl+o,enter", "dismiss", "Close"),
        Binding("y,ctrl+y", "copy", "Copy"),
    ]

    DEFAULT_CSS = """
    CodeScreen {
        align: center middle;
        #code {
            width: 94%; max-width: 100; height: auto; max-height: 94%;
            background: $panel; padding: 0 1; scrollbar-size-vertical: 1;
        }
        #title { text-style: bold; }
        #kept { color: $text-accent; }
    }
    """

    def __init__(self, title: str, script: str) -> None:
        super().__init__()
        self._title = title
        self._script = script

    def compose(self) -> ComposeResult:
        """Title, code, keys."""
        with VerticalScroll(id="code"):
            yield Label(
                f"{self._title}   (Esc closes, y copies)", id="title", markup=False
            )
            yield Static(highlight(self._script, language="python"))
            yield Label("", id="kept", markup=False)

    def on_mount(self) -> None:
        """Arrows scroll at once."""
        self.query_one("#code").focus()

    def action_copy(self) -> None:
        """Copy the script and say where it was written."""
        app = cast("JaxtuiApp", self.app)
        app.take_away(self._script, "case.py")
        self.query_one("#kept", Label).update(app.session.state.message)
