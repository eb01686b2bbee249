"""The open list of ops: the catalogue, what packages offer, functions of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset
from textual.widgets import Label, OptionList, Static
from textual.widgets.option_list import Option

from jaxtui.model import OpInfo
from jaxtui.model.own import brief_name
from jaxtui.tui.screens.choice_popup import ChoicePopup, PopupOptions
from jaxtui.tui.state import Picked

OPEN = "Open file…"
"""The last entry, which is no op."""

_WIDTH = 46


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the list."""

    value: str
    shown: str
    about: str
    """What stands below the list while the cursor is here."""
    broken: bool = False
    markable: bool = False
    """It can be timed beside others."""


def entries(ops: Sequence[OpInfo], picks: Sequence[Picked]) -> tuple[Entry, ...]:
    """Every op, the functions that were chosen before, and how to open a file."""
    listed = [
        Entry(
            op.name,
            op.name,
            op.problem or op.summary,
            broken=bool(op.problem),
            markable=not op.problem and not op.own,
        )
        for op in ops
    ]
    before = [
        Entry(pick.op, brief_name(pick.op, 40), f"{pick.op} {pick.arguments}".rstrip())
        for pick in picks
    ]
    about = "Functions of your own, out of a Python file. The key f opens one, too."
    return (*listed, *before, Entry(OPEN, OPEN, about))


class OpPopup(ChoicePopup):
    """One op, or several of the catalogue; dismissed with names, or with ``OPEN``.

    Enter takes the one under the cursor, unless something was marked.

    Args:
        entries: what there is.
        chosen: what is chosen already.
        place: where the button is that opened it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "open", "Open file", show=False),
    ]

    DEFAULT_CSS = """
    OpPopup {
        OptionList { width: 46; max-height: 16; }
        #about {
            width: 46; height: 3; color: $foreground 70%;
            border-top: solid $foreground 30%;
        }
        #about.-problem { color: $text-error; }
    }
    """

    def __init__(
        self, entries: Sequence[Entry], chosen: Sequence[str], place: Offset
    ) -> None:
        values = [entry.value for entry in entries]
        super().__init__(values, chosen, place, multiple=False)
        self._entries = {entry.value: entry for entry in entries}
        self._marked &= {entry.value for entry in entries if entry.markable}
        self._marking = False

    def compose(self) -> ComposeResult:
        """The list, and a few words about the op under the cursor."""
        with Vertical(id="box"):
            yield PopupOptions(*(Option(self._prompt(one)) for one in self._options))
            yield Static(id="about", markup=False)
            yield Label("Enter takes one, space marks several", id="hint")

    @property
    def _extent(self) -> tuple[int, int]:
        return _WIDTH + 2, min(len(self._options), 16) + 4

    def action_mark(self) -> None:
        """Mark the op under the cursor, or unmark it; what stands alone is taken."""
        listing = self.query_one(OptionList)
        index = listing.highlighted
        if index is None:
            return
        name = self._options[index]
        if not self._entries[name].markable:
            self._choose(index)
            return
        self._marking = True
        self._marked ^= {name}
        listing.replace_option_prompt_at_index(index, self._prompt(name))

    def action_take(self) -> None:
        """Take what was marked, or else what is under the cursor."""
        if self._marking and self._marked:
            self._dismiss_marked()
        else:
            self._choose(self.query_one(OptionList).highlighted)

    def _dismiss_marked(self) -> None:
        marked = tuple(one for one in self._options if one in self._marked)
        self.dismiss(marked if self._marking and marked else None)

    @on(OptionList.OptionHighlighted)
    def _at_another(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        entry = self._entries[self._options[event.option_index]]
        about = self.query_one("#about", Static)
        about.update(entry.about)
        about.set_class(entry.broken, "-problem")

    def action_open(self) -> None:
        """As the last entry."""
        self.dismiss((OPEN,))

    def _prompt(self, name: str) -> Content:
        entry = self._entries[name]
        if entry.broken:
            return Content.styled(f"    {entry.shown}  cannot be loaded", "dim")
        if not entry.markable:
            return Content(f"    {entry.shown}")
        return Content(f"[{'x' if name in self._marked else ' '}] {entry.shown}")
