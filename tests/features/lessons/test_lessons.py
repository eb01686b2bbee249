"""What holds for every lesson: it fits the screen, and all that it runs exists."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Group

from jaxtui.core.model import (
    HOST,
    MAXIMUM_LOOP_CALLS,
    SNIPPET_IMPORTS,
    Case,
    Experiment,
    Loop,
    Snippet,
    Timed,
    Work,
    WorkFailed,
)
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons.base import PROSE_COLUMNS
from jaxtui.features.lessons.figures import NOTHING, Outcome
from jaxtui.features.lessons.report import Page, PageFigures, Prose, apart
from jaxtui.ui.report import written
from tests.features.lessons.figures import MACHINES, OPS, after, on
from tests.records import told

BROKEN = after(WorkFailed(remark=told("It broke.", "Mend it.")))

QUESTION_LINES = 13
"""What a step may ask on a screen of 80×24: some lines are left for what it runs."""

every_lesson = pytest.mark.parametrize("name", lessons.NAMES)
every_machine = pytest.mark.parametrize("machine", MACHINES)


def cases(work: Work) -> tuple[Case, ...]:
    if isinstance(work, Experiment):
        return work.cases
    return (work.case,) if isinstance(work, Loop) else ()


@every_lesson
def test_it_is_complete_and_fits_the_screen(name: str) -> None:
    lesson = lessons.load(name)
    assert (lesson.name, bool(lesson.title)) == (name, True)
    assert lesson.summary.endswith((".", "?"))
    for machine in MACHINES:
        assert lesson.minimum <= on(lesson, machine=machine).size <= lesson.maximum
    for number, step in enumerate(lesson.steps):
        assert step.claim.endswith(".")
        assert 2 <= len(step.question.choices) <= 4
        page: Any = Page(
            lesson=lesson, number=number, setting=None, figures=PageFigures()
        )
        question = Group(apart(page.setup, page.prompt), *page.choices())
        lines = written(question, PROSE_COLUMNS).split("\n")
        assert len(lines) <= QUESTION_LINES, step.title
        for text in (step.setup, step.explanation):
            drawn = written(Prose(text), PROSE_COLUMNS).split("\n")
            assert 0 < max(map(len, drawn)) <= PROSE_COLUMNS


@every_lesson
@every_machine
def test_all_that_it_runs_can_be_run(name: str, machine: str) -> None:
    lesson, ops = lessons.load(name), {op.name: op for op in OPS}
    here = on(lesson, machine=machine)
    names = {device.name for device in here.devices}
    for step in lesson.steps:
        figures: list[str] = []
        # At once, and next as long as nothing has come.
        empty = step.figures(here, NOTHING)
        follow = step.trial.follow(empty, 0) if step.trial.follow else None
        for work in (*step.works(here), *([follow] if follow else [])):
            for case in cases(work):
                op = ops[case.op]
                assert case.dtype in op.dtypes, case.label
                assert case.mode in op.modes, case.label
                assert case.size > 0
                numpy = case.mode == "numpy"
                assert case.device == HOST if numpy else case.device in names
                assert op.takes_precision or case.precision == "default"
            if isinstance(work, Loop):
                assert 1 <= work.calls <= MAXIMUM_LOOP_CALLS
            if isinstance(work, Snippet):
                assert work.device is None or work.device in names
                assert work.parts, work.title
                compile(SNIPPET_IMPORTS + work.setup, work.title, "exec")
                for part in work.parts:
                    kind = "eval" if isinstance(part, Timed) else "exec"
                    compile(part.code.strip(), part.name, kind)
                figures += [part.name for part in work.parts]
        assert len(figures) == len(set(figures)), step.title


@every_lesson
@every_machine
@pytest.mark.parametrize("outcome", [NOTHING, BROKEN], ids=["nothing", "a problem"])
def test_without_figures_it_says_what_is_missing(
    name: str, machine: str, outcome: Outcome
) -> None:
    lesson = lessons.load(name)
    here = on(lesson, machine=machine)
    for step in lesson.steps:
        conclusion = step.conclude(here, outcome)
        assert (conclusion.holds, conclusion.answer) == (None, None), step.title
        assert conclusion.sentences, step.title
        if outcome is BROKEN:
            said = " ".join(conclusion.sentences)
            broken = any(one.facts["error"] for one in conclusion.reasons)
            assert broken or "—" in str(conclusion.rows) + said
        picture = step.trial.picture(step.figures(here, outcome))
        assert picture is None or picture.draw(60, 12)
