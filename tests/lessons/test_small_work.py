from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui import api
from jaxtui.lessons.base import Setting, next_work
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.lessons.small_work import CLOSE, LESSON, sizes
from jaxtui.model import Case, CaseFailed, Experiment, Failure, Note
from tests.lessons.figures import (
    after,
    conclude,
    here,
    measured,
    timed,
    works,
    yours,
)

HERE = replace(here(LESSON), ops=api.ops())


def seconds(case: Case, crossing: float = 20_000) -> float:
    """A machine on which compiled JAX overtakes NumPy at so many elements."""
    numpy = 2e-6 + 1e-9 * case.size
    jit = 2e-6 + 0.9e-9 * crossing + 1e-10 * case.size
    slower = {"numpy": numpy, "jit": jit, "tensorflow": numpy + 1e-4}
    return slower.get(case.mode, 4 * jit)


def run(
    step: int,
    setting: Setting = HERE,
    crossing: float = 20_000,
    tensorflow: bool = True,
) -> tuple[Outcome, int]:
    """Everything that the step would run, and how many works that were."""
    outcome, done = NOTHING, 0
    while (work := next_work(LESSON.steps[step], setting, outcome, done)) is not None:
        done += 1
        assert done < 30
        if not isinstance(work, Experiment):
            continue
        for case in work.cases:
            if case.mode == "tensorflow" and not tensorflow:
                hint = "pip install 'jaxtui[tensorflow]'"
                failure = Failure(case=case, error="Not installed.", hint=hint)
                outcome = collect(outcome, CaseFailed(index=0, failure=failure))
            else:
                event = measured(case, seconds(case, crossing))
                outcome = collect(outcome, event)
    return outcome, done


def test_sizes_are_powers_of_ten_up_to_the_one_asked_for() -> None:
    assert sizes(here(LESSON, 10_000)) == (10, 100, 1000, 10_000)
    assert sizes(here(LESSON, 25_000)) == (10, 100, 1000, 10_000, 25_000)
    assert sizes(HERE)[-1] == HERE.size


def test_numpy_at_one_end_and_jit_at_the_other_confirm_it() -> None:
    outcome, _ = run(0)
    found = conclude(LESSON, 0, outcome, HERE)
    assert found.holds is True
    assert found.answer == 1
    assert yours(found)["NumPy"].startswith("2.01 µs … ")
    assert "20.0 µs" in found.takeaway
    picture = LESSON.steps[0].picture
    assert picture is not None
    drawn = picture(HERE, outcome)
    assert drawn is not None
    labels = [series.label for series in drawn.series]
    assert labels == ["NumPy", "JAX, eager", "JAX, jit", "TensorFlow"]
    assert drawn.draw(78, 14)


def test_tensorflow_is_asked_once_where_it_is_missing() -> None:
    outcome, done = run(0, tensorflow=False)
    assert done == len(works(LESSON, 0, HERE))
    assert len(outcome.failures) == 1
    row = conclude(LESSON, 0, outcome, HERE).rows[-1]
    assert (row.what, row.yours) == ("TensorFlow", "—")
    assert row.remark == "Not installed. pip install 'jaxtui[tensorflow]'"


def test_tensorflow_is_measured_at_more_sizes_where_it_is_there() -> None:
    outcome, done = run(0)
    assert done == len(works(LESSON, 0, HERE)) + 1
    found = [one.case.size for one in outcome.measurements if one.case.on_host]
    assert len([n for n in found if n > 10]) > 3


def test_a_fast_list_is_the_right_answer_too() -> None:
    outcome, _ = run(0)
    lists = timed({"list of 10": 1e-6, "list of 100000": 1e-2})
    found = conclude(LESSON, 0, replace(outcome, timings=lists.timings), HERE)
    assert found.answer == 0
    assert yours(found)["Python list"] == "1.00 µs … 10.0 ms"


def test_numpy_ahead_at_both_ends_refutes_it() -> None:
    outcome, _ = run(0, crossing=1e9)
    found = conclude(LESSON, 0, outcome, HERE)
    assert found.holds is False
    assert "larger one" in found.takeaway


@pytest.mark.parametrize("crossing", [150, 5_000, 333_333, 4_000_000])
def test_bisection_closes_in_on_the_crossing(crossing: int) -> None:
    outcome, done = run(1, crossing=crossing)
    found = conclude(LESSON, 1, outcome, HERE)
    assert found.holds is True, found
    assert done <= 8
    tried = sorted({one.case.size for one in outcome.measurements})
    below = max(n for n in tried if n <= crossing)
    above = min(n for n in tried if n > crossing)
    assert above <= CLOSE * below * 1.01
    assert f"between {below:,} and {above:,} elements" in found.takeaway
    assert found.answer == (0 if crossing < 1000 else 1 if crossing < 1e5 else 2)


@pytest.mark.parametrize(("crossing", "answer"), [(1, 0), (1e9, 3)])
def test_without_a_crossing_there_is_no_search(crossing: float, answer: int) -> None:
    outcome, done = run(1, crossing=crossing)
    found = conclude(LESSON, 1, outcome, HERE)
    assert done == 1
    assert (found.holds, found.answer) == (False, answer)


def test_a_search_that_was_cut_short_gives_what_it_knows() -> None:
    (first,) = works(LESSON, 1, HERE)
    assert isinstance(first, Experiment)
    ends = after(*(measured(case, seconds(case)) for case in first.cases))
    found = conclude(LESSON, 1, ends, HERE)
    assert found.holds is True
    assert "between 10 and 1,000,000 elements" in found.takeaway


def test_a_disturbed_machine_is_named() -> None:
    outcome, _ = run(1, crossing=1e9)
    one, *rest = outcome.measurements
    noted = msgspec.structs.replace(one, notes=(Note(flag="contended", text=""),))
    found = conclude(LESSON, 1, replace(outcome, measurements=(noted, *rest)), HERE)
    assert found.holds is False
    assert "Other processes used the CPU" in found.takeaway


def test_flat_times_are_dispatch() -> None:
    outcome, _ = run(2)
    found = conclude(LESSON, 2, outcome, HERE)
    assert found.holds is True
    assert found.answer == 0
    assert "the rest is dispatch" in found.takeaway


def test_times_that_grow_are_not() -> None:
    (experiment,) = works(LESSON, 2, HERE)
    assert isinstance(experiment, Experiment)
    outcome = after(*(measured(case, 1e-6 * case.size) for case in experiment.cases))
    found = conclude(LESSON, 2, outcome, HERE)
    assert (found.holds, found.answer) == (False, 2)
