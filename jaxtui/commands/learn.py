"""``jaxtui learn``: the lessons as text, and what they measured as JSON."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Any

import click

from jaxtui import lessons
from jaxtui.commands import FINE, closing, lesson_text
from jaxtui.commands.closing import Report
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.exporting import NO_EXPORTS
from jaxtui.commands.lesson_request import Request
from jaxtui.commands.options import (
    Common,
    engine_flags,
    flag,
    json_flag,
    no_history,
    refuse_json_beside_code,
    valued,
)
from jaxtui.commands.terminal import (
    can_ask,
    guess,
    is_terminal,
    look,
    lost,
    progress,
    put,
    put_bytes,
    say,
)
from jaxtui.document import (
    LessonEntry,
    LessonResults,
    Lessons,
    StepResults,
    StepRow,
    encode,
)
from jaxtui.engine.client import EngineOptions
from jaxtui.lessons import progress as kept
from jaxtui.lessons.base import Setting, code_parts, conclude
from jaxtui.lessons.play import StepRun
from jaxtui.scripts import Script, joined
from jaxtui.text import painted

PLAIN_COLUMNS = 80
"""The width of a plot that is written to a file."""


def contents(*, as_json: bool) -> int:
    """Prints the list of lessons and gives the exit code."""
    every = lessons.load_all()
    if as_json:
        entries = tuple(
            LessonEntry(name=one.name, title=one.title, needs=one.needs)
            for one in every
        )
        put_bytes(encode(Lessons(lessons=entries)))
    else:
        put(lesson_text.contents(every, kept.read()))
    return FINE


def run(
    factory: EngineFactory,
    options: EngineOptions,
    request: Request,
    *,
    as_json: bool,
    record: bool = False,
) -> int:
    """Runs a lesson, prints it step by step, and gives the exit code.

    Args:
        factory: makes the engine.
        options: how to start it.
        request: what was asked for.
        as_json: print one JSON document instead of text.
        record: keep what is measured in the history.

    Raises:
        CannotRun: if there is no engine, or none any more.
        SelectionError: if the device does not exist.
    """
    course = _Course(factory, options, record=record)
    course.drive(_run(request, course, as_json))

    def document() -> bytes:
        steps = tuple(map(_results, course.played))
        name, host = request.lesson.name, course.state.host
        return encode(LessonResults.of(host, name, steps, course.outcome))

    # As text each step was printed when it ended.
    report = Report(
        document, text=None, contents=None, fine=not any(map(_flawed, course.played))
    )
    return closing.close(course, report, NO_EXPORTS, as_json=as_json)


def print_code(factory: EngineFactory, options: EngineOptions, request: Request) -> int:
    """Prints the plain Python of a lesson's steps, and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start.
        SelectionError: if the device does not exist.
    """
    course = _Course(factory, options)
    script = course.drive(_code(request, course))
    if script is not None:
        put(script.rstrip("\n"))
    return FINE


class _Course(Driver):
    """How far a lesson has come."""

    def __init__(
        self, factory: EngineFactory, options: EngineOptions, *, record: bool = False
    ) -> None:
        super().__init__(factory, options, record=record)
        self._played: list[StepRun] = []
        self._playing = False

    @property
    def played(self) -> tuple[StepRun, ...]:
        """The steps as far as they were run."""
        last = self.state.series.get("lesson")
        if self._playing and isinstance(last, StepRun):
            return (*self._played, last)
        return tuple(self._played)

    async def play(self, run: StepRun) -> None:
        """Run everything that a step runs; what had arrived stays if it is broken off.

        Raises:
            EngineUnavailableError: There is no engine any more.
        """
        self._playing = True
        try:
            await self.session.play(run, "lesson")
        finally:
            last = self.state.series.get("lesson")
            self._played.append(last if isinstance(last, StepRun) else run)
            self._playing = False


async def _run(request: Request, course: _Course, as_json: bool) -> None:
    async with course.started():
        setting = await _setting(request, course)
        for index in request.indices:
            if not (course.interrupted or lost()):
                await _step(course, request, index, setting, as_json)


async def _setting(request: Request, course: _Course) -> Setting:
    """Where the lesson runs, as soon as the devices are known."""
    async with progress(sys.stderr, lambda: course.state):
        await course.session.ready()
        course.session.refuse("verdicts")
    return request.setting(course.state)


async def _step(
    course: _Course, request: Request, index: int, setting: Setting, as_json: bool
) -> None:
    """One step: what it says, the learner's guess, its works, what came of them."""
    step = request.lesson.steps[index]
    guessed = None
    if not as_json:
        first = index == request.indices[0]
        put(lesson_text.opening(request.lesson, setting, index + 1, first=first))
        if step.question and can_ask():
            guessed = await guess(len(step.question.choices))
    try:
        async with progress(sys.stderr, lambda: course.state):
            await course.play(StepRun(step, setting))
    finally:
        if not as_json:
            _print(course.played[-1], guessed)
        if course.played[-1].outcome.problem is None and (
            trouble := kept.add(request.lesson.name, step.title)
        ):
            say(trouble)


