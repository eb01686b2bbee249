"""The tab Learn on a fake engine: read, predict, run, conclude."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import OptionList

from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.model import (
    Experiment,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Snippet,
    SnippetTimed,
    WorkFailed,
)
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons.course import Attempt, load_course
from jaxtui.features.lessons.screen import LearnPane
from jaxtui.features.lessons.step import QuestionPanel
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.panel import Panel
from jaxtui.ui.widgets.plot_view import PlotView
from tests.fake_engine import FakeEngine, at_once, begun, cpu_devices, tpu_devices, up
from tests.features.lessons.lessons_to_try import FIRST, LESSONS, SECOND
from tests.records import told
from tests.ui.app.driving import app_on, plain, until, until_ready

NARROW, WIDE = (80, 24), (120, 40)


@pytest.fixture(autouse=True)
def _two_lessons(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path_factory.mktemp("data")))
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)


def pane(app: JaxtuiApp) -> LearnPane:
    found = app.pane(LearnPane)
    assert found is not None
    return found


def attempt(app: JaxtuiApp) -> Attempt:
    return pane(app).course.attempt


def page(app: JaxtuiApp) -> str:
    """All that the tab says, with single blanks: sheets, borders, list, messages."""
    tab = pane(app)
    panels = [one for one in tab.query(Panel) if one.region]
    keys = (Content.from_markup(str(one.border_subtitle)).plain for one in panels)
    listed = tab.query_one(OptionList)
    entries = [str(one.prompt) for one in listed.options] if listed.region else []
    sheets = [one.text for one in tab.query(Sheet) if one.region]
    titles = [str(one.border_title) for one in panels]
    texts = (*titles, *keys, *entries, *sheets, app.query_one(MessageLine).line)
    return " ".join(" ".join(texts).split())


async def until_said(pilot: Pilot[None], app: JaxtuiApp, text: str) -> None:
    """Until it is there; with a minus before it, until it is gone."""
    shown, there = text.removeprefix("−"), not text.startswith("−")
    await until(pilot, lambda: (shown in page(app)) is there)


async def walk(pilot: Pilot[None], app: JaxtuiApp, *steps: tuple[str, ...]) -> None:
    """Press the keys of each step, and wait until its texts are there."""
    for keys, *texts in steps:
        await pilot.press(*keys.split())
        for text in texts:
            await until_said(pilot, app, text)


@asynccontextmanager
async def reading(
    engine: FakeEngine | None = None, size: tuple[int, int] = NARROW
) -> AsyncIterator[tuple[Pilot[None], JaxtuiApp]]:
    """The first lesson at its first step."""
    app = app_on(engine or FakeEngine())
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        await walk(pilot, app, ("enter", "How many?"))
        yield pilot, app


def endless(work: object) -> Sequence[RunEvent]:
    """A work that begins and does not end."""
    assert isinstance(work, Snippet)
    return [RunStarted()]


def ended(outcome: Any = "complete") -> RunFinished:
    return RunFinished(outcome=outcome, elapsed_seconds=1.0)


async def until_idle(pilot: Pilot[None], app: JaxtuiApp) -> None:
    await until(pilot, lambda: pane(app).course.playing is None)


async def test_a_lesson_can_be_read_before_jax_is_ready() -> None:
    engine = FakeEngine(opening=up()[:1])
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        # Lessons are not imported before the tab is shown.
        assert app.pane(LearnPane) is None
        await pilot.click("Tab#--content-tab-learn")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        pane(app).perform("run")
        about = "1 What comes first? ○○ 0/2", "two steps", "Needs: an accelerator"
        await walk(
            *(pilot, app),
            ("", "Open a lesson first", *about, "jaxtui learn first"),
            ("enter", "How many?", "−The last paragraph"),
        )
        await pilot.press("r")
        await until(pilot, lambda: app.state.message)
        assert "run" not in engine.calls
        engine.become_ready()
        await walk(pilot, app, ("", "n of n×n: 100 · cpu:0"))


async def test_the_status_line_calls_the_machine_busy_for_what_is_on_screen() -> None:
    """The first step was disturbed: not the other steps, tabs or the list."""
    engine = FakeEngine()

    def crowded(work: Any) -> Iterator[RunEvent]:
        for event in at_once(work):
            if isinstance(event, SnippetTimed):
                timing = replace(event.timing, disturbed="Others used a core.")
                event = replace(event, timing=timing)
            yield event

    engine.answer_others(crowded)

    async def until_shown(busy: bool) -> None:
        await until(pilot, lambda: ("BUSY" in plain(app, StatusLine)) is busy)

    async with reading(engine) as (pilot, app):
        assert "BUSY" not in plain(app, StatusLine)
        await walk(pilot, app, ("r", "Holds here"))
        await until_shown(True)
        for there, back in (("n", "backspace"), ("2", "3"), ("escape", "enter")):
            await pilot.press(there)
            await until_shown(False)
            await pilot.press(back)
            await until_shown(True)


async def test_ask_run_show_explain() -> None:
    engine = FakeEngine()
    async with reading(engine, WIDE) as (pilot, app):
        # What must be known, the question, its keys and what runs; no claim, no answer.
        asked = "What must be known. How many? ○ a one ○ b two ○ c three"
        keys = "1/2 Two works", "a–c predict · Enter run"
        program = "# The snippet first n = 100"
        await walk(pilot, app, ("", asked, *keys, program, "−Holds", "−last paragraph"))
        assert isinstance(app.focused, QuestionPanel)
        # By mouse: the choice, then the words of the key.
        await pilot.click("#step-b")
        await walk(pilot, app, ("", "● b two"))
        width, height = app.query_one(QuestionPanel).outer_size
        await pilot.click(QuestionPanel, offset=(width - 5, height - 1))
        verdict = "✓ Holds here: Two works give two figures.", "was right: two"
        figures = "Both were measured with 100.", "1 ms 269 µs", "in the end"
        why = "longer than any", "Published: A page of a book"
        keys = "Enter next step · r again", "○ c three"
        await walk(pilot, app, ("", *verdict, *figures, *why, *keys))
        assert [type(work) for work in engine.works] == [Snippet, Experiment]
        plot = app.query_one("#step-plot", PlotView)
        await until(pilot, lambda: "first" in plot.text)
        # In a small terminal nothing is wider than it, and the page moves.
        await pilot.resize_terminal(60, 15)
        await until(pilot, lambda: app.query_one("#step-page").size.width <= 60)
        await pilot.pause()
        for one in app.query(Sheet):
            if one.region:
                lines = one.text.split("\n")
                assert max(map(len, lines)) <= one.content_size.width
        await pilot.press("down", "pagedown")
        await until(pilot, lambda: app.query_one("#step-page").scroll_y > 1)


async def test_a_lesson_from_its_first_step_to_its_mark() -> None:
    engine = FakeEngine()
    async with reading(engine) as (pilot, app):
        await walk(pilot, app, ("r", "Answer: two", "−predicted"))
        # What was done is known to the next session.
        assert load_course().done(0) == (True, False)

        # A claim that does not hold, and works that follow.
        engine.works.clear()
        fails = "✗ Does not hold here: One work is enough.", "You predicted “no”;"
        await walk(pilot, app, ("n b r", *fails, "██", "Esc lessons"))
        titles = [work.title for work in engine.works if isinstance(work, Snippet)]
        assert [title.rpartition(" ")[2] for title in titles] == ["begin", *"012"]
        await walk(pilot, app, ("n", "last step"))
        # A digit shows a tab.
        await pilot.press("1")
        await until(pilot, lambda: app.tab == "devices")
        await pilot.press("3")
        await until(pilot, lambda: pane(app).has_focus_within)
        listed = "✓ 1 What comes first?", "●● 2/2", "2 of 3 steps"
        await walk(pilot, app, ("escape", *listed))


async def test_sizes_and_steps_forth_and_back() -> None:
    async with reading() as (pilot, app):
        sizes = ("plus plus", "n×n: 300"), ("plus", "60 to 300")
        await walk(pilot, app, *sizes)
        # A digit that is no answer is no key of the lesson.
        assert pane(app).check_action("answer", (3,)) is True
        assert pane(app).check_action("answer", (4,)) is False
        await walk(
            *(pilot, app),
            ("down down down down enter", "You predicted “three”"),
            # The conclusion stays that of its own run.
            ("minus", "n of n×n: 150", "measured with 300"),
            ("enter", "Enough?"),
            ("a backspace", "Holds here"),
            ("backspace", "first step"),
        )
        # A digit shows a tab; the prediction stays.
        await pilot.press("2")
        await until(pilot, lambda: app.tab == "bench")
        assert attempt(app).prediction == 2
        # The other lesson has no size, and a mistake of its own.
        await walk(pilot, app, ("escape 3 n", "● a yes"), ("escape", "0/1"))
        asked = "It divides by zero. Does it? ○ a yes ○ b no"
        mistake = "This lesson has a bug: ZeroDivisionError"
        await walk(pilot, app, ("down enter plus", "no size", asked), ("r", mistake))
        await until(pilot, lambda: pane(app).mistakes)
        assert isinstance(pane(app).mistakes[0], ZeroDivisionError)
        await until(
            pilot, lambda: any("divides by zero" in line for line in app.state.log)
        )
    assert app.crash is None


async def test_stop_leaves_the_lesson_where_it_was() -> None:
    engine = FakeEngine(begun)
    async with reading(engine, WIDE) as (pilot, app):
        # A step is not run beside another run.
        await pilot.press("escape", "1", "r")
        await until(pilot, lambda: app.state.running)
        await walk(pilot, app, ("3 enter", "How many?"))
        pane(app).perform("run")
        await walk(pilot, app, ("", "A run is in progress"))
        assert engine.calls.count("run") == 1
        await pilot.press("s")
        await until(pilot, lambda: not app.state.running)

        await pilot.press("b", "r")
        await until(pilot, lambda: len(engine.works) == 3 and app.state.running)
        assert isinstance(engine.works[-1], Experiment)
        # How far it is, and what has arrived.
        running = "overdue", "1/2 Two works", "s stop", "−a–c", "You predicted: two"
        stopped = "Stopped: r runs the step again.", "● b two"
        await walk(pilot, app, ("", *running), ("s", *stopped))
        await until_idle(pilot, app)
        assert (attempt(app).prediction, attempt(app).complete) == (1, False)
        # The step can be run again.
        await pilot.press("r")
        await until(pilot, lambda: len(engine.works) == 5)


async def test_a_second_run_is_stopped_and_a_third_one_left_alone() -> None:
    engine = FakeEngine()
    async with reading(engine) as (pilot, app):
        await walk(pilot, app, ("r", "Holds here"))
        engine.answer_others(endless)
        await walk(pilot, app, ("r", "s stop"))
        engine.emit_run(ended("cancelled"))
        # The first conclusion is kept.
        await walk(pilot, app, ("", "Stopped: ", "✓ Holds here"))
        await until_idle(pilot, app)
        # Other lessons can be read while a step runs.
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        await walk(pilot, app, ("escape", "0/1"), ("down enter", "Does it?"))
        engine.answer_others(at_once)
        engine.emit_run(*list(at_once(engine.works[-1]))[1:])
        await until_idle(pilot, app)
        assert pane(app).course.attempt_at((0, 0)).trouble == ""
        assert "Does it?" in page(app)
        assert pane(app).mistakes == []


async def test_an_engine_that_dies_costs_one_step() -> None:
    engine = FakeEngine()
    async with reading(engine) as (pilot, app):
        await walk(pilot, app, ("n r", "Does not hold"), ("backspace b", "● b two"))
        engine.answer_others(endless)
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        engine.die()
        failed = WorkFailed(remark=told("The engine was killed.", "Try less."))
        engine.emit_run(failed, ended("crashed"))
        engine.become_ready()
        await walk(pilot, app, ("", "Incomplete: ", "was killed. Try"))
        engine.answer_others(at_once)
        await until_ready(pilot, app)
        await walk(pilot, app, ("r", "Holds here", "−killed"))


async def test_what_cannot_run_is_refused() -> None:
    class Gone(FakeEngine):
        async def run(self, work: object) -> int:
            raise EngineUnavailableError(Remark("engine-gone"))

    engine = Gone()
    async with reading(engine) as (pilot, app):
        # Under a setting that makes claims meaningless.
        facts: dict[str, Any] = {"setting": "x", "value": "1", "refuses": "verdicts"}
        app.session.update(findings=(Remark("setting", facts),))
        pane(app).perform("run")
        await walk(pilot, app, ("", "verdicts"))
        assert "run" not in engine.calls
        app.session.update(findings=())
        await pilot.press("r")
        await until(pilot, lambda: app.state.engine == "failed")
        await until_idle(pilot, app)
        assert attempt(app).trouble


async def test_mistakes_while_a_step_runs_end_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no such op")

    step = FIRST.steps[1]
    for lesson, part in ((FIRST, "works"), (SECOND, "follow")):
        trial = replace(step.trial, **{part: fail})
        changed = replace(lesson, steps=(replace(step, trial=trial),))
        monkeypatch.setitem(LESSONS, lesson.name, changed)
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        for keys in ("enter", "escape down enter"):
            await walk(pilot, app, (keys, "Enough?"), ("r", "no such op"))
            await until_idle(pilot, app)
        assert pane(app).course.open == 1
        assert pane(app).mistakes
    assert app.crash is None


async def test_the_selected_device_is_the_device_of_the_lesson() -> None:
    engine = FakeEngine(devices=(*tpu_devices(), *cpu_devices()))
    async with reading(engine) as (pilot, app):
        await pilot.press("escape", "1", "down", "down")
        await until(pilot, lambda: app.state.cursor == "tpu:2")
        await walk(pilot, app, ("3 enter", "400 · tpu:2"), ("r", "Yours: tpu:2, vm"))
        experiment = engine.works[1]
        assert isinstance(experiment, Experiment)
        assert experiment.cases[0].device == "tpu:2"
        # Stopped before the run has begun.
        await pilot.press("x")
        await until(pilot, lambda: app.state.engine == "released")
        engine.calls.clear()
        pane(app).action_run()
        app.action_stop()
        await until(pilot, lambda: "stop" in engine.calls)
        assert engine.calls.index("stop") > engine.calls.index("run")
