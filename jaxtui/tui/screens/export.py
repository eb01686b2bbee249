"""What to write, in which form and where."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from jaxtui import format as fmt
from jaxtui.export import ExistsError, ExportError, check, here, write
from jaxtui.text import visible
from jaxtui.tui.aside import Latest, in_thread
from jaxtui.tui.offers import (
    Format,
    Offer,
    ending_of,
    not_offered,
    renamed,
    target,
)

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp

CLIPBOARD_BYTES = 74_994
"""What the escape code for the clipboard carries at most in common terminals: 100,000
bytes, of which the encoding takes a quarter and the code itself a few."""

KEYS = "Up and Down choose   Tab to the name   Enter writes   Esc leaves"
ANEW = "Enter once more replaces it; type another name to keep it."


@dataclass(frozen=True, slots=True)
class _Finding:
    """What is to be said of a path."""

    text: str
    bad: bool = False


class _Formats(OptionList):
    """A list whose Enter is the screen's; a click only chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.write", "Write", show=False),
    ]


class _CopyToo(Static):
    """Whether the clipboard gets it as well; a mark that needs no colour."""

    on: reactive[bool] = reactive(False)
    """Whether it does."""

    def render(self) -> str:
        """The mark and what it is for."""
        return f"[{'x' if self.on else ' '}] copy it to the clipboard as well (a)"

    def on_click(self) -> None:
        """The same as the key."""
        self.on = not self.on


