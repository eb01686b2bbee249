"""A bordered part of a screen: its title names it, its lower border has its keys."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.style import Style

_NAMES = {
    "Enter": "enter",
    "Esc": "escape",
    "Space": "space",
    "space": "space",
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
        self.entitle(title, keys)

    def entitle(self, title: str, keys: str | None = None) -> None:
        """Write other words into the borders; the same ones draw nothing."""
        if (self.border_title or "") != Content(title).markup:
            self.border_title = Content(title) if title else None
        if keys is None:
            return
        words = clickable(keys)
        if (self.border_subtitle or "") != words.markup:
            self.border_subtitle = words if keys else None
