"""The tab History: words to filter by, a table, and what is known of a row or two."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Label, Static

from jaxtui.tui import history_text
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.history_table import HistoryTable
from jaxtui.tui.widgets.paper import Paper

TALL = 32
"""Lines of the screen from which on a measurement is shown in full."""


class HistoryPane(Vertical):
    """What was measured, when and on what; two that are marked are compared."""

    DEFAULT_CSS = """
    HistoryPane {
        height: 1fr;
        #history-asked { height: 1; padding: 0 1; }
        #history-asked Label { color: $foreground 60%; }
        #history-words { width: 1fr; margin: 0 2 0 1; }
        #history-count { width: auto; color: $foreground 70%; }
        #history-empty { height: 1fr; padding: 0 2; color: $foreground 70%; }
        #history-below {
            height: auto; max-height: 9; padding: 0 1; background: $panel;
            scrollbar-size-vertical: 1;
        }
        &.-tall #history-below { max-height: 16; }
        /* One line of it stays, so that it keeps the focus. */
        &.-empty HistoryTable { height: 1; min-height: 1; }
        &.-empty #history-below { display: none; }
        &.-listed #history-empty { display: none; }
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    class Typed(Message):
        """Other words were typed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Moved(Message):
        """The cursor went to another measurement."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class RanOut(Message):
        """More rows are wanted."""

    class Taken(Message):
        """The case under the cursor is wanted in the form."""

    def compose(self) -> ComposeResult:
        """From what is asked to what is known."""
        with Horizontal(id="history-asked"):
            yield Label("filter")
            yield Input(
                id="history-words",
                placeholder="words, such as: matmul bf16 tpu",
                compact=True,
            )
            yield Static(id="history-count", markup=False)
        yield HistoryTable()
        yield Static(id="history-empty", markup=False)
        with VerticalScroll(id="history-below", can_focus=False):
            yield Paper(id="history-detail")

    def on_mount(self) -> None:
        """Begin without rows."""
        self._show_instead()

    def watch_state(self, old: State, new: State) -> None:
        """Draw what changed."""
        if old.history is new.history:
            return
        self.query_one(HistoryTable).show(new.history)
        self.query_one("#history-count", Static).update(
            history_text.counted(new.history)
        )
        self._show_instead()
        self._show_below()

    def on_resize(self) -> None:
        """A measurement in full needs a high screen."""
        self.set_class(self._tall, "-tall")
        self._show_below()

    def set_wide(self, wide: bool) -> None:
        """Write moments in full, or in short."""
        self.query_one(HistoryTable).set_wide(wide)

    def take_focus(self) -> None:
        """Put the focus where keys make sense."""
        self.query_one(HistoryTable).focus()

    def to_filter(self) -> None:
        """Put the focus on the words."""
        self._words.focus()

    def clear(self) -> None:
        """Filter by no words."""
        self._words.value = ""

    @property
    def is_filtering(self) -> bool:
        """Whether the words have the focus."""
        return self._words.has_focus

    @property
    def number(self) -> int | None:
        """Id of the measurement under the cursor."""
        return self.query_one(HistoryTable).number

    @property
    def text(self) -> str:
        """What stands below the table."""
        return self.query_one("#history-detail", Paper).text

    @property
    def _words(self) -> Input:
        return self.query_one("#history-words", Input)

    @property
    def _tall(self) -> bool:
        return self.app.size.height >= TALL

    def _show_instead(self) -> None:
        past = self.state.history
        self.set_class(not past.rows, "-empty")
        self.set_class(bool(past.rows), "-listed")
        self.query_one("#history-empty", Static).update(history_text.instead(past))

    def _show_below(self) -> None:
        past, brief = self.state.history, not self._tall
        self.query_one("#history-detail", Paper).show(
            lambda width: history_text.below(past, width, brief=brief)
        )

    @on(Input.Changed, "#history-words")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))

    @on(Input.Submitted, "#history-words")
    def _typed_all(self, event: Input.Submitted) -> None:
        event.stop()
        self.take_focus()

    @on(HistoryTable.Moved)
    def _moved(self, event: HistoryTable.Moved) -> None:
        event.stop()
        self.post_message(self.Moved(event.number))

    @on(HistoryTable.RanOut)
    def _ran_out(self, event: HistoryTable.RanOut) -> None:
        event.stop()
        self.post_message(self.RanOut())

    @on(HistoryTable.Taken)
    def _taken(self, event: HistoryTable.Taken) -> None:
        event.stop()
        self.post_message(self.Taken())
