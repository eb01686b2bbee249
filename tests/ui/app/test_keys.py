"""Every key of every tab, pressed with the focus wherever it can be."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from textual.actions import parse
from textual.binding import Binding
from textual.command import CommandPalette
from textual.keys import key_to_character
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, OptionList

from jaxtui.core.history.store import History
from jaxtui.core.model import (
    Case,
    Check,
    Experiment,
    Inspection,
    Loop,
    Profiling,
    Roofs,
    RunEvent,
    RunFinished,
    Snippet,
)
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.bench.open_file import OpenFile
from jaxtui.features.bench.plot_panel import Pictures
from jaxtui.features.bench.results_table import LogPanel, ResultsTable
from jaxtui.features.bench.screen import BenchPane
from jaxtui.features.check.screen import CheckScreen
from jaxtui.features.devices.hardware import Hardware
from jaxtui.features.devices.recorded import RecordedScreen
from jaxtui.features.devices.screen import DevicesPane
from jaxtui.features.history.screen import HistoryPane, HistoryTable
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons.screen import LearnPane
from jaxtui.features.links.screen import LinksScreen
from jaxtui.features.profile.screen import ProfileScreen
from jaxtui.features.program.screen import ProgramScreen
from jaxtui.features.timeline.classroom import Classroom
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app.app import TABS, JaxtuiApp
from jaxtui.ui.app.dialogs import CodeScreen, NotesScreen, Question
from jaxtui.ui.app.export import ExportScreen
from jaxtui.ui.app.help import HelpScreen
from jaxtui.ui.widgets.plot_view import PlotReader
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.fake_engine import FakeEngine, at_once, tpu_devices
from tests.features.lessons.lessons_to_try import LESSONS
from tests.ui.app.driving import app_on, message, until, until_done, until_ready

SIZE = (120, 40)
ENDED = RunFinished(outcome="complete", elapsed_seconds=1.0)


def soon_over(work: Any) -> Sequence[RunEvent]:
    return at_once(work) if isinstance(work, (Check, Snippet)) else [ENDED]


class Scene:
    """A tab in view, and how everything was before a key was pressed."""

    def __init__(self, app: JaxtuiApp, pilot: Pilot[None], folder: Path) -> None:
        self.app, self.pilot, self.folder = app, pilot, folder
        self.engine: FakeEngine = app.session.engine  # type: ignore[assignment]
        self.own: dict[str, tuple[Any, str]] = {}
        """What the tab keeps for itself: an object and its attribute, by a name."""
        self.ends: list[str] = []
        self.pressed = set[str]()
        """The actions of all keys so far."""
        self.seen: set[tuple[Any, str, bool]]
        self.seen = {(app, action, True) for action in EVERYWHERE}
        """What was tried: of whom, and whether it could be done. The keys of the app in
        one tab only."""

    async def open(self, tab: str) -> None:
        app, pilot = self.app, self.pilot
        await pilot.press(str(TABS.index(tab) + 1))
        await until(pilot, lambda: tab in app.panes and app.tab == tab)
        await until(pilot, lambda: app.focused and self.pane in app.focused.ancestors)
        # By Tab nothing else is reached, such as the tabs themselves, where the keys of
        # the pane would be dead.
        assert self.reached == app.screen.focus_chain

    @property
    def pane(self) -> Any:
        return self.app.panes[self.app.tab]

    @property
    def reached(self) -> list[Widget]:
        """Whatever can have the focus."""
        return [w for w in self.app.screen.focus_chain if self.pane in w.ancestors]

    def look(self) -> dict[str, Any]:
        state = self.app.session.state
        return {
            **{name: getattr(*where) for name, where in self.own.items()},
            "screens": list(map(type, self.app.screen_stack)),
            "works": len(self.engine.works),
            "releases": self.engine.calls.count("release"),
            "files": len(list(self.folder.rglob("copied/*"))),
            "ends": len(self.ends),
            "theme": self.app.theme,
            "tab": self.app.tab,
            "view": (state.view, state.metric),
            "picked": state.picked,
        }

    def changed(self, name: str) -> bool:
        return bool(self.look()[name] != self.before[name])

    @property
    def message(self) -> str:
        return message(self.app)

    def on(self, screen: type) -> bool:
        return isinstance(self.app.screen, screen)

    def begun(self, kind: type, case: Case | None = None) -> bool:
        """Whether the key has begun a work of this kind, of this case."""
        new = self.engine.works[self.before["works"] :]
        return any(
            isinstance(work, kind) and case in (None, getattr(work, "case", None))
            for work in new
        )

    @property
    def timed(self) -> tuple[Case, ...]:
        """The cases that the key has begun to time."""
        return self.engine.experiments[-1].cases if self.begun(Experiment) else ()

    async def press(self, widget: Widget, key: str, effect: Effect | None) -> None:
        """Press a key with the focus on a widget, and put everything back.

        Args:
            widget: it gets the focus.
            key: as Textual calls it.
            effect: what must come of it; ``None`` for nothing at all.
        """
        app, pilot, tab = self.app, self.pilot, self.app.tab
        app.screen.set_focus(widget)
        await pilot.pause()
        if isinstance(widget, PlotReader):
            widget.read(1)
        state, self.before = app.session.state, self.look()
        await pilot.press(key)
        if effect is None:
            await pilot.pause()
            assert self.look() == self.before, (widget, key)
            return
        try:
            await until(pilot, lambda: effect(self))
        except AssertionError as error:
            raise AssertionError(f"{key} on {widget} has no effect") from error
        await until(pilot, lambda: not app.session.state.busy)
        while len(app.screen_stack) > 1:
            await pilot.press("escape")
        shutil.rmtree(self.folder / "data" / "copied", ignore_errors=True)
        if app.tab != tab:
            await self.open(tab)
        app.theme = self.before["theme"]
        app.session.state = state
        app.session.update()
        for name, (owner, attribute) in self.own.items():
            setattr(owner, attribute, self.before[name])
        await pilot.pause()

    async def press_all(self, widgets: Sequence[Widget], effects: Effects) -> None:
        """Press the keys of the pane, of these widgets and of the app.

        What comes of an action is looked at once, on the first kind of widget that has
        its key; from all others the key must lead there, too.
        """
        pane = self.pane
        for place, widget in enumerate({type(one): one for one in widgets}.values()):
            self.app.screen.set_focus(widget)
            await self.pilot.pause()
            actives = dict(self.app.screen.active_bindings)
            keys = {
                key
                for key, one in pane._bindings
                if pane.check_action(*parse(one.action)[1:]) is not False
            }
            if not isinstance(widget, Input):
                assert all(actives[key].node in (pane, widget) for key in keys), widget
            node: Any
            for key, (node, binding, enabled, tooltip) in actives.items():
                action = binding.action
                if action == "suspend_process" or (
                    isinstance(widget, Input)  # of which most keys are text
                    and (key_to_character(key) or not tooltip)
                    and not binding.priority
                ):
                    continue
                if node is self.app and not place:
                    effect = EVERYWHERE.get(action)
                elif node is pane or (widget is node and (tooltip or key in keys)):
                    effect = effects[action]
                else:
                    continue
                self.pressed.add(action)
                if (node, action, enabled) in self.seen:
                    continue
                if not enabled:
                    why = node.why_not(action.partition("(")[0])
                    assert why, action
                    assert why.endswith("."), why
                await self.press(widget, key, effect if enabled else None)
                self.seen.add((node, action, enabled))


def doubled(sizes: Sequence[int]) -> bool:
    return len(sizes) > 3 and all(2 * one == other for one, other in pairwise(sizes))


Effect = Callable[[Scene], object]
Effects = Mapping[str, Effect | None]
"""By the action of a key: what must be seen when it was pressed; ``None``: nothing."""


def shows(tab: str) -> Effect:
    return lambda scene: scene.app.tab == tab


EVERYWHERE: Effects = {
    **{f"show_tab('{tab}')": shows(tab) for tab in TABS},
    **dict.fromkeys(("quit", "quit_now", "interrupt"), lambda s: s.changed("ends")),
    # Greyed out, as nothing runs and no engine has failed.
    **dict.fromkeys(("stop", "retry"), lambda s: False),
    **dict.fromkeys(("switch(1)", "switch(-1)"), lambda s: s.changed("tab")),
    "open_file": lambda s: s.on(OpenFile),
    "profile": lambda s: s.app.tab == "bench",
    "release": lambda s: s.changed("releases"),
    "theme": lambda s: s.changed("theme"),
    **dict.fromkeys(
        ("command_palette", "type_command"), lambda s: s.on(CommandPalette)
    ),
    "help": lambda s: s.on(HelpScreen),
}
"""Of the app, all but suspending, which needs a terminal."""

CASE: Effects = {
    "sweep": lambda s: doubled(sorted({one.size for one in s.timed})),
    "timeline": lambda s: s.begun(Loop, s.pane.case),
    "program": lambda s: s.begun(Inspection, s.pane.case),
    "profile": lambda s: s.begun(Profiling, s.pane.case),
    "code": lambda s: s.on(CodeScreen),
    "copy": lambda s: s.changed("files"),
    "export": lambda s: s.on(ExportScreen),
}

DEVICES: Effects = {
    **CASE,
    "class": lambda s: s.on(Classroom),
    "run": lambda s: {one.device for one in s.timed} == {"tpu:1", "host"},
    "edit": lambda s: s.app.tab == "bench",
    "select_cursor": lambda s: s.timed,
    "check('quick')": lambda s: s.on(CheckScreen),
    "check('full')": lambda s: s.begun(Check) and s.engine.works[-1].level == "full",
    "back": lambda s: False,  # no details were asked for
    "details": lambda s: s.changed("details"),
    "recorded": lambda s: s.on(CommandPalette),
}

BENCH: Effects = {
    **CASE,
    **dict.fromkeys(("run", "submit"), lambda s: s.timed),
    "edit": lambda s: s.changed("folded"),
    "open_file": lambda s: s.on(OpenFile),
    "roofline": lambda s: s.begun(Roofs),
    "crossover": lambda s: "two curves" in s.message or s.changed("view"),
    "view": lambda s: s.changed("view"),
    "details": lambda s: s.changed("phases") or s.changed("log"),
    "back": lambda s: any(map(s.changed, ("folded", "phases", "log"))),
    "select_cursor": lambda s: s.on(NotesScreen),
    **dict.fromkeys(
        ("move(-1)", "move(1)", "leap(-1)", "leap(1)", "first", "last"),
        lambda s: s.app.query_one(PlotReader).place != 1,
    ),
    "pick": lambda s: s.changed("picked"),
    "leave": lambda s: isinstance(s.app.focused, ResultsTable),
}

LEARN: Effects = {
    **{one: CASE[one] for one in ("copy", "export")},
    **dict.fromkeys(("run", "proceed"), lambda s: s.begun(Snippet)),
    **dict.fromkeys(
        (
            *("move(1)", "move(-1)", "resize(1)", "resize(-1)", "back"),
            *(f"answer({number})" for number in range(1, 5)),
            "select",
        ),
        lambda s: s.changed("course") or "step; Esc" in s.message,
    ),
}

HISTORY: Effects = {
    "export": CASE["export"],
    "take": lambda s: s.app.tab == "bench",
    "select_cursor": lambda s: s.app.tab == "bench" or "No measurement" in s.message,
    "filter": lambda s: isinstance(s.app.focused, Input),
    **dict.fromkeys(("mark", "back"), lambda s: s.changed("past")),
    "delete": lambda s: s.on(Question),
}


@pytest.fixture
async def scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    """The app with devices, two lessons and a history of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)
    engine = FakeEngine(devices=tpu_devices())
    engine.answer_others(soon_over)
    app = app_on(engine)
    async with app.run_test(size=SIZE) as pilot:
        scene = Scene(app, pilot, tmp_path)
        monkeypatch.setattr(app, "exit", lambda *_, **__: scene.ends.append("exit"))
        await until_ready(pilot, app)
        yield scene


