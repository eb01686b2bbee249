"""What a screen is made of: bordered parts that name their keys, lists and inputs."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Input, OptionList

_NAMES = {
    "Enter": "enter",
    "Esc": "escape",
    "Space": "space",
    "Delete": "delete",
}
"""Of keys that have a name, as the borders write it."""


def clickable(keys: str) -> Content:
    """Words such as ``Enter run · e edit``; a click on a key's words presses it.

    What stands before a colon is what the key acts on, and may look like one.
    """
    parts = []
    for part in keys.split(" · "):
        about, colon, words = part.rpartition(": ")
        first = words.partition(" ")[0]
        key = _NAMES.get(first, first if first.isalpha() and len(first) == 1 else "")
        press = {"@click": f"app.simulate_key('{key}')"}
        style = Style.from_meta(press) if key else ""
        parts.append(Content.assemble(about, colon, (words, style)))
    return Content(" · ").join(parts)


class Panel(Vertical):
    """Lit while the focus is inside.

    Args:
        title: what it is; plain text.
        keys: for the lower border, such as ``Enter run · e edit``.
    """

    DEFAULT_CSS = """
    Panel {
        border: round $panel-border; padding: 0 1; height: auto;
        border-title-color: $foreground; border-title-style: bold;
        border-subtitle-color: $muted;
        &:focus-within {
            border: round $panel-lit; border-title-color: $panel-lit;
        }
    }
    """

    def __init__(
        self,
        title: str = "",
        keys: str = "",
        *,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._keys = ""
        self.entitle(title, keys)

    def entitle(self, title: str, keys: str | None = None) -> None:
        """Write other words into the borders; the same ones draw nothing."""
        if (self.border_title or "") != Content(title).markup:
            self.border_title = Content(title) if title else None
        if keys is not None and keys != self._keys:
            self._keys = keys
            self._fit_keys()

    def on_resize(self) -> None:
        self._fit_keys()

    def _fit_keys(self) -> None:
        """Write the keys for which there is room, the first ones first."""
        parts, room = self._keys.split(" · "), (self.outer_size.width or 1000) - 6
        while len(parts) > 1 and len(" · ".join(parts)) > room:
            parts.pop()
        words = clickable(" · ".join(parts))
        if (self.border_subtitle or "") != words.markup:
            self.border_subtitle = words if self._keys else None


class ScrollPanel(Panel, can_focus=True):
    """A panel whose content scrolls within its border."""

    BINDINGS: ClassVar[list[BindingType]] = list(VerticalScroll.BINDINGS)

    DEFAULT_CSS = """
    ScrollPanel {
        overflow-y: auto;
        &:focus { border: round $panel-lit; }
    }
    """


class PanelList(OptionList):
    """A list inside a panel: a line for each option, and no border of its own."""

    DEFAULT_CSS = """
    PanelList {
        padding: 0; text-wrap: nowrap; text-overflow: ellipsis;
        border: none;
        &:focus { border: none; }
    }
    """


class MarkList(PanelList):
    """A list whose entries can be marked; its keys are those of its screen.

    They are not priority bindings of the screen: a slow line delivers several keys at
    once, and those would overtake the arrows that came before them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.mark", "Mark", show=False),
        Binding("enter", "screen.take", "Take", show=False),
    ]


def box(marked: bool) -> str:
    """A mark that needs no colour, before what is marked."""
    return f"[{'x' if marked else ' '}] "


class BorderedInput(Input):
    """An input that looks like a panel."""

    DEFAULT_CSS = """
    BorderedInput {
        height: 3; border: round $panel-border; padding: 0 1;
        background: transparent; background-tint: transparent;
        &:focus {
            border: round $panel-lit;
            background: transparent; background-tint: transparent;
        }
    }
    """
