"""A one-line button that opens a list: choose one, or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.tui.screens.choice_popup import ChoicePopup

_LONGEST = 18
"""Characters of the chosen names beyond which only the first is written out."""


class Choice(Widget, can_focus=True):
    """Shows what is chosen; Enter, space or a click opens the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space,down", "open", "Choose", show=False)
    ]

    DEFAULT_CSS = """
    Choice {
        width: auto; height: 1; margin-right: 2;
        color: $foreground; background: $surface;
        &:focus {
            background: $block-cursor-background; color: $block-cursor-foreground;
        }
        &:hover { background: $panel; }
    }
    """

    options: reactive[tuple[str, ...]] = reactive((), layout=True)
    """What can be chosen."""
    chosen: reactive[tuple[str, ...]] = reactive((), layout=True)
    """What is chosen, in the order of the options."""

    class Changed(Message):
        """Something else was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> Choice:
            """The widget that it was chosen in."""
            return self.choice

    def __init__(
        self,
        label: str,
        options: Sequence[str] = (),
        chosen: Sequence[str] = (),
        *,
        multiple: bool = False,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._label = label
        self._multiple = multiple
        self.set_reactive(Choice.options, tuple(options))
        self.set_reactive(Choice.chosen, tuple(chosen))

    def render(self) -> Content:
        """The label, what is chosen, and the sign that there is a list."""
        return Content.assemble(
            (f"{self._label} ", "dim"), self._summary(), (" ▾", "dim")
        )

    def get_content_width(self, container: object, viewport: object) -> int:
        """As wide as the text."""
        return self.render().cell_length

    def action_open(self) -> None:
        """Open the list below this widget."""
        popup = ChoicePopup(
            self.options, self.chosen, self.region.offset, multiple=self._multiple
        )
        self.app.push_screen(popup, self._take)

    def on_click(self) -> None:
        """A click opens the list."""
        self.action_open()

    def _summary(self) -> str:
        text = ",".join(self.chosen)
        if len(text) > _LONGEST:
            text = f"{self.chosen[0]} +{len(self.chosen) - 1}"
        return text or "none"

    def _take(self, chosen: tuple[str, ...] | None) -> None:
        if chosen is not None and chosen != self.chosen:
            self.chosen = chosen
            self.post_message(self.Changed(self))
