"""The app: one snapshot in one reactive, and the panes that show it."""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import events, on
from textual.actions import parse
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import (
    CommandListItem,
    CommandPalette,
    DiscoveryHit,
    Hit,
    Hits,
    Provider,
    SimpleProvider,
)
from textual.dom import DOMNode
from textual.geometry import Size
from textual.markup import escape
from textual.screen import Screen
from textual.widget import AwaitMount
from textual.widgets import Input, Static, TabbedContent, TabPane, Tabs

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, OpInfo
from jaxtui.core.signals import interrupt
from jaxtui.core.state import RUNNING
from jaxtui.registry import part
from jaxtui.ui import words
from jaxtui.ui.app import colors, pace, themes
from jaxtui.ui.app.base import PATIENCE_SECONDS, BaseApp
from jaxtui.ui.app.line import LineScreen
from jaxtui.ui.app.pane import (
    ANYWHERE,
    PROMPTS,
    WIDE_COLUMNS,
    Explained,
    Pane,
    bindings,
)
from jaxtui.ui.app.state import State
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.widgets.keys_line import KeysLine

if TYPE_CHECKING:
    from jaxtui.core.engine.client import EngineClient

_Pane = TypeVar("_Pane", bound=Pane)

LATE = {
    "bench": "jaxtui.features.bench.screen:BenchPane",
    "learn": "jaxtui.features.lessons.screen:LearnPane",
    "history": "jaxtui.features.history.screen:HistoryPane",
}
"""The panes of the tabs that are filled late, because their modules (all lessons,
SQLite) and widgets would hold up the first frame, and then JAX, which needs the
processor to come up: Bench once the devices are on screen, the others when they are
first shown."""

TABS = ("devices", *LATE)
"""The tabs from left to right."""

MINIMUM = Size(60, 15)
"""Below this the screens cannot be read."""


class Palette(Provider):
    """The command palette: actions here, in the order of the keys, and all things: ops,
    lessons, devices, recorded TPUs, and the actions of the other tabs.

    Textual's own provider sorts by name, and looks for what is typed only there.
    """

    async def discover(self) -> Hits:
        """Yield the actions, then the things."""
        for title, sentence, run, _ in self._commands():
            yield DiscoveryHit(title, run, help=escape(sentence))

    async def search(self, query: str) -> Hits:
        """Yield the commands whose label matches, then those whose sentence does."""
        matcher = self.matcher(query)
        for title, sentence, run, _ in self._commands():
            name, text = matcher.match(title), matcher.match(sentence)
            if name or text:
                score = 1 + name if name else text / (1 + text)
                yield Hit(score, matcher.highlight(title), run, help=escape(sentence))

    def _commands(self) -> Iterator[SystemCommand]:
        app = cast("JaxtuiApp", self.app)
        yield from app.get_system_commands(self.screen)
        # The palette itself is a screen by now.
        if self.screen is app.screen_stack[0]:
            yield from app.get_content()


class Finder(CommandPalette):
    """A palette in which Enter takes what the letters before it have found: a slow line
    delivers all of them at once.
    """

    @on(Input.Submitted)
    async def _find_first(self) -> None:
        for worker in [*self.workers]:
            if worker.node is self and not worker.is_cancelled:
                await worker.wait()


def too_small(size: Size) -> bool:
    return size.width < MINIMUM.width or size.height < MINIMUM.height


class TooSmall(Screen[None]):
    """Shows one line until the terminal has grown."""

    DEFAULT_CSS = """
    TooSmall { align: center middle; }
    """

    def compose(self) -> ComposeResult:
        yield Static(
            f"Too small: make this terminal {MINIMUM.width}×{MINIMUM.height} or larger."
        )


WRITTEN_SECONDS = 0.01
"""Time enough to write a frame to a terminal nearby."""

WARM_UP_SECONDS = 0.3
"""Seconds after the devices are known until the plot is prepared."""


_KEYS = (
    ("1", "show_tab('devices')", "Devices", "Show the devices."),
    ("2", "show_tab('bench')", "Bench", "Show the form."),
    ("3", "show_tab('learn')", "Learn", "Show the lessons."),
    ("4", "show_tab('history')", "History", "Show the measurements."),
    ("right", "switch(1)", "Next tab", "Go to the next tab."),
    ("left", "switch(-1)", "Previous tab", "Go to the previous tab."),
    ("f", "open_file", "File", "Time functions of a Python file."),
    ("P", "profile", "Profile", "Show where the time of the case on Bench goes."),
    *ANYWHERE,
    ("q", "quit", "Quit", "Leave jaxtui; during a run it asks first."),
)
"""The keys of every tab."""

