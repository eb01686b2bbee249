"""The sweep and the search of ``small-work``, on machines that overtake at a size."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui import api
from jaxtui.lessons.base import Conclusion
from jaxtui.lessons.outcome import NOTHING, Outcome
from jaxtui.lessons.play import StepRun
from jaxtui.lessons.small_work import CLOSE, LESSON, sizes
from jaxtui.model import Case, Experiment, Note
from tests.lessons.figures import after, failed, figures, measured, on, works

HERE = replace(on(LESSON), ops=api.ops())


def seconds(case: Case, crossing: float) -> float:
    """A machine on which compiled JAX overtakes NumPy at so many elements."""
    numpy = 2e-6 + 1e-9 * case.size
    jit = 2e-6 + 0.9e-9 * crossing + 1e-10 * case.size
    slower = {"numpy": numpy, "jit": jit, "tensorflow": numpy + 1e-4}
    return slower.get(case.mode, 4 * jit)


def run(
    step: int, crossing: float = 20_000, tensorflow: bool = True
) -> tuple[Outcome, int]:
    """Everything that the step would run, and how many works that were."""
    outcome, done = NOTHING, 0
    while work := StepRun(LESSON.steps[step - 1], HERE, outcome, done).next_work:
        done += 1
        assert done < 30
        for case in work.cases if isinstance(work, Experiment) else ():
            event = measured(case, seconds(case, crossing))
            if case.mode == "tensorflow" and not tensorflow:
                event = failed(case, "Not installed.")  # type: ignore[assignment]
            outcome = after(event, before=outcome)
    return outcome, done


def conclude(step: int, outcome: Outcome) -> Conclusion:
    return LESSON.steps[step - 1].conclude(HERE, outcome)


def test_sizes_are_powers_of_ten_up_to_the_one_asked_for() -> None:
    assert sizes(on(LESSON, 10_000)) == (10, 100, 1000, 10_000)
    assert sizes(on(LESSON, 25_000)) == (10, 100, 1000, 10_000, 25_000)
    assert sizes(HERE)[-1] == HERE.size


def test_numpy_at_one_end_and_jit_at_the_other_confirm_it() -> None:
    outcome, done = run(1)
    found = conclude(1, outcome)
    assert (found.holds, found.answer) == (True, 1)
    yours = {row.what: row.yours for row in found.rows}
    assert yours["NumPy"].startswith("2.01 µs … ")
    assert "20.0 µs" in found.takeaway
    picture = LESSON.steps[0].picture(HERE, outcome)  # type: ignore[misc]
    assert picture is not None
    labels = [series.label for series in picture.series]
    assert labels == ["NumPy", "JAX, eager", "JAX, jit", "TensorFlow"]
    assert picture.draw(78, 14)
    # TensorFlow at more sizes where it is there; asked once where it is not.
    assert done == len(works(LESSON, 1, HERE)) + 1
    missing, done = run(1, tensorflow=False)
    assert done == len(works(LESSON, 1, HERE))
    row = conclude(1, missing).rows[-1]
    assert (row.what, row.yours) == ("TensorFlow", "—")
    assert row.remark.startswith("Not installed.")
    # A fast list is the right answer, too.
    lists = "list of 10 = 1us; list of 100000 = 10ms"
    listed = conclude(1, figures(LESSON, 1, HERE, lists, before=outcome))
    assert listed.answer == 0
    yours = {row.what: row.yours for row in listed.rows}
    assert yours["Python list"] == "1.00 µs … 10.0 ms"


def test_numpy_ahead_at_both_ends_refutes_it() -> None:
    found = conclude(1, run(1, crossing=1e9)[0])
    assert found.holds is False
    assert "larger one" in found.takeaway


@pytest.mark.parametrize("crossing", [150, 5_000, 333_333, 4_000_000])
def test_bisection_closes_in_on_the_crossing(crossing: int) -> None:
    outcome, done = run(2, crossing=crossing)
    found = conclude(2, outcome)
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
    outcome, done = run(2, crossing=crossing)
    found = conclude(2, outcome)
    assert done == 1
    assert (found.holds, found.answer) == (False, answer)


def test_a_search_that_was_cut_short_gives_what_it_knows() -> None:
    (first,) = works(LESSON, 2, HERE)
    assert isinstance(first, Experiment)
    ends = after(*(measured(case, seconds(case, 20_000)) for case in first.cases))
    found = conclude(2, ends)
    assert found.holds is True
    assert "between 10 and 1,000,000 elements" in found.takeaway


def test_a_disturbed_machine_is_named() -> None:
    outcome, _ = run(2, crossing=1e9)
    one, *rest = outcome.measurements
    noted = msgspec.structs.replace(one, notes=(Note(flag="contended", text=""),))
    found = conclude(2, replace(outcome, measurements=(noted, *rest)))
    assert found.holds is False
    assert "Other processes used the CPU" in found.takeaway
