"""A one-line button that opens a list: choose one, or mark several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, OptionList, Static
from textual.widgets.option_list import Option

from jaxtui.ui.widgets.panel import Hint, MarkList, Panel, box

_LONGEST = 18
"""Characters of the chosen names beyond which only the first is written out."""

_HIGHEST = 14
"""Rows of a list before it scrolls."""


class Entry(msgspec.Struct, frozen=True):
    """A line of the list."""

    value: str
    name: str
    about: str = ""
    """The text below the list while the cursor is here."""
    markable: bool = True
    """True if it can be chosen together with others."""


class ChoicePopup(ModalScreen["tuple[str, ...] | None"]):
    """The open list; typing filters it.

    Enter takes the entry under the cursor, or the marks if any was changed. Esc and a
    click beside the list leave everything as it was.

    Args:
        entries: what there is.
        chosen: what is chosen already.
        place: where the button is that opened it.
        multiple: whether several can be marked.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Cancel"),
        Binding("backspace", "erase", show=False),
    ]

    DEFAULT_CSS = """
    ChoicePopup {
        background: $background 30%;
        #choice-box {
            width: 40; background: $background;
            &.-about { width: 50; }
        }
        PanelList { height: auto; background: $background; }
        #choice-about {
            height: 3; color: $foreground 70%; display: none;
            border-top: solid $foreground 30%;
        }
        .-about #choice-about { display: block; }
        #choice-buttons { height: 1; align-horizontal: right; }
        Button { min-width: 0; width: auto; margin-left: 1; }
    }
    """

    def __init__(
        self,
        entries: Sequence[Entry | str],
        chosen: Sequence[str],
        place: Offset,
        *,
        multiple: bool,
    ) -> None:
        super().__init__()
        self._entries = tuple(
            Entry(entry, entry) if isinstance(entry, str) else entry
            for entry in entries
        )
        # What stands alone needs no mark: Enter takes it.
        self._marked = {
            entry.value
            for entry in self._entries
            if entry.markable and entry.value in chosen
        }
        self._chosen = set(chosen)
        self._place = place
        self._multiple = multiple
        self._marking = False
        self._typed = ""
        self._listed: tuple[Entry, ...] = ()

    def compose(self) -> ComposeResult:
        with Panel(id="choice-box") as box:
            box.set_class(any(entry.about for entry in self._entries), "-about")
            yield MarkList()
            yield Static(id="choice-about", markup=False)
            if self._multiple:
                with Horizontal(id="choice-buttons"):
                    for label, name in (("Take", "take"), ("Cancel", "close")):
                        button = Button(label, action=f"screen.{name}", compact=True)
                        button.can_focus = False
                        yield button

    def on_resize(self) -> None:
        """Put the box where there is room for it."""
        about = any(entry.about for entry in self._entries)
        columns, around = 50 if about else 40, 2 + 3 * about + self._multiple
        rows = min(len(self._entries), _HIGHEST, self.size.height - around)
        self.query_one(OptionList).styles.max_height = rows
        self.query_one("#choice-box").styles.offset = (
            max(0, min(self._place.x, self.size.width - columns)),
            max(0, min(self._place.y + 1, self.size.height - rows - around)),
        )

    def on_mount(self) -> None:
        """The cursor on what is chosen."""
        self._fill()
        self.query_one(OptionList).focus()

    def _fill(self) -> None:
        """List what has the typed letters, those that begin with them first."""
        typed = self._typed.lower()
        matching = [entry for entry in self._entries if typed in entry.name.lower()]
        if typed:
            matching.sort(key=lambda entry: not entry.name.lower().startswith(typed))
        self._listed = tuple(matching)
        listing = self.query_one(OptionList)
        listing.clear_options()
        listing.add_options(Option(self._prompt(entry)) for entry in matching)
        places = [i for i, entry in enumerate(matching) if entry.value in self._chosen]
        start = 0 if typed or not places else places[0]
        listing.highlighted = start if matching else None
        self._say()

    def _prompt(self, entry: Entry) -> Content:
        """The name, after its mark."""
        if not self._multiple:
            return Content(entry.name)
        if not entry.markable:
            return Content(f"    {entry.name}")
        return Content(f"{box(entry.value in self._marked)}{entry.name}")

    @property
    def _current(self) -> Entry | None:
        index = self.query_one(OptionList).highlighted
        return self._listed[index] if index is not None else None

    @property
    def _result(self) -> tuple[str, ...]:
        """Return the values that Enter takes, in the order of the entries."""
        marked = [entry.value for entry in self._entries if entry.value in self._marked]
        if self._multiple and self._marking and marked:
            return tuple(marked)
        return (self._current.value,) if self._current is not None else ()

    def _say(self) -> None:
        """Show the text below the list: about the entry, and its keys."""
        entry = self._current
        about = self.query_one("#choice-about", Static)
        about.update(entry.about if entry else "")
        names = {e.value: e.name for e in (*self._entries, *self._listed)}
        chosen = ", ".join(names[value] for value in self._result)
        hints = [Hint("Enter", chosen, "enter") if chosen else Hint("", "no match")]
        if self._multiple:
            hints.append(Hint("Space", "mark", "space"))
        title = f"{self._typed}▏" if self._typed else "type to filter"
        self.query_one(Panel).set_title(title, hints)

    def on_key(self, event: events.Key) -> None:
        """Type on; no name has a blank, which marks."""
        if event.character and event.is_printable and event.character != " ":
            event.stop()
            self._typed += event.character
            self._fill()

    def action_erase(self) -> None:
        self._typed = self._typed[:-1]
        self._fill()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_mark(self) -> None:
        """Mark the entry under the cursor, or unmark it; take what stands alone."""
        entry = self._current
        if entry is None:
            return
        if not self._multiple or not entry.markable:
            self.dismiss((entry.value,))
            return
        self._marking = True
        self._marked ^= {entry.value}
        listing = self.query_one(OptionList)
        index = self._listed.index(entry)
        listing.replace_option_prompt_at_index(index, self._prompt(entry))
        self._say()

    def action_take(self) -> None:
        if self._result:
            self.dismiss(self._result)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_mark()

    @on(OptionList.OptionHighlighted)
    def _moved(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._say()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss(None)


class Choice(Widget, can_focus=True):
    """Shows what is chosen; Enter, space or a click opens the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space,down", "open", "Choose", show=False)
    ]

    DEFAULT_CSS = """
    Choice {
        width: auto; height: 1; margin-right: 2;
        color: $foreground; background: $surface;
        &:focus {
            background: $block-cursor-background; color: $block-cursor-foreground;
        }
        &:hover { background: $panel; }
    }
    """

    options: reactive[tuple[str, ...]] = reactive((), layout=True)
    chosen: reactive[tuple[str, ...]] = reactive((), layout=True)
    """The chosen values, in the order of the options."""

    class Changed(Message):
        """Something else was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(
        self,
        label: str,
        options: Sequence[str] = (),
        chosen: Sequence[str] = (),
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._label = label
        self.set_reactive(Choice.options, tuple(options))
        self.set_reactive(Choice.chosen, tuple(chosen))

    def render(self) -> Content:
        # Dim words are lost on the background of the focus.
        label = "" if self.has_focus else "dim"
        return Content.assemble((f"{self._label} ", label), self.summary, (" ▾", label))

    def get_content_width(self, container: object, viewport: object) -> int:
        return self.render().cell_length

    @property
    def summary(self) -> str:
        """The chosen names, or the first one and how many more."""
        text = ",".join(self.chosen)
        if len(text) > _LONGEST and len(self.chosen) > 1:
            text = f"{self.chosen[0]} +{len(self.chosen) - 1}"
        return text or "none"

    @property
    def entries(self) -> Sequence[Entry | str]:
        return self.options

    def action_open(self) -> None:
        place = self.region.offset
        popup = ChoicePopup(self.entries, self.chosen, place, multiple=True)
        self.app.push_screen(popup, self.take)

    def on_click(self) -> None:
        self.action_open()

    def take(self, chosen: tuple[str, ...] | None) -> None:
        """Choose these; ``None`` leaves things as they were."""
        if chosen is not None and chosen != self.chosen:
            self.chosen = chosen
            self.post_message(self.Changed(self))
