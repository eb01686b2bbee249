"""Everything that a key does, declared once.

Footer, command palette and help screen are made from this table, and a letter or digit
has a second key that works while an input has the focus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.binding import Binding

from jaxtui.tui.case_actions import OPEN_INSPECTION
from jaxtui.tui.check_actions import CHECK_COMMANDS, is_of_a_check
from jaxtui.tui.command import Command
from jaxtui.tui.export_actions import EXPORT, why_not_export
from jaxtui.tui.history_actions import HISTORY_COMMANDS, why_not_history
from jaxtui.tui.learn_actions import (
    ANSWERS,
    LEARN_COMMANDS,
    is_of_a_lesson,
    why_not_learn,
)
from jaxtui.tui.loop_commands import LOOP_COMMANDS, OPEN_LOOP
from jaxtui.tui.own_actions import ALL_NOTES, OPEN_FILE
from jaxtui.tui.plot_commands import (
    PLOT_COMMANDS,
    READING_COMMANDS,
    decisive,
    why_not_plot,
)
from jaxtui.tui.recorded_actions import OPEN_RECORDED
from jaxtui.tui.roofline import MEASURE_ROOFS
from jaxtui.tui.state import State

if TYPE_CHECKING:
    from textual.screen import Screen


COMMANDS: tuple[Command, ...] = (
    Command(
        "first",
        "enter",
        "first",
        "Run",
        "Time the case that the line says.",
        "Run",
        tab="devices",
    ),
    Command("run", "r,f5", "run", "Run", "Start what is selected.", "Run", footer=True),
    Command(
        "stop", "s,f6", "stop", "Stop", "End the run; keep its numbers.", "Run", True
    ),
    Command(
        "edit",
        "e,f4",
        "edit",
        "Edit",
        "Take the case to the form.",
        "Run",
        footer=True,
        tab="devices",
    ),
    Command(
        "sweep",
        "w,f7",
        "sweep",
        "Sizes",
        "Time the case over many sizes.",
        "Run",
        footer=True,
        tab="devices,bench",
    ),
    *CHECK_COMMANDS,
    *LEARN_COMMANDS,
    *HISTORY_COMMANDS,
    Command(
        "devices", "1,f2", "show_tab('devices')", "Devices", "Show the devices.", "View"
    ),
    Command("bench", "2,f3", "show_tab('bench')", "Bench", "Show the form.", "View"),
    Command(
        "learn", "3,f11", "show_tab('learn')", "Learn", "Show the lessons.", "View"
    ),
    Command(
        "history",
        "4,ctrl+s",
        "show_tab('history')",
        "History",
        "Show what was measured before.",
        "View",
    ),
    *OPEN_FILE,
    *ALL_NOTES,
    *OPEN_LOOP,
    *OPEN_INSPECTION,
    *OPEN_RECORDED,
    *MEASURE_ROOFS,
    Command(
        "switch", "ctrl+n", "switch", "Next tab", "Go to the next tab.", "View", False
    ),
    Command(
        "details",
        "d,ctrl+g",
        "details",
        "Details",
        "Show or hide all that the selected device says of itself.",
        "View",
        footer=True,
        tab="devices",
    ),
    *PLOT_COMMANDS,
    Command(
        "phases",
        "b,ctrl+b",
        "phases",
        "Phases",
        "Show or hide the phases of the selected case.",
        "View",
        footer=True,
        tab="bench",
    ),
    Command(
        "log",
        "l,ctrl+l",
        "log",
        "Log",
        "Show or hide what XLA has printed.",
        "View",
        tab="bench",
    ),
    Command(
        "code",
        "v,ctrl+o",
        "code",
        "Code",
        "Show plain JAX code of the selected case, or of the step.",
        "View",
        footer=True,
    ),
    Command(
        "copy",
        "y,ctrl+y",
        "copy",
        "Copy",
        "Copy the results, the step or the list, and write them to a file.",
        "View",
    ),
    *EXPORT,
    Command(
        "release",
        "x,f8",
        "release",
        "Free",
        "Give the accelerator back; the next run takes it again.",
        "Engine",
    ),
    Command(
        "retry",
        "R,ctrl+r",
        "retry",
        "Retry",
        "Start the engine again after it failed.",
        "Engine",
    ),
    Command("theme", "t,f9", "theme", "Theme", "Dark, light, projector.", "App"),
    Command(
        "projector", "p,f12", "projector", "Projector", "High contrast or not.", "App"
    ),
    Command(
        "palette",
        "ctrl+p,colon",
        "command_palette",
        "Commands",
        "Search everything that can be done.",
        "App",
    ),
    Command(
        "help", "question_mark,f1", "help", "Help", "Show all keys.", "App", footer=True
    ),
    Command(
        "suspend",
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "Back to the shell; fg returns here.",
        "App",
    ),
    Command("quit", "q,ctrl+q", "quit", "Quit", "Leave jaxtui.", "App", footer=True),
    Command(
        "interrupt",
        "ctrl+c",
        "interrupt",
        "Interrupt",
        "Leave at once, with exit code 130.",
        "App",
        priority=True,
    ),
)

_LAST = COMMANDS.index(LEARN_COMMANDS[-1]) + 1

ALL: tuple[Command, ...] = (
    *COMMANDS[:_LAST],
    ANSWERS,
    *COMMANDS[_LAST:],
    *READING_COMMANDS,
    *LOOP_COMMANDS,
)
"""Also what only a step, a plot in focus or the async view does."""

ELSEWHERE = frozenset(one.group for one in (*READING_COMMANDS, *LOOP_COMMANDS))
"""The groups of commands that are of no tab."""


def bindings(commands: Sequence[Command] = COMMANDS) -> list[Binding]:
    """The table as Textual wants it."""
    return [
        Binding(
            key,
            command.action,
            command.label,
            tooltip=command.description,
            id=command.id,
            show=command.footer and first,
            priority=command.priority,
        )
        for command in commands
        for key, first in _keys(command)
    ]


def _keys(command: Command) -> list[tuple[str, bool]]:
    """Every key, and whether it is the one that the footer shows."""
    return [(key, index == 0) for index, key in enumerate(command.keys.split(","))]


def command_for(action: str) -> Command | None:
    """The command whose action has this name, whatever its arguments."""
    for command in COMMANDS:
        if command.action.partition("(")[0] == action:
            return command
    return None


def why_not(action: str, state: State, tab: str) -> str | None:
    """Why a command cannot be done now, or ``None`` if it can.

    Args:
        action: its name without arguments.
        state: what is on screen.
        tab: the tab that is shown: ``devices``, ``bench``, ``learn`` or ``history``.
    """
    if tab == "learn" and (why := why_not_learn(action, state.learn)) is not None:
        return why
    if tab == "history":
        why = why_not_history(action, state.history)
        if why is not None:
            return why
    why = _not_now(action, state, tab) or _not_on_tab(action, tab)
    return why or why_not_plot(action, state)


def _not_now(action: str, state: State, tab: str) -> str | None:
    match action:
        case "first" | "run" | "sweep" | "check" | "roofs" if state.busy:
            return "A run is going on: stop it first."
        case "first" | "run" | "sweep" | "check" | "roofs" if not state.can_run:
            return _no_engine(state)
        case "roofs" if state.run is None:
            return "Run something first: its device is the one whose roofs are asked."
        case "check_panel" if state.check.exam is None:
            return "There was no check yet."
        case "edit" if not state.can_run and not state.running:
            return _no_engine(state)
        case "stop" if not state.busy:
            return "Nothing is running."
        case "release" if state.running or state.check.going:
            return "A run is going on: stop it first."
        case "release" if state.accelerator is None:
            return "No accelerator is held."
        case "retry" if state.engine != "failed":
            return "The engine has not failed."
        case "copy" if tab == "devices" and state.check.shown:
            return None
        case "copy" if state.run is None and tab not in ("learn", "history"):
            return "There is no result yet."
        case "export":
            return why_not_export(state, tab)
        case "code" if state.engine not in ("ready", "running") or not state.devices:
            return "JAX is not ready yet."
        case _:
            return None


def _no_engine(state: State) -> str:
    failed = state.engine == "failed"
    return "There is no engine: R tries again." if failed else "JAX is not ready yet."


def is_elsewhere(action: str, tab: str, state: State) -> bool:
    """Whether a command belongs elsewhere, so that its key is not even shown."""
    if is_of_a_lesson(action) and state.learn.open is None:
        return True
    if is_of_a_check(action) and state.check.exam is None:
        return True
    return _not_on_tab(action, tab) is not None


def differ(old: State, new: State) -> bool:
    """Whether other keys may mean something now."""
    return _decisive(old) != _decisive(new)


def _decisive(state: State) -> tuple[object, ...]:
    learn, check = state.learn, state.check
    of_a_run = state.engine, state.running, state.busy
    listed = bool(state.history.rows)
    of_learn = learn.open, learn.playing is None
    return *of_a_run, *of_learn, check.exam is None, listed, *decisive(state)


def _not_on_tab(action: str, tab: str) -> str | None:
    command = command_for(action)
    if command is None or not command.tabs or tab in command.tabs:
        return None
    names = " and ".join(name.capitalize() for name in command.tabs)
    return f"This is for the tab{'s' if len(command.tabs) > 1 else ''} {names}."


def offered(screen: Screen[object]) -> Iterator[Command]:
    """The commands that act on a screen, in the order of the table.

    Above the tabs that is all of them: one that belongs to another tab says so. On a
    screen that covers the tabs it is those to which the screen has given a key.
    """
    if not screen.is_modal:
        yield from COMMANDS
        return
    bound = {active.binding.action for active in screen.active_bindings.values()}
    for command in COMMANDS:
        if f"app.{command.action}" in bound:
            yield command
