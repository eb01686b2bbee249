"""The content of a tab: it owns its keys, its actions and its display."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from jaxtui.core.session import Session
from jaxtui.core.state import Purpose
from jaxtui.ui.app.base import BaseApp, base
from jaxtui.ui.app.state import EMPTY, State

WIDE_COLUMNS = 100
"""The columns from which there is room for two things side by side."""

WIDER = 120
"""The columns from which details stand beside the rest unasked."""


Key = tuple[str, str, str, str]
"""Key or keys, action, label, and what it does in a sentence."""

PROMPTS = ("open_file", "export", "filter", "search", "type_command", "recorded")
"""Actions after which text is typed. Their keys come before those of what has the
focus: a slow line delivers several at once, and the next one is text already."""

ANYWHERE: tuple[Key, ...] = (
    ("s,f6", "stop", "Stop", "Stop the run; keep its numbers."),
    ("x", "release", "Free", "Free the accelerator until the next run."),
    ("R", "retry", "Retry", "Start the engine again after it failed."),
    ("t", "theme", "Theme", "Dark, light, projector."),
    (
        "ctrl+p",
        "command_palette",
        "Commands",
        "Find keys, ops, lessons, devices and recorded TPUs.",
    ),
    (
        "colon",
        "type_command",
        "Palette",
        "Find keys, ops, lessons, devices and recorded TPUs.",
    ),
    ("question_mark,f1", "help", "Help", "Show all keys."),
)
"""Keys of the app that work on the screens over its tabs, too."""


def bindings(
    place: str,
    keys: Iterable[Key],
    shown: Collection[str],
    priority: Collection[str] = (),
) -> list[BindingType]:
    """The keys of a pane, screen or widget, each with an id that names both.

    Args:
        place: where they are, such as ``bench``.
        keys: of it.
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
            priority=label in priority or action.removeprefix("app.") in PROMPTS,
        )
        for key, action, label, sentence in keys
    ]


class Explained(Widget):
    """A pane or screen that says why one of its keys means nothing now."""

    def why_not(self, action: str) -> str | None:
        """Return why an action cannot run now, one sentence; ``None`` if it can.

        Args:
            action: its name without arguments.
        """
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out the key of what cannot be done now; in an input it is a letter."""
        # Whether the input has been told of its focus yet makes no difference.
        if action in PROMPTS and isinstance(self.screen.focused, Input):
            return False
        return True if self.why_not(action) is None else None

    def perform(self, action: str) -> None:
        """Do an action of this widget, or say why not; for palette and buttons."""
        why = self.why_not(action.partition("(")[0])
        if why is None:
            self.app.call_later(self.run_action, action)
        else:
            base(self).say(why)


class Pane(Explained, Vertical):
    """The base class of the four tabs."""

    HELP: ClassVar[str] = ""
    """The heading of its keys in the help, e.g. ``On the tab Devices``."""

    PURPOSES: ClassVar[tuple[Purpose, ...]] = ()
    """Runs whose results it shows: the message line says there how they ended."""

    state: reactive[State] = reactive(EMPTY, repaint=False)
    disturbed: reactive[bool] = reactive(False, repaint=False)
    """Others used the cores while that was timed which the tab shows."""

    @property
    def base(self) -> BaseApp:
        return base(self)

    @property
    def session(self) -> Session[State]:
        """The session; its state is newer than the screen's."""
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
        """Draw the plots anew: in view again, or in the colours of another theme."""
