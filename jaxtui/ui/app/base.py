"""The requests of panes and screens to the app, which they do not know."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.filter import LineFilter
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.core import model
from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.model import (
    Case,
    CheckDoing,
    CheckDone,
    CheckRead,
    Event,
    Experiment,
    Hello,
    Logged,
    LoopSeen,
    PhaseMeasured,
    PhaseStarted,
    Plan,
    Progress,
    Sampled,
    SnippetShown,
    SnippetTimed,
)
from jaxtui.core.places import data_folder, make_private
from jaxtui.core.session import RunRefusedError, Session
from jaxtui.core.signals import exit_within, interrupt
from jaxtui.core.state import Purpose
from jaxtui.core.text import visible
from jaxtui.ui import words
from jaxtui.ui.app import pace, plain_text, themes
from jaxtui.ui.app.layout import draw_what_moves
from jaxtui.ui.app.state import EMPTY, State
from jaxtui.ui.export import ExportError, write

if TYPE_CHECKING:
    from jaxtui.core.engine.client import EngineClient
from jaxtui.ui.theme import on_screen

Request = Callable[[], Coroutine[Any, Any, object]]
"""A request to the engine, not begun yet."""


IDLE_SECONDS = 600.0
"""Without input, after which an accelerator is not held any longer."""

INTERNAL = 70
"""Exit code after a mistake of the app's own."""

HUNG_UP = 129
"""Exit code when the terminal is gone: 128 and the number of SIGHUP."""

PATIENCE_SECONDS = 1.0
"""Seconds that an ending by signal may take before it is forced."""

_FREQUENT = (
    Hello,
    Sampled,
    Progress,
    Logged,
    PhaseStarted,
    PhaseMeasured,
    LoopSeen,
    SnippetShown,
    SnippetTimed,
    CheckDoing,
    CheckRead,
    CheckDone,
)
"""Events that wait for the next redraw, after the first ``Progress`` of a run, which
ends "starting"; all others are shown at once. ``Hello`` is delayed, too: drawing it
would delay the device list that follows immediately."""


