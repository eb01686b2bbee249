"""The open list of a choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

_WIDTH = 34
_HIGHEST = 22


class PopupOptions(OptionList):
    """A list whose keys are the popup's.

    They are not priority bindings of the popup: a slow line delivers several keys at
    once, and those would overtake the arrows that came before them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.mark", "Mark", show=False),
        Binding("enter", "screen.take", "Take", show=False),
    ]


class ChoicePopup(ModalScreen["tuple[str, ...] | None"]):
    """Choose one, or mark several; dismissed with what was chosen.

    Args:
        options: what there is.
        chosen: what is chosen already.
        place: where the button is that opened it.
        multiple: whether several can be marked.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False),
    ]

    DEFAULT_CSS = """
    ChoicePopup {
        background: $background 30%;
        #box { width: auto; height: auto; background: $panel; padding: 0 1; }
        #hint { color: $foreground 70%; }
        OptionList {
            width: 34; height: auto; max-height: 22;
            background: $panel; padding: 0;
            &, &:focus { border: none; }
        }
    }
    """

    def __init__(
        self,
        options: Sequence[str],
        chosen: Sequence[str],
        place: Offset,
        *,
        multiple: bool,
    ) -> None:
        super().__init__()
        self._options = tuple(options)
        self._marked = set(chosen)
        self._place = place
        self._multiple = multiple

    def compose(self) -> ComposeResult:
        """The list in a box."""
        with Vertical(id="box"):
            yield PopupOptions(*(Option(self._prompt(one)) for one in self._options))
            if self._multiple:
                yield Label("space marks, Enter takes", id="hint")

    def on_mount(self) -> None:
        """Put the box where there is room for it, the cursor on what is chosen."""
        columns, rows = self._extent
        self.query_one("#box").styles.offset = (
            max(0, min(self._place.x, self.app.size.width - columns - 2)),
            max(0, min(self._place.y + 1, self.app.size.height - rows)),
        )
        marked = [i for i, one in enumerate(self._options) if one in self._marked]
        listing = self.query_one(OptionList)
        listing.highlighted = marked[0] if marked else 0
        listing.focus()

    @property
    def _extent(self) -> tuple[int, int]:
        """Columns and rows of the box."""
        return _WIDTH + 2, min(len(self._options), _HIGHEST) + self._multiple

    def action_close(self) -> None:
        """Leave everything as it was, or as it was marked."""
        self._dismiss_marked()

    def action_mark(self) -> None:
        """Mark the option under the cursor, or unmark it; of one, take it."""
        self._choose(self.query_one(OptionList).highlighted)

    def action_take(self) -> None:
        """Take what is marked; of one, what is under the cursor."""
        if self._multiple:
            self._dismiss_marked()
        else:
            self.action_mark()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click on an option."""
        event.stop()
        self._choose(event.option_index)

    def on_click(self, event: events.Click) -> None:
        """A click beside the box closes it."""
        if event.widget is self:
            self._dismiss_marked()

    def _choose(self, index: int | None) -> None:
        if index is None or index >= len(self._options):
            return
        name = self._options[index]
        if not self._multiple:
            self.dismiss((name,))
            return
        self._marked ^= {name}
        listing = self.query_one(OptionList)
        listing.replace_option_prompt_at_index(index, self._prompt(name))

    def _dismiss_marked(self) -> None:
        """In the order of the options; nothing at all leaves things as they were."""
        marked = tuple(one for one in self._options if one in self._marked)
        self.dismiss(marked if marked and self._multiple else None)

    def _prompt(self, name: str) -> Content:
        """The name, with a mark that needs no colour."""
        if not self._multiple:
            return Content(name)
        return Content(f"[{'x' if name in self._marked else ' '}] {name}")
