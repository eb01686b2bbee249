"""The app: one snapshot in one reactive, panes that show it, actions that change it."""

from __future__ import annotations

import gc
import importlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.driver import Driver
from textual.filter import LineFilter
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Static, TabbedContent, TabPane

from jaxtui.model import (
    CheckDoing,
    CheckDone,
    CheckRead,
    Event,
    Logged,
    LoopSeen,
    PhaseMeasured,
    PhaseStarted,
    Progress,
    Sampled,
    SnippetShown,
    SnippetTimed,
)
from jaxtui.session import Session
from jaxtui.signals import exit_within, interrupt
from jaxtui.tui import bindings, colors, pace, plain_text, themes
from jaxtui.tui.actions import Actions
from jaxtui.tui.case_actions import CaseActions
from jaxtui.tui.check_actions import CheckActions
from jaxtui.tui.command import key_names
from jaxtui.tui.export_actions import ExportActions
from jaxtui.tui.history_actions import HistoryActions
from jaxtui.tui.learn_actions import LearnActions
from jaxtui.tui.own_actions import OwnActions
from jaxtui.tui.panes import Panes
from jaxtui.tui.plot_commands import PlotActions
from jaxtui.tui.recorded_actions import RecordedActions
from jaxtui.tui.requests import Requests
from jaxtui.tui.roofline import RooflineActions
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.device_table import DeviceTable
from jaxtui.tui.widgets.devices_pane import DevicesPane
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.tui.widgets.status_line import MessageLine, StatusLine

if TYPE_CHECKING:
    from jaxtui.engine.client import EngineClient
    from jaxtui.tui.widgets.bench_pane import BenchPane
    from jaxtui.tui.widgets.case_form import CaseForm


MINIMUM = Size(60, 15)
"""Below this the screens cannot be read."""


def too_small(size: Size) -> bool:
    """Whether the app cannot be used at this size."""
    return size.width < MINIMUM.width or size.height < MINIMUM.height


class TooSmall(Screen[None]):
    """One line, until the terminal has grown."""

    DEFAULT_CSS = """
    TooSmall { align: center middle; }
    """

    def compose(self) -> ComposeResult:
        """How large it must be."""
        yield Static(
            f"Too small: make this terminal {MINIMUM.width}×{MINIMUM.height} or larger."
        )


IDLE_SECONDS = 600.0
"""Ten minutes."""


class IdleWatch:
    """Tells when a held accelerator has been idle for too long.

    Args:
        hold: never.
        clock: monotonic seconds.
    """

    def __init__(self, *, hold: bool, clock: Callable[[], float]) -> None:
        self._hold = hold
        self._clock = clock
        self._last = clock()

    def touch(self) -> None:
        """There was input."""
        self._last = self._clock()

    def over(self, *, held: bool, busy: bool) -> bool:
        """Whether it is time to release; counts anew from then on.

        Args:
            held: an accelerator is held.
            busy: something is running.
        """
        if self._hold or busy or not held:
            return False
        if self._clock() - self._last < IDLE_SECONDS:
            return False
        self.touch()
        return True


INTERNAL = 70
"""Exit code after a mistake of the app's own."""

WARM_UP_SECONDS = 0.3
"""How long after the devices are known the plot is got ready."""

PATIENCE_SECONDS = 1.0
"""How long an ending by signal may take before it is forced."""

