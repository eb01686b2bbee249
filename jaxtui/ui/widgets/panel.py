"""The parts of a screen: bordered panels that name their keys, lists and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.style import Style
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

_NAMES = {"enter": "Enter", "escape": "Esc", "space": "Space", "delete": "Del"}
"""The names of keys, as a border writes them."""


class Hint(NamedTuple):
    """The hint of a lower border on a key; a click on the words presses it."""

    name: str
    """The name of the key or keys, as people write it; empty where there is none."""
    label: str
    """The key's effect, or words that have none."""
    key: str = ""
    """Textual's name for it; empty where a click does nothing."""
    about: str = ""
    """The object of the key, in front of its words."""


def hint(node: DOMNode, action: str, words: str = "", about: str = "") -> Hint:
    """Return the hint of a key, from its binding.

    Args:
        node: it, its screen or the app has a key with this action.
        action: of the binding.
        words: instead of the label of the binding.
        about: what the key acts on.
    """
    for place in (*node.ancestors_with_self, node.app):
        for binding in _keys(type(place)):
            if binding.action == action:
                key = binding.key
                name = _NAMES.get(key) or node.app.get_key_display(binding)
                label = words or binding.description.lower()
                return Hint(name, label, key, about)
    raise ValueError(f"{node} has no key for {action}")


@cache
def _keys(kind: type[DOMNode]) -> tuple[Binding, ...]:
    """A class's own keys, then those that it inherits."""
    own = (vars(cls).get("BINDINGS", ()) for cls in kind.__mro__)
    return tuple(key for keys in own for key in Binding.make_bindings(keys))


Hints = Sequence["Hint | str"]
"""The hints of a border; a text is words that cannot be clicked."""


def _clickable(hints: Sequence[Hint]) -> Content:
    parts = []
    for name, label, key, about in hints:
        words = Content(label)
        if name:
            words = Content.assemble((name, "bold $footer-key-foreground"), " ", label)
        if key:
            press = {"@click": f"app.simulate_key('{key}')"}
            words = words.stylize(Style.from_meta(press))
        parts.append(Content.assemble(f"{about}: " if about else "", words))
    return Content(" · ").join(parts)


def hints_width(hints: Sequence[Hint]) -> int:
    """The cells that they take."""
    return _clickable(hints).cell_length


class Panel(Vertical):
    """Lit while the focus is inside.

    Args:
        title: what it is; plain text.
        hints: for the lower border, the most useful first.
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
        hints: Hints = (),
        *,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._hints: tuple[Hint, ...] = ()
        self.set_title(title, hints)

    def set_title(self, title: str, hints: Hints | None = None) -> None:
        """Write other words into the borders; the same ones draw nothing."""
        if (self.border_title or "") != Content(title).markup:
            self.border_title = Content(title) if title else None
        if hints is not None:
            items = tuple(
                hint if isinstance(hint, Hint) else Hint("", hint) for hint in hints
            )
            if items != self._hints:
                self._hints = items
                self._fit_hints()

    def on_resize(self) -> None:
        self._fit_hints()

    def _fit_hints(self) -> None:
        """Write those for which there is room, the first ones first."""
        hints, room = list(self._hints), (self.outer_size.width or 1000) - 6
        while len(hints) > 1 and _clickable(hints).cell_length > room:
            hints.pop()
        words = _clickable(hints)
        if (self.border_subtitle or "") != words.markup:
            self.border_subtitle = words if hints else None


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
        &:focus > .option-list--option-highlighted {
            background: $primary 35%; color: $foreground;
        }
    }
    """

    def fill(self, lines: Iterable[Text]) -> None:
        """Other lines, with the cursor where it was."""
        place = self.highlighted or 0
        self.clear_options()
        console = self.app.console
        self.add_options(
            Option(Content.from_rich_text(line, console=console)) for line in lines
        )
        if self.options:
            self.highlighted = min(place, len(self.options) - 1)


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
