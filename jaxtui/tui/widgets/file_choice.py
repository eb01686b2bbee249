"""A path that completes as in a shell, with what it may become below."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from jaxtui.text import visible
from jaxtui.tui.aside import Latest, Work
from jaxtui.tui.completion import Candidates, candidates, split_names


class Said(Message):
    """A sentence for people.

    Args:
        words: the sentence; empty for none.
        problem: whether it says what is wrong.
    """

    def __init__(self, words: str, problem: bool = False) -> None:
        super().__init__()
        self.words = words
        self.problem = problem


class _Files(OptionList, can_focus=False):
    """What the path may become; the keys stay with the path."""


class FileChoice(Vertical):
    """Arrows move in the list, so that one never has to leave the text.

    Args:
        before: absolute paths of the files that were chosen before; offered first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("pagedown", "move(10)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("tab", "complete", show=False),
    ]

    DEFAULT_CSS = """
    FileChoice {
        height: 1fr;
        Horizontal { height: 1; }
        Label { color: $foreground 70%; }
        Input { width: 1fr; }
        &.-chosen { height: auto; _Files { display: none; } }
    }
    """

    class Changed(Message):
        """Another path is typed."""

    class Chosen(Message):
        """A file is meant.

        Args:
            text: its path as it was typed, with names of functions after a colon.
        """

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, before: Sequence[str]) -> None:
        super().__init__()
        self._before = tuple(before)
        self._found = Candidates()
        self._offered: tuple[str, ...] = ()
        self._moved = False
        self._meant = ""
        """What was meant last: while it is typed, what was said of it stays."""
        self._looking = Latest()

    def compose(self) -> ComposeResult:
        """The path, and the list."""
        with Horizontal():
            yield Label("file ")
            yield Input(
                id="open-path",
                compact=True,
                placeholder="path of a Python file, or train.py:step",
            )
        yield _Files(id="open-files")

    def on_mount(self) -> None:
        """Look around at once."""
        self._look("")

    @property
    def text(self) -> str:
        """What is typed."""
        return self._entry.value

    def choose(self, before: Sequence[str]) -> None:
        """Take the keys, and offer files again.

        Args:
            before: those that were chosen before.
        """
        self._before = tuple(before)
        self._meant = ""
        self.remove_class("-chosen")
        self._entry.disabled = False
        self._entry.focus()
        self._look(self.text)

    def rest(self) -> None:
        """Show what was chosen, and nothing else."""
        self.add_class("-chosen")
        self._entry.disabled = True

    @property
    def _entry(self) -> Input:
        return self.query_one(Input)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._meant:
            self._meant = ""
            self.post_message(self.Changed())
        self._look(event.value)

    def _look(self, text: str) -> None:
        """Ask the disk, which may be slow, or gone."""
        path, _ = split_names(text)
        look = partial(candidates, path)
        work: Work = partial(self._looking.ask, look, self._show)
        self.run_worker(work)

    def _show(self, found: Candidates) -> None:
        typed = self.text
        before = () if typed else tuple(map(_as_typed, self._before))
        self._found, self._moved = found, False
        others = tuple(path for path in found.paths if path not in before)
        self._offered = (*before, *others)
        files = self.query_one(_Files)
        files.clear_options()
        files.add_options(
            Option(
                Content.assemble(
                    visible(path, line=True),
                    ("   opened before" if path in before else "", "dim"),
                )
            )
            for path in self._offered
        )
        files.highlighted = 0 if self._offered else None
        if typed and typed == self._meant:
            return
        more = f"{found.more} more: type on." if found.more else ""
        problem = bool(found.trouble) and not before
        self.post_message(Said(found.trouble or more, problem))

    def action_move(self, by: int) -> None:
        """Another of the files."""
        files = self.query_one(_Files)
        if files.option_count and files.highlighted is not None:
            last = files.option_count - 1
            files.highlighted = max(0, min(files.highlighted + by, last))
            self._moved = True

    def action_complete(self) -> None:
        """As far as all files that are listed have it in common; of one, all."""
        common = self._found.common
        if self._moved or len(common) <= len(self.text):
            index = self.query_one(_Files).highlighted
            common = self._offered[index] if index is not None else self.text
        self._write(common)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        path, _ = split_names(event.value)
        index = self.query_one(_Files).highlighted
        if (path.endswith(".py") and not self._moved) or index is None:
            self._mean(event.value)
        else:
            self._take(self._offered[index])

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._take(self._offered[event.option_index])

    def _take(self, path: str) -> None:
        self._write(path)
        if not path.endswith("/"):
            self._mean(path)

    def _mean(self, text: str) -> None:
        self._meant = text
        self.post_message(self.Chosen(text))

    def _write(self, path: str) -> None:
        self._entry.value = path
        self._entry.cursor_position = len(path)


def _as_typed(path: str) -> str:
    """A path from the working directory where that is shorter, or from home."""
    relative = os.path.relpath(path)
    if not relative.startswith(".."):
        return relative
    home = os.path.expanduser("~")
    if home != "/" and path.startswith(home + "/"):
        return "~" + path[len(home) :]
    return path