_EVERYWHERE = (
    ("ctrl+q", "quit_now", "Quit now", "Leave jaxtui at once."),
    ("ctrl+c", "interrupt", "Interrupt", "Leave at once: exit code 130."),
    ("ctrl+z", "suspend_process", "Suspend", "To the shell; fg returns."),
)
"""The keys that mean the same in inputs and on every screen over the tabs."""


class JaxtuiApp(BaseApp):
    """Devices, Bench, Learn and History on one engine.

    Args:
        engine: not started yet; the caller closes it.
        hold: keep the accelerator without input.
        fps: redraws per second at most; ``None`` means 4, or 2 over SSH.
        clock: monotonic seconds.
        classroom: open the class view as soon as devices are known, even if none.
    """

    TITLE = "jaxtui"
    CSS = """
    * { scrollbar-size-vertical: 1; }
    TabbedContent { height: 1fr; }
    TabPane { height: 1fr; padding: 0; }
    Tabs { height: 1; }
    Tabs Underline { display: none; }
    Input > .input--placeholder { color: $foreground 60%; }
    Tab { height: 1; padding: 0 1; color: $muted; }
    Tab.-active { color: $foreground; text-style: bold reverse; }
    LoadPanel.-framed, .-tall LoadPanel { border: round $panel-border; }
    .-tall LoadPanel { height: 5; }
    CommandPalette {
        background: $background 60%;
        & > Vertical { width: 80; max-width: 100%; }
        #--input { height: 3; border: round $panel-lit; background: $background; }
        #--results { height: auto; background: $background; }
        SearchIcon { display: none; }
        CommandInput { height: 1; border: none; padding: 0 1; }
        CommandList {
            border: round $panel-border; background: $background; padding: 0 1;
        }
    }
    """
    COMMANDS: ClassVar = {Palette}
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("app", _KEYS, ("Stop", "Help", "Quit")),
        *bindings("app", _EVERYWHERE, (), [label for _, _, label, _ in _EVERYWHERE]),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE_COLUMNS, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-tall")]  # noqa: RUF012

    def __init__(
        self,
        engine: EngineClient,
        *,
        hold: bool = False,
        fps: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        classroom: bool = False,
    ) -> None:
        super().__init__(engine, hold=hold, fps=fps, clock=clock)
        self.panes: dict[str, Pane] = {}
        """The panes that are complete, by tab."""
        self._filling = asyncio.Lock()
        self._classroom = classroom

    def compose(self) -> ComposeResult:
        yield StatusLine(self.clock).data_bind(JaxtuiApp.state)
        with TabbedContent(initial="devices"):
            with TabPane("1 Devices", id="devices"):
                yield part("devices", "screen").DevicesPane()
            for number, tab in enumerate(LATE, 2):
                yield TabPane(f"{number} {tab.capitalize()}", id=tab)
        yield MessageLine().data_bind(JaxtuiApp.state)
        yield KeysLine()

    def on_mount(self) -> None:
        devices = self.panes["devices"] = self.query_one("#devices", TabPane).query_one(
            Pane
        )
        devices.take_focus()
        self.watch(devices, "disturbed", self._tell_tab)
        # The keys of a tab are those of the pane in it: the focus stays there.
        self.query_one(Tabs).can_focus = False
        self.watch(self.query_one(TabbedContent), "active", self._leave_tab, init=False)
        self.set_interval(1 / self.fps, self._publish)
        self.set_interval(5.0, self.release_if_idle)
        self.set_interval(5.0, self.end_without_terminal)
        self.run_worker(self.session.follow(), name="engine", group="engine")
        interrupt.notify(self._end_by_signal)
        # The shell wrote on the screen meanwhile, so all of it must be drawn again.
        self.app_resume_signal.subscribe(
            self, lambda _: self.screen.refresh(repaint=True, layout=True)
        )

    # The snapshot.

    def watch_state(self, old: State, new: State) -> None:
        # Not bound to the app's own: a snapshot that came while the widgets of a pane
        # were still being composed would find them missing.
        for pane in self.panes.values():
            pane.state = new
        if self._classroom and (new.devices or new.engine == "failed"):
            self._classroom = False
            self.call_after_refresh(self.open_classroom)
        if not old.devices and new.devices:
            # The devices come first, before the keys.
            self.call_after_refresh(self.refresh_bindings)
            self.run_worker(self._fill_bench(), group="fill")
            self.set_timer(WARM_UP_SECONDS, _warm_up)
        for line in self.screen.query(KeysLine):
            line.catch_up()
        if old.running and not new.running:
            self.touched = self.clock()
            self.background(self.session.engine.refresh_memory)

    # Events.

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            self.touched = self.clock()
            pressed = isinstance(event, (events.Key, events.MouseDown))
            if pressed and not event.is_forwarded:
                self.session.end_answer()
            await self.fill("bench")
            if isinstance(event, events.Key):
                await self._open_prompt()
        await super().on_event(event)

    async def _open_prompt(self) -> None:
        """Let a prompt that is being opened take the focus: the key is for it.

        A slow line delivers several keys at once.
        """
        end = time.monotonic() + PATIENCE_SECONDS
        while (
            isinstance(self.screen, (LineScreen, CommandPalette))
            and self.screen.focused is None
            and time.monotonic() < end
        ):
            await asyncio.sleep(0.001)

    def simulate_key(self, key: str) -> None:
        """Press a key for whoever is clicked, as the app.

        A message rises no further than to the widget that posted it: the table in a
        clicked panel would have the key, and the tab around them never.
        """
        self.call_later(super().simulate_key, key)

    def on_resize(self, event: events.Resize) -> None:
        """Say so if the terminal is too small; come back when it is not."""
        is_open = isinstance(self.screen, TooSmall)
        if too_small(event.size) and not is_open:
            self.push_screen(TooSmall())
        elif is_open and not too_small(event.size):
            self.pop_screen()
        for pane in self.panes.values():
            pane.set_wide(event.size.width >= WIDE_COLUMNS)

    # Tabs.

    @property
    def tab(self) -> str:
        return self.screen_stack[0].query_one(TabbedContent).active or "devices"

    def pane(self, kind: type[_Pane]) -> _Pane | None:
        """The pane of this class, once it is complete."""
        panes = self.panes.values()
        return next((pane for pane in panes if isinstance(pane, kind)), None)

    async def fill(self, tab: str) -> Pane | None:
        """Complete the pane of a tab; ``None`` where an ending comes in between."""
        async with self._filling:
            if tab in self.panes or self.leaving or not self.screen_stack:
                return self.panes.get(tab)
            module, _, name = LATE[tab].partition(":")
            pane: Pane = getattr(importlib.import_module(module), name)()
            panes = self.screen_stack[0].query(f"#{tab}")
            if not panes:  # the app is closing
                return None
            await panes.first().mount(pane)
            if self.leaving:  # the widgets have no children then
                return None
            pane.set_wide(self.size.width >= WIDE_COLUMNS)
            pane.state = self.state
            self.panes[tab] = pane
            self.watch(pane, "disturbed", self._tell_tab)
            return pane

    async def _fill_bench(self) -> None:
        """Complete the tab Bench once the terminal has the devices.

        A thread writes to it, which waits while modules are loaded.
        """
        drawn = asyncio.Event()
        self.call_after_refresh(drawn.set)
        await drawn.wait()
        # What that thread has taken out of its queue is not written yet.
        await asyncio.sleep(WRITTEN_SECONDS)
        while pace.backlog(self._driver):
            await asyncio.sleep(WRITTEN_SECONDS)
        await self.fill("bench")

    def _tell_tab(self) -> None:
        """The lines above and below speak of the tab that is on screen."""
        pane, screen = self.panes.get(self.tab), self.screen_stack[0]
        status, message = screen.query_one(StatusLine), screen.query_one(MessageLine)
        status.disturbed = pane is not None and pane.disturbed
        message.purposes = pane.PURPOSES if pane is not None else ()

    @on(TabbedContent.TabActivated)
    async def _tab_shown(self) -> None:
        if (pane := await self.fill(self.tab)) is not None:
            pane.enter()
            self.call_after_refresh(pane.draw)
            self._tell_tab()
        self.refresh_bindings()

    def _leave_tab(self, tab: str) -> None:
        """Take the focus from what is about to be hidden.

        Textual would give it to a sibling there, and show the tab of that again.
        """
        screen = self.screen_stack[0]
        if screen.focused and all(node.id != tab for node in screen.focused.ancestors):
            screen.set_focus(None)

    def redraw(self) -> None:
        """Draw everything in the colours of another theme."""
        for pane in self.panes.values():
            pane.draw()

    def show_tab(self, tab: str) -> None:
        """Show a tab, with the focus where keys make sense."""
        self.screen_stack[0].query_one(TabbedContent).active = tab
        if (there := self.panes.get(tab)) is not None:
            # At once: the next key may have been typed already, and means this pane.
            there.take_focus()
            return

        async def enter() -> None:
            if (pane := await self.fill(tab)) is not None:
                pane.take_focus()

        self.call_later(enter)

    def _on_bench(self, act: Callable[[Any], None]) -> None:
        """Show the tab Bench, and do something there: at once where it is complete,
        because the next key may have been typed already.
        """

        async def complete() -> None:
            if (pane := await self.fill("bench")) is not None:
                act(pane)
                pane.take_focus()

        self.show_tab("bench")
        if (pane := self.panes.get("bench")) is not None:
            act(pane)
            pane.take_focus()
        else:
            self.call_later(complete)

    def to_form(self, values: object) -> None:
        self._on_bench(lambda pane: pane.to_form(values))

    def sweep(self, case: Case) -> None:
        self._on_bench(lambda pane: pane.sweep(case))

    def list_again(self) -> None:
        """Read the history again, if it is on screen: more has been written."""
        kind = part("history", "screen").HistoryPane
        if self.tab == "history" and (pane := self.pane(kind)) is not None:
            pane.refresh_list()

    def open_classroom(self) -> None:
        """Open the class view of the case that the tab Devices offers."""
        case = self.query_one(part("devices", "screen").DevicesPane).case
        part("timeline", "classroom").open_classroom(self, case)

    # Keys.

    def why_not(self, action: str) -> str | None:
        """Return why an action cannot run now, one sentence; ``None`` if it can."""
        state = self.session.state
        match action:
            case "stop" if not state.busy:
                return "Nothing is running."
            case "release" if state.busy:
                return words.text(RUNNING)
            case "release" if state.accelerator is None:
                return "jaxtui holds no accelerator."
            case "retry" if state.engine != "failed":
                return "The engine has not failed."
            case _:
                return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.screen, TooSmall):
            return True
        if action in PROMPTS and isinstance(self.focused, Input):
            return False
        return True if self.why_not(action) is None else None

    def perform(self, action: str) -> None:
        if (why := self.why_not(action.partition("(")[0])) is not None:
            self.say(why)
        else:
            self.call_later(self.run_action, action)

    def on_key(self, event: events.Key) -> None:
        """Answer a key that does nothing here, or nothing now: with why."""
        if (binding := self.screen.active_bindings.get(event.key)) is None:
            if event.is_printable:
                self.say(f"{event.character} does nothing here: ? shows the keys.")
        elif not binding.enabled:
            place, action, _ = parse(binding.binding.action)
            node = self if place == "app" else binding.node
            if isinstance(node, (Explained, JaxtuiApp)):
                self.say(node.why_not(action) or "")

    def action_stop(self) -> None:
        self.background(self.session.stop)

    action_show_tab = show_tab

    def action_switch(self, by: int) -> None:
        self.show_tab(TABS[(TABS.index(self.tab) + by) % len(TABS)])

    def action_profile(self) -> None:
        self._on_bench(lambda pane: pane.perform("profile"))

    def action_open_file(self) -> None:
        self._on_bench(lambda pane: pane.action_open_file())

    def action_command_palette(self) -> None:
        if not Finder.is_open(self):  # type: ignore[arg-type]
            self.push_screen(Finder(id="--command-palette"))

    action_type_command = action_command_palette

    def search_commands(
        self, commands: Sequence[CommandListItem], placeholder: str = ""
    ) -> AwaitMount:
        """Show a list of commands, which typing filters."""
        provider: Any = SimpleProvider(self.screen, [*commands])
        return self.push_screen(Finder([provider], placeholder=placeholder))

    def action_release(self) -> None:
        why = "Released: others can use the accelerator. The next run takes it again."
        self.background(partial(self.session.release, why))

    def action_retry(self) -> None:
        self.background(self.session.retry)

    def action_theme(self) -> None:
        names = [theme.name for theme in themes.THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self._wear(names[(at + 1) % len(names)])

    def _wear(self, theme: str) -> None:
        self.theme = theme
        self.call_after_refresh(self.redraw)

    def action_help(self) -> None:
        from jaxtui.ui.app.help import HelpScreen

        here = self.screen.HELP or self.panes[self.tab].HELP
        self.push_screen(HelpScreen(here))

    async def action_quit(self) -> None:
        """Quit; one key must not lose a run."""
        if not self.session.state.busy:
            self.exit()
            return
        from jaxtui.ui.app.dialogs import Question

        text = "A run is in progress: unfinished cases are lost."
        question = Question(text, "quits", "stays")
        self.push_screen(question, lambda yes: self.exit() if yes else None)

    def action_quit_now(self) -> None:
        self.exit()

    def action_interrupt(self) -> None:
        self.exit(return_code=130)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every key that does something there now."""
        actions = {"command_palette", "type_command"}
        active = screen.active_bindings.values()
        for node, binding, enabled, tooltip in active:
            if tooltip and enabled and binding.action not in actions:
                actions.add(binding.action)
                keys = " ".join(
                    self.get_key_display(pane.binding)
                    for pane in active
                    if (pane.node, pane.binding.action) == (node, binding.action)
                )
                yield SystemCommand(
                    binding.description,
                    f"{tooltip}  ({keys})",
                    partial(self._perform_on, node, binding.action),
                )

    def get_content(self) -> Iterator[SystemCommand]:
        """The palette: what the other tabs do, and all that can be gone to by name."""
        for tab, pane in self.panes.items():
            if tab == self.tab:
                continue
            for binding in Binding.make_bindings(pane.BINDINGS):
                action, _, _ = binding.action.partition("(")
                if binding.tooltip and pane.why_not(action) is None:
                    act = partial(self._perform_in, tab, binding.action)
                    title = f"{tab.capitalize()}: {binding.description}"
                    yield SystemCommand(title, binding.tooltip, act)
        lessons = part("lessons", "catalogue")
        from jaxtui.machine import topologies

        open_trace = part("profile", "screen").open_trace

        state = self.session.state
        what = "Show a trace of JAX's profiler, by line of the source."
        yield SystemCommand("Trace", what, partial(open_trace, self))
        what = "Run a program of yours, and find mistakes in how it times JAX."
        audit = partial(part("audit", "screen").open_audit, self)
        yield SystemCommand("Audit a program", what, audit)
        for op in state.ops:
            values = partial(self._edit_op, op)
            yield SystemCommand(f"Op {op.name}", op.summary, values)
        for index, lesson in enumerate(lessons.load_all()):
            read = partial(self._open_lesson, index)
            yield SystemCommand(f"Lesson {lesson.name}", lesson.title, read)
        for device in state.devices:
            select = partial(self._select_device, device.name)
            yield SystemCommand(f"Device {device.label}", device.device_kind, select)
        for name in topologies.names():
            show = partial(self._show_recorded, name)
            what = "A recorded TPU: its devices and chips."
            yield SystemCommand(f"Recorded {name}", what, show)

    def _perform_in(self, tab: str, action: str) -> None:
        self.show_tab(tab)
        self.call_later(self.panes[tab].perform, action)

    def _edit_op(self, op: OpInfo) -> None:
        modes = tuple(mode for mode in ("jit", "numpy") if mode in op.modes)
        size = fmt.size(op.default) if op.default else ""
        self.to_form(
            part("bench", "values").Values(
                op=op.name, sizes=size, dtypes=op.dtypes[:1], modes=modes
            )
        )

    def _open_lesson(self, index: int) -> None:
        async def show() -> None:
            await self.fill("learn")
            self.query_one(part("lessons", "screen").LearnPane).open_lesson(index)

        self.show_tab("learn")
        self.call_later(show)

    def _select_device(self, name: str) -> None:
        self.session.update(cursor=name)
        self.show_tab("devices")

    def _show_recorded(self, name: str) -> None:
        self.push_screen(part("devices", "recorded").RecordedScreen(name))

    def _perform_on(self, node: DOMNode, action: str) -> None:
        """Do an action of a node; its pane, or the app, says why it cannot be done."""
        if isinstance(node, (Explained, JaxtuiApp)):
            node.perform(action)
        else:
            self.call_later(self.run_action, action, node)


def _warm_up() -> None:
    threading.Thread(target=colors.warm_up, daemon=True).start()
