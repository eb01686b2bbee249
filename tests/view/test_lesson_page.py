"""One step of a lesson as a page, at each stage."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxtui.lessons.base import Question
from jaxtui.lessons.course import NOT_TRIED, Attempt
from jaxtui.lessons.play import StepRun
from jaxtui.lessons.trial import setting
from jaxtui.model import Work
from jaxtui.state import Job
from jaxtui.view.lesson_page import Page, PageFigures, Stage
from jaxtui.view.text import Line, plain
from tests.fake_engine import HOST, OPS, at_once, cpu_devices
from tests.tui.lessons_to_try import FIRST

HERE = setting(FIRST, cpu_devices(), HOST, OPS)
COLORS = [(1, 0, 0), (2, 0, 0)]


def run_of(*works: Work) -> StepRun:
    run = StepRun(FIRST.steps[0], HERE)
    for work in works:
        for event in at_once(work):  # type: ignore[arg-type]
            run = run.observe(event)
    return run


def page(run: StepRun | None = None, **changes: object) -> Page:
    live = bool(changes.get("live"))
    figures = PageFigures.of(FIRST.steps[0], HERE, run, COLORS, live=live)
    facts: dict[str, object] = {
        "lesson": FIRST,
        "number": 0,
        "done": (False, False, False),
        "attempt": NOT_TRIED,
        "run": run,
        "live": False,
        "setting": HERE,
        "figures": figures,
        "elapsed_seconds": 0.0,
        "job": None,
        "played_seconds": 0.0,
    }
    return Page(**{**facts, **changes})  # type: ignore[arg-type]


def text(lines: list[Line]) -> str:
    return "\n".join(map(plain, lines))


BROKEN = Attempt(trouble="It broke.")


@pytest.mark.parametrize(
    ("attempt", "live", "stage", "asks"),
    [
        (NOT_TRIED, False, "before", True),
        (BROKEN, False, "broken", True),
        (BROKEN, True, "running", False),
        (Attempt(run=run_of()), False, "done", False),
    ],
)
def test_how_far_a_step_is(
    attempt: Attempt, live: bool, stage: Stage, asks: bool
) -> None:
    shown = page(attempt.run, attempt=attempt, live=live)
    assert (shown.stage, shown.asks) == (stage, asks)
    # What it says of the outcome comes with the outcome.
    assert ("Two works give two" in text(shown.verdict(76))) == (stage == "done")
    assert ("What must be known" in text(shown.question(76))) == (stage != "done")


@pytest.mark.parametrize(
    ("elapsed", "remaining", "now", "left"),
    [
        # Before the engine has said anything there is the budget of what runs.
        (0.0, 0.0, 2.0, 3.0),
        (1.0, 3.0, 1.0, 3.0),
        # What it has said last grows old.
        (1.0, 3.0, 2.5, 1.5),
        (1.0, 3.0, 99.0, -95.0),
    ],
)
def test_the_seconds_left_go_down_between_two_reports(
    elapsed: float, remaining: float, now: float, left: float
) -> None:
    snippet, experiment = FIRST.steps[0].works(HERE)
    assert (snippet.budget, experiment.budget) == (5.0, 0.1)  # type: ignore[union-attr]
    job = Job(1, work=snippet, elapsed_seconds=elapsed, remaining_seconds=remaining)
    # The experiment comes after it, and earlier works lie behind both.
    facts = {"live": True, "job": job, "played_seconds": 50.0}
    shown = page(run_of(), elapsed_seconds=50.0 + now, **facts)
    assert shown.seconds_left == pytest.approx(max(0.0, left + 0.1))
    shown = page(run_of(snippet), elapsed_seconds=50.0 + now, **facts)
    assert shown.seconds_left == pytest.approx(max(0.0, left))


@pytest.mark.parametrize("width", [20, 76])
def test_a_line_of_a_choice_is_that_choice(width: int) -> None:
    choices = ("a choice of more than one line", "another", "a third one that is long")
    question = Question(text="Which one of these?", choices=choices)
    step = replace(FIRST.steps[0], question=question)
    shown = page(lesson=replace(FIRST, steps=(step,)))
    lines = text(shown.question(width)).split("\n")
    numbers = [shown.choice_at(width, line) for line in range(len(lines) + 1)]
    marked = [index for index, line in enumerate(lines) if "○" in line]
    ends = [*marked[1:], len(lines)]
    wanted: list[int | None] = [None] * marked[0]
    for number, (start, end) in enumerate(zip(marked, ends, strict=True), 1):
        wanted += [number] * (end - start)
    assert numbers == [*wanted, None]
    assert page(number=2).choice_at(width, 0) is None


def test_the_text_that_is_taken_away_is_what_jaxtui_learn_prints() -> None:
    run = run_of(FIRST.steps[0].works(HERE)[0])
    attempt = Attempt(prediction=2, run=run)
    shown = page(run, attempt=attempt)
    words = shown.text()
    for part in (
        "What comes first?",
        "What must be known.",
        "# The snippet first",
        "You predicted “three”; it is “two”.",
        "Both were measured with 100.",
        "Published: A page of a book",
    ):
        assert part in words
    # Nothing of the outcome before there is one.
    before = page().text()
    assert "What must be known." in before
    assert "two”" not in before
    assert "Yours:" not in before
