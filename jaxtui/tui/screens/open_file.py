"""Choose functions of a Python file, which is read and never run here."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from jaxtui import selection
from jaxtui.model.own import Spec, parse_specs
from jaxtui.selection.functions import Listing, OwnFunction, wrong_with
from jaxtui.selection.listing import listing
from jaxtui.tui.aside import Latest
from jaxtui.tui.completion import Candidates, candidates, split_names
from jaxtui.tui.own_state import OpenedState, Picked

_T = TypeVar("_T")

SIZE = "256"
"""What a factory without a size of its own is given to begin with."""

_OF_FILES = "Tab completes   ↑↓ Enter open   Esc closes"
_OF_FUNCTIONS = "Space marks   Tab arguments   Enter takes what is marked   Esc back"


class _Path(Input):
    """Arrows move in the list below, so that one never has to leave the text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.move(1)", show=False),
        Binding("up", "screen.move(-1)", show=False),
        Binding("pagedown", "screen.move(10)", show=False),
        Binding("pageup", "screen.move(-10)", show=False),
        Binding("tab", "screen.complete", show=False),
    ]


class _Arguments(Input):
    """What the functions are given."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab,up,down", "screen.to_functions", show=False),
    ]


class _Files(OptionList, can_focus=False):
    """What the path may become; the keys stay with the path."""


class _Functions(OptionList):
    """Not priority bindings: a slow line delivers several keys at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.mark", show=False),
        Binding("enter", "screen.take", show=False),
        Binding("tab,shift+tab", "screen.to_arguments", show=False),
    ]


