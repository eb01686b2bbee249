"""What a lesson does next, decided without widgets and without an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxtui.engine.protocol import Envelope
from jaxtui.lessons.play import StepRun
from jaxtui.model import (
    Event,
    Experiment,
    Ready,
    RunFinished,
    Snippet,
    SnippetTimed,
    Timing,
    Work,
    WorkFailed,
)
from jaxtui.selection import SelectionError
from jaxtui.state import EMPTY, State, reduce
from jaxtui.tui import learn_state
from jaxtui.tui.learn_state import LearnState, LessonState, StepState
from tests.tui.fake_engine import HOST, OPS, cpu_devices, summary, tpu_devices
from tests.tui.lessons_to_try import FIRST, SECOND

FINISHED = RunFinished(outcome="complete", elapsed_seconds=1.0)
CANCELLED = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)
TIMED = SnippetTimed(timing=Timing(name="first", seconds=summary(1e-3)))


def state_on(*devices: object) -> State:
    ready = Ready(host=HOST, devices=devices, ops=OPS)  # type: ignore[arg-type]
    return reduce(EMPTY, Envelope(generation=1, run=None, event=ready))


CPU = state_on(*cpu_devices())


@pytest.fixture
def learn() -> LearnState:
    """Both lessons, the first one open."""
    lessons = tuple(
        LessonState(lesson=one, steps=tuple(StepState() for _ in one.steps))
        for one in (FIRST, SECOND)
    )
    return LearnState(lessons=lessons, open=0)


def shown(learn: LearnState) -> LessonState:
    assert learn.lesson is not None
    return learn.lesson


def begun(learn: LearnState) -> tuple[LearnState, StepRun]:
    setting = learn_state.here(CPU, None, shown(learn))
    return learn_state.begun(learn, setting), StepRun(shown(learn).shown, setting)


def at_step(learn: LearnState, index: int) -> LearnState:
    return learn.with_lesson(0, replace(shown(learn), index=index))


def after(
    learn: LearnState, run: StepRun, *events: Event
) -> tuple[LearnState, StepRun]:
    """The first work, as far as these events."""
    work = run.next_work
    for event in events:
        run = run.observe(event)
    return learn_state.followed(learn, run, work), run


def played(learn: LearnState, limit: int = 10) -> tuple[LearnState, list[Work]]:
    """To the end, with every work ending well."""
    works = []
    learn, run = begun(learn)
    while (work := run.next_work) is not None and len(works) < limit:
        works.append(work)
        learn, run = after(learn, run, FINISHED)
    return learn_state.ended(learn, run), works


def test_works_come_one_after_the_other(learn: LearnState) -> None:
    learn, run = begun(learn)
    assert isinstance(run.next_work, Snippet)
    learn, run = after(learn, run, TIMED, FINISHED)
    assert isinstance(run.next_work, Experiment)
    learn, run = after(learn, run, FINISHED)
    assert run.next_work is None
    learn = learn_state.ended(learn, run)
    assert shown(learn).step.complete
    assert learn.playing is None
    assert shown(learn).step.outcome.seconds("first") == 1e-3  # type: ignore[union-attr]


def test_works_follow_until_the_lesson_has_enough(learn: LearnState) -> None:
    learn, works = played(at_step(learn, 1))
    assert len(works) == 4
    assert shown(learn).step.works == tuple(works)
    assert shown(learn).step.complete


def test_a_step_without_works_is_complete_at_once(learn: LearnState) -> None:
    learn, works = played(at_step(learn, 2))
    assert works == []
    assert shown(learn).step.complete


@pytest.mark.parametrize(
    ("events", "said"),
    [
        pytest.param((CANCELLED,), "Stopped.", id="stopped"),
        pytest.param((CRASHED,), "Incomplete: The engine was lost", id="crashed"),
        pytest.param(
            (WorkFailed(error="It needs 40 GiB.", hint="Try less."), FINISHED),
            "It needs 40 GiB. Try less.",
            id="refused",
        ),
    ],
)
def test_a_run_that_comes_to_nothing(
    learn: LearnState, events: tuple[Event, ...], said: str
) -> None:
    learn, run = after(*begun(learn), TIMED, *events)
    assert run.next_work is None
    learn = learn_state.ended(learn, run)
    assert learn.playing is None
    step = shown(learn).step
    assert step.trouble.startswith(said)
    assert not step.complete
    # What had arrived stays where there was nothing before.
    assert step.outcome is not None
    assert step.outcome.timings


def test_an_earlier_conclusion_survives_a_run_that_is_stopped(
    learn: LearnState,
) -> None:
    learn, _ = played(learn)
    before = shown(learn).step
    again, run = begun(learn)
    assert not shown(again).step.complete
    again = learn_state.ended(*after(again, run, CANCELLED))
    assert shown(again).step == replace(before, trouble=learn_state.STOPPED)
    # And the next run that gets to its end has no trouble any more.
    again, _ = played(again)
    assert shown(again).step.trouble == ""


def test_events_go_to_the_step_that_plays_wherever_the_learner_is(
    learn: LearnState,
) -> None:
    learn, run = begun(learn)
    elsewhere = replace(at_step(learn, 2), open=1)
    elsewhere, _ = after(elsewhere, run, TIMED, FINISHED)
    assert elsewhere.lessons[0].steps[0].outcome.timings  # type: ignore[union-attr]
    assert elsewhere.lessons[1].steps[0].outcome is None
    assert not elsewhere.plays_shown


def test_steps_have_a_first_and_a_last(learn: LearnState) -> None:
    lesson = shown(learn)
    assert learn_state.moved(lesson, -1).index == 0
    assert learn_state.moved(lesson, 9).index == 2


def test_predictions_are_made_before_the_result(learn: LearnState) -> None:
    lesson = learn_state.predicted(shown(learn), 2)
    assert lesson.step.prediction == 2
    assert learn_state.predicted(lesson, 3) == lesson
    done = lesson.with_step(0, replace(lesson.step, complete=True))
    assert learn_state.predicted(done, 0) == done


def test_the_size_is_that_of_the_platform_until_it_is_chosen(
    learn: LearnState,
) -> None:
    lesson = shown(learn)
    mixed = state_on(*tpu_devices(), *cpu_devices())
    assert learn_state.here(CPU, None, lesson).size == 100
    assert learn_state.here(mixed, None, lesson).size == 400
    assert learn_state.here(mixed, "cpu:0", lesson).device == "cpu:0"
    assert learn_state.resized(lesson, 100, -1).size == 60
    with pytest.raises(SelectionError, match="from 60 to 300"):
        learn_state.resized(lesson, 60, -1)
    with pytest.raises(SelectionError, match="no size"):
        learn_state.resized(learn.lessons[1], 100, 1)


def test_without_devices_there_is_nowhere_to_run(learn: LearnState) -> None:
    with pytest.raises(SelectionError, match="not ready"):
        learn_state.here(EMPTY, None, shown(learn))
    assert learn_state.place(EMPTY, None, shown(learn)) is None