class BaseApp(App[None]):
    """The session, the snapshot, its endings, and requests that take their time.

    Args:
        engine: not started yet; the caller closes it.
        hold: keep the accelerator without input.
        fps: redraws per second at most; ``None`` means 4, or 2 over SSH.
        clock: monotonic seconds.
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)

    def __init__(
        self,
        engine: EngineClient,
        *,
        hold: bool,
        fps: float | None,
        clock: Callable[[], float],
    ) -> None:
        # The constructor of App asks for the driver class, which needs the pacer.
        self.pacer = pace.Pacer(clock=clock)
        """Knows whether the terminal has taken what was drawn."""
        super().__init__()
        plain_text.show_hidden()
        draw_what_moves()
        self._nothing_hidden = plain_text.NothingHidden()
        self.session: Session[State] = Session(engine, EMPTY)
        self.session.changed = self._changed
        self.crash: Exception | None = None
        """The exception that ended the app, if it was a mistake of its own."""
        self.recording = False
        """True while what is measured is kept in the history."""
        self.leaving = False
        """The app ends: what is still under way has no use any more."""
        self.clock = clock
        self.fps = fps or (2.0 if "SSH_CONNECTION" in os.environ else 4.0)
        self.hold = hold
        self.touched = clock()
        """The time of the last input, or of the end of a run."""
        for theme in themes.THEMES:
            self.register_theme(theme)
        if self.theme == "textual-dark":
            # Not by assignment, after which Textual parses all style sheets once more.
            self.set_reactive(App.theme, themes.DARK)
            self.stylesheet.set_variables(self.get_css_variables())
        self.console.push_theme(on_screen(self.theme_variables))

    def watch_theme(self) -> None:
        """Draw the roles of our own texts in the colours of the theme."""
        self.console.pop_theme()
        self.console.push_theme(on_screen(self.get_css_variables()))

    def get_driver_class(self) -> type[Driver]:
        """The platform's driver, counting the bytes that it writes."""
        return pace.counted(super().get_driver_class(), self.pacer.spend)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters that everything drawn passes last."""
        return [*super().get_line_filters(), self._nothing_hidden]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of the plot for themes that are not ours."""
        return themes.DEFAULT_VARIABLES

    # The snapshot.

    def _changed(self, event: Event | None) -> None:
        # Widgets that are being removed have nothing to show it with.
        if self.leaving:
            return
        job = self.state.job
        first = isinstance(event, Progress) and job is not None and not job.reported
        if first or not isinstance(event, _FREQUENT):
            self.state = self.session.state

    def _publish(self) -> None:
        """Show the newest snapshot, if the terminal has taken the last one."""
        if self.state is self.session.state or pace.backlog(self._driver) > 1:
            return
        if self.leaving:
            return
        if self.pacer.ready():
            self.state = self.session.state

    def release_if_idle(self) -> None:
        """Give the accelerator back after a time without input."""
        state, now = self.session.state, self.clock()
        if self.hold or state.busy or state.accelerator is None:
            return
        if now - self.touched >= IDLE_SECONDS:
            self.touched = now
            why = "No input for ten minutes: jaxtui released the accelerator."
            self.background(partial(self.session.release, why))

    def say(self, sentence: str) -> None:
        """Answer a key, until the next one."""
        self.session.say(sentence, "key")

    def background(
        self, request: Request, group: str = "requests", *, exclusive: bool = False
    ) -> None:
        """Let a request take its time; an engine that is gone is said to be.

        Args:
            request: raises ``RunRefusedError``, ``ExportError`` or
                ``EngineUnavailableError`` at most.
            group: of workers.
            exclusive: supersede the requests of the group.
        """
        # The callable and not its coroutine: a worker that is superseded before it
        # began would leave one that is never awaited.
        begin: Callable[[], Awaitable[None]] = partial(self._guarded, request)
        self.run_worker(begin, group=group, exclusive=exclusive)

    async def _guarded(self, request: Request) -> None:
        try:
            await request()
        except RunRefusedError as error:
            self.session.say(error.remark, "key")
        except ExportError as error:
            self.say(str(error))
        except EngineUnavailableError as error:
            self.session.unavailable(error)

    def start(
        self,
        work: model.Work,
        purpose: Purpose,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Run a work; ``then`` is called if it came to its end."""

        async def run() -> None:
            if (await self.session.run(work, purpose)).outcome == "complete":
                then()

        if purpose == "bench" and not self.session.state.busy:
            self.session.update(view=None)  # the one that fits what is run now
        self.background(run)

    async def recipes(self, experiment: Experiment) -> Plan:
        """Return the recipes of an experiment, for scripts without jaxtui.

        Raises:
            ExportError: The engine cannot be asked.
        """
        if self.session.state.engine not in ("ready", "running"):
            raise ExportError("JAX is not ready yet, and the script needs it.")
        try:
            return await self.session.plan(experiment, recipes=True)
        except EngineUnavailableError as error:
            raise ExportError(words.text(error.remark)) from error

    def copy(self, text: str) -> str:
        """Copy a text if the terminal takes it, and say what can be known of that.

        The escape code is swallowed by many a terminal (tmux's default does), and
        nothing tells whether it arrived.
        """
        self.copy_to_clipboard(visible(text))
        return "copied if the terminal allows it"

    def copy_to_file(self, text: str, name: str) -> None:
        """Copy a text, keep it in a file beside the history and say where.

        Args:
            text: what to copy.
            name: of the file, which is replaced by the next copy of its kind.
        """
        copied = self.copy(text).capitalize()
        try:
            folder = data_folder() / "copied"
            make_private(folder)
            write(folder / name, text, replace=True)
        except (ExportError, OSError) as error:
            self.say(f"{copied}; no file: {error}")
        else:
            # Of a file: a key must not take away where it is.
            self.session.say(f"{copied}, and written to {folder / name}")

    def show_tab(self, tab: str) -> None:
        """Show a tab, with the focus in it.

        Args:
            tab: ``devices``, ``bench``, ``learn`` or ``history``.
        """
        raise NotImplementedError

    def to_form(self, values: object) -> None:
        """Show the form of the tab Bench, filled with these ``Values`` of the bench."""
        raise NotImplementedError

    def sweep(self, case: Case) -> None:
        """Time a case over sizes around its own, on the tab Bench."""
        raise NotImplementedError

    # Endings.

    def exit(
        self, result: None = None, return_code: int = 0, message: Any = None
    ) -> None:
        """End the app; what the engine says from now on is not shown."""
        self.leaving = True
        super().exit(result, return_code, message)

    async def _shutdown(self) -> None:
        # Not every ending goes through ``exit``: a crash does not.
        self.leaving = True
        await super()._shutdown()

    def _end_by_signal(self, again: bool) -> None:
        exit_within(PATIENCE_SECONDS, interrupt.code)
        self.exit(return_code=interrupt.code)

    def end_without_terminal(self) -> None:
        """End once the terminal is gone, which no signal tells under ``nohup``."""
        if self.is_headless or sys.__stdin__ is None or sys.__stdin__.isatty():
            return
        exit_within(PATIENCE_SECONDS, HUNG_UP)
        self.exit(return_code=HUNG_UP)

    def _handle_exception(self, error: Exception) -> None:
        # A screen that was about to open has lost its widgets.
        if self.leaving and isinstance(error, NoMatches):
            return
        self.crash = self.crash or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would print every local variable; ``report`` writes the traceback.
        self.exit(return_code=INTERNAL)


def base(widget: Widget) -> BaseApp:
    """The app that a pane, screen or widget is in."""
    return cast("BaseApp", widget.app)