async def _code(request: Request, course: _Course) -> str:
    """Everything that the steps run, as one file."""
    async with course.started():
        setting = await _setting(request, course)
        plan = partial(course.session.plan, recipes=True)
        if len(request.steps) == 1:
            (step,) = request.steps
            return joined(await code_parts(step.works(setting), plan), step.title)
        parts: list[Script] = []
        for index, step in zip(request.indices, request.steps, strict=True):
            for part in await code_parts(step.works(setting), plan):
                title = f"step {index + 1}: {part.title}"
                parts.append(replace(part, title=title))
    return joined(parts, request.lesson.title)


def _print(played: StepRun, guessed: int | None) -> None:
    """What came of a step, the plot above the words."""
    how = look(sys.stdout)
    if not is_terminal(sys.stdout):
        how["width"] = PLAIN_COLUMNS
    drawing = lesson_text.drawing(played.step, played.setting, played.outcome, **how)
    if drawing:
        put(painted((drawing, "")))
    conclusion = conclude(played.step, played.setting, played.outcome)
    put(
        lesson_text.closing(
            played.step, played.setting, conclusion, played.outcome, guessed
        )
    )


def _flawed(played: StepRun) -> bool:
    """Whether something of a step has no result.

    That TensorFlow, which is optional, is not installed is none of its business.
    """
    failures = [one for one in played.outcome.failures if one.case.mode != "tensorflow"]
    return bool(failures or played.outcome.problem)


def _results(played: StepRun) -> StepResults:
    """All of a step as a record."""
    outcome = played.outcome
    conclusion = conclude(played.step, played.setting, outcome)
    return StepResults(
        title=played.step.title,
        # Interim ones have not ended.
        measurements=tuple(one for one in outcome.measurements if one.stopped),
        claim=played.step.claim,
        holds=conclusion.holds,
        takeaway=conclusion.takeaway,
        rows=tuple(
            StepRow(
                what=row.what,
                yours=row.yours,
                published=row.published,
                remark=row.remark,
            )
            for row in conclusion.rows
        ),
        timings=dict(outcome.timings),
        values=dict(outcome.values),
        loops=outcome.loops,
        failures=outcome.failures,
        problem=outcome.problem,
    )


@click.command("learn")
@click.argument("lesson", required=False)
@valued(
    "--size",
    "SIZE",
    "The lesson's size, such as 2k.  [default: what takes this machine seconds]",
)
@valued("--device", "DEVICE", "cpu:0 or tpu:3.  [default: the first accelerator]")
@valued("--step", "N", "Only this step.", type=click.IntRange(1))
@valued("--ghost", "FILE", "What another machine measured: a document of --json.")
@flag("--code", "Print plain Python instead of running.")
@json_flag
@no_history
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    lesson: str | None,
    code: bool,
    as_json: bool,
    **typed: Any,
) -> int:
    """List the lessons, or run one as text."""
    if lesson is None:
        if code or any(value is not None for value in typed.values()):
            raise click.UsageError("Name a lesson: `jaxtui learn` lists them.")
        return contents(as_json=as_json)
    refuse_json_beside_code(code, as_json)
    request = Request.typed(lesson, **typed)
    if code:
        return print_code(*common.engine(), request)
    return run(*common.engine(), request, as_json=as_json, record=common.record)
