"""The tab Learn on a fake engine: read, predict, run, conclude."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec import structs
from msgspec.structs import replace
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import OptionList, TabbedContent

from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.model import (
    Check,
    Experiment,
    Loop,
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
def _two_lessons(monkeypatch: pytest.MonkeyPatch, tmp_path_factory) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path_factory.mktemp("data")))
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)


def paper(app: JaxtuiApp, name: str) -> str:
    """The text of a panel or a part of one; empty where it is not on the page."""
    widget = app.screen_stack[0].query_one(f"#{name}")
    sheets = [widget] if isinstance(widget, Sheet) else [*widget.query(Sheet)]
    return " ".join(word for one in sheets if one.region for word in one.text.split())


def borders(app: JaxtuiApp, name: str) -> str:
    """What a panel is called, and its keys."""
    panel = app.screen_stack[0].query_one(f"#{name}", Panel)
    keys = Content.from_markup(str(panel.border_subtitle)).plain
    return f"{panel.border_title} | {keys}" if panel.region else ""


def pane(app: JaxtuiApp) -> LearnPane:
    found = app.pane(LearnPane)
    assert found is not None
    return found


def attempt(app: JaxtuiApp) -> Attempt:
    return pane(app).course.attempt


def entry(app: JaxtuiApp, index: int) -> str:
    listed = pane(app).query_one(OptionList)
    return str(listed.get_option_at_index(index).prompt)


@asynccontextmanager
async def reading(
    engine: FakeEngine | None = None, size: tuple[int, int] = NARROW
) -> AsyncIterator[tuple[Pilot[None], JaxtuiApp]]:
    """The first lesson at its first step."""
    app = app_on(engine or FakeEngine())
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        await to_list(pilot, app, "3")
        await pilot.press("enter")
        await until(pilot, lambda: paper(app, "step-heading"))
        await pilot.pause()
        yield pilot, app


async def to_list(pilot: Pilot[None], app: JaxtuiApp, key: str) -> None:
    """To the list of lessons, by the key of the tab or by Esc."""
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.focused, OptionList))


async def until_complete(pilot: Pilot[None], app: JaxtuiApp) -> None:
    await until(pilot, lambda: attempt(app).complete)
    await pilot.pause()


def endless(work: Loop | Snippet) -> Sequence[RunEvent]:
    """A work that begins and does not end."""
    assert isinstance(work, Snippet)
    return [RunStarted()]


async def test_a_lesson_can_be_read_before_jax_is_ready() -> None:
    engine = FakeEngine(opening=up()[:1])
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        # Lessons are not imported before the tab is shown.
        assert app.pane(LearnPane) is None
        await pilot.click("Tab#--content-tab-learn")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        pane(app).perform("run")
        await until(pilot, lambda: "Open a lesson first" in app.state.message)
        assert "1  What comes first?  " in entry(app, 0)
        assert "○○ 0/2" in entry(app, 0)
        await until(pilot, lambda: "two steps" in paper(app, "lesson-summary"))
        assert "Needs: an accelerator" in paper(app, "lesson-summary")
        assert "jaxtui learn first" in borders(app, "lesson-about")
        await pilot.press("enter")
        await until(pilot, lambda: "How many?" in paper(app, "step-question"))
        assert paper(app, "step-why") == ""
        await pilot.press("r")
        await until(pilot, lambda: app.state.message)
        assert "run" not in engine.calls
        engine.become_ready()
        await until(
            pilot, lambda: "n of n×n: 100 · cpu:0" in paper(app, "step-heading")
        )


async def test_the_status_line_calls_the_machine_busy_for_what_is_on_screen() -> None:
    """The first step was disturbed: not the other steps, tabs or the list."""
    engine = FakeEngine()

    def crowded(work: Loop | Snippet | Check) -> Sequence[RunEvent]:
        return [
            structs.replace(
                event,
                timing=structs.replace(event.timing, disturbed="Others used a core."),
            )
            if isinstance(event, SnippetTimed)
            else event
            for event in at_once(work)
        ]

    engine.answer_others(crowded)

    async def until_shown(busy: bool) -> None:
        await until(pilot, lambda: ("BUSY" in plain(app, StatusLine)) is busy)

    async with reading(engine) as (pilot, app):
        assert "BUSY" not in plain(app, StatusLine)
        await pilot.press("r")
        await until_complete(pilot, app)
        await until_shown(True)
        for there, back in (("n", "backspace"), ("2", "3"), ("escape", "enter")):
            await pilot.press(there)
            await until_shown(False)
            await pilot.press(back)
            await until_shown(True)


@pytest.mark.parametrize("size", [(60, 15), WIDE])
async def test_ask_run_show_explain(size: tuple[int, int]) -> None:
    engine = FakeEngine()
    async with reading(engine, size) as (pilot, app):
        # What must be known, the question, its keys and what runs; no claim, no answer.
        asked = "What must be known. How many? ○ a one ○ b two ○ c three"
        assert paper(app, "step-question") == asked
        assert (
            borders(app, "step-question") == "1/2 Two works | a–c predict · Enter run"
        )
        assert isinstance(app.focused, QuestionPanel)
        assert paper(app, "step-results").startswith("# The snippet first n = 100")
        assert (paper(app, "step-why"), paper(app, "step-verdict")) == ("", "")
        if size == WIDE:  # by mouse: the choice, then the words of the key
            await pilot.click("#step-b")
            await until(pilot, lambda: "● b two" in paper(app, "step-question"))
            width, height = app.query_one(QuestionPanel).outer_size
            await pilot.click(QuestionPanel, offset=(width - 5, height - 1))
        else:
            await pilot.press("b")
            await until(pilot, lambda: "● b two" in paper(app, "step-question"))
            await pilot.press("enter")
        await until_complete(pilot, app)
        assert [type(work) for work in engine.works] == [Snippet, Experiment]
        verdict = paper(app, "step-verdict")
        assert "✓ Holds here: Two works give two figures." in verdict
        assert "Your prediction was right: two" in verdict
        assert "Both were measured with 100." in verdict
        assert "Enter next step · r again" in borders(app, "step-question")
        assert ("○ c three" in paper(app, "step-question")) == (size == WIDE)

        # Below or beside it everything else, and nothing is wider than the screen.
        plot = app.query_one("#step-plot", PlotView)
        await until(pilot, lambda: "first" in plot.text)
        await until(pilot, lambda: "1 ms 269 µs" in paper(app, "step-results"))
        assert "in the end" in paper(app, "step-results")
        assert "longer than any" in paper(app, "step-why")
        assert "Published: A page of a book" in paper(app, "step-why")
        for one in app.query(Sheet):
            if one.region:
                lines = one.text.split("\n")
                assert max(map(len, lines)) <= one.content_size.width
        page = app.query_one("#step-page")
        await pilot.press("down", "pagedown")
        await until(pilot, lambda: (page.scroll_y > 1) == (size != WIDE))


async def test_a_lesson_from_its_first_step_to_its_mark() -> None:
    engine = FakeEngine()
    async with reading(engine) as (pilot, app):
        # Without a prediction.
        await pilot.press("r")
        await until_complete(pilot, app)
        assert "predict" not in paper(app, "step-verdict")
        assert "Answer: two" in paper(app, "step-verdict")
        # What was done is known to the next session.
        assert load_course().done(0) == (True, False)

        # A claim that does not hold, and works that follow.
        engine.works.clear()
        await pilot.press("n", "b", "r")
        await until_complete(pilot, app)
        titles = [work.title for work in engine.works if isinstance(work, Snippet)]
        assert [title.rpartition(" ")[2] for title in titles] == ["begin", *"012"]
        verdict = paper(app, "step-verdict")
        assert "✗ Does not hold here: One work is enough." in verdict
        assert "You predicted “no”;" in verdict
        # What was timed is drawn to one scale.
        assert paper(app, "step-results").count("█") > 4

        assert "Esc lessons" in borders(app, "step-question")
        await pilot.press("n")
        await until(pilot, lambda: "last step" in app.state.message)
        # A digit shows a tab.
        await pilot.press("1")
        await until(pilot, lambda: app.query_one(TabbedContent).active == "devices")
        await pilot.press("3")
        await until(pilot, lambda: pane(app).has_focus_within)
        await to_list(pilot, app, "escape")
        assert entry(app, 0).startswith("✓  1  What comes first?")
        assert "●● 2/2" in entry(app, 0)
        assert "2 of 3 steps" in borders(app, "lesson-list")


async def test_sizes_and_steps_forth_and_back() -> None:
    async with reading() as (pilot, app):
        await pilot.press("plus", "plus")
        await until(pilot, lambda: "n×n: 300" in paper(app, "step-heading"))
        await pilot.press("plus")
        await until(pilot, lambda: "60 to 300" in app.state.message)

        # A digit that is no answer is no key of the lesson.
        assert pane(app).check_action("answer", (3,)) is True
        assert pane(app).check_action("answer", (4,)) is False
        await pilot.press("down", "down", "down", "down", "enter")
        await until_complete(pilot, app)
        assert "You predicted “three”" in paper(app, "step-verdict")
        await pilot.press("minus")
        await until(pilot, lambda: "n of n×n: 150" in paper(app, "step-heading"))
        # The conclusion stays that of its own run.
        assert "measured with 300" in paper(app, "step-verdict")
        await pilot.press("enter")
        await until(pilot, lambda: "Enough?" in paper(app, "step-question"))
        await pilot.press("a", "backspace")
        await until(pilot, lambda: "Holds here" in paper(app, "step-verdict"))
        await pilot.press("backspace")
        await until(pilot, lambda: "first step" in app.state.message)
        # A digit shows a tab; the prediction stays.
        await pilot.press("2")
        await until(pilot, lambda: app.query_one(TabbedContent).active == "bench")
        assert attempt(app).prediction == 2
        await pilot.press("escape", "3", "n")
        await until(pilot, lambda: "● a yes" in paper(app, "step-question"))

        # The other lesson has no size, and a mistake of its own.
        await to_list(pilot, app, "escape")
        await pilot.press("down", "enter", "plus")
        await until(pilot, lambda: "no size" in app.state.message)
        asked = "It divides by zero. Does it? ○ a yes ○ b no"
        assert paper(app, "step-question") == asked
        await pilot.press("r")
        await until_complete(pilot, app)
        mistake = "This lesson has a bug: ZeroDivisionError"
        assert mistake in paper(app, "step-verdict")
        await until(pilot, lambda: pane(app).mistakes)
        (error,) = pane(app).mistakes
        assert isinstance(error, ZeroDivisionError)
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
        await pilot.press("3", "enter")
        await until(pilot, lambda: paper(app, "step-heading"))
        pane(app).perform("run")
        await until(pilot, lambda: "A run is in progress" in app.state.message)
        assert engine.calls.count("run") == 1
        await pilot.press("s")
        await until(pilot, lambda: not app.state.running)

        await pilot.press("b", "r")
        await until(pilot, lambda: len(engine.works) == 3 and app.state.running)
        assert isinstance(engine.works[-1], Experiment)
        # How far it is, and what has arrived.
        await until(pilot, lambda: "overdue" in paper(app, "step-verdict"))
        assert "1/2 Two works | s stop" in borders(app, "step-question")
        assert "a–c" not in borders(app, "step-question")
        assert "You predicted: two" in paper(app, "step-verdict")
        await pilot.press("s")
        await until(pilot, lambda: pane(app).course.playing is None)
        shown = app.query_one(MessageLine)
        await until(pilot, lambda: "Stopped: r runs the step again." in shown.line)
        step = attempt(app)
        assert (step.prediction, step.complete) == (1, False)
        await until(pilot, lambda: "Stopped: " in paper(app, "step-verdict"))
        assert "● b two" in paper(app, "step-question")
        # The step can be run again.
        await pilot.press("r")
        await until(pilot, lambda: len(engine.works) == 5)


async def test_a_second_run_is_stopped_and_a_third_one_left_alone() -> None:
    engine = FakeEngine()
    async with reading(engine) as (pilot, app):
        await pilot.press("r")
        await until_complete(pilot, app)
        engine.answer_others(endless)
        await pilot.press("r")
        await until(pilot, lambda: "stop" in borders(app, "step-question"))
        engine.emit_run(RunFinished(outcome="cancelled", elapsed_seconds=1.0))
        await until(pilot, lambda: pane(app).course.playing is None)
        await until(pilot, lambda: "Stopped: " in paper(app, "step-verdict"))
        # The first conclusion is kept.
        assert "✓ Holds here" in paper(app, "step-verdict")

        # Other lessons can be read while a step runs.
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        await pilot.press("escape", "down", "enter")
        await until(pilot, lambda: "Does it?" in paper(app, "step-question"))
        engine.answer_others(at_once)
        snippet = engine.works[-1]
        assert isinstance(snippet, Snippet)
        engine.emit_run(*list(at_once(snippet))[1:])
        await until(pilot, lambda: pane(app).course.playing is None)
        await pilot.pause()
        assert pane(app).course.attempt_at((0, 0)).trouble == ""
        assert "Does it?" in paper(app, "step-question")
        assert pane(app).mistakes == []


async def test_an_engine_that_dies_costs_one_step() -> None:
    engine = FakeEngine()
    async with reading(engine) as (pilot, app):
        await pilot.press("n", "r")
        await until_complete(pilot, app)
        await pilot.press("backspace", "b")
        engine.answer_others(endless)
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        engine.die()
        engine.emit_run(
            WorkFailed(remark=told("The engine was killed.", "Try less.")),
            RunFinished(outcome="crashed", elapsed_seconds=1.0),
        )
        engine.become_ready()
        await until(pilot, lambda: "was killed. Try" in paper(app, "step-verdict"))
        assert "Incomplete: " in paper(app, "step-verdict")
        engine.answer_others(at_once)
        await until_ready(pilot, app)
        await pilot.press("r")
        await until_complete(pilot, app)
        assert "killed" not in paper(app, "step-verdict")


async def test_a_setting_that_makes_claims_meaningless_is_refused() -> None:
    engine = FakeEngine()
    async with reading(engine) as (pilot, app):
        finding = Remark(
            "setting", {"setting": "x", "value": "1", "refuses": "verdicts"}
        )
        app.session.update(findings=(finding,))
        pane(app).perform("run")
        await until(pilot, lambda: "verdicts" in str(app.state.message))
        assert "run" not in engine.calls


async def test_an_engine_that_cannot_be_asked() -> None:
    class Gone(FakeEngine):
        async def run(self, work: object) -> int:
            raise EngineUnavailableError(Remark("engine-gone"))

    async with reading(Gone()) as (pilot, app):
        await pilot.press("r")
        await until(pilot, lambda: app.state.engine == "failed")
        await until(pilot, lambda: pane(app).course.playing is None)
        assert attempt(app).trouble


async def test_mistakes_while_a_step_runs_end_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no such op")

    for lesson, part in ((FIRST, "works"), (SECOND, "follow")):
        step = FIRST.steps[1]
        step = replace(step, trial=replace(step.trial, **{part: fail}))  # type: ignore[arg-type]
        monkeypatch.setitem(LESSONS, lesson.name, replace(lesson, steps=(step,)))
    async with reading() as (pilot, app):
        await pilot.press("r")
        await until(pilot, lambda: "no such op" in paper(app, "step-verdict"))
        await until(pilot, lambda: pane(app).course.playing is None)
        await pilot.press("escape", "down", "enter")
        await until(pilot, lambda: pane(app).course.open == 1)
        await pilot.press("r")
        await until(pilot, lambda: "no such op" in paper(app, "step-verdict"))
        await until(pilot, lambda: pane(app).course.playing is None)
        assert pane(app).mistakes
    assert app.crash is None


async def test_the_selected_device_is_the_device_of_the_lesson() -> None:
    engine = FakeEngine(devices=(*tpu_devices(), *cpu_devices()))
    async with reading(engine) as (pilot, app):
        await pilot.press("escape", "1", "down", "down")
        await until(pilot, lambda: app.state.cursor == "tpu:2")
        await pilot.press("3", "enter")
        await until(pilot, lambda: "400 · tpu:2" in paper(app, "step-heading"))
        await pilot.press("r")
        await until_complete(pilot, app)
        experiment = engine.works[1]
        assert isinstance(experiment, Experiment)
        assert experiment.cases[0].device == "tpu:2"
        await until(pilot, lambda: "Yours: tpu:2, vm" in paper(app, "step-why"))

        # Stopped before the run has begun.
        await pilot.press("x")
        await until(pilot, lambda: app.state.engine == "released")
        engine.calls.clear()
        pane(app).action_run()
        app.action_stop()
        await until(pilot, lambda: "stop" in engine.calls)
        assert engine.calls.index("stop") > engine.calls.index("run")
