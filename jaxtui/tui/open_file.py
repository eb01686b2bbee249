"""Choose functions of a Python file, which is read and never run here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from jaxtui import selection
from jaxtui.functions import (
    Candidates,
    Listing,
    OwnFunction,
    candidates,
    listing,
    short_path,
    split_names,
)
from jaxtui.model import SelectionError
from jaxtui.model.own import Spec, parse_specs
from jaxtui.text import visible
from jaxtui.tui.state import OpenedState, Picked
from jaxtui.tui.threads import Latest, Work
from jaxtui.tui.widgets.panel import MarkList, Panel, PanelList, box

SIZE = "256"
"""What a factory without a size of its own is given to begin with."""

_TITLE = "functions of a file"
_KEYS_OF_FILES = "Tab complete · ↑↓ Enter open · Esc close"
_KEYS_OF_FUNCTIONS = "Space mark · Tab arguments · Enter take · Esc back"


class _PathInput(Input):
    """Arrows move in the list, so that one never has to leave the text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.move(1)", show=False),
        Binding("up", "screen.move(-1)", show=False),
        Binding("pagedown", "screen.move(10)", show=False),
        Binding("pageup", "screen.move(-10)", show=False),
        Binding("tab", "screen.complete", show=False),
    ]


class _Functions(MarkList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab", "screen.switch", show=False),
    ]


class _Arguments(Input):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab,up,down", "screen.switch", show=False)
    ]


