"""The screen that writes files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from jaxtui import format as fmt
from jaxtui.places import ExportError
from jaxtui.text import visible
from jaxtui.tui.base import base
from jaxtui.tui.dialogs import Question
from jaxtui.tui.threads import Latest, Work, in_thread
from jaxtui.tui.widgets.panel import BorderedInput, Panel, PanelList, box
from jaxtui.view.export import (
    ExistsError,
    check,
    ending_of,
    here,
    with_ending,
    write,
)
from jaxtui.view.offers import Format, Offer

LABELS = {
    ".json": "JSON",
    ".csv": "CSV",
    ".md": "Markdown",
    ".svg": "SVG",
    ".txt": "Text",
    ".py": "Script",
}
"""What a format is called, by the ending of its file."""

KEYS = "Enter write · Esc leave · Up Down format · Tab name · a copy too"


def preview(offer: Offer, typed: str, chosen: Format, folder: Path) -> tuple[str, bool]:
    """What Enter would do, without touching anything, and whether that is bad."""
    try:
        path = offer.path(typed, chosen, folder)
        check(path)
    except ExistsError as error:
        return f"{error} Enter asks before it is replaced.", True
    except ExportError as error:
        return str(error), True
    return f"Enter writes {path}", False


class _Formats(PanelList):
    """A list whose Enter is the screen's; a click only chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.write", "Write", show=False),
    ]


class _CopyToo(Static):
    """Whether the clipboard gets it as well; a mark that needs no colour."""

    on: reactive[bool] = reactive(False)
    """Whether it does."""

    def render(self) -> str:
        return f"{box(self.on)}copy it to the clipboard as well"

    def on_click(self) -> None:
        self.on = not self.on


class ExportScreen(ModalScreen[None]):
    """A list of formats, the file's path, and what will come of it.

    Nothing is lost while it stays open: what cannot be written is said in a sentence.

    Args:
        offer: what there is.
    """

    HELP = "Export"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "write", "Write", tooltip="Write the file."),
        Binding("up", "choose(False)", "Up", show=False),
        Binding("down", "choose(True)", "Down", show=False),
        Binding(
            "a",
            "toggle_copy",
            "Copy too",
            tooltip="Copy the text to the clipboard as well, or not.",
        ),
        Binding("escape,q", "leave", "Leave", tooltip="Write nothing."),
    ]

    DEFAULT_CSS = """
    ExportScreen {
        align: center middle;
        #export { width: 96%; max-width: 100; max-height: 100%; }
        PanelList { height: auto; max-height: 12; background: transparent; }
        #where { min-height: 2; height: auto; width: 100%; padding: 0 1; }
        #where.-bad { color: $text-error; text-style: bold; }
        _CopyToo { width: 100%; padding: 0 1; }
    }
    """

    def __init__(self, offer: Offer) -> None:
        super().__init__()
        self._offer = offer
        self._folder = here()
        """What a path is relative to."""
        self._looking = Latest()
        self._writing = ""

    def compose(self) -> ComposeResult:
        found = self._offer.formats
        labels = [LABELS[one.ending] for one in found]
        width = max(map(len, labels)) + 2
        with Panel(f"export {self._offer.what}", KEYS, id="export"):
            yield _Formats(
                *(
                    Option(Content.assemble((f"{label:{width}}", "bold"), one.holds))
                    for label, one in zip(labels, found, strict=True)
                )
            )
            path = BorderedInput(found[0].name, id="path", select_on_focus=False)
            path.border_title = "file"
            yield path
            yield Static(id="where", markup=False)
            yield _CopyToo(markup=False)

    def on_mount(self) -> None:
        listing = self.query_one(_Formats)
        listing.highlighted = 0
        listing.focus()
        # Not its message: a slow line delivers an arrow and Enter at once.
        self.watch(listing, "highlighted", self._name_after_format)

    # Choosing.

    @property
    def _chosen(self) -> Format:
        return self._offer.formats[self.query_one(_Formats).highlighted or 0]

    def action_choose(self, down: bool) -> None:
        listing = self.query_one(_Formats)
        (listing.action_cursor_down if down else listing.action_cursor_up)()

    def _name_after_format(self) -> None:
        """The ending follows the format, and the name until it is edited."""
        field, chosen = self.query_one(Input), self._chosen
        suggested = {one.name for one in self._offer.formats}
        field.value = (
            chosen.name
            if field.value in suggested
            else with_ending(field.value, chosen.ending)
        )
        self._look()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        """An ending that was typed chooses its format."""
        event.stop()
        endings = [one.ending for one in self._offer.formats]
        ending = ending_of(self.query_one(Input).value.strip())
        if ending in endings and ending != self._chosen.ending:
            self.query_one(_Formats).highlighted = endings.index(ending)
        self._look()

    def _look(self) -> None:
        """Say what would come of it, as far as that can be known beforehand."""
        meant = self._offer, self.query_one(Input).value, self._chosen

        def show(found: tuple[str, bool]) -> None:
            if not self._writing:  # meanwhile Enter was pressed
                self._show(*found)

        look = partial(preview, *meant, self._folder)
        begin: Work = partial(self._looking.ask, look, show)
        self.run_worker(begin)

    def _show(self, text: str, bad: bool = False) -> None:
        where = self.query_one("#where", Static)
        where.update(text)
        where.set_class(bad, "-bad")

    # Writing.

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_write()

    def action_write(self, replace: bool = False) -> None:
        """Write the file; what is there is replaced after a question."""
        if self._writing:
            return
        self._writing = typed = self.query_one(Input).value
        self._show("Writing…")
        begin: Work = partial(self._write, typed, self._chosen, replace)
        self.run_worker(begin)

    async def _write(self, typed: str, chosen: Format, replace: bool) -> None:
        meant = partial(self._offer.path, typed, chosen, self._folder)
        try:
            path = await in_thread(meant)
            text = visible(await chosen.content())
            await in_thread(partial(write, path, text, replace=replace))
        except ExportError as error:
            self._writing = ""
            self._show(str(error), bad=True)
            if isinstance(error, ExistsError):
                question = Question(str(error), "replaces it", "keeps it")
                self.app.push_screen(question, self._answered)
            return
        size = fmt.bytes_text(len(text.encode()))
        copied = f"; {base(self).copy(text)}" if self.query_one(_CopyToo).on else ""
        self._writing = ""
        base(self).session.say(f"Wrote {size} to {path}{copied}.")
        self.dismiss()

    def _answered(self, yes: bool | None) -> None:
        if yes:
            self.action_write(replace=True)

    def action_toggle_copy(self) -> None:
        self.query_one(_CopyToo).on_click()

    def action_leave(self) -> None:
        """Leave; what is being written may come into being all the same."""
        if self._writing:
            base(self).say(
                f"Left while {self._writing} was written: it may still appear."
            )
        self.dismiss()