async def test_devices(scene: Scene) -> None:
    app, pilot = scene.app, scene.pilot
    await scene.open("devices")
    scene.seen.clear()
    scene.own["details"] = scene.pane, "details"
    await pilot.press("enter")
    await until_done(pilot, app)
    await pilot.press("c")
    await until(pilot, lambda: "check" in app.state.series and not app.state.busy)
    # The results of another device are not shown for this one, nor acted on.
    await pilot.press("escape", "down")
    await until(pilot, lambda: scene.pane.case.device == "tpu:1")
    await scene.press_all(scene.reached, DEVICES)
    assert scene.pressed >= {one.action for _, one in scene.pane._bindings}


async def test_bench(scene: Scene) -> None:
    app, pilot = scene.app, scene.pilot
    await scene.open("bench")
    form = app.query_one(CaseForm)
    scene.own["folded"] = form, "folded"
    scene.own["phases"] = app.query_one(Pictures), "phases"
    scene.own["log"] = app.query_one(LogPanel), "display"
    # Before there are results.
    await scene.press_all([app.query_one("#op")], BENCH)
    await pilot.press("r")
    await until_done(pilot, app)
    await scene.press_all(scene.reached, BENCH)
    form.folded = False
    await pilot.pause()
    await scene.press_all(
        [one for one in scene.reached if form in one.ancestors], BENCH
    )
    assert scene.pressed >= {one.action for _, one in scene.pane._bindings}


