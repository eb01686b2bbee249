"""What a learner does in the lessons, from one snapshot to the next."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Experiment,
    Failure,
    RunFinished,
    SelectionError,
    Snippet,
    WorkFailed,
)
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.catalogue import load
from jaxtui.features.lessons.course import Attempt, Course
from jaxtui.features.lessons.play import StepRun
from jaxtui.features.lessons.report import trouble_of
from jaxtui.features.lessons.trial import setting
from tests.fake_engine import HOST, cpu_devices
from tests.features.lessons.lessons_to_try import FIRST, SECOND
from tests.records import measurement, summary, told

HERE = setting(FIRST, cpu_devices(), HOST)
OPENED = Course((FIRST, SECOND), open=0)
DONE = StepRun(FIRST.steps[0], HERE)
STOPPED = DONE.stopped()


def test_steps_have_a_first_and_a_last_and_each_lesson_keeps_its_own() -> None:
    course = OPENED.moved(-1)
    assert course.place == (0, 0)
    course = course.moved(1).moved(1)
    assert course.place == (0, 1)
    other = replace(course, open=1)
    assert other.place == (1, 0)
    assert replace(other.moved(1), open=0).place == (0, 1)
    # Without an open lesson there is nothing to move, predict or answer.
    closed = Course((FIRST,))
    assert closed.moved(1).with_prediction(1) == closed
    assert (closed.place, closed.step, list(closed.answers)) == (None, None, [])


def test_a_prediction_is_one_of_the_choices_until_the_answer_is_there() -> None:
    assert list(OPENED.answers) == [1, 2, 3]
    for number in (0, 4):
        assert OPENED.with_prediction(number) == OPENED
    course = OPENED.with_prediction(2)
    assert course.attempt == Attempt(prediction=1)
    course = course.after_run((0, 0), DONE, "")
    assert course.attempt.prediction == 1
    assert course.with_prediction(3) == course


def test_the_size_of_a_lesson_fits_the_device_and_is_measured_once() -> None:
    clock = load("clock")
    here = setting(clock, cpu_devices(), HOST)
    run = StepRun(clock.steps[0], here)
    sizes = []
    for dispatch, work in ((1e-4, 1e-3), (1e-4, 1.9e-3), (1e-4, 3e-3)):
        experiment = run.next_work
        assert isinstance(experiment, Experiment)
        (case,) = experiment.cases
        sizes.append(case.size)
        timed = measurement(case, work, dispatch=summary(dispatch))
        run = run.observe(CaseMeasured(index=0, measurement=timed))
        run = run.observe(RunFinished(outcome="complete", elapsed_seconds=0.1))
    assert sizes == [1000, 1500, 2250]
    assert (run.setting.size, run.setting.grows_to, run.done) == (2250, 0, 0)
    snippet = run.next_work
    assert isinstance(snippet, Snippet)
    assert "n = 2_250" in snippet.setup
    # The next step of the lesson on this device begins with it; a typed size stays.
    course = Course((clock,)).after_run((0, 0), run, "")
    assert course.setting(0, cpu_devices(), HOST, None) == run.setting
    assert setting(clock, cpu_devices(), HOST, 1000).grows_to == 0


def test_what_cannot_be_fitted_runs_as_it_is() -> None:
    clock = load("clock")
    start = StepRun(clock.steps[0], setting(clock, cpu_devices(), HOST))
    (case,) = start.next_work.cases  # type: ignore[union-attr]
    failed = CaseFailed(index=0, failure=Failure(case=case, remark=told("No.")))
    run = start.observe(failed)
    run = run.observe(RunFinished(outcome="complete", elapsed_seconds=0.1))
    assert (run.setting.size, run.setting.grows_to) == (1000, 0)
    stopped = start.observe(RunFinished(outcome="cancelled", elapsed_seconds=0.1))
    assert stopped.next_work is None
    assert stopped.outcome.stopped


def test_a_conclusion_survives_a_run_that_comes_to_nothing() -> None:
    course = replace(OPENED, playing=(0, 0)).after_run((0, 0), DONE, "")
    assert course.playing is None
    assert course.done(0) == (True, False)
    again = course.after_run((0, 0), STOPPED, trouble_of(STOPPED)).attempt
    assert (again.run, again.complete) == (DONE, True)
    assert again.trouble == trouble_of(STOPPED) != ""
    assert course.done(0) == (True, False)
    # Without an earlier one, what had arrived is kept.
    first = OPENED.after_run((0, 0), STOPPED, trouble_of(STOPPED)).attempt
    assert (first.run, first.complete) == (STOPPED, False)


def test_a_step_that_cannot_grade_its_prediction_is_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = Conclusion(True, 0, answers=frozenset({0, 1}), graded=False)
    monkeypatch.setattr("jaxtui.features.lessons.course.conclude", lambda *_: noise)
    for prediction, done in ((3, False), (1, True)):
        course = OPENED.with_prediction(prediction).after_run((0, 0), DONE, "")
        assert course.attempt.complete
        assert course.done(0) == (done, False)


def test_sizes_are_doubled_and_halved_within_the_lessons_range() -> None:
    sizes, course = [], OPENED
    for doublings in (1, 1, -1, -1, -1):
        size = course.sizes.get(0, HERE.size)
        course = course.resized(replace(HERE, size=size), doublings)
        sizes.append(course.sizes[0])
    assert sizes == [200, 300, 150, 75, 60]
    with pytest.raises(SelectionError, match="size 30 does not fit"):
        course.resized(replace(HERE, size=60), -1)
    with pytest.raises(SelectionError, match="no size to set"):
        replace(course, open=1).resized(HERE, 1)
    assert course.setting(0, cpu_devices(), HOST, None).size == 60


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("complete", "It broke. Mend it."),
        ("crashed", "Incomplete: It broke. Mend it."),
        ("cancelled", "Stopped"),
    ],
)
def test_why_a_run_came_to_nothing(outcome: str, words: str) -> None:
    run = DONE.observe(WorkFailed(remark=told("It broke.", "Mend it.")))
    run = run.observe(RunFinished(outcome=outcome, elapsed_seconds=1.0))  # type: ignore[arg-type]
    assert trouble_of(run).startswith(words)
    assert trouble_of(DONE) == ""