class OpenFile(ModalScreen["Picked | None"]):
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
        .open-title { text-style: bold; height: 1; }
        .open-row { height: 1; }
        .open-row Label { color: $foreground 70%; }
        Input { width: 1fr; }
        OptionList {
            height: 1fr; background: $panel; padding: 0; margin: 1 0 0 0;
            text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
            &, &:focus { border: none; }
        }
        #open-says { height: auto; max-height: 3; }
        #open-says.-problem { color: $text-error; }
        #open-keys { color: $foreground 70%; height: 1; }
        #open-functions, #open-given { display: none; }
        &.-functions {
            #open-files { display: none; }
            #open-functions, #open-given { display: block; }
        }
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
        self._found = Candidates()
        self._offered: tuple[str, ...] = ()
        self._moved = False
        self._asked = ""
        self._looking, self._reading = Latest(), Latest()
        self._listing: Listing | None = None
        self._functions: tuple[OwnFunction, ...] = ()
        self._marked: set[str] = set()

    def compose(self) -> ComposeResult:
        """Path, what it may become or what the file has, what is wrong, keys."""
        with Vertical(id="open-box"):
            yield Static("Time functions of your own", classes="open-title")
            with Horizontal(classes="open-row"):
                yield Label("file ")
                yield _Path(
                    id="open-path",
                    compact=True,
                    placeholder="path of a Python file, or train.py:step",
                )
            yield _Files(id="open-files")
            yield _Functions(id="open-functions")
            with Horizontal(classes="open-row", id="open-given"):
                yield Label("arguments ")
                yield _Arguments(id="open-arguments", compact=True)
            yield Static(id="open-says", markup=False)
            yield Static(_OF_FILES, id="open-keys", markup=False)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(_Path).focus()
        self._look("")

    # The path.

    @on(Input.Changed, "#open-path")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._asked:
            self._asked = ""
        self._look(event.value)

    def _look(self, text: str) -> None:
        path, _ = split_names(text)
        self._ask(self._looking, lambda: candidates(path), self._show_files)

    def _show_files(self, found: Candidates) -> None:
        typed = self.query_one(_Path).value
        before = () if typed else tuple(map(_as_typed, self._opened.files))
        self._found, self._moved = found, False
        others = tuple(path for path in found.paths if path not in before)
        self._offered = (*before, *others)
        files = self.query_one(_Files)
        files.clear_options()
        files.add_options(
            Option(
                Content.assemble(path, ("   opened before", "dim"))
                if path in before
                else Content(path)
            )
            for path in self._offered
        )
        files.highlighted = 0 if self._offered else None
        if typed and typed == self._asked:
            return  # the line says what became of that file
        more = f"{found.more} more: type on." if found.more else ""
        self._say(found.trouble or more, bool(found.trouble) and not before)

    def action_move(self, by: int) -> None:
        """Another of the files."""
        files = self.query_one(_Files)
        if files.option_count and files.highlighted is not None:
            last = files.option_count - 1
            files.highlighted = max(0, min(files.highlighted + by, last))
            self._moved = True

    def action_complete(self) -> None:
        """As far as all files that are listed have it in common; of one, all."""
        path = self.query_one(_Path)
        common = self._found.common
        if self._moved or len(common) <= len(path.value):
            index = self.query_one(_Files).highlighted
            common = self._offered[index] if index is not None else path.value
        path.value = common
        path.cursor_position = len(common)

    @on(Input.Submitted, "#open-path")
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        path, _ = split_names(event.value)
        index = self.query_one(_Files).highlighted
        if (path.endswith(".py") and not self._moved) or index is None:
            self._read(event.value)
        else:
            self._take_file(self._offered[index])

    @on(OptionList.OptionSelected, "#open-files")
    def _clicked_file(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._take_file(self._offered[event.option_index])

    def _take_file(self, path: str) -> None:
        entry = self.query_one(_Path)
        entry.value = path
        entry.cursor_position = len(path)
        if not path.endswith("/"):
            self._read(path)

    # The file.

    def _read(self, text: str) -> None:
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
        self._ask(self._reading, read, partial(self._answered, text, names))

    def _answered(self, text: str, names: Sequence[str], found: Listing | str) -> None:
        if text != self._asked:
            return  # something else was typed meanwhile
        if isinstance(found, str):
            self._say(found, True)
            return
        self._show_functions(names, found)

    def _show_functions(self, names: Sequence[str], found: Listing) -> None:
        self._noted(found.path)
        self._opened = self._opened.with_file(found.path)
        named = tuple(found.find(name) for name in names)
        others = (one for one in found.functions if one not in named)
        if not named and not found.functions:
            name = os.path.basename(found.path)
            self._say(f"{name} defines no function that could be timed.", True)
            return
        self._listing = found
        self._functions = tuple(sorted((*named, *others), key=lambda one: one.line))
        self._marked = {one.name for one in named}
        functions = self.query_one(_Functions)
        functions.clear_options()
        functions.add_options(Option(self._prompt(one)) for one in self._functions)
        places = [i for i, one in enumerate(self._functions) if one in named]
        functions.highlighted = (*places, 0)[0]
        self.add_class("-functions")
        entry = self.query_one(_Arguments)
        entry.placeholder = _placeholder(self._functions)
        self.query_one(_Path).disabled = True
        self.query_one("#open-keys", Static).update(_OF_FUNCTIONS)
        functions.focus()
        self._judge()

    def _prompt(self, function: OwnFunction) -> Content:
        mark = "x" if function.name in self._marked else " "
        return Content.assemble(
            f"[{mark}] ",
            (function.name, "dim" if function.problem else "bold"),
            function.signature,
            *((f"\n    {words}", "dim") for words in _about(function)),
        )

    def action_mark(self) -> None:
        """Mark the function under the cursor, or unmark it."""
        functions = self.query_one(_Functions)
        index = functions.highlighted
        if index is None:
            return
        function = self._functions[index]
        if function.problem:
            self._say(wrong_with(function, ()), True)
            return
        self._marked ^= {function.name}
        functions.replace_option_prompt_at_index(index, self._prompt(function))
        self._judge()

    @on(OptionList.OptionSelected, "#open-functions")
    def _clicked_function(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_mark()

    @on(OptionList.OptionHighlighted, "#open-functions")
    def _at_another(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._judge()

    @on(Input.Changed, "#open-arguments")
    def _arguments_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._judge()

    def action_to_arguments(self) -> None:
        """From the functions to their arguments."""
        self.query_one(_Arguments).focus()

    def action_to_functions(self) -> None:
        """And back."""
        self.query_one(_Functions).focus()

    # What it comes to.

    @property
    def _chosen(self) -> tuple[OwnFunction, ...]:
        """What is marked, or else what is under the cursor."""
        marked = tuple(one for one in self._functions if one.name in self._marked)
        index = self.query_one(_Functions).highlighted
        return marked or (() if index is None else (self._functions[index],))

    def _typed_specs(self) -> tuple[Spec, ...]:
        text = self.query_one(_Arguments).value
        return parse_specs(selection.parse_arguments(selection.split_arguments(text)))

    def _judge(self) -> bool:
        """Say what Enter would take, or what is wrong with it."""
        try:
            typed = self._typed_specs()
        except selection.SelectionError as error:
            self._say(str(error), True)
            return False
        chosen = self._chosen
        wrong = next(filter(None, (wrong_with(one, typed) for one in chosen)), "")
        self._say(wrong or _taken(chosen, typed), bool(wrong))
        return not wrong and bool(chosen)

    def action_take(self) -> None:
        """Leave with what is chosen, if it can be timed."""
        if self._listing is None:
            return
        if not self._judge():
            chosen = self._chosen
            if chosen and not any(one.problem for one in chosen):
                self.query_one(_Arguments).focus()
            return
        chosen = self._chosen
        text = self.query_one(_Arguments).value
        arguments = selection.parse_arguments(selection.split_arguments(text))
        sized = any(one.factory and one.factory.needs_size for one in chosen)
        has_numpy = all(one.has_numpy for one in chosen)
        names = ",".join(one.name for one in chosen)
        self.dismiss(
            Picked(
                op=f"{self._listing.path}:{names}",
                arguments=arguments,
                sizes=SIZE if sized and not arguments else "",
                modes=("numpy", "jit") if has_numpy else ("jit",),
            )
        )

    @on(Input.Submitted, "#open-arguments")
    def _arguments_entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_take()

    def action_back(self) -> None:
        """From the functions to the path, from the path to the form."""
        if not self.has_class("-functions"):
            self.dismiss(None)
            return
        self.remove_class("-functions")
        self._listing = None
        path = self.query_one(_Path)
        path.disabled = False
        path.focus()
        self.query_one("#open-keys", Static).update(_OF_FILES)
        self._asked = ""
        self._look(path.value)

    def _ask(
        self, latest: Latest, question: Callable[[], _T], take: Callable[[_T], None]
    ) -> None:
        """Ask a disk, which may be slow, or gone."""
        work: Callable[[], Awaitable[None]] = partial(latest.ask, question, take)
        self.run_worker(work)

    def _say(self, words: str, problem: bool = False) -> None:
        line = self.query_one("#open-says", Static)
        line.update(words)
        line.set_class(problem, "-problem")


def _as_typed(path: str) -> str:
    """A path from the working directory where that is shorter, or from home."""
    relative = os.path.relpath(path)
    if not relative.startswith(".."):
        return relative
    home = os.path.expanduser("~")
    if home != "/" and path.startswith(home + "/"):
        return "~" + path[len(home) :]
    return path


def _about(function: OwnFunction) -> tuple[str, ...]:
    """The lines below its name."""
    if function.problem:
        return (f"cannot be timed: it {function.problem}",)
    parts = [function.summary.rstrip(".")] if function.summary else []
    if function.factory is not None:
        parts.append(f"arguments from {function.factory.text}")
    if function.has_numpy:
        parts.append("has a NumPy form")
    return (" · ".join(parts),) if parts else ()


def _placeholder(functions: Sequence[OwnFunction]) -> str:
    factory = next((one.factory for one in functions if one.factory), None)
    example = "such as f32[1024,1024] i32[8]"
    if factory is None:
        return example
    return f"{factory.name} makes them, or type shapes {example}"


def _taken(chosen: Sequence[OwnFunction], typed: Sequence[Spec]) -> str:
    """What would be timed, in a sentence."""
    if not chosen:
        return ""
    names = ", ".join(one.name for one in chosen)
    what = f"{names} against each other" if len(chosen) > 1 else names
    if typed:
        shapes = " ".join(spec.text for spec in typed)
        return f"Enter takes {what}, with random {shapes}."
    factories = dict.fromkeys(one.factory.text for one in chosen if one.factory)
    made = f", with what {' and '.join(factories)} returns" if factories else ""
    return f"Enter takes {what}{made}."