async def test_learn(scene: Scene) -> None:
    pilot = scene.pilot
    await scene.open("learn")
    scene.own["course"] = scene.pane, "course"
    # In the list none of its keys mean anything, nor are they shown.
    await scene.press_all([scene.pane.query_one(OptionList)], LEARN)
    await pilot.press("enter", "n")
    await until(pilot, lambda: scene.pane.course.place == (0, 1))
    await scene.press_all(scene.reached, LEARN)
    assert scene.pressed >= {one.action for _, one in scene.pane._bindings}


async def test_history(scene: Scene) -> None:
    app, pilot = scene.app, scene.pilot
    await scene.open("history")
    scene.own["past"] = scene.pane, "past"
    # An empty one.
    await scene.press_all([app.query_one(HistoryTable)], HISTORY)
    for size in (64, 128, 256):
        insert(History(), HOST, DEVICE, measurement(size=size), 1_790_000_000.0 + size)
    scene.pane.refresh_list()
    await until(pilot, lambda: scene.pane.past.entry)
    await pilot.press("space")
    await until(pilot, lambda: scene.pane.past.marked)
    await scene.press_all([app.query_one(HistoryTable), *scene.reached], HISTORY)
    assert scene.pressed >= {one.action for _, one in scene.pane._bindings}


PLACES = {
    "app": JaxtuiApp,
    "devices": DevicesPane,
    "bench": BenchPane,
    "learn": LearnPane,
    "history": HistoryPane,
    "hardware": Hardware,
    "links": LinksScreen,
    "timeline": TimelineScreen,
    "class": Classroom,
    "recorded": RecordedScreen,
    "profile": ProfileScreen,
    "program": ProgramScreen,
    "code": CodeScreen,
}

