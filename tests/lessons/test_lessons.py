"""What holds for every lesson: it fits the screen, and all that it runs exists."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from jaxtui import api, lessons
from jaxtui.lessons.base import (
    PROSE_COLUMNS,
    Lesson,
    Setting,
    Step,
    setting,
)
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.model import (
    HOST,
    MAXIMUM_LOOP_CALLS,
    SNIPPET_IMPORTS,
    Case,
    Device,
    Experiment,
    Loop,
    OpInfo,
    Snippet,
    SnippetShown,
    Timed,
    Value,
    Work,
    WorkFailed,
)
from jaxtui.view.lesson import prose, question
from jaxtui.view.text import plain
from tests.lessons.figures import measured, trial
from tests.tui.fake_engine import HOST as MACHINE
from tests.tui.fake_engine import cpu_devices, tpu_devices

OPS: dict[str, OpInfo] = {op.name: op for op in api.ops()}

GPU = Device(
    id=0,
    platform="gpu",
    device_kind="NVIDIA T4",
    process_index=0,
    memory={"bytes_in_use": 0, "bytes_limit": 15 * 2**30},
)

DEVICES: dict[str, tuple[Device, ...]] = {
    "cpu": cpu_devices(),
    "tpu": (*tpu_devices(), *cpu_devices()),
    "gpu": (GPU, *cpu_devices()),
    "eight": cpu_devices(8, simulated=True),
}
"""The machines on which every lesson must know what to do."""

WRONG = replace(NOTHING, problem=WorkFailed(error="It broke.", hint="Mend it."))

QUESTION_LINES = 13
"""What a step may ask on a screen of 80×24: some lines are left for what it runs."""

VERDICTS = ("holds", "fails")

every_lesson = pytest.mark.parametrize("name", lessons.NAMES)
every_machine = pytest.mark.parametrize("machine", DEVICES)


def on(lesson: Lesson, machine: str) -> Setting:
    return setting(lesson, DEVICES[machine], MACHINE, tuple(OPS.values()))


def works(step: Step, here: Setting) -> tuple[Work, ...]:
    """What it runs at once, and what it runs next as long as nothing has come."""
    follow = step.follow(here, NOTHING, 0) if step.follow else None
    return (*step.works(here), *([] if follow is None else [follow]))


def cases(work: Work) -> tuple[Case, ...]:
    match work:
        case Experiment():
            return work.cases
        case Loop():
            return (work.case,)
        case Snippet():
            return ()


@every_lesson
def test_it_is_complete_and_fits_the_screen(name: str) -> None:
    lesson = lessons.load(name)
    assert lesson.name == name
    assert lesson.title
    assert lesson.summary.endswith((".", "?"))
    assert lesson.steps
    for machine in DEVICES:
        assert lesson.minimum <= on(lesson, machine).size <= lesson.maximum
    if lesson.size_means:
        sizes = lesson.sizes.values()
        assert all(lesson.minimum <= size <= lesson.maximum for size in sizes)
    for step in lesson.steps:
        assert step.title
        assert step.claim.endswith(".")
        assert step.question is not None
        assert 2 <= len(step.question.choices) <= 4
        asked = question(step.question, None, None, PROSE_COLUMNS)
        setup = prose(step.setup, PROSE_COLUMNS)
        assert len([*setup, (), *asked]) <= QUESTION_LINES, step.title
        for text in (step.setup, step.explanation):
            for ticks in (True, False):
                drawn = prose(text, PROSE_COLUMNS, ticks=ticks)
                assert 0 < max(len(plain(line)) for line in drawn) <= PROSE_COLUMNS


@every_lesson
@every_machine
def test_all_that_it_runs_can_be_run(name: str, machine: str) -> None:
    lesson = lessons.load(name)
    here = on(lesson, machine)
    names = {device.name for device in here.devices}
    for step in lesson.steps:
        figures: list[str] = []
        for work in works(step, here):
            for case in cases(work):
                op = OPS[case.op]
                assert case.dtype in op.dtypes, case.label
                assert case.mode in op.modes, case.label
                assert case.size > 0
                numpy = case.mode in ("numpy", "tensorflow")
                assert case.device == HOST if numpy else case.device in names
                assert op.takes_precision or case.precision == "default"
            if isinstance(work, Loop):
                assert 1 <= work.calls <= MAXIMUM_LOOP_CALLS
                assert work.case.mode in ("eager", "jit")
            if isinstance(work, Snippet):
                assert work.device is None or work.device in names | {"cpu:0"}
                assert work.parts, work.title
                compile(SNIPPET_IMPORTS + work.setup, work.title, "exec")
                for part in work.parts:
                    kind = "eval" if isinstance(part, Timed) else "exec"
                    compile(part.code.strip(), part.name, kind)
                figures += [part.name for part in work.parts]
        assert len(figures) == len(set(figures)), step.title


@every_lesson
def test_every_figure_of_its_text_is_one_that_the_step_has(name: str) -> None:
    lesson = lessons.load(name)
    for machine in ("cpu", "tpu"):
        here = on(lesson, machine)
        for number, step in enumerate(lesson.steps, 1):
            text = step.works.args[0]  # type: ignore[attr-defined]
            outcome = NOTHING
            for work in step.works(here):
                if isinstance(work, Snippet):
                    for part in work.parts:
                        many = (1.0,) * (2 if part.name == "parameters" else 21)
                        value = Value(name=part.name, text="1", numbers=many)
                        outcome = collect(outcome, SnippetShown(value=value))
                for case in cases(work) if isinstance(work, Experiment) else ():
                    outcome = collect(
                        outcome, measured(case, 1e-3, error_vs_float64=0.0)
                    )
            figures = trial(lesson, number).figures(here, outcome)
            known = {*figures.derived, *figures.cases, *outcome.values, *VERDICTS}
            known |= {part for program in text.programs for _, part, _ in program.parts}
            if any(isinstance(work, Loop) for work in step.works(here)):
                known |= {"end", "each", "asarray", "print"}
            rows = (cell for row in text.rows for cell in (row.yours, row.remark))
            written = " ".join((*rows, *(one.text for one in text.sentences)))
            conditions = [
                one
                for found in (
                    *re.findall(r"\{([^{}?]+)\?", written),
                    *(sentence.conditions for sentence in text.sentences),
                )
                for one in found.split(", ")
                if one
            ]
            # What is left once every choice is made.
            fields = re.findall(r"\{([^{}?:]+)(?::[^{}]*)?\}", written)
            names = [part for field in fields for part in field.split(" / ")]
            names += [one.removeprefix("not ") for one in conditions]
            optional = {"worse", "complete", "first", "last"}
            missing = {*names} - known - optional
            assert not missing, (step.title, missing)


@every_lesson
@every_machine
@pytest.mark.parametrize("outcome", [NOTHING, WRONG], ids=["nothing", "a problem"])
def test_without_figures_it_says_what_is_missing(
    name: str, machine: str, outcome: Outcome
) -> None:
    lesson = lessons.load(name)
    here = on(lesson, machine)
    for step in lesson.steps:
        conclusion = step.conclude(here, outcome)
        assert (conclusion.holds, conclusion.answer) == (None, None), step.title
        assert conclusion.takeaway, step.title
        if outcome is WRONG:
            assert "It broke" in conclusion.takeaway or "—" in str(conclusion.rows)
        picture = step.picture(here, outcome) if step.picture else None
        assert picture is None or picture.draw(60, 12)
