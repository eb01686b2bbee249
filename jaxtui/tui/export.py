"""The line in which the name of a file is typed; its ending says what is written."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from jaxtui import format as fmt
from jaxtui.places import ExportError
from jaxtui.text import visible
from jaxtui.tui.base import base
from jaxtui.tui.threads import Work, in_thread
from jaxtui.tui.widgets.panel import Panel
from jaxtui.view.export import check, here, write
from jaxtui.view.offers import Make, Offer


class ExportScreen(ModalScreen[None]):
    """One line. It stays open while what was typed cannot be written.

    Args:
        offer: what there is.
    """

    HELP = "Export"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", tooltip="Write nothing."),
        Binding("up", "turn(-1)", "Ending", tooltip="Another ending.", show=False),
        Binding("down", "turn(1)", "Ending", tooltip="Another ending.", show=False),
    ]

    DEFAULT_CSS = """
    ExportScreen {
        align: center bottom; background: transparent;
        #export { background: $background; }
        #export-says { height: auto; color: $text-error; display: none; }
        &.-refused #export-says { display: block; }
    }
    """

    def __init__(self, offer: Offer) -> None:
        super().__init__()
        self._offer = offer
        self._writing = ""

    def compose(self) -> ComposeResult:
        endings = " ".join(self._offer.contents)
        keys = f"Enter write · Esc leave · ↑↓ {endings}"
        with Panel(f"export to a file in {here()}", keys, id="export"):
            name = self._offer.stem + next(iter(self._offer.contents))
            yield Input(name, id="export-path", compact=True, select_on_focus=False)
            yield Static(id="export-says", markup=False)

    def action_turn(self, by: int) -> None:
        """Give the name another ending."""
        field, endings = self.query_one(Input), list(self._offer.contents)
        stem, dot, last = field.value.rpartition(".")
        index = endings.index(dot + last) + by if dot + last in endings else 0
        field.value = (stem or field.value) + endings[index % len(endings)]
        field.cursor_position = len(field.value)

    @on(Input.Submitted)
    def _write_it(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._writing:
            self._writing = event.value
            self.remove_class("-refused")
            begin: Work = partial(self._write, event.value)
            self.run_worker(begin)

    async def _write(self, typed: str) -> None:
        contents = self._offer.contents
        try:
            path = await in_thread(partial(_checked, typed, tuple(contents)))
            text = await _text(contents[path.suffix.lower()])
            await in_thread(partial(write, path, text))
        except ExportError as error:
            self._writing = ""
            self.query_one("#export-says", Static).update(str(error))
            self.add_class("-refused")
            return
        size = fmt.bytes_text(len(text.encode()))
        base(self).session.say(f"Wrote {size} to {path}.")
        self.dismiss()

    def action_leave(self) -> None:
        """Leave; what is being written may come into being all the same."""
        if self._writing:
            base(self).say(f"{self._writing} is still being written.")
        self.dismiss()


def _checked(typed: str, endings: tuple[str, ...]) -> Path:
    """The file that is meant.

    Raises:
        ExportError: It cannot be written.
    """
    path = here() / os.path.expanduser(typed.strip())
    check(path, endings)
    return path


async def _text(make: Make) -> str:
    made = await in_thread(make)
    return visible(made if isinstance(made, str) else await made)