POSITIONAL = {"enter", "escape", "space", "tab", "shift+tab", "delete", "backspace"}
POSITIONAL |= {"left", "right", "up", "down", "pageup", "pagedown", "home", "end"}
POSITIONAL |= set("1234")
"""Keys that mean what is where the focus is: go, choose, back, the n-th tab. So are
the letters of the answers to a question."""

SYNONYMS = {
    "Palette": "Commands",
    "Run": "Run",
    "Again": "Run",
    "Back": "Back",
    "Close": "Back",
}


def keys_of(place: type[Any]) -> dict[str, str]:
    """The label of each key of its own, by the name of the key."""
    return {
        one.key: SYNONYMS.get(one.description, one.description)
        for one in Binding.make_bindings(place.BINDINGS)
        if one.key not in POSITIONAL and not one.action.startswith(("app.", "answer"))
    }


def test_a_key_means_the_same_on_every_screen() -> None:
    meanings: dict[str, set[str]] = {}
    for place in PLACES.values():
        for key, label in keys_of(place).items():
            meanings.setdefault(key, set()).add(label)
    # q leaves: the app, or the screen over its tabs; v also closes the code again.
    assert meanings.pop("q") == {"Quit", "Back"}
    assert meanings.pop("v") == {"Code", "Back"}
    assert {key: labels for key, labels in meanings.items() if len(labels) > 1} == {}


@pytest.mark.parametrize("name", PLACES)
def test_a_screen_has_at_most_a_dozen_keys(name: str) -> None:
    actions = set(keys_of(PLACES[name]).values())
    if name != "app":
        actions -= set(keys_of(JaxtuiApp).values())
    assert len(actions) <= 12, sorted(actions)
