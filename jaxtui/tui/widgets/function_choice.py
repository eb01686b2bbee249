"""The functions of a file, and the arguments that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from jaxtui import selection
from jaxtui.functions import Listing, OwnFunction
from jaxtui.model.own import Spec, parse_specs
from jaxtui.tui.state import Picked
from jaxtui.tui.widgets.file_choice import Said

SIZE = "256"
"""What a factory without a size of its own is given to begin with."""


class _Functions(OptionList):
    """Not priority bindings: a slow line delivers several keys at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", show=False),
        Binding("enter", "take", show=False),
    ]

    class Key(Message):
        """A key that does something with the functions, and not a click."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def action_mark(self) -> None:
        """Mark the function under the cursor."""
        self.post_message(self.Key("mark"))

    def action_take(self) -> None:
        """Take what is marked."""
        self.post_message(self.Key("take"))


class FunctionChoice(Vertical):
    """Marks functions; says all the while what Enter would take."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab,up,down", "switch", show=False)
    ]

    DEFAULT_CSS = """
    FunctionChoice {
        height: 1fr;
        Horizontal { height: 1; }
        Label { color: $foreground 70%; }
        Input { width: 1fr; }
    }
    """

    class Taken(Message):
        """Something was chosen that can be timed."""

        def __init__(self, picked: Picked) -> None:
            super().__init__()
            self.picked = picked

    def __init__(self) -> None:
        super().__init__()
        self._path = ""
        self._functions: tuple[OwnFunction, ...] = ()
        self._marked: set[str] = set()

    def compose(self) -> ComposeResult:
        """The list, and the arguments."""
        yield _Functions(id="open-functions")
        with Horizontal():
            yield Label("arguments ")
            yield Input(id="open-arguments", compact=True)

    @property
    def _list(self) -> _Functions:
        return self.query_one(_Functions)

    @property
    def _entry(self) -> Input:
        return self.query_one(Input)

    def choose(self, found: Listing, names: Sequence[str]) -> None:
        """Take the keys, and offer the functions of a file.

        Args:
            found: the functions.
            names: those that were typed after the path: they are marked, and listed
                even if the text of the file does not define them.
        """
        named = tuple(found.find(name) for name in names)
        others = (one for one in found.functions if one not in named)
        self._path = found.path
        self._functions = tuple(sorted((*named, *others), key=lambda one: one.line))
        self._marked = {one.name for one in named}
        functions = self._list
        functions.clear_options()
        functions.add_options(Option(self._prompt(one)) for one in self._functions)
        places = [i for i, one in enumerate(self._functions) if one in named]
        functions.highlighted = (*places, 0)[0]
        self._entry.placeholder = _placeholder(self._functions)
        functions.focus()
        self._judge()

    def _prompt(self, function: OwnFunction) -> Content:
        mark = "x" if function.name in self._marked else " "
        return Content.assemble(
            f"[{mark}] ",
            (function.name, "bold"),
            function.signature,
            *((f"\n    {words}", "dim") for words in _about(function)),
        )

    # Keys and clicks.

    def action_switch(self) -> None:
        """From the functions to their arguments, and back."""
        (self._entry if self._list.has_focus else self._list).focus()

    @on(_Functions.Key)
    def _pressed(self, event: _Functions.Key) -> None:
        event.stop()
        if event.name == "mark":
            self._mark()
        else:
            self._take()

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._mark()

    @on(OptionList.OptionHighlighted)
    def _at_another(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._judge()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._judge()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._take()

    # What it comes to.

    def _mark(self) -> None:
        """Mark the function under the cursor, or unmark it."""
        index = self._list.highlighted
        if index is None:
            return
        function = self._functions[index]
        self._marked ^= {function.name}
        self._list.replace_option_prompt_at_index(index, self._prompt(function))
        self._judge()

    @property
    def _chosen(self) -> tuple[OwnFunction, ...]:
        """What is marked, or else what is under the cursor."""
        marked = tuple(one for one in self._functions if one.name in self._marked)
        index = self._list.highlighted
        return marked or (() if index is None else (self._functions[index],))

    def _arguments(self) -> str:
        texts = selection.split_arguments(self._entry.value)
        return selection.parse_arguments(texts)

    def _judge(self) -> bool:
        """Say what Enter would take, or what is wrong with it."""
        try:
            typed = parse_specs(self._arguments())
        except selection.SelectionError as error:
            self._say(str(error), True)
            return False
        chosen = self._chosen
        lacks = [one for one in chosen if one.required and not one.factory]
        wrong = ""
        if lacks and not typed:
            wrong = (
                f"{lacks[0].name} takes {', '.join(lacks[0].required)}, and nothing "
                "says what to give it: type shapes such as f32[1024,1024]."
            )
        self._say(wrong or _taken(chosen, typed), bool(wrong))
        return not wrong and bool(chosen)

    def _take(self) -> None:
        """Hand over what is chosen, if it can be timed."""
        chosen = self._chosen
        if not self._judge():
            if chosen:
                self._entry.focus()
            return
        arguments = self._arguments()
        sized = any(one.needs_size for one in chosen)
        has_numpy = all(one.has_numpy for one in chosen)
        names = ",".join(one.name for one in chosen)
        picked = Picked(
            op=f"{self._path}:{names}",
            arguments=arguments,
            sizes=SIZE if sized and not arguments else "",
            modes=("numpy", "jit") if has_numpy else ("jit",),
        )
        self.post_message(self.Taken(picked))

    def _say(self, words: str, problem: bool = False) -> None:
        self.post_message(Said(words, problem))


def _about(function: OwnFunction) -> tuple[str, ...]:
    """The lines below its name."""
    parts = [function.summary.rstrip(".")] if function.summary else []
    if function.factory:
        parts.append(f"arguments from {function.factory}")
    if function.has_numpy:
        parts.append("has a NumPy form")
    return (" · ".join(parts),) if parts else ()


def _placeholder(functions: Sequence[OwnFunction]) -> str:
    factory = next((one.factory for one in functions if one.factory), "")
    example = "such as f32[1024,1024] i32[8]"
    if not factory:
        return example
    return f"{factory.partition('(')[0]} makes them, or type shapes {example}"


def _taken(chosen: Sequence[OwnFunction], typed: Sequence[Spec]) -> str:
    """What would be timed, in a sentence."""
    if not chosen:
        return ""
    names = ", ".join(one.name for one in chosen)
    what = f"{names} against each other" if len(chosen) > 1 else names
    if typed:
        shapes = " ".join(spec.text for spec in typed)
        return f"Enter takes {what}, with random {shapes}."
    factories = dict.fromkeys(one.factory for one in chosen if one.factory)
    made = f", with what {' and '.join(factories)} returns" if factories else ""
    return f"Enter takes {what}{made}."
