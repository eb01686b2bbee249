"""The line in which the name of a file is typed; its ending says what is written."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from jaxtui import format as fmt
from jaxtui.text import visible
from jaxtui.tui.base import base
from jaxtui.tui.dialogs import Question
from jaxtui.tui.line import LineScreen
from jaxtui.tui.threads import in_thread
from jaxtui.tui.widgets.panel import Hint
from jaxtui.view import words
from jaxtui.view.export import ExportError, check, here, write
from jaxtui.view.offers import Offer


class ExportScreen(LineScreen):
    """Writes a file.

    Args:
        offer: what there is.
    """

    HELP = "Export"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "turn(-1)", "Ending", tooltip="Another file type.", show=False),
        Binding("down", "turn(1)", "Ending", tooltip="Another file type.", show=False),
    ]

    def __init__(self, offer: Offer) -> None:
        self._contents = offer.contents
        first, *others = offer.contents
        hints = [Hint("↑↓", " ".join(offer.contents), "down")] if others else []
        title = f"export to a file in {here()}"
        super().__init__(title, "write", offer.stem + first, hints=hints)

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
            question = Question(words.text(exists.remark), "replaces it", "keeps it")
            if not await self.app.push_screen_wait(question):
                raise exists
        made = await in_thread(self._contents[path.suffix.lower()])
        text = visible(made if isinstance(made, str) else await made)
        await in_thread(partial(write, path, text, replace=exists is not None))
        size = fmt.bytes_text(len(text.encode()))
        base(self).session.say(f"Wrote {size} to {path}.")


def _checked(typed: str, endings: tuple[str, ...]) -> tuple[Path, ExportError | None]:
    """The file that is meant, and the refusal of one that exists.

    Raises:
        ExportError: It cannot be written.
    """
    path = here() / os.path.expanduser(typed.strip())
    try:
        check(path, endings)
    except ExportError as error:
        if error.remark.code != "file-exists":
            raise
        return path, error
    return path, None
