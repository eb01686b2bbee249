"""What the keys do in the tab Learn."""

from __future__ import annotations

from jaxtui.tui.command import Command
from jaxtui.tui.learn_state import LearnState

LEARN_COMMANDS: tuple[Command, ...] = (
    Command(
        "go_on",
        "enter",
        "go_on",
        "Go on",
        "Run the step of the lesson; once it has run, show the next one.",
        "Learn",
        tab="learn",
    ),
    Command(
        "next_step",
        "n,right,ctrl+right",
        "step(1)",
        "Next",
        "Show the next step of the lesson.",
        "Learn",
        footer=True,
        tab="learn",
    ),
    Command(
        "previous_step",
        "b,left,ctrl+left",
        "step(-1)",
        "Back",
        "Show the step before.",
        "Learn",
        footer=True,
        tab="learn",
    ),
    Command(
        "larger",
        "plus,equals_sign",
        "resize(1)",
        "Larger",
        "Double the size of the lesson.",
        "Learn",
        tab="learn",
    ),
    Command(
        "smaller",
        "minus",
        "resize(-1)",
        "Smaller",
        "Halve the size of the lesson.",
        "Learn",
        tab="learn",
    ),
    Command(
        "lessons",
        "escape",
        "lessons",
        "Lessons",
        "Go back to the list of lessons.",
        "Learn",
        footer=True,
        tab="learn",
    ),
)

ANSWERS = Command(
    "answer",
    "1,2,3,4",
    "answer",
    "Answer",
    "In a step that asks: predict this answer (up and down do it too).",
    "Learn",
    tab="learn",
)
"""Of a step alone: elsewhere the digits show tabs, as their twins do everywhere."""

_OF_A_LESSON = {"go_on", "step", "resize", "lessons"}
"""Actions that need an open lesson."""


def is_of_a_lesson(action: str) -> bool:
    """Whether an action means something only while a lesson is open."""
    return action in _OF_A_LESSON


def why_not_learn(action: str, learn: LearnState) -> str | None:
    """Why an action cannot be done in the tab Learn now, or ``None``.

    Args:
        action: its name without arguments.
        learn: what the tab shows.
    """
    if learn.lesson is None:
        needed = is_of_a_lesson(action) or action in ("run", "code", "copy", "export")
        return "Open a lesson first: Enter does." if needed else None
    if action == "resize" and learn.playing is not None:
        return "A step is running: stop it first."
    return None
