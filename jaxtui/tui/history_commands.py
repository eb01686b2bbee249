"""What the keys do in the tab History."""

from __future__ import annotations

from jaxtui.tui.command import Command
from jaxtui.tui.history_state import HistoryState

HISTORY_COMMANDS: tuple[Command, ...] = (
    Command(
        "history-take",
        "enter",
        "history_take",
        "To form",
        "Take the case of the measurement to the form.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-filter",
        "slash,ctrl+f",
        "history_filter",
        "Filter",
        "Type words to filter by, such as: matmul bf16 tpu.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-mark",
        "space",
        "history_mark",
        "Mark",
        "Mark the measurement, or unmark it; two that are marked are compared.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-delete",
        "delete",
        "history_delete",
        "Delete",
        "Delete the measurement from the history, after a question.",
        "History",
        footer=True,
        tab="history",
    ),
    Command(
        "history-back",
        "escape",
        "history_back",
        "Back",
        "Leave the filter; then take the marks away; then the filter's words.",
        "History",
        tab="history",
    ),
)

_OF_A_ROW = {
    "history_take",
    "history_mark",
    "history_delete",
    "code",
    "copy",
    "export",
}
"""Actions that need a measurement."""


def why_not_history(action: str, history: HistoryState) -> str | None:
    """Why an action cannot be done in the tab History now, or ``None``.

    Args:
        action: its name without arguments.
        history: what the tab shows.
    """
    if action == "run":
        return "Enter takes the measurement's case to the form; r runs it there."
    if action in _OF_A_ROW and not history.rows:
        return "No measurement is listed."
    return None
