"""The content of a tab: it owns its keys, its actions and its display."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.model import Case
from jaxtui.session import Session
from jaxtui.state import RUNNING
from jaxtui.tui.base import BaseApp, base
from jaxtui.tui.state import EMPTY, State

WIDE_COLUMNS = 100
"""From so many columns on there is room for two things side by side."""


def bindings(
    place: str,
    keys: Iterable[tuple[str, str, str, str]],
    shown: Collection[str],
    priority: Collection[str] = (),
) -> list[BindingType]:
    """The keys of a pane, screen or widget, each with an id that names both.

    Args:
        place: where they are, such as ``bench``.
        keys: key or keys, action, label, and what it does in a sentence.
        shown: the labels that the footer shows.
        priority: the labels whose keys come before those of what has the focus.
    """
    return [
        Binding(
            key,
            action,
            label,
            tooltip=sentence,
            id=f"{place}-{label.lower().replace(' ', '-')}",
            show=label in shown,
            priority=label in priority,
        )
        for key, action, label, sentence in keys
    ]


CASE_KEYS = (
    ("w", "sweep", "Sizes", "Time the case over many sizes."),
    ("a", "timeline", "Calls", "Show the calls one by one: host, device and queue."),
    ("h", "program", "HLO", "Show jaxpr, StableHLO and HLO of the case."),
    ("v", "code", "Code", "Show plain JAX code of the case."),
)
"""Of a tab with a case: the keys that act on it."""


class Explained(Widget):
    """A pane or screen that says why one of its keys means nothing now."""

    def why_not(self, action: str) -> str | None:
        """Why an action cannot be done now, one sentence; ``None`` if it can.

        Args:
            action: its name without arguments.
        """
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out the key of what cannot be done now."""
        return True if self.why_not(action) is None else None

    def perform(self, action: str) -> None:
        """Do an action of this widget, or say why not; for palette and buttons."""
        why = self.why_not(action.partition("(")[0])
        if why is None:
            self.app.call_later(self.run_action, action)
        else:
            base(self).say(why)


class Pane(Explained, Vertical):
    """What the four tabs have in common."""

    HELP: ClassVar[str] = ""
    """The heading of its keys in the help, e.g. ``On the tab Devices``."""

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    @property
    def base(self) -> BaseApp:
        """The app."""
        return base(self)

    @property
    def session(self) -> Session[State]:
        """What runs work; its state is newer than what is on screen."""
        return base(self).session

    def take_focus(self) -> None:
        """Put the focus where keys make sense; without it they do nothing."""
        raise NotImplementedError

    def enter(self) -> None:
        """The tab has come into view."""
        self.take_focus()

    def set_wide(self, wide: bool) -> None:
        """Use the room of a terminal of another width."""

    def draw(self) -> None:
        """Draw the plots anew: the tab has come into view."""

    def repaint(self) -> None:
        """Draw everything in the colours of another theme."""
        self.draw()


class CasePane(Pane):
    """A tab on which the keys act on one case."""

    @property
    def case(self) -> Case | None:
        """The case that a lower border names."""
        raise NotImplementedError

    @property
    def why_no_case(self) -> str:
        """Why there is none."""
        return self.session.state.no_jax

    def why_not(self, action: str) -> str | None:
        """Why what is done with cases cannot be done now."""
        state = self.session.state
        if action in ("run", "check", "roofs", "sweep", "program"):
            if state.busy:
                return RUNNING
            if not state.can_run:
                return state.no_jax
        if action in _CASE_ACTIONS and self.case is None:
            return self.why_no_case
        gone = state.engine not in ("ready", "running")
        if (action == "timeline" and not state.devices) or (action == "code" and gone):
            return state.no_jax
        return None

    # The modules of what is opened are loaded then: the first frame comes without them.

    def action_sweep(self) -> None:
        if (case := self.case) is not None:
            self.base.sweep(case)

    def action_timeline(self) -> None:
        from jaxtui.tui.timeline import open_timeline

        if (case := self.case) is not None:
            open_timeline(self.base, case)

    def action_program(self) -> None:
        from jaxtui.tui.program import open_program

        open_program(self.base, self.case)

    def action_code(self) -> None:
        from jaxtui.tui.dialogs import show_code

        if (case := self.case) is not None:
            show_code(self.base, case)


_CASE_ACTIONS = tuple(action for _, action, _, _ in CASE_KEYS)