class OpenFile(ModalScreen[Picked | None]):
    """First a path, then the functions of that file and their arguments.

    Dismissed with what was chosen.

    Args:
        opened: what was opened before.
        noted: told the absolute path of each file that could be read.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
    ]

    DEFAULT_CSS = """
    OpenFile {
        align: center middle;
        #open-box {
            width: 96%; max-width: 100; height: 92%; max-height: 32;
            background: $background;
        }
        PanelList { height: 1fr; background: $background; margin: 1 0 0 0; }
        Horizontal { height: 1; }
        Label { color: $foreground 70%; }
        Input { width: 1fr; }
        #open-says { height: auto; max-height: 3; }
        #open-says.-problem { color: $text-error; }
        .functions { display: none; }
        &.-functions .functions { display: block; }
        &.-functions #open-files { display: none; }
    }
    """

    def __init__(self, opened: OpenedState, noted: Callable[[str], None]) -> None:
        super().__init__()
        self._opened = opened
        self._noted = noted
        self._looking, self._reading = Latest(), Latest()
        self._found = Candidates()
        self._listed: tuple[str, ...] = ()
        """The paths of the list."""
        self._moved = False
        """An arrow has moved in the list since the last letter."""
        self._wanted = ""
        """The file whose functions are being read or were refused: while it is typed,
        what was said of it stays."""
        self._path = ""
        """Of the file whose functions are listed."""
        self._functions: tuple[OwnFunction, ...] = ()
        self._marked: set[str] = set()
        self._entry = _PathInput(
            id="open-path",
            compact=True,
            placeholder="path of a Python file, or train.py:step",
        )
        self._files = PanelList(id="open-files")
        self._files.can_focus = False  # the keys stay with the path
        self._options = _Functions(id="open-functions", classes="functions")
        self._arguments_entry = _Arguments(id="open-arguments", compact=True)
        self._says = Static(id="open-says", markup=False)

    def compose(self) -> ComposeResult:
        """The path, what it may become or what the file has, and what is wrong."""
        with Panel(_TITLE, _KEYS_OF_FILES, id="open-box"):
            with Horizontal():
                yield Label("file ")
                yield self._entry
            yield self._files
            yield self._options
            with Horizontal(classes="functions"):
                yield Label("arguments ")
                yield self._arguments_entry
            yield self._says

    def on_mount(self) -> None:
        self._entry.focus()
        self._look("")

    def _say(self, words: str, problem: bool = False) -> None:
        self._says.update(words)
        self._says.set_class(problem, "-problem")

    def action_back(self) -> None:
        if not self.has_class("-functions"):
            self.dismiss(None)
            return
        self.remove_class("-functions")
        self.query_one(Panel).entitle(_TITLE, _KEYS_OF_FILES)
        self._wanted = ""
        self._entry.disabled = False
        self._entry.focus()
        self._look(self._entry.value)

    # The path.

    @on(Input.Changed, "#open-path")
    def _typed(self, event: Input.Changed) -> None:
        if event.value != self._wanted:
            self._wanted = ""
        self._look(event.value)

    def _look(self, text: str) -> None:
        """Ask the disk, which may be slow, or gone."""
        path, _ = split_names(text)
        look = partial(candidates, path)
        work: Work = partial(self._looking.ask, look, self._list_files)
        self.run_worker(work)

    def _list_files(self, found: Candidates) -> None:
        typed = self._entry.value
        before = () if typed else tuple(map(short_path, self._opened.files))
        self._found, self._moved = found, False
        others = tuple(path for path in found.paths if path not in before)
        self._listed = (*before, *others)
        self._files.clear_options()
        self._files.add_options(
            Option(
                Content.assemble(
                    visible(path, line=True),
                    ("   opened before" if path in before else "", "dim"),
                )
            )
            for path in self._listed
        )
        self._files.highlighted = 0 if self._listed else None
        if not typed or typed != self._wanted:
            more = f"{found.more} more: type on." if found.more else ""
            problem = bool(found.trouble) and not before
            self._say(found.trouble or more, problem)

    def action_move(self, by: int) -> None:
        if self._files.highlighted is not None:
            self._files.highlighted += by  # the list keeps it within itself
            self._moved = True

    def action_complete(self) -> None:
        """As far as all files that are listed have it in common; of one, all."""
        common = self._found.common
        if self._moved or len(common) <= len(self._entry.value):
            index = self._files.highlighted
            common = self._listed[index] if index is not None else self._entry.value
        self._write(common)

    @on(Input.Submitted, "#open-path")
    def _entered(self, event: Input.Submitted) -> None:
        path, _ = split_names(event.value)
        index = self._files.highlighted
        if (path.endswith(".py") and not self._moved) or index is None:
            self._read(event.value)
        else:
            self._choose(self._listed[index])

    @on(OptionList.OptionSelected, "#open-files")
    def _file_clicked(self, event: OptionList.OptionSelected) -> None:
        self._choose(self._listed[event.option_index])

    def _choose(self, path: str) -> None:
        self._write(path)
        if not path.endswith("/"):
            self._read(path)

    def _write(self, path: str) -> None:
        self._entry.value = path
        self._entry.cursor_position = len(path)

    def _read(self, text: str) -> None:
        """Read a file, and go on to its functions."""
        path, names = split_names(text)
        if not path:
            self._say("Name a Python file, or choose one of the list.", True)
            return

        def read() -> Listing | str:
            try:
                return listing(path)
            except SelectionError as error:
                return str(error)

        self._wanted = text
        self._say(f"Reading {path} …")
        take = partial(self._list_functions, text, names)
        work: Work = partial(self._reading.ask, read, take)
        self.run_worker(work)

    def _list_functions(
        self, text: str, names: Sequence[str], found: Listing | str
    ) -> None:
        if text != self._wanted:
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
        # Those that were typed after the path are listed even if the text of the file
        # does not define them.
        named = tuple(found.find(name) for name in names)
        others = (one for one in found.functions if one not in named)
        self._path = found.path
        self._functions = tuple(sorted((*named, *others), key=lambda one: one.line))
        self._marked = {one.name for one in named}
        self._entry.disabled = True
        self.add_class("-functions")
        self.query_one(Panel).entitle(_TITLE, _KEYS_OF_FUNCTIONS)
        self._options.clear_options()
        self._options.add_options(Option(self._prompt(one)) for one in self._functions)
        places = [i for i, one in enumerate(self._functions) if one in named]
        self._options.highlighted = (*places, 0)[0]
        self._arguments_entry.placeholder = _placeholder(self._functions)
        self._options.focus()
        self._judge()

    # The functions.

    def _prompt(self, function: OwnFunction) -> Content:
        parts = [function.summary.rstrip(".")] if function.summary else []
        if function.factory:
            parts.append(f"arguments from {function.factory}")
        if function.has_numpy:
            parts.append("has a NumPy form")
        return Content.assemble(
            box(function.name in self._marked),
            (function.name, "bold"),
            function.signature,
            (f"\n    {' · '.join(parts)}" if parts else "", "dim"),
        )

    def action_switch(self) -> None:
        there = self._options.has_focus
        (self._arguments_entry if there else self._options).focus()

    @on(OptionList.OptionSelected, "#open-functions")
    def _function_clicked(self) -> None:
        self.action_mark()

    @on(OptionList.OptionHighlighted, "#open-functions")
    @on(Input.Changed, "#open-arguments")
    def _judge_again(self) -> None:
        if self.has_class("-functions"):
            self._judge()

    @on(Input.Submitted, "#open-arguments")
    def _arguments_entered(self) -> None:
        self.action_take()

    def action_mark(self) -> None:
        function = self._pointed
        self._marked ^= {function.name}
        index = self._functions.index(function)
        self._options.replace_option_prompt_at_index(index, self._prompt(function))
        self._judge()

    @property
    def _pointed(self) -> OwnFunction:
        """What is under the cursor: no list is shown without a function."""
        return self._functions[self._options.highlighted or 0]

    def _judge(self) -> Picked | None:
        """Say what Enter would take; ``None`` if something is wrong with it."""
        marked = tuple(one for one in self._functions if one.name in self._marked)
        chosen = marked or (self._pointed,)
        try:
            texts = selection.split_arguments(self._arguments_entry.value)
            arguments = selection.parse_arguments(texts)
            typed = parse_specs(arguments)
        except SelectionError as error:
            self._say(str(error), True)
            return None
        lacks = [one for one in chosen if one.required and not one.factory]
        if lacks and not typed:
            self._say(
                f"{lacks[0].name} takes {', '.join(lacks[0].required)}, and nothing "
                "says what to give it: type shapes such as f32[1024,1024].",
                True,
            )
            return None
        self._say(_announcement(chosen, typed))
        sized = any(one.needs_size for one in chosen)
        has_numpy = all(one.has_numpy for one in chosen)
        names = ",".join(one.name for one in chosen)
        return Picked(
            op=f"{self._path}:{names}",
            arguments=arguments,
            sizes=SIZE if sized and not arguments else "",
            modes=("numpy", "jit") if has_numpy else ("jit",),
        )

    def action_take(self) -> None:
        if (picked := self._judge()) is not None:
            self.dismiss(picked)
        else:
            self._arguments_entry.focus()


def _placeholder(functions: Sequence[OwnFunction]) -> str:
    factory = next((one.factory for one in functions if one.factory), "")
    example = "such as f32[1024,1024] i32[8]"
    if not factory:
        return example
    return f"{factory.partition('(')[0]} makes them, or type shapes {example}"


def _announcement(chosen: Sequence[OwnFunction], typed: Sequence[Spec]) -> str:
    """What would be timed, in a sentence."""
    names = ", ".join(one.name for one in chosen)
    what = f"{names} against each other" if len(chosen) > 1 else names
    if typed:
        shapes = " ".join(spec.text for spec in typed)
        return f"Enter takes {what}, with random {shapes}."
    factories = dict.fromkeys(one.factory for one in chosen if one.factory)
    made = f", with what {' and '.join(factories)} returns" if factories else ""
    return f"Enter takes {what}{made}."