class ExportScreen(ModalScreen[None]):
    """A list of formats, the file's path, and what will come of it.

    Nothing is lost while it stays open: what cannot be written is said in a sentence.

    Args:
        offer: what there is.
        folder: what a path is relative to; by default the working directory.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Leave"),
        Binding("up", "choose(-1)", "Up", show=False),
        Binding("down", "choose(1)", "Down", show=False),
        Binding("a,ctrl+y", "toggle_copy", "Copy too"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]

    DEFAULT_CSS = """
    ExportScreen {
        align: center middle;
        #export {
            width: 96%; max-width: 100; height: auto; max-height: 94%;
            background: $panel; padding: 0 1; overflow-y: auto;
            scrollbar-size-vertical: 1;
        }
        #title { text-style: bold; width: 100%; }
        OptionList {
            height: auto; max-height: 12; margin: 1 0; padding: 0;
            background: $panel; text-wrap: nowrap; text-overflow: ellipsis;
            &, &:focus { border: none; }
        }
        #to { height: 1; }
        #to Label { color: $foreground 60%; }
        #path { width: 1fr; margin: 0 1; }
        #to Button { min-width: 0; width: 9; }
        #where { min-height: 2; height: auto; width: 100%; }
        #where.-bad { color: $text-error; text-style: bold; }
        _CopyToo { width: 100%; }
        #keys { color: $text-accent; text-style: bold; width: 100%; }
    }
    """

    def __init__(self, offer: Offer, folder: Path | None = None) -> None:
        super().__init__()
        self._offer = offer
        self._folder = folder or here()
        self._chosen = offer.formats[0]
        self._suggested = self._chosen.name
        self._looking = Latest()
        self._wanted = False
        """What a look finds is still of use: nothing was written since it began."""
        self._asked: Path | None = None
        """The file of which it was said that it exists."""
        self._writing: Path | None = None

    def compose(self) -> ComposeResult:
        """From what to where."""
        formats = self._offer.formats
        width = max(len(one.label) for one in formats) + 2
        with Vertical(id="export"):
            yield Label(f"Export: {self._offer.what}", id="title", markup=False)
            yield _Formats(*(Option(_prompt(one, width)) for one in formats))
            with Horizontal(id="to"):
                yield Label("file")
                yield Input(
                    self._suggested, id="path", compact=True, select_on_focus=False
                )
                yield Button("Write", id="write", compact=True, variant="primary")
            yield Static(id="where", markup=False)
            yield _CopyToo(markup=False)
            yield Label(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """The list has the focus; what it is about can be typed over."""
        self.query_one("#write").can_focus = False
        listing = self.query_one(_Formats)
        listing.highlighted = 0
        listing.focus()
        self._look()

    # Choosing.

    @property
    def path(self) -> Path | None:
        """The file that is meant; ``None`` if nothing was typed."""
        return target(self._input.value, self._chosen, self._folder)

    @property
    def _input(self) -> Input:
        return self.query_one("#path", Input)

    def action_choose(self, by: int) -> None:
        """Another format, from wherever the focus is."""
        index = self._offer.formats.index(self._chosen) + by
        self._highlight(index % len(self._offer.formats))

    @on(OptionList.OptionHighlighted)
    def _chose(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._choose(self._offer.formats[event.option_index])

    def _choose(self, chosen: Format) -> None:
        """The ending follows the format, and the name until it is edited."""
        if chosen is self._chosen:
            return
        typed = self._input.value
        untouched = typed == self._suggested
        self._chosen, self._suggested = chosen, chosen.name
        with self.prevent(Input.Changed):
            new = chosen.name if untouched else renamed(typed, chosen.ending)
            self._input.value = new
        self._look()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        """An ending that was typed chooses its format."""
        event.stop()
        ending = ending_of(event.value.strip())
        if ending and ending != self._chosen.ending:
            formats = self._offer.formats
            fitting = (i for i, one in enumerate(formats) if one.ending == ending)
            index = next(fitting, None)
            if index is not None:
                self._chosen = formats[index]
                self._suggested = self._chosen.name
                self._highlight(index)
        self._look()

    def _highlight(self, index: int) -> None:
        self.query_one(_Formats).highlighted = index

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        self.run_worker(work)

    # Looking.

    def _look(self) -> None:
        """Say what would come of it, as far as that can be known beforehand."""
        self._asked, self._wanted = None, True
        path = self.path
        if path is None:
            self._say(_Finding("Type the name of a file.", bad=True))
            return
        found = not_offered(path, self._offer.formats)
        if found:
            self._say(_Finding(found, bad=True))
        else:
            look, looked = partial(_look_at, path), partial(self._looked, path)
            self._begin(partial(self._looking.ask, look, looked))

    def _looked(self, path: Path, finding: _Finding) -> None:
        # Meanwhile something else may have been typed, or Enter may have had an answer.
        if path == self.path and self._wanted:
            self._say(finding)

    def _say(self, finding: _Finding) -> None:
        if self._writing is None and self._asked is None:
            self._show(finding)

    def _show(self, finding: _Finding) -> None:
        where = self.query_one("#where", Static)
        where.update(finding.text)
        where.set_class(finding.bad, "-bad")

    # Writing.

    @on(Input.Submitted)
    @on(Button.Pressed)
    def _entered(self, event: Input.Submitted | Button.Pressed) -> None:
        event.stop()
        self.action_write()

    def action_write(self) -> None:
        """Write the file, unless one is there that may not be replaced."""
        # A slow line delivers several keys at once: the list may be further than what
        # it has told.
        highlighted = self.query_one(_Formats).highlighted
        if highlighted is not None:
            self._choose(self._offer.formats[highlighted])
        path = self.path
        if path is None or self._writing is not None:
            return
        if not_offered(path, self._offer.formats):
            return
        replace = self._asked == path
        self._writing, self._asked, self._wanted = path, None, False
        self._show(_Finding("Writing…"))
        self._begin(partial(self._write, self._chosen, path, replace))

    async def _write(self, chosen: Format, path: Path, replace: bool) -> None:
        try:
            text = visible(await chosen.content())
            await in_thread(partial(write, path, text, replace=replace))
        except ExistsError as error:
            self._writing, self._asked = None, path
            self._show(_Finding(f"{error} {ANEW}", bad=True))
        except ExportError as error:
            self._writing = None
            self._show(_Finding(str(error), bad=True))
        else:
            self._written(path, text, len(text.encode()))

    def _written(self, path: Path, text: str, size: int) -> None:
        copied = ""
        if self.query_one(_CopyToo).on:
            fits = size <= CLIPBOARD_BYTES
            copied = (
                ", and copied if the terminal allows it"
                if fits
                else "; it is too long for the clipboard"
            )
            if fits:
                self.app.copy_to_clipboard(text)
        self._writing = None
        self._tell(f"Wrote {fmt.bytes_text(size)} to {path}{copied}.")
        self.dismiss()

    # Leaving.

    def action_toggle_copy(self) -> None:
        """Copy it to the clipboard as well, or not."""
        self.query_one(_CopyToo).on_click()

    def action_leave(self) -> None:
        """Leave; what is being written may come into being all the same."""
        if self._writing is not None:
            self._tell(f"Left while {self._writing} was written: it may still appear.")
        self.dismiss()

    def _tell(self, message: str) -> None:
        cast("JaxtuiApp", self.app).session.say(message)


def _look_at(path: Path) -> _Finding:
    """What would come of writing to a path, without touching it."""
    try:
        check(path)
    except ExistsError as error:
        return _Finding(f"{error} Enter asks before it is replaced.", bad=True)
    except ExportError as error:
        return _Finding(str(error), bad=True)
    return _Finding(f"Enter writes {path}")


def _prompt(one: Format, width: int) -> Content:
    return Content.assemble((one.label.ljust(width), "bold"), one.holds)
