"""The key that opens a file with functions of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jaxtui.model import Case, OpInfo
from jaxtui.model.own import ARGUMENTS, brief_name, is_own, short_name
from jaxtui.tui.command import Command
from jaxtui.view import bench

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.state import Picked, State

OPEN_FILE: tuple[Command, ...] = (
    Command(
        "open",
        "f,ctrl+underscore",
        "open_file",
        "Open file",
        "Choose functions of your own out of a Python file, and time them.",
        "Run",
        tab="bench",
    ),
)
"""What opens one, in the tab Bench."""

ALL_NOTES: tuple[Command, ...] = (
    Command(
        "notes",
        "enter",
        "notes",
        "Notes",
        "Show all notes of the selected case, or why it failed, with the traceback.",
        "View",
        tab="bench",
    ),
)
"""Enter in the table of results."""


class OwnActions:
    """A part of the app."""

    def action_open_file(self) -> None:
        """Choose functions of a file, and take them to the form."""
        app = cast("JaxtuiApp", self)
        from jaxtui.tui.screens.open_file import OpenFile

        def noted(path: str) -> None:
            opened = app.session.state.opened.with_file(path)
            app.session.update(opened=opened)

        app.push_screen(OpenFile(app.session.state.opened, noted), self._take_pick)

    def on_op_choice_open_wanted(self) -> None:
        """The last entry of the list of ops."""
        self.action_open_file()

    def action_notes(self) -> None:
        """Show all that there is to say of the selected case."""
        app = cast("JaxtuiApp", self)
        case, run = app.session.state.case, app.session.state.run
        if case is None or run is None:
            app.session.say("There is no result yet.")
            return
        from jaxtui.tui.screens.notes import NotesScreen

        every = (*bench.sentences(case, run), *bench.run_sentences(run))
        said = [one for one in every if one.flag != bench.TRACEBACK]
        detail = case.failure.detail if case.failure else ""
        app.push_screen(NotesScreen(case.case.label, said, detail))

    def on_results_table_asked(self) -> None:
        """Enter in the table."""
        self.action_notes()

    def _take_pick(self, pick: Picked | None) -> None:
        if pick is None:
            return
        app = cast("JaxtuiApp", self)
        from jaxtui.tui import form

        app.session.update(opened=app.session.state.opened.with_pick(pick))
        app.to_form(form.with_pick(app._form.values, pick))
        app.session.say(f"r times {brief_name(pick.op, 60)}.")


def why_no_sweep(case: Case, state: State) -> str:
    """Why a case cannot be timed over many sizes; empty if it can."""
    if not _is_function(case, state.ops):
        return ""
    name = short_name(case.op)
    if (case.params or {}).get(ARGUMENTS):
        return f"{name} has no sizes: its arguments were typed."
    if not case.size:
        return f"{name} has no sizes: what makes its arguments takes none."
    return ""


def _is_function(case: Case, ops: tuple[OpInfo, ...]) -> bool:
    return is_own(case.op) or any(op.own for op in ops if op.name == case.op)
