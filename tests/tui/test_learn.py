"""The tab Learn on a fake engine: read, predict, run, conclude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList, Static, TabbedContent

from jaxtui import lessons
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.lessons import progress
from jaxtui.lessons.base import Lesson
from jaxtui.model import (
    Experiment,
    Loop,
    RunEvent,
    RunFinished,
    Snippet,
    SnippetStarted,
    WorkFailed,
)
from jaxtui.tui import learn_state
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.learn_state import LessonState, StepState
from jaxtui.tui.screens.code import CodeScreen
from jaxtui.tui.widgets.paper import Paper
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.tui.widgets.status_line import MessageLine
from jaxtui.tui.widgets.step_view import StepView
from tests.tui.driving import app_on, until, until_ready
from tests.tui.fake_engine import FakeEngine, answer, cpu_devices, tpu_devices
from tests.tui.lessons_to_try import FIRST, LESSONS, SECOND

NARROW, WIDE = (80, 24), (120, 40)


@pytest.fixture(autouse=True)
def _two_lessons(monkeypatch: pytest.MonkeyPatch, tmp_path_factory) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path_factory.mktemp("data")))
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)


def paper(app: JaxtuiApp, name: str) -> str:
    return app.screen_stack[0].query_one(f"#{name}", Paper).text


def hint(app: JaxtuiApp) -> str:
    return str(app.query_one("#lesson-hint", Static).content)


def step_of(app: JaxtuiApp) -> StepState:
    lesson = app.state.learn.lesson
    assert lesson is not None
    return lesson.step


async def open_lesson(pilot: Pilot[None], app: JaxtuiApp, *downs: str) -> None:
    """To the first lesson, or one below it."""
    await until_ready(pilot, app)
    await pilot.press("3")
    await until(pilot, lambda: isinstance(app.focused, OptionList))
    await pilot.press(*downs, "enter")
    await until(pilot, lambda: isinstance(app.focused, StepView))


async def until_complete(pilot: Pilot[None], app: JaxtuiApp) -> None:
    await until(pilot, lambda: step_of(app).complete)
    await pilot.pause()


def endless(work: Loop | Snippet) -> Sequence[RunEvent]:
    """A work that begins and does not end."""
    assert isinstance(work, Snippet)
    return [SnippetStarted(snippet=work)]


async def test_the_list_says_what_there_is_before_jax_is_ready() -> None:
    engine = FakeEngine(ready=False)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        names = app.query_one(OptionList)
        assert "What comes first?  " in str(names.get_option_at_index(0).prompt)
        assert "0/3" in str(names.get_option_at_index(0).prompt)
        await until(pilot, lambda: "three steps" in paper(app, "about"))
        assert "Needs: an accelerator" in paper(app, "about")
        await pilot.press("enter")
        await until(pilot, lambda: "longer than any line" in paper(app, "prose"))
        assert "JAX is not ready yet" in hint(app)
        app.perform("run")
        await until(pilot, lambda: app.state.message == "JAX is not ready yet.")
        assert "run" not in engine.calls
        engine.become_ready()
        await until(pilot, lambda: "Predict first" in hint(app))
        assert "100 · cpu:0" in paper(app, "lesson-heading")


async def test_the_ways_to_the_tab_and_the_keys_of_the_others() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        # Lessons are not imported before the tab is shown.
        await pilot.press("2", "1")
        assert app.learn is None
        assert app.state.learn.lessons == ()
        await pilot.click("Tab#--content-tab-learn")
        await until(pilot, lambda: app.learn is not None)
        await until(pilot, lambda: isinstance(app.focused, OptionList))

        assert app.check_action("sweep", ()) is False
        assert app.check_action("step", (1,)) is False
        app.perform("run")
        await until(pilot, lambda: "Open a lesson first" in app.state.message)
        app.perform("sweep")
        await until(pilot, lambda: "tabs Devices and Bench" in app.state.message)
        await pilot.press("w", "e", "m")
        assert engine.calls.count("run") == 0

        # The key for the next tab goes round.
        tabs = app.query_one(TabbedContent)
        for name in ("history", "devices", "bench", "learn"):
            await pilot.press("ctrl+n")
            await until(pilot, lambda name=name: tabs.active == name)


@pytest.mark.parametrize("size", [(60, 15), NARROW, WIDE])
async def test_predict_run_conclude(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=size) as pilot:
        await open_lesson(pilot, app)
        view = app.query_one(StepView)
        assert view.scroll_y == 0
        assert "1/3  Two works" in paper(app, "lesson-heading")
        assert "    jnp.dot(x, x).block_until_ready()" in paper(app, "prose")
        assert "claim" not in paper(app, "results")
        await pilot.press("2")
        await until(pilot, lambda: "● 2  two" in paper(app, "question"))
        assert hint(app) == "r runs the step."
        await pilot.press("r")
        await until_complete(pilot, app)
        text = paper(app, "results")
        assert "✓ This holds here: Two works give two figures." in text
        assert "Your prediction was right: two" in text
        assert "0.001 s" in text
        assert "269 µs" in text
        assert "Both were measured with 100." in " ".join(text.split())
        assert "in the end" in text
        assert "Published: A page of a book" in paper(app, "source")
        assert [type(work) for work in engine.works] == [Snippet, Experiment]

        # Nothing is wider than the screen.
        assert view.max_scroll_x == 0
        for one in view.query(Paper):
            lines = one.text.split("\n")
            assert max(map(len, lines)) <= one.content_size.width
            assert one.content_size.height == (len(lines) if one.text else 0)
        if size == (60, 15):
            return
        (plot,) = (one for one in view.query(PlotView) if one.display)
        assert plot.id == ("plot-beside" if size == WIDE else "plot-below")
        await until(pilot, lambda: "first" in plot.text)
        if size == WIDE:
            return

        # The conclusion is in view.
        results = app.query_one("#results")
        await until(pilot, lambda: view.region.contains_region(results.region))
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: view.scroll_y == 0)

        # The step can be taken away, as text and as code.
        await pilot.press("y")
        await until(pilot, lambda: list(tmp_path.iterdir()))
        (written,) = tmp_path.iterdir()
        text = written.read_text()
        assert "What comes first?" in text
        assert "✓ This holds here" in text
        written.unlink()
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, CodeScreen))
        await pilot.press("y")
        await until(pilot, lambda: list(tmp_path.iterdir()))
        (written,) = tmp_path.iterdir()
        text = written.read_text()
        assert "# The snippet first" in text
        assert "n = 100" in text
        assert "# matmul 100 float32 jit on cpu:0" in text


async def test_a_lesson_from_its_first_step_to_its_mark() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        # Without a prediction.
        assert hint(app).startswith("Predict first: 1 to 3.")
        await pilot.press("r")
        await until_complete(pilot, app)
        assert "predict" not in paper(app, "results")
        assert "Answer: two" in paper(app, "results")
        # What was done is known to the next session.
        assert progress.read().steps(FIRST) == (True, False, False)
        kept = learn_state.loaded().lessons
        assert [state.done for state in kept] == [(True, False, False), (False,)]

        # A claim that does not hold, and works that follow.
        engine.works.clear()
        await pilot.press("n", "2", "r")
        await until_complete(pilot, app)
        titles = [work.title for work in engine.works if isinstance(work, Snippet)]
        assert [title.rpartition(" ")[2] for title in titles] == ["begin", *"012"]
        text = paper(app, "results")
        assert "✗ This does not hold here: One work is enough." in text
        assert "You predicted “no”; there is no answer" in text

        # A step that runs nothing is complete at once.
        engine.works.clear()
        await pilot.press("n")
        await until_complete(pilot, app)
        assert "— This machine cannot tell: Words need" in paper(app, "results")
        assert engine.works == []
        await pilot.press("1")
        await until(pilot, lambda: app.query_one(TabbedContent).active == "devices")
        await pilot.press("f11", "n")
        await until(pilot, lambda: "last step" in app.state.message)

        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        prompt = str(app.query_one(OptionList).get_option_at_index(0).prompt)
        assert prompt.startswith("✓  1  What comes first?")


async def test_sizes_a_wrong_prediction_and_steps_forth_and_back() -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        for size in (200, 300):
            await pilot.press("plus")
            heading = f"n of n×n: {size}"
            await until(
                pilot, lambda words=heading: words in paper(app, "lesson-heading")
            )
        await pilot.press("plus")
        await until(pilot, lambda: "sizes from 60 to 300" in app.state.message)

        await pilot.press("down", "down", "down", "down", "enter")
        await until_complete(pilot, app)
        assert "You predicted “three”; it is “two”." in paper(app, "results")
        assert "○ 2  two  ✓" in paper(app, "question")
        assert "● 3  three  ✗" in paper(app, "question")
        assert "measured with 300" in paper(app, "results")
        await pilot.press("minus", "minus", "minus", "minus")
        await until(pilot, lambda: "n of n×n: 60" in paper(app, "lesson-heading"))
        # The conclusion stays that of its own run, and so does the prediction.
        assert "measured with 300" in paper(app, "results")
        await pilot.press("2")
        await until(pilot, lambda: "already" in app.state.message)
        assert step_of(app).prediction == 2
        assert app.query_one(TabbedContent).active == "learn"

        await pilot.press("enter")
        await until(pilot, lambda: "2/3" in paper(app, "lesson-heading"))
        assert app.query_one(StepView).scroll_y == 0
        await pilot.press("1", "b", "b")
        await until(pilot, lambda: "first step" in app.state.message)
        await until(pilot, lambda: "holds here" in paper(app, "results"))
        await pilot.press("f2")
        await until(pilot, lambda: app.query_one(TabbedContent).active == "devices")
        await pilot.press("f11", "right")
        await until(pilot, lambda: "● 1  yes" in paper(app, "question"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        prompt = str(app.query_one(OptionList).get_option_at_index(0).prompt)
        assert "· " in prompt
        assert "1/3" in prompt
        await pilot.press("enter")
        await until(pilot, lambda: "2/3" in paper(app, "lesson-heading"))

        # The other lesson has no size, and a mistake of its own.
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, OptionList))
        await pilot.press("down", "enter", "plus")
        await until(pilot, lambda: "no size" in app.state.message)
        await pilot.press("r")
        await until_complete(pilot, app)
        assert "This lesson has a mistake: ZeroDivisionError" in paper(app, "results")
        await until(pilot, lambda: app.lesson_mistakes)
        (error,) = app.lesson_mistakes
        assert isinstance(error, ZeroDivisionError)
        assert any("nobody divides by zero" in line for line in app.state.log)
    assert app.crash is None


async def test_stop_leaves_the_lesson_where_it_was() -> None:
    engine = FakeEngine(scripted=False)
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        # A step is not run beside another run.
        await pilot.press("f2", "r")
        await until(pilot, lambda: app.state.running)
        await pilot.press("f11")
        await until(pilot, lambda: "Something else is running" in hint(app))
        app.perform("run")
        await until(pilot, lambda: "stop it first" in app.state.message)
        assert engine.calls.count("run") == 1
        await pilot.press("s")
        await until(pilot, lambda: not app.state.running)

        await pilot.press("2", "r")
        await until(pilot, lambda: len(engine.works) == 3 and app.state.running)
        assert isinstance(engine.works[-1], Experiment)
        await until(pilot, lambda: hint(app) == "Running; s stops it.")
        await pilot.press("s")
        await until(pilot, lambda: app.state.learn.playing is None)
        shown = app.query_one(MessageLine)
        await until(pilot, lambda: "The lesson is where it was" in shown.line)
        step = step_of(app)
        assert (step.prediction, step.complete) == (1, False)
        await until(pilot, lambda: "The lesson is where" in paper(app, "results"))
        # What had arrived stays, and the step can be run again.
        assert "0.001 s" in paper(app, "results")
        await pilot.press("r")
        await until(pilot, lambda: len(engine.works) == 5)


async def test_a_second_run_is_stopped_and_a_third_one_left_alone() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        await pilot.press("r")
        await until_complete(pilot, app)
        engine.answer = endless
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        assert not step_of(app).complete
        engine.emit_run(RunFinished(outcome="cancelled", elapsed_seconds=1.0))
        await until_complete(pilot, app)
        # The first conclusion is kept.
        text = paper(app, "results")
        assert text.startswith("Stopped. The lesson is where it was")
        assert "✓ This holds here" in text

        # Other lessons can be read while a step runs.
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        await pilot.press("escape", "down", "enter")
        await until(pilot, lambda: "divides by zero" in paper(app, "prose"))
        engine.answer = answer
        snippet = engine.works[-1]
        assert isinstance(snippet, Snippet)
        engine.emit_run(*list(answer(snippet))[1:])
        await until(pilot, lambda: app.state.learn.lessons[0].steps[0].complete)
        await pilot.pause()
        assert "divides by zero" in paper(app, "prose")
        assert app.lesson_mistakes == []


async def test_an_engine_that_dies_costs_one_step() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        await pilot.press("n", "r")
        await until_complete(pilot, app)
        await pilot.press("b", "2")
        engine.answer = endless
        await pilot.press("r")
        await until(pilot, lambda: app.state.running)
        engine.die()
        engine.emit_run(
            WorkFailed(error="The engine was killed.", hint="Try less."),
            RunFinished(outcome="crashed", elapsed_seconds=1.0),
        )
        engine.become_ready()
        await until(pilot, lambda: app.state.learn.playing is None)
        await until(pilot, lambda: "was killed. Try less." in paper(app, "results"))
        lesson = app.state.learn.lesson
        assert lesson is not None
        assert [step.complete for step in lesson.steps] == [False, True, False]
        engine.answer = answer
        await until_ready(pilot, app)
        await pilot.press("r")
        await until_complete(pilot, app)
        assert "killed" not in paper(app, "results")


async def test_an_engine_that_cannot_be_asked() -> None:
    class Gone(FakeEngine):
        async def run(self, work: object) -> int:
            raise EngineUnavailableError("The engine is closed.")

    app = app_on(Gone())
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        await pilot.press("r")
        await until(pilot, lambda: app.state.engine == "failed")
        assert app.state.learn.playing is None
        assert "The engine is not there" in step_of(app).trouble


async def test_mistakes_while_a_step_runs_end_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no such op")

    for lesson, part in ((FIRST, "works"), (SECOND, "follow")):
        step = replace(FIRST.steps[1], **{part: fail})  # type: ignore[arg-type]
        monkeypatch.setitem(LESSONS, lesson.name, replace(lesson, steps=(step,)))
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        await pilot.press("r")
        await until(pilot, lambda: app.lesson_mistakes)
        await until(pilot, lambda: "no such op" in paper(app, "results"))
        assert app.state.learn.playing is None
        await pilot.press("escape", "down", "enter")
        await until(pilot, lambda: app.state.learn.open == 1)
        await pilot.press("r")
        await until(pilot, lambda: len(app.lesson_mistakes) == 2)
        await until(pilot, lambda: "no such op" in paper(app, "results"))
        assert app.state.learn.playing is None
    assert app.crash is None


async def test_a_lesson_that_cannot_be_loaded_does_not_take_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str) -> Lesson:
        if name == "first":
            raise ImportError("it is half written")
        return SECOND

    monkeypatch.setattr(lessons, "load", load)
    app = app_on(FakeEngine())
    async with app.run_test(size=NARROW) as pilot:
        await open_lesson(pilot, app)
        assert "What is wrong here?" in paper(app, "lesson-heading")
        assert "first: this lesson has a mistake: ImportError" in paper(
            app, "unreadable"
        )


async def test_the_selected_device_is_the_device_of_the_lesson() -> None:
    engine = FakeEngine((*tpu_devices(), *cpu_devices()))
    app = app_on(engine)
    async with app.run_test(size=NARROW) as pilot:
        await until_ready(pilot, app)
        await pilot.press("down", "down")
        await until(pilot, lambda: app.state.cursor == "tpu:2")
        await open_lesson(pilot, app)
        assert "400 · tpu:2" in paper(app, "lesson-heading")
        await pilot.press("r")
        await until_complete(pilot, app)
        experiment = engine.works[1]
        assert isinstance(experiment, Experiment)
        assert experiment.cases[0].device == "tpu:2"
        assert "Yours: tpu:2, vm" in paper(app, "source")

        # Stopped before the run has begun.
        await pilot.press("x")
        await until(pilot, lambda: app.state.engine == "released")
        engine.calls.clear()
        app.run_step()
        app.action_stop()
        await until(pilot, lambda: "stop" in engine.calls)
        assert engine.calls.index("stop") > engine.calls.index("run")


def test_what_was_done_in_an_earlier_session_stays_done() -> None:
    steps = (StepState(complete=True), StepState(), StepState())
    state = LessonState(lesson=FIRST, steps=steps)
    assert state.done == (True, False, False)
    kept = replace(state, kept=(False, True, False))
    assert kept.done == (True, True, False)
