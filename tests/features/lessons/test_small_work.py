"""The sweep and the search of ``small-work``, on machines that overtake at a size."""

from __future__ import annotations

import pytest

from jaxtui.core.model import Case, Experiment
from jaxtui.features.bench.crossing import CLOSE
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.content.small_work import LESSON, sizes
from jaxtui.features.lessons.figures import NOTHING, Outcome
from jaxtui.features.lessons.play import StepRun
from tests.features.lessons.figures import (
    after,
    figures,
    measured,
    ms,
    on,
    us,
    works,
)
from tests.records import summary

HERE = on(LESSON)


def seconds(case: Case, crossing: float) -> float:
    """A machine on which compiled JAX overtakes NumPy at so many elements."""
    numpy = 2e-6 + 1e-9 * case.size
    jit = 2e-6 + 0.9e-9 * crossing + 1e-10 * case.size
    slower = {"numpy": numpy, "jit": jit}
    return slower.get(case.mode, 4 * jit)


def run(step: int, crossing: float = 20_000) -> tuple[Outcome, int, Conclusion]:
    """All that the step would run, how many works that were, and what it says."""
    outcome, done, lesson = NOTHING, 0, LESSON.steps[step - 1]
    while work := StepRun(lesson, HERE, outcome, done).next_work:
        done += 1
        assert done < 30
        for case in work.cases if isinstance(work, Experiment) else ():
            event = measured(case, seconds(case, crossing))
            outcome = after(event, before=outcome)
    return outcome, done, lesson.conclude(HERE, outcome)


def test_sizes_are_powers_of_ten_up_to_the_one_asked_for() -> None:
    assert sizes(on(LESSON, 10_000)) == (10, 100, 1000, 10_000)
    assert sizes(on(LESSON, 25_000)) == (10, 100, 1000, 10_000, 25_000)
    assert sizes(HERE)[-1] == HERE.size


def test_numpy_at_one_end_and_jit_at_the_other_confirm_it() -> None:
    outcome, _, found = run(1)
    assert (found.holds, found.answer) == (True, 1)
    assert {row.what: row.texts()[1] for row in found.rows} == {
        "NumPy": "2.01 µs … 10.0 ms",
        "JAX, eager": "80.0 µs … 4.08 ms",
        "JAX, jit": "20.0 µs … 1.02 ms",
    }
    picture = LESSON.steps[0].trial.picture(LESSON.steps[0].figures(HERE, outcome))
    assert picture is not None
    labels = [series.label for series in picture.series]
    assert labels == ["NumPy", "JAX, eager", "JAX, jit"]
    # A fast list is the right answer, too.
    lists = {"list of 10": us(1), "list of 100000": ms(10)}
    listed = figures(LESSON, 1, HERE, lists, before=outcome)
    found = LESSON.steps[0].conclude(HERE, listed)
    assert (found.answer, found.rows[0].texts()[1]) == (0, "1.00 µs … 10.0 ms")


def test_numpy_ahead_at_both_ends_refutes_it() -> None:
    *_, found = run(1, crossing=1e9)
    assert found.holds is False


@pytest.mark.parametrize("crossing", [150, 5_000, 333_333, 4_000_000])
def test_bisection_closes_in_on_the_crossing(crossing: int) -> None:
    outcome, done, found = run(2, crossing=crossing)
    assert found.holds is True, found
    assert done <= 8
    tried = sorted({one.case.size for one in outcome.measurements})
    below = max(n for n in tried if n <= crossing)
    above = min(n for n in tried if n > crossing)
    assert above <= CLOSE * below * 1.01
    assert f"between {below:,} and {above:,} elements" in " ".join(found.sentences)
    assert found.answer == (0 if crossing < 1000 else 1 if crossing < 1e5 else 2)


@pytest.mark.parametrize(("crossing", "answer"), [(1, 0), (1e9, 3)])
def test_without_a_crossing_there_is_no_search(crossing: float, answer: int) -> None:
    _, done, found = run(2, crossing=crossing)
    assert (done, found.holds, found.answer) == (1, False, answer)


def test_the_search_ends_where_the_two_cannot_be_told_apart() -> None:
    (first,) = works(LESSON, 2, HERE)
    assert isinstance(first, Experiment)
    numpy, jit, *large = first.cases
    # At a million elements and more the intervals overlap.
    close = [
        measured(case, summary(1e-3 + 1e-5 * n, 0.1)) for n, case in enumerate(large)
    ]
    clear = [measured(case, seconds(case, 20_000)) for case in (numpy, jit)]
    run = StepRun(LESSON.steps[1], HERE, after(*clear, *close), 1)
    assert run.next_work is None
    assert LESSON.steps[1].conclude(HERE, run.outcome).holds is False


def test_a_search_that_was_cut_short_gives_what_it_knows() -> None:
    (first,) = works(LESSON, 2, HERE)
    assert isinstance(first, Experiment)
    ends = after(*(measured(case, seconds(case, 20_000)) for case in first.cases))
    found = LESSON.steps[1].conclude(HERE, ends)
    assert found.holds is True
    assert "between 10 and 1,000,000 elements" in " ".join(found.sentences)
