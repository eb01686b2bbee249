"""``jaxtui learn``: the lessons as text, and what they measured as JSON."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import click
from rich.console import RenderableType

from jaxtui.core.model.remark import SelectionError
from jaxtui.core.selection import choose
from jaxtui.core.text import Painted, join_painted
from jaxtui.features.bench.messages import FailureRow
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons import progress as kept
from jaxtui.features.lessons import report as view
from jaxtui.features.lessons.base import PROSE_COLUMNS, Setting
from jaxtui.features.lessons.course import Attempt
from jaxtui.features.lessons.messages import (
    LessonEntry,
    LessonResults,
    Lessons,
    StepResults,
    StepRow,
)
from jaxtui.features.lessons.play import StepRun, conclude
from jaxtui.features.lessons.trial import Lesson, setting
from jaxtui.ui import words
from jaxtui.ui.commands import CASE_FAILED, FINE, app
from jaxtui.ui.commands.common import (
    Common,
    Whole,
    engine_flags,
    named,
    no_history,
    valued,
)
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.options import DEVICE, SIZE, Parsed, json_flag
from jaxtui.ui.commands.output import close, plot
from jaxtui.ui.commands.progress import can_ask, guess
from jaxtui.ui.commands.terminal import in_colour, is_terminal, print_stdout, say
from jaxtui.ui.documents import problem
from jaxtui.ui.plot import COLORS, WIDEST
from jaxtui.ui.report import PROSE, written


def _lesson(name: str) -> Lesson:
    """A lesson by its name or its number in the list."""
    names = [*lessons.NAMES]
    if name.isdecimal() and 1 <= int(name) <= len(names):
        name = names[int(name) - 1]
    return lessons.load(choose(name, names, "lesson"))


@named("learn", "jaxtui learn 2", "jaxtui learn first-call --json")
@click.argument("lesson", required=False, type=Parsed("lesson", _lesson, lessons.NAMES))
@valued(
    "--size",
    "SIZE",
    "The lesson's size, such as 2k.  [default: a size that takes a few seconds]",
    type=SIZE,
)
@valued(
    "--device",
    "DEVICE",
    "cpu:0 or tpu:3.  [default: the first accelerator]",
    type=DEVICE,
)
@valued("--step", "N", "Only this step.", type=Whole(1))
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
    classroom: bool,
    as_json: bool,
) -> int:
    """List the lessons, or run one as text."""
    if classroom:
        if any((lesson, size, device, step, as_json)):
            raise SelectionError("--class opens the app: leave everything else out.")
        return app.run(common, classroom=True)
    if lesson is None:
        if any(value is not None for value in (size, device, step)):
            raise SelectionError("Name a lesson: `jaxtui learn` lists them.")
        return _list(as_json=as_json)
    if size is not None:
        lesson.check_size(size)
    numbers: Sequence[int] = range(1, len(lesson.steps) + 1)
    if step is not None:
        if step > len(lesson.steps):
            raise SelectionError(
                f"The lesson {lesson.name} has no step {step}: it has"
                f" {len(lesson.steps)}."
            )
        numbers = [step]
    course = _Course(common, lesson, as_json)

    async def where() -> Setting:
        """Return the setting of the lesson, as soon as the devices are known."""
        async with course.progress():
            await course.session.ready()
            course.session.refuse("verdicts")
        state = course.state
        return setting(lesson, state.devices, state.host, size, device)

    async def run() -> None:
        async with course.started():
            here = await where()
            for number in numbers:
                if not course.interrupted:
                    here = await course.play_step(number, here)

    course.drive(run())

    steps = tuple(map(_results, course.played))
    return close(
        document=LessonResults.of(
            course.state.host, lesson.name, steps, complete=course.complete
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
        LessonEntry(name=lesson.name, title=lesson.title, needs=lesson.needs)
        for lesson in every
    )

    def text() -> str:
        progress = kept.read()
        done = [progress.steps(lesson) for lesson in every]
        return _text(view.contents(every, done))

    document = Lessons(lessons=tuple(entries))
    return close(document=document, text=text, as_json=as_json)


class _Course(Driver):
    """A lesson, and its steps as far as they were run."""

    def __init__(self, common: Common, lesson: Lesson, as_json: bool) -> None:
        super().__init__(common, record=True)
        self._lesson = lesson
        self._as_json = as_json
        self.played: tuple[StepRun, ...] = ()

    async def play_step(self, number: int, here: Setting) -> Setting:
        """Play a step: its text, the learner's guess, its works, its results.

        Returns:
            Where the next step runs: the size may have grown.
        """
        lesson, first, guessed = self._lesson, not self.played, None
        step = lesson.steps[number - 1]
        run = StepRun(step, here)
        if not self._as_json:
            opening = _page(lesson, number, run, Attempt())
            lines = [*([] if first else [""]), opening.opening(_text, first=first), ""]
            print_stdout(join_painted(lines))
            if can_ask():
                guessed = await guess(view.LETTERS[: len(step.question.choices)])
        try:
            async with self.progress():
                await self.session.play(run, "lesson")
        finally:
            last = self.state.series.get("lesson")
            run = last if isinstance(last, StepRun) else run
            self.played += (run,)
            if not self._as_json:
                trouble = words.why(run.outcome.problem)
                page = _page(lesson, number, run, Attempt(guessed, run, trouble))
                if drawing := plot(page.figures.picture, elsewhere=PROSE):
                    print_stdout(join_painted((drawing, "")))
                print_stdout(_text(page.ending()))
            if Attempt(guessed, run).done and (
                unsaved := kept.add(lesson.name, step.title)
            ):
                say(unsaved)
        return run.setting

    @property
    def flawed(self) -> bool:
        """True if something has no result."""
        outcomes = (played.outcome for played in self.played)
        return any(outcome.problem or outcome.failures for outcome in outcomes)


def _page(lesson: Lesson, number: int, run: StepRun, attempt: Attempt) -> view.Page:
    """A step, counted from 1, as far as it was run."""
    there, arrived = run.setting, attempt.run
    figures = view.PageFigures.of(run.step, there, arrived, COLORS, live=False)
    return view.Page(
        lesson=lesson,
        number=number - 1,
        setting=there,
        figures=figures,
        attempt=attempt,
        run=arrived,
    )


def _text(block: RenderableType) -> Painted:
    """A block of a page as this terminal shows it."""
    width = PROSE_COLUMNS
    if is_terminal(sys.stdout):
        width = min(shutil.get_terminal_size().columns, WIDEST)
    return written(block, width, colour=in_colour())


def _results(played: StepRun) -> StepResults:
    """All of a step as a record."""
    outcome = played.outcome
    conclusion = conclude(played.step, played.setting, outcome)
    return StepResults(
        title=played.step.title,
        # Interim ones have not ended.
        measurements=tuple(m for m in outcome.measurements if m.stopped),
        claim=played.step.claim,
        holds=conclusion.holds,
        takeaway=view.takeaway(conclusion),
        doubts=conclusion.doubts,
        rows=tuple(
            StepRow(what=what, yours=yours, published=published, remark=remark)
            for what, yours, published, remark in (
                row.texts(view.cell_text) for row in conclusion.rows
            )
        ),
        timings=dict(outcome.timings),
        values=dict(outcome.values),
        loops=outcome.loops,
        failures=tuple(map(FailureRow.of, outcome.failures)),
        problem=problem(outcome.problem),
    )
