"""``jaxtui learn``: the lessons as text, and what they measured as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import click

from jaxtui import lessons
from jaxtui.commands import CASE_FAILED, FINE, app
from jaxtui.commands.common import (
    Common,
    Whole,
    engine_flags,
    flag,
    no_history,
    valued,
)
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import (
    DEVICE,
    SIZE,
    Parsed,
    json_flag,
    refuse_json_beside_code,
)
from jaxtui.commands.output import close, plot
from jaxtui.commands.progress import can_ask, guess
from jaxtui.commands.terminal import put, say
from jaxtui.lessons import progress as kept
from jaxtui.lessons.base import PROSE_COLUMNS, Row, Setting
from jaxtui.lessons.play import StepRun, conclude
from jaxtui.lessons.trial import Lesson, setting
from jaxtui.model import SelectionError, explanation
from jaxtui.selection import choose
from jaxtui.text import join_painted
from jaxtui.view import lesson as view
from jaxtui.view.document import (
    LessonEntry,
    LessonResults,
    Lessons,
    StepResults,
    StepRow,
)
from jaxtui.view.scripts import Script, code_parts, joined
from jaxtui.view.text import COLUMNS, Line, plain


def _lesson(name: str) -> Lesson:
    return lessons.load(choose(name, lessons.NAMES, "lesson"))


@click.command("learn")
@click.argument("lesson", required=False, type=Parsed("lesson", _lesson, lessons.NAMES))
@valued(
    "--size",
    "SIZE",
    "The lesson's size, such as 2k.  [default: what takes this machine seconds]",
    type=SIZE,
)
@valued(
    "--device",
    "DEVICE",
    "cpu:0 or tpu:3.  [default: the first accelerator]",
    type=DEVICE,
)
@valued("--step", "N", "Only this step.", type=Whole(1))
@flag("--code", "Print plain Python instead of running.")
@click.option(
    "--class",
    "classroom",
    is_flag=True,
    help="Open the app for a class: a stopwatch, a bet, the factor, the fix.",
)
@json_flag
@no_history
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    lesson: Lesson | None,
    size: int | None,
    device: str | None,
    step: int | None,
    code: bool,
    classroom: bool,
    as_json: bool,
) -> int:
    """List the lessons, or run one as text."""
    if classroom:
        if any((lesson, size, device, step, code, as_json)):
            raise click.UsageError("--class opens the app: leave everything else out.")
        return app.run(common, classroom=True)
    if lesson is None:
        if code or any(value is not None for value in (size, device, step)):
            raise click.UsageError("Name a lesson: `jaxtui learn` lists them.")
        return _list(as_json=as_json)
    refuse_json_beside_code(code, as_json)
    if size is not None:
        lesson.check_size(size)
    numbers: Sequence[int] = range(1, len(lesson.steps) + 1)
    if step is not None:
        if step > len(lesson.steps):
            raise SelectionError(
                f"The lesson {lesson.name} has no step {step}: it has "
                f"{len(lesson.steps)}."
            )
        numbers = [step]
    course = _Course(common, lesson, as_json)

    async def where() -> Setting:
        """Where the lesson runs, as soon as the devices are known."""
        async with course.progress():
            await course.session.ready()
            course.session.refuse("verdicts")
        state = course.state
        return setting(lesson, state.devices, state.host, state.ops, size, device)

    async def script() -> str:
        """Everything that the steps run, as one file."""
        async with course.started():
            here = await where()
            plan = partial(course.session.plan, recipes=True)
            parts: list[Script] = []
            for number in numbers:
                one = lesson.steps[number - 1]
                found = await code_parts(one.works(here), plan)
                if step is not None:
                    return joined(found, one.title)
                parts += [
                    replace(part, title=f"step {number}: {part.title}")
                    for part in found
                ]
        return joined(parts, lesson.title)

    async def run() -> None:
        async with course.started():
            here = await where()
            for number in numbers:
                if not course.interrupted:
                    await course.play_step(number, here)

    if code:
        if (text := course.drive(script())) is not None:
            put(text.rstrip("\n"))
        return FINE
    course.drive(run())

    steps = tuple(map(_results, course.played))
    return close(
        document=LessonResults.of(
            course.state.host, lesson.name, steps, course.outcome
        ),
        text=str,  # each step was printed when it ended
        as_json=as_json,
        code=CASE_FAILED if course.flawed else FINE,
        lost=course.lost,
    )


def _list(*, as_json: bool) -> int:
    """Print the lessons, and how far the learner is; return the exit code."""
    every = lessons.load_all()
    entries = (
        LessonEntry(name=one.name, title=one.title, needs=one.needs) for one in every
    )

    def text() -> str:
        progress = kept.read()
        done = [progress.steps(lesson) for lesson in every]
        return _plain(view.contents(every, done, PROSE_COLUMNS))

    document = Lessons(lessons=tuple(entries))
    return close(document=document, text=text, as_json=as_json)


class _Course(Driver):
    """A lesson, and its steps as far as they were run."""

    def __init__(self, common: Common, lesson: Lesson, as_json: bool) -> None:
        super().__init__(common, record=True)
        self._lesson = lesson
        self._as_json = as_json
        self.played: tuple[StepRun, ...] = ()

    async def play_step(self, number: int, here: Setting) -> None:
        """What it says, the learner's guess, its works, what came of them."""
        lesson, first = self._lesson, not self.played
        step = lesson.steps[number - 1]
        guessed = None
        if not self._as_json:
            opening = view.opening(lesson, number, here, step.works(here), first=first)
            put(f"{'' if first else chr(10)}{_plain(opening)}\n")
            if step.question and can_ask():
                guessed = await guess(len(step.question.choices))
        played = StepRun(step, here)
        try:
            async with self.progress():
                await self.session.play(played, "lesson")
        finally:
            last = self.state.series.get("lesson")
            played = last if isinstance(last, StepRun) else played
            self.played += (played,)
            if not self._as_json:
                _print(played, guessed)
            if played.outcome.problem is None and (
                trouble := kept.add(lesson.name, step.title)
            ):
                say(trouble)

    @property
    def flawed(self) -> bool:
        """Whether something has no result; TensorFlow is optional."""
        outcomes = [one.outcome for one in self.played]
        failed = [one.case.mode for outcome in outcomes for one in outcome.failures]
        return any(outcome.problem for outcome in outcomes) or any(
            mode != "tensorflow" for mode in failed
        )


def _print(played: StepRun, guessed: int | None) -> None:
    """What came of a step, the plot above the words."""
    step, here, outcome = played.step, played.setting, played.outcome
    picture = step.trial.picture(here, outcome)
    if drawing := plot(picture, elsewhere=COLUMNS):
        put(join_painted((drawing, "")))
    conclusion = conclude(step, here, outcome)
    found = view.results(step, conclusion, outcome.failures, guessed, PROSE_COLUMNS)
    put(_plain(view.ending(step, here, found, explanation(outcome.problem))))


def _plain(lines: Iterable[Line]) -> str:
    return "\n".join(plain(line).rstrip() for line in lines)


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
            StepRow(what=what, yours=yours, published=published, remark=remark)
            for what, yours, published, remark in map(Row.texts, conclusion.rows)
        ),
        timings=dict(outcome.timings),
        values=dict(outcome.values),
        loops=outcome.loops,
        failures=outcome.failures,
        problem=outcome.problem,
    )
