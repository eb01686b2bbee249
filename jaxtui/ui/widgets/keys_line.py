"""The last line of a screen: its keys, as many as there is room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.screen import Screen

STAYING = ("help", "quit")
"""Actions whose keys go last when there is no room: they lead to all others, or out."""


class Key(NamedTuple):
    """A key and what it does."""

    name: str
    """The name as people write it."""
    label: str
    binding: Binding
    enabled: bool = True
    """True if it does anything now."""

    @property
    def columns(self) -> int:
        """The columns that it takes, with the gap after it."""
        return cell_len(f"{self.name} {self.label} ")


class KeysLine(Widget):
    """Textual's Footer in one widget instead of one for each key.

    Those are made anew whenever a key may mean something else, half a dozen times
    before the first devices are there, and they are cut at the edge of the screen.
    """

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    KeysLine {
        dock: bottom; height: 1; text-wrap: nowrap; pointer: pointer;
        color: $footer-description-foreground; background: $footer-background;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: Sequence[Key] | None = None
        self._pointed: Key | None = None

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    @property
    def keys(self) -> Sequence[Key]:
        """The visible keys, from left to right."""
        if self._keys is None:
            self._keys = tuple(_shown(self.screen))
        return fitting(self._keys, self.size.width)

    def render(self) -> Content:
        """The keys, greyed out where they do nothing now."""
        return Content(" ").join(_drawn(key, key == self._pointed) for key in self.keys)

    def catch_up(self) -> None:
        """Show what the keys mean now, if that has changed with the state."""
        if self._keys is not None and self._keys != (
            keys := tuple(_shown(self.screen))
        ):
            self._keys = keys
            self.refresh()

    def _changed(self, screen: Screen[object]) -> None:
        # Asked for only when they are drawn: several things change in a row.
        if screen.app.app_focus:
            self._keys = None
            self.refresh()

    # The mouse.

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._point(self._key_at(event.x))

    def on_leave(self) -> None:
        self._point(None)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        key = self._key_at(event.x)
        if key is not None:
            self.app.simulate_key(key.binding.key)

    def _point(self, key: Key | None) -> None:
        if key != self._pointed:
            self._pointed = key
            self.tooltip = key and key.binding.tooltip
            self.refresh()

    def _key_at(self, column: int) -> Key | None:
        for key in self.keys:
            if column < key.columns:
                return key
            column -= key.columns
        return None


def fitting(keys: Sequence[Key], columns: int) -> tuple[Key, ...]:
    """The keys for which there is room, whole.

    Those that do nothing now go first, then the others from the right.
    """

    def worth(key: Key) -> tuple[bool, bool, int]:
        staying = key.binding.action.rpartition(".")[2] in STAYING
        return staying, key.enabled, -keys.index(key)

    left = list(keys)
    # The last one needs no gap after it.
    room = columns + 1 - sum(key.columns for key in keys)
    for key in sorted(keys, key=worth):
        if room >= 0:
            break
        left.remove(key)
        room += key.columns
    return tuple(left)


def _shown(screen: Screen[object]) -> Iterator[Key]:
    """The keys that a screen wants shown, one for each action."""
    actions = set[str]()
    for _, binding, enabled, _ in screen.active_bindings.values():
        if binding.show and binding.action not in actions:
            actions.add(binding.action)
            name = screen.app.get_key_display(binding)
            yield Key(name, binding.description, binding, enabled)


def _drawn(key: Key, pointed: bool) -> Content:
    drawn = Content.assemble((key.name, "bold $footer-key-foreground"), f" {key.label}")
    if not key.enabled:
        drawn = drawn.stylize("dim")
    return drawn.stylize("on $block-hover-background") if pointed else drawn
