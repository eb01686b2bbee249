"""``jaxtui learn``: the lessons as text, and what they measured as JSON."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

from jaxtui import lessons
from jaxtui.commands import FINE, closing, lesson_text
from jaxtui.commands.closing import Report
from jaxtui.commands.exporting import NO_EXPORTS
from jaxtui.commands.guess import can_ask, guess
from jaxtui.commands.lesson_request import Request
from jaxtui.commands.lesson_run import Course, Played
from jaxtui.commands.progress import progress
from jaxtui.commands.session import EngineFactory
from jaxtui.commands.terminal import is_terminal, look, lost, put, put_bytes, say
from jaxtui.document import LessonEntry, LessonResults, Lessons, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.lessons import progress as kept
from jaxtui.lessons.base import Setting, code_parts
from jaxtui.scripts import Script, joined
from jaxtui.text import painted

__all__ = ["Request", "code", "contents", "run"]

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
    course = Course()
    course.drive(_run(factory, options, request, course, as_json, record))

    def document() -> bytes:
        steps = tuple(played.results for played in course.played)
        name, host = request.lesson.name, course.state.host
        return encode(LessonResults.of(host, name, steps, course.outcome))

    # As text each step was printed when it ended.
    report = Report(document, text=None, contents=None, fine=not course.flawed)
    return closing.close(course, report, NO_EXPORTS, as_json=as_json)


def code(factory: EngineFactory, options: EngineOptions, request: Request) -> int:
    """Prints the plain Python of a lesson's steps, and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start.
        SelectionError: if the device does not exist.
    """
    course = Course()
    script = course.drive(_code(factory, options, request, course))
    if script is not None:
        put(script.rstrip("\n"))
    return FINE


async def _run(
    factory: EngineFactory,
    options: EngineOptions,
    request: Request,
    course: Course,
    as_json: bool,
    record: bool,
) -> None:
    async with course.started(factory, options, record=record):
        setting = await _setting(request, course)
        for index in request.indices:
            if not (course.interrupt.happened or lost()):
                await _step(course, request, index, setting, as_json)


async def _setting(request: Request, course: Course) -> Setting:
    """Where the lesson runs, as soon as the devices are known."""
    async with progress(sys.stderr, lambda: course.state):
        await course.ready()
        course.refuse("verdicts")
    return request.setting(course.state)


async def _step(
    course: Course, request: Request, index: int, setting: Setting, as_json: bool
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
            await course.play(step, setting)
        if course.played[-1].outcome.problem is None and (
            trouble := kept.add(request.lesson.name, step.title)
        ):
            say(trouble)
    finally:
        if not as_json:
            _print(course.played[-1], guessed)


async def _code(
    factory: EngineFactory, options: EngineOptions, request: Request, course: Course
) -> str:
    """Everything that the steps run, as one file."""
    async with course.started(factory, options):
        setting = await _setting(request, course)
        plan = partial(course.engine.plan, recipes=True)
        if len(request.steps) == 1:
            (step,) = request.steps
            return joined(await code_parts(step.works(setting), plan), step.title)
        parts: list[Script] = []
        for index, step in zip(request.indices, request.steps, strict=True):
            for part in await code_parts(step.works(setting), plan):
                title = f"step {index + 1}: {part.title}"
                parts.append(replace(part, title=title))
    return joined(parts, request.lesson.title)


def _print(played: Played, guessed: int | None) -> None:
    """What came of a step, the plot above the words."""
    how = look(sys.stdout)
    if not is_terminal(sys.stdout):
        how["width"] = PLAIN_COLUMNS
    drawing = lesson_text.drawing(played.step, played.setting, played.outcome, **how)
    if drawing:
        put(painted((drawing, "")))
    put(
        lesson_text.closing(
            played.step, played.setting, played.conclusion, played.outcome, guessed
        )
    )
