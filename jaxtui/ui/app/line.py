"""A line to type into, over the tab; what cannot be taken is refused and stays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from jaxtui.core.model import SelectionError
from jaxtui.ui.app.base import base
from jaxtui.ui.app.threads import Work
from jaxtui.ui.export import ExportError
from jaxtui.ui.widgets.panel import Hint, Panel


class LineScreen(ModalScreen["str | None"]):
    """Enter takes the line, Esc leaves.

    Args:
        title: what to type.
        does: what Enter does with it, a word.
        value: what stands there at first.
        placeholder: an example.
        hints: what other keys do.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", tooltip="Close it and do nothing."),
    ]

    DEFAULT_CSS = """
    LineScreen {
        align: center bottom; background: transparent;
        Panel { background: $background; }
        #line-says { height: auto; color: $text-error; display: none; }
        &.-refused #line-says { display: block; }
    }
    """

    def __init__(
        self,
        title: str,
        does: str,
        value: str = "",
        *,
        placeholder: str = "",
        hints: Sequence[Hint] = (),
    ) -> None:
        super().__init__()
        take, leave = Hint("Enter", does, "enter"), Hint("Esc", "leave", "escape")
        self._heading, self._hints = title, (take, leave, *hints)
        self._value, self._placeholder = value, placeholder
        self._taking = ""
        """The typed text, until the answer arrives."""

    def compose(self) -> ComposeResult:
        with Panel(self._heading, self._hints, id="line"):
            yield Input(
                self._value,
                placeholder=self._placeholder,
                compact=True,
                select_on_focus=False,
            )
            yield Static(id="line-says", markup=False)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._taking:
            self._taking = event.value or " "
            self.remove_class("-refused")
            begin: Work = partial(self._take, event.value)
            self.run_worker(begin)

    async def _take(self, typed: str) -> None:
        try:
            answer = await self.take(typed)
        except (ExportError, SelectionError) as error:
            self._taking = ""
            self.query_one("#line-says", Static).update(str(error))
            self.add_class("-refused")
        else:
            self.dismiss(answer)

    async def take(self, typed: str) -> str | None:
        """Do what the line is for; the screen is dismissed with the answer.

        Raises:
            ExportError: it cannot be written.
            SelectionError: it makes no sense.
        """
        raise NotImplementedError

    def action_leave(self) -> None:
        """Leave; what has begun may come about all the same."""
        if self._taking:
            base(self).say(f"{self._taking} is not finished yet.")
        self.dismiss()
