"""A screen over the tabs, with the keys that work on every such screen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.reactive import reactive
from textual.screen import ModalScreen

from jaxtui.core.state import Purpose
from jaxtui.ui.app.base import BaseApp, base
from jaxtui.ui.app.pane import ANYWHERE, Explained, Key, bindings
from jaxtui.ui.app.state import EMPTY, State


def modal_keys(
    place: str, keys: Sequence[Key], labels: Collection[str] | None = None
) -> list[BindingType]:
    """The keys of a modal screen, then those of the app that work there, too.

    Args:
        place: as for ``bindings``.
        keys: of the screen.
        labels: the labels of those that the footer shows; ``None`` for all of them.
    """
    if labels is None:
        labels = [label for _, _, label, _ in keys]
    anywhere = [(key, f"app.{act}", name, about) for key, act, name, about in ANYWHERE]
    return [
        *bindings(place, keys, labels),
        *bindings(place, anywhere, ("Stop", "Help")),
    ]


class Modal(Explained, ModalScreen[None]):
    """Modal, so that the keys of the tabs below it do nothing."""

    HELP: ClassVar[str] = ""
    """The heading of its keys in the help, e.g. ``On the links``."""

    DEFAULT_CSS = """
    Modal { background: $background; overflow: hidden; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)

    @property
    def base(self) -> BaseApp:
        return base(self)

    def on_mount(self) -> None:
        self.watch(self.app, "state", self.follow)

    def follow(self, state: State) -> None:
        """Show a new snapshot."""
        self.state = state

    def leave(self, purpose: Purpose) -> None:
        """Leave the screen; a run of this purpose is stopped."""
        session = self.base.session
        if session.state.running and session.state.purpose == purpose:
            self.base.background(session.stop)
        self.dismiss()
