"""The line in which the name of a file is typed; its ending says what is written."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from jaxtui.core import format as fmt
from jaxtui.core.text import visible
from jaxtui.ui.app.base import base
from jaxtui.ui.app.dialogs import Question
from jaxtui.ui.app.line import LineScreen
from jaxtui.ui.app.threads import in_thread
from jaxtui.ui.export import ExistsError, check, here, stamp, write
from jaxtui.ui.widgets.panel import Hint

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
        contents = await in_thread(self._contents[path.suffix.lower()])
        text = visible(contents if isinstance(contents, str) else await contents)
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
