"""One step of a lesson as a page: what it asks, how far it is, what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jaxtui import format as fmt
from jaxtui.lessons.base import PROSE_COLUMNS, Conclusion, Setting
from jaxtui.lessons.course import Attempt, seconds_of
from jaxtui.lessons.outcome import NOTHING
from jaxtui.lessons.play import StepRun, conclude
from jaxtui.lessons.trial import Lesson, Step
from jaxtui.model import Work
from jaxtui.plot import Color, Picture
from jaxtui.state import Job
from jaxtui.view import lesson as view
from jaxtui.view.text import Line, Span, meter, plain

Stage = Literal["before", "running", "done", "broken"]
"""Of a step: it has not run; it runs; it has a conclusion; its run came to nothing."""


@dataclass(frozen=True, slots=True)
class PageFigures:
    """What a step runs, and what its figures say as far as it has run."""

    works: tuple[Work, ...] = ()
    conclusion: Conclusion | None = None
    picture: Picture | None = None

    @classmethod
    def of(
        cls,
        step: Step,
        setting: Setting | None,
        run: StepRun | None,
        colors: Sequence[Color],
        *,
        live: bool,
    ) -> PageFigures:
        """Ask the step.

        Args:
            step: which one.
            setting: where it would be run now.
            run: what has arrived.
            colors: of the curves that have none of their own.
            live: it still runs.

        Raises:
            Exception: whatever its lesson does wrong.
        """
        works = step.works(setting) if setting is not None else ()
        if run is None:
            return cls(works)
        conclusion = conclude(step, run.setting, run.outcome)
        if live or run.outcome.problem is not None:
            # What is missing is not known to be missing yet.
            known = (
                row for row in conclusion.rows if row.texts()[1] not in ("", fmt.ABSENT)
            )
            conclusion = replace(conclusion, rows=tuple(known))
        picture = step.trial.picture(run.setting, run.outcome)
        if picture is not None:
            series = (
                one if one.color else replace(one, color=colors[index % len(colors)])
                for index, one in enumerate(picture.series)
            )
            picture = replace(picture, series=tuple(series))
        return cls(works, conclusion, picture)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A step, and how far it is."""

    lesson: Lesson
    number: int
    """Index of the step."""
    done: tuple[bool, ...]
    """Of each step of the lesson, whether it is done."""
    attempt: Attempt
    run: StepRun | None
    """The one that runs, or else the one that the learner left."""
    live: bool
    """It runs."""
    setting: Setting | None
    """Where it would be run now."""
    figures: PageFigures
    elapsed_seconds: float
    """Since the run began."""
    job: Job | None
    """What runs of it."""
    played_seconds: float
    """What its earlier works have taken."""

    @property
    def stage(self) -> Stage:
        """How far it is."""
        if self.live or self.attempt.complete:
            return "running" if self.live else "done"
        return "broken" if self.attempt.trouble else "before"

    @property
    def works(self) -> tuple[Work, ...]:
        """All that it has run, or would run."""
        return self.attempt.works or self.figures.works

    @property
    def seconds_left(self) -> float:
        """At most, until the run ends."""
        done, job = self.run.done if self.run is not None else 0, self.job
        left = seconds_of(self.figures.works[done + (job is not None) :])
        if job is not None:
            # Before it has said anything there is its budget.
            budget = seconds_of([job.work] if job.work is not None else [])
            left += job.remaining_seconds if job.reported else budget
            reported = self.played_seconds + job.elapsed_seconds
            left -= max(0.0, self.elapsed_seconds - reported)
        return max(0.0, left)

    @property
    def step(self) -> Step:
        """As the lesson has it."""
        return self.lesson.steps[self.number]

    @property
    def asks(self) -> bool:
        """A prediction can be made."""
        return self.step.question is not None and self.stage in ("before", "broken")

    @property
    def title(self) -> str:
        """Its number and title."""
        return f"{self.number + 1}/{len(self.lesson.steps)} {self.step.title}"

    @property
    def conclusion(self) -> Conclusion | None:
        """What its figures say, once everything has run."""
        return self.figures.conclusion if self.stage == "done" else None

    @property
    def answer(self) -> int | None:
        """Index of the choice that turned out right."""
        return self.conclusion.answer if self.conclusion else None

    def heading(self, width: int) -> list[Line]:
        """The lesson, which steps of it are done, and where it is run."""
        title, dots = self.lesson.title, view.pips(self.done)
        left = f"{title}  {plain(dots)}"
        where = view.place(self.lesson, self.setting, width - len(left) - 2)
        room = width - len(left) - len(where)
        end = f"{'':{room}}{where}" if room >= 2 else ""
        return [(Span(f"{title}  ", "title"), *dots, Span(end, "muted"))]

    def verdict(self, width: int) -> list[Line]:
        """What came out in a few lines; while it runs, how far it is."""
        if self.stage == "running":
            return self._progress(width)
        why = self.attempt.trouble
        trouble = view.trouble(why, width) if why else []
        if (conclusion := self.conclusion) is None:
            return trouble
        first = "".join(conclusion.sentences[:1])
        return [
            *trouble,
            *view.verdict(self.step, conclusion, self.attempt.prediction, width),
            *view.text_lines(first, width, role="strong"),
        ]

    def _progress(self, width: int) -> list[Line]:
        left, elapsed, job = self.seconds_left, self.elapsed_seconds, self.job
        rest = f"at most {math.ceil(left)} s left" if left else fmt.left(left)
        time = f" {elapsed:.0f} s, {rest}"
        if self.step.trial.follow is not None and self.run is not None:
            # What comes next depends on what this run shows.
            time = f" {elapsed:.0f} s, run {self.run.done + 1}"
            elapsed = job.elapsed_seconds if job is not None else 0.0
        share = elapsed / (elapsed + left) if left else 1.0
        # A full bar would say that it is done.
        drawn = meter(share, max(width - len(time), 1)) if share < 1 else ()
        lines: list[Line] = [(*drawn, Span(time, "strong"))]
        lines += view.text_lines(job.doing if job is not None else "", width)
        prediction, question = self.attempt.prediction, self.step.question
        if prediction is not None and question is not None:
            words = f"You predicted: {question.choices[prediction]}"
            lines += view.text_lines(words, width, role="chosen")
        return lines

    def question(self, width: int) -> list[Line]:
        """What must be known, and the question with its choices, or what is claimed."""
        step, prediction = self.step, self.attempt.prediction
        claim = view.text_lines(f"Claim: {step.claim}", width, role="strong")
        return view.paragraphs(
            [] if self.conclusion else view.prose(step.setup, _prose_width(width)),
            view.question(step.question, prediction, self.answer, width)
            if step.question
            else claim,
        )

    def choice_at(self, width: int, line: int) -> int | None:
        """The number, from 1, of the choice in a line of the question."""
        question = self.step.question
        if question is None:
            return None

        def height(choices: int) -> int:
            """Of the question with so many of its choices."""
            part = replace(question, choices=question.choices[:choices])
            return len(view.question(part, None, self.answer, width))

        every = range(1, len(question.choices) + 1)
        first = len(self.question(width)) - height(len(every))
        if line < first + height(0):
            return None
        return next((one for one in every if line < first + height(one)), None)

    def results(self, width: int) -> list[Line]:
        """All figures that are there."""
        outcome = self.run.outcome if self.run else NOTHING
        rows = self.figures.conclusion.rows if self.figures.conclusion else ()
        return view.paragraphs(
            [] if self.figures.picture else view.bars(outcome, width),
            view.table(rows, width),
            *(view.failure(one, width) for one in outcome.failures),
        )

    def program(self, width: int) -> list[Line]:
        """What runs."""
        if self.setting is None:
            return view.text_lines("It depends on the device.", width, role="muted")
        return view.program(self.figures.works, width)

    def explanation(self, width: int) -> list[Line]:
        """What the lesson says about it, and where the figures are from."""
        width, conclusion = _prose_width(width), self.conclusion
        more = " ".join(conclusion.sentences[1:]) if conclusion else ""
        where = self.run.setting if conclusion and self.run else None
        return view.paragraphs(
            view.text_lines(more, width, role="strong") if more else [],
            view.prose(self.step.explanation, width),
            view.source(self.step, where, width),
        )

    def text(self) -> str:
        """All of it as ``jaxtui learn`` prints it, to be taken away."""
        step, conclusion, run = self.step, self.conclusion, self.run
        where, outcome = (run.setting, run.outcome) if run else (self.setting, NOTHING)
        prediction, width = self.attempt.prediction, PROSE_COLUMNS
        found = self.results(width)
        if conclusion is not None:
            found = view.results(step, conclusion, outcome.failures, prediction, width)
        number, trouble = self.number + 1, self.attempt.trouble
        lines = view.paragraphs(
            view.opening(
                self.lesson, number, where, self.works, prediction, self.answer
            ),
            view.ending(step, where if conclusion else None, found, trouble),
        )
        return "\n".join(map(plain, lines)) + "\n"


def _prose_width(width: int) -> int:
    return min(width, PROSE_COLUMNS)
