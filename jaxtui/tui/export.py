"""The line in which the name of a file is typed; its ending says what is written."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from jaxtui import format as fmt
from jaxtui.model import Experiment
from jaxtui.plot import Picture
from jaxtui.state import Job, State
from jaxtui.text import visible
from jaxtui.tui.base import BaseApp, base
from jaxtui.tui.dialogs import Question
from jaxtui.tui.line import LineScreen
from jaxtui.tui.threads import in_thread
from jaxtui.tui.widgets.panel import Hint
from jaxtui.view import bench
from jaxtui.view.document import Devices, encode
from jaxtui.view.export import (
    ExistsError,
    check,
    file_stem,
    here,
    of_cases,
    stamp,
    write,
)
from jaxtui.view.scripts import case_script

Contents = Mapping[str, Callable[[], "str | Awaitable[str]"]]
"""Makers of texts by the ending of a file: at once, or when the engine has answered."""


class ExportScreen(LineScreen):
    """Writes a file.

    Args:
        stem: what its name begins with.
        contents: called in a thread; the first ending is suggested.
    """

    HELP = "Export"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "turn(-1)", "Ending", tooltip="Another file type.", show=False),
        Binding("down", "turn(1)", "Ending", tooltip="Another file type.", show=False),
    ]

    def __init__(self, stem: str, contents: Contents) -> None:
        self._contents = contents
        first, *more = contents
        hints = [Hint("↑↓", " ".join(contents), "down")] if more else []
        title = f"export to a file in {here()}"
        name = f"{stem}-{stamp()}{first}"
        super().__init__(title, "write", name, hints=hints)

    def action_turn(self, by: int) -> None:
        """Give the name another ending."""
        field, endings = self.query_one(Input), list(self._contents)
        stem, last = os.path.splitext(field.value)
        if last in endings:
            index = (endings.index(last) + by) % len(endings)
            field.value = stem + endings[index]
        else:
            field.value += endings[0]
        field.cursor_position = len(field.value)

    async def take(self, typed: str) -> None:
        path, exists = await in_thread(partial(_checked, typed, tuple(self._contents)))
        if exists is not None:
            question = Question(str(exists), "replaces it", "keeps it")
            if not await self.app.push_screen_wait(question):
                raise exists
        made = await in_thread(self._contents[path.suffix.lower()])
        text = visible(made if isinstance(made, str) else await made)
        await in_thread(partial(write, path, text, replace=exists is not None))
        size = fmt.bytes_text(len(text.encode()))
        base(self).session.say(f"Wrote {size} to {path}.")


def _checked(typed: str, endings: tuple[str, ...]) -> tuple[Path, ExistsError | None]:
    """The file that is meant, and the refusal of one that exists.

    Raises:
        ExportError: It cannot be written.
    """
    path = here() / os.path.expanduser(typed.strip())
    try:
        check(path, endings)
    except ExistsError as error:
        return path, error
    return path, None


def devices_screen(state: State) -> ExportScreen:
    document = Devices.of(state.host, state.devices, state.hosts)
    return ExportScreen(_here("devices", state), {".json": lambda: _json(document)})


def _here(name: str, state: State) -> str:
    return file_stem(name, state.host.hostname if state.host else "")


def _json(document: object) -> str:
    return encode(document).decode()


def run_screen(app: BaseApp, run: Job, picture: Picture | None) -> ExportScreen:
    """The screen for a run of cases as far as it has come, with its plot."""
    cases = tuple(case.case for case in run.cases)

    async def script() -> str:
        return case_script((await app.recipes(Experiment(cases=cases))).cases)

    files = bench.files(bench.so_far(app.session.state.host, run), run, picture)
    return ExportScreen(of_cases(cases), {**files, ".py": script})
