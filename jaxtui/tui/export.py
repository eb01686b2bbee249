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
from jaxtui.tui.line import LineScreen
from jaxtui.tui.threads import in_thread
from jaxtui.tui.widgets.panel import Hint
from jaxtui.view.export import check, here, write
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
        path = await in_thread(partial(_checked, typed, tuple(self._contents)))
        made = await in_thread(self._contents[path.suffix.lower()])
        text = visible(made if isinstance(made, str) else await made)
        await in_thread(partial(write, path, text))
        size = fmt.bytes_text(len(text.encode()))
        base(self).session.say(f"Wrote {size} to {path}.")


def _checked(typed: str, endings: tuple[str, ...]) -> Path:
    """The file that is meant.

    Raises:
        ExportError: It cannot be written.
    """
    path = here() / os.path.expanduser(typed.strip())
    check(path, endings)
    return path
