"""Choose functions of a Python file, which is read and never run here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from jaxtui import selection
from jaxtui.functions import Listing, listing
from jaxtui.tui.aside import Latest, Work
from jaxtui.tui.completion import split_names
from jaxtui.tui.state import OpenedState, Picked
from jaxtui.tui.widgets.file_choice import FileChoice, Said
from jaxtui.tui.widgets.function_choice import FunctionChoice

_OF_FILES = "Tab completes   ↑↓ Enter open   Esc closes"
_OF_FUNCTIONS = "Space marks   Tab arguments   Enter takes what is marked   Esc back"


class OpenFile(ModalScreen[Picked | None]):
    """First a path, then the functions of that file and their arguments.

    Dismissed with what was chosen.

    Args:
        opened: what was opened before.
        noted: told the absolute path of each file that could be read.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]

    DEFAULT_CSS = """
    OpenFile {
        align: center middle; background: $background 60%;
        #open-box {
            width: 96%; max-width: 100; height: 92%; max-height: 32;
            background: $panel; padding: 0 1;
        }
        #open-title { text-style: bold; height: 1; }
        OptionList {
            height: 1fr; background: $panel; padding: 0; margin: 1 0 0 0;
            text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
            &, &:focus { border: none; }
        }
        #open-says { height: auto; max-height: 3; }
        #open-says.-problem { color: $text-error; }
        #open-keys { color: $foreground 70%; height: 1; }
        FunctionChoice { display: none; }
        &.-functions FunctionChoice { display: block; }
    }
    """

    def __init__(
        self,
        opened: OpenedState,
        noted: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__()
        self._opened = opened
        self._noted = noted
        self._asked = ""
        self._reading = Latest()

    def compose(self) -> ComposeResult:
        """Path, what it may become or what the file has, what is wrong, keys."""
        with Vertical(id="open-box"):
            yield Static("Time functions of your own", id="open-title")
            yield FileChoice(self._opened.files)
            yield FunctionChoice()
            yield Static(id="open-says", markup=False)
            yield Static(_OF_FILES, id="open-keys", markup=False)

    @property
    def _files(self) -> FileChoice:
        return self.query_one(FileChoice)

    @on(FileChoice.Changed)
    def _typed_on(self) -> None:
        self._asked = ""

    @on(FileChoice.Chosen)
    def _read(self, event: FileChoice.Chosen) -> None:
        text = event.text
        path, names = split_names(text)
        if not path:
            self._say("Name a Python file, or choose one of the list.", True)
            return

        def read() -> Listing | str:
            try:
                return listing(path)
            except selection.SelectionError as error:
                return str(error)

        self._asked = text
        self._say(f"Reading {path} …")
        take = partial(self._answered, text, names)
        work: Work = partial(self._reading.ask, read, take)
        self.run_worker(work)

    def _answered(self, text: str, names: Sequence[str], found: Listing | str) -> None:
        if text != self._asked:
            return  # something else was typed meanwhile
        if isinstance(found, str):
            self._say(found, True)
            return
        self._noted(found.path)
        self._opened = self._opened.with_file(found.path)
        if not names and not found.functions:
            name = os.path.basename(found.path)
            self._say(f"{name} defines no function that could be timed.", True)
            return
        self._files.rest()
        self.add_class("-functions")
        self.query_one("#open-keys", Static).update(_OF_FUNCTIONS)
        self.query_one(FunctionChoice).choose(found, names)

    @on(FunctionChoice.Taken)
    def _take(self, event: FunctionChoice.Taken) -> None:
        self.dismiss(event.picked)

    def action_back(self) -> None:
        """From the functions to the path, from the path to the form."""
        if not self.has_class("-functions"):
            self.dismiss(None)
            return
        self.remove_class("-functions")
        self.query_one("#open-keys", Static).update(_OF_FILES)
        self._asked = ""
        self._files.choose(self._opened.files)

    @on(Said)
    def _heard(self, event: Said) -> None:
        event.stop()
        self._say(event.words, event.problem)

    def _say(self, words: str, problem: bool = False) -> None:
        line = self.query_one("#open-says", Static)
        line.update(words)
        line.set_class(problem, "-problem")
