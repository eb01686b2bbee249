"""The sweep and the search of ``small-work``, on machines that overtake at a size."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.core.model import Case, Experiment
from jaxtui.features.bench.crossing import CLOSE
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.content.small_work import LESSON, sizes
from jaxtui.features.lessons.figures import NOTHING, Outcome
from jaxtui.features.lessons.play import StepRun
from tests.features.lessons.figures import (
    after,
    cases,
    figures,
    measured,
    ms,
    on,
    us,
)
from tests.golden.test_documents import check_frozen
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


def listed() -> Conclusion:
    """A fast list is the right answer, too."""
    lists = {"list of 10": us(1), "list of 100000": ms(10)}
    outcome = figures(LESSON, 1, HERE, lists, before=run(1)[0])
    return LESSON.steps[0].conclude(HERE, outcome)


def close() -> Conclusion:
    """At a million elements and more the intervals overlap: there the search ends."""
    numpy, jit, *large = cases(LESSON, 2)
    wide = [
        measured(case, summary(1e-3 + 1e-5 * n, 0.1)) for n, case in enumerate(large)
    ]
    clear = [measured(case, seconds(case, 20_000)) for case in (numpy, jit)]
    search = StepRun(LESSON.steps[1], HERE, after(*clear, *wide), 1)
    assert search.next_work is None
    return LESSON.steps[1].conclude(HERE, search.outcome)


def cut_short() -> Conclusion:
    """A search that was cut short gives what it knows."""
    ends = after(*(measured(one, seconds(one, 20_000)) for one in cases(LESSON, 2)))
    return LESSON.steps[1].conclude(HERE, ends)


def test_what_the_sweep_and_the_search_say_is_as_it_was() -> None:
    """With ``JAXTUI_GOLDEN=write`` in the environment the file is written."""
    said = {"a list": listed(), "close": close(), "cut short": cut_short()}
    for step, crossings in ((1, (20_000, 1e9)), (2, (1, 150, 5000, 333_333, 1e9))):
        for crossing in crossings:
            _, done, found = run(step, crossing)
            said[f"{step}, crossing at {crossing:g}, {done} works"] = found
    lines = []
    for name, found in said.items():
        rows = (" | ".join(row.texts()) for row in found.rows)
        title = f"== {name} → {found.holds}, {found.answer}"
        lines += [title, *found.sentences, *rows]
    picture = LESSON.steps[0].trial.picture
    assert picture is not None
    drawn = picture(LESSON.steps[0].figures(HERE, run(1)[0]))
    assert drawn is not None
    lines += drawn.draw(60, 12, color=False).splitlines()
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    check_frozen(Path(__file__).with_name("small_work.txt"), text)


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