_FREQUENT = (
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
"""Events that wait for the next redraw; whatever else happens is shown at once."""


class JaxtuiApp(
    Actions,
    CheckActions,
    ExportActions,
    HistoryActions,
    LearnActions,
    CaseActions,
    OwnActions,
    PlotActions,
    RecordedActions,
    Requests,
    RooflineActions,
    Panes,
    App[None],
):
    """Devices, Bench, Learn and History on one engine.

    Args:
        engine: not started yet; the caller closes it.
        hold: keep the accelerator without input.
        fps: redraws per second at most; ``None`` means 4, or 2 over SSH.
        clock: monotonic seconds.
    """

    TITLE = "jaxtui"
    CSS_PATH = [  # noqa: RUF012
        Path(__file__).parent / "screens" / "main.tcss",
        Path(__file__).parent / "screens" / "learn.tcss",
    ]
    BINDINGS: ClassVar[list[BindingType]] = [*bindings.bindings()]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-low"),
        (32, "-tall"),
    ]
    ENABLE_COMMAND_PALETTE = True

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def __init__(
        self,
        engine: EngineClient,
        *,
        hold: bool = False,
        fps: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # The constructor of App asks for the driver class, which needs the pacer.
        self.pacer = pace.Pacer(clock=clock)
        super().__init__()
        plain_text.show_hidden()
        self._nothing_hidden = plain_text.NothingHidden()
        self.session = Session(engine, EMPTY)
        self.session.changed = self._changed
        self.crash: Exception | None = None
        """What ended the app, if it was a mistake of its own."""
        self._clock = clock
        self._fps = fps or (2.0 if "SSH_CONNECTION" in os.environ else 4.0)
        self.idle = IdleWatch(hold=hold, clock=clock)
        for theme in themes.THEMES:
            self.register_theme(theme)
        if self.theme == "textual-dark":
            self.theme = themes.DARK

    def get_driver_class(self) -> type[Driver]:
        """The platform's driver, counting the bytes that it writes."""
        return pace.counted(super().get_driver_class(), self.pacer.spend)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What everything that is drawn passes last."""
        return [*super().get_line_filters(), self._nothing_hidden]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of the plot for themes that are not ours."""
        return themes.DEFAULT_VARIABLES

    def compose(self) -> ComposeResult:
        """Status, tabs, message, keys."""
        yield StatusLine(self._clock).data_bind(JaxtuiApp.state)
        with TabbedContent(initial="devices"):
            with TabPane("Devices", id="devices"):
                yield DevicesPane().data_bind(JaxtuiApp.state)
            yield TabPane("Bench", id="bench")
            yield TabPane("Learn", id="learn")
            yield TabPane("History", id="history")
        yield MessageLine().data_bind(JaxtuiApp.state)
        yield KeysLine()

    def on_mount(self) -> None:
        """Listen to the engine, the clock and the signals."""
        self.query_one(DeviceTable).focus()
        self.call_after_refresh(_load_what_devices_need)
        self.set_interval(1 / self._fps, self._publish)
        self.set_interval(5.0, self.release_if_idle)
        self.run_worker(self.session.follow(), name="engine", group="engine")
        interrupt.tell(self._end_by_signal)
        # The shell wrote on the screen meanwhile, so all of it must be drawn again.
        self.app_resume_signal.subscribe(
            self, lambda _: self.screen.refresh(repaint=True, layout=True)
        )

    # The snapshot.

    def _changed(self, event: Event | None) -> None:
        # Widgets that are being removed have nothing to show it with.
        if self.leaving:
            return
        # Not while a snapshot is being shown: the widgets that are bound to it and come
        # after would be handed the older one last.
        self.learn_on()
        if not isinstance(event, _FREQUENT):
            self.state = self.session.state

    def _publish(self) -> None:
        """Show the newest snapshot, if the terminal has taken the last one."""
        if self.state is self.session.state or pace.backlog(self._driver) > 1:
            return
        if self.leaving:
            return
        if self.pacer.ready():
            self.state = self.session.state

    def watch_state(self, old: State, new: State) -> None:
        """What follows from a change, beyond drawing it."""
        self.show_in_panes(new)
        if not old.devices and new.devices:
            # The devices come first, before the keys.
            self.call_after_refresh(self.refresh_bindings)
            self.call_after_refresh(self.complete)
            self.call_later(self.settle)
            self.set_timer(WARM_UP_SECONDS, _warm_up)
        elif bindings.differ(old, new):
            self.refresh_bindings()
        if old.running and not new.running:
            self.idle.touch()
            self.background(self.session.engine.refresh_memory)

    # Events.

    async def on_event(self, event: events.Event) -> None:
        """Note that there was input."""
        if isinstance(event, events.InputEvent):
            self.idle.touch()
            await self.complete()
        await super().on_event(event)

    def on_resize(self, event: events.Resize) -> None:
        """Say so if the terminal is too small; come back when it is not."""
        shown = isinstance(self.screen, TooSmall)
        if too_small(event.size) and not shown:
            self.push_screen(TooSmall())
        elif shown and not too_small(event.size):
            self.pop_screen()
        self.screen_stack[0].query_one(DeviceTable).set_width(event.size.width)
        self.widen_panes(event.size)

    @on(TabbedContent.TabActivated)
    async def _tab_shown(self) -> None:
        if self.tab == "learn":
            await self.complete_learn()
            if self.learn is not None:
                self.learn.take_focus()
        if self.tab == "history":
            await self.complete_history()
            if self.history is not None:
                self.look()
                self.history.take_focus()
        self.refresh_bindings()
        self.call_after_refresh(self.redraw)

    @on(DeviceTable.Entered)
    def _entered(self) -> None:
        self.perform("first")

    @on(DevicesPane.Moved)
    def _device_moved(self, event: DevicesPane.Moved) -> None:
        self.session.update(cursor=event.name)

    # These three go by their names: ``on`` needs the class, which is imported late.

    def on_bench_pane_picked(self, event: BenchPane.Picked) -> None:
        """Select a case of the run."""
        if (run := self.session.state.run) is not None:
            self.session.update(picked=(run.number, event.index))

    def on_case_form_submitted(self) -> None:
        """Run what the form says, or stop."""
        self.perform("stop" if self.session.state.running else "run")

    def on_case_form_changed(self, event: CaseForm.Changed) -> None:
        """Have the engine judge what the form says."""
        if event.experiment is not None:
            self.foresee(event.experiment)

    def redraw(self) -> None:
        """Draw the plots anew: another tab or another theme."""
        self.query_one(DevicesPane).draw()
        self.query_one(DevicesPane).repaint_verdicts()
        self.redraw_panes()

    # Commands.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what cannot be done now."""
        if bindings.command_for(action) is None or isinstance(self.screen, TooSmall):
            return True
        if bindings.is_elsewhere(action, self.tab, self.session.state):
            return False
        return True if self.why_not(action) is None else None

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every command that acts there, with its keys."""
        from jaxtui.tui.bindings import offered

        for command in offered(screen):
            yield SystemCommand(
                f"{command.group}: {command.label}",
                f"{command.description}  ({key_names(command)})",
                partial(self.perform, command.action),
            )

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

    def _handle_exception(self, error: Exception) -> None:
        super()._handle_exception(error)
        self._return_code = INTERNAL
        self.crash = self.crash or error

    def _fatal_error(self) -> None:
        # Textual would print every local variable; ``report`` writes the traceback.
        self._close_messages_no_wait()


def _load_what_devices_need() -> None:
    # After the first frame and before there are devices: nothing waits for this then.
    importlib.import_module("jaxtui.selection")
    importlib.import_module("jaxtui.view.devices")
    # Off since the start, because all of this stays.
    gc.freeze()
    gc.enable()


def _warm_up() -> None:
    threading.Thread(target=colors.warm_up, daemon=True).start()
