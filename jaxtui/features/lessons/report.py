"""Learn: the list of lessons, and a step as a page at any width.

A page has four blocks: what is asked, the verdict, the figures, and why. The screen
shows each in a panel, ``jaxtui learn`` prints them one below the other.

Spans have the roles ``title``, ``strong``, ``muted``, ``code``, ``block`` (a line of
code), ``head``, ``chosen``, ``pass``, ``fail``, ``low`` and ``unknown``; bars have
those of the sides that took the time.
"""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Literal

import msgspec
from msgspec.structs import replace

from jaxtui import format as fmt
from jaxtui.features.lessons.base import PROSE_COLUMNS, Conclusion, Row, Setting
from jaxtui.features.lessons.course import NOT_TRIED, Attempt, seconds_of
from jaxtui.features.lessons.outcome import NOTHING, Outcome
from jaxtui.features.lessons.play import StepRun, conclude
from jaxtui.features.lessons.trial import Lesson, Step
from jaxtui.model import Experiment, Loop, Remark, Snippet, Timed, Work
from jaxtui.plot import SERIES, Color, Picture, Series
from jaxtui.state import Job
from jaxtui.view import words
from jaxtui.view.document import machine
from jaxtui.view.text import Column, Line, Span, bar, fit, fold, meter, plain
from jaxtui.wording import WAITS

ROLES = {True: "pass", False: "fail", None: "low"}
"""The roles of a claim that holds, fails, or is undecided here."""

LETTERS = "abcd"
"""The keys of the choices of a question, in their order."""

CODE_INDENT = "    "
"""A line of prose that begins with it is code."""

_NO_BREAK = "\xa0"

_REMARK = 20
"""Cells that a column of remarks needs; with fewer they stand below their rows."""

_NARROWEST = 10
"""Cells that a column keeps, however long the texts of the others are."""


# The list.


def _pips(done: Sequence[bool], most: int = 0) -> Line:
    """A dot for each step, filled where the step is done, and the count.

    Args:
        done: of each step, whether it is.
        most: steps of the longest lesson, for a column.
    """
    full, count = sum(done), len(done)
    dots = "".join("●" if complete else "○" for complete in done).ljust(most)
    role = "pass" if full == count else "chosen" if full else "muted"
    return Span(dots, role), Span(f" {full}/{count}", "muted")


def entries(
    lessons: Sequence[Lesson],
    done: Sequence[Sequence[bool]],
    width: int,
    seconds: Sequence[float | None] = (),
    wide: bool = False,
) -> list[list[Line]]:
    """The list: of each lesson its number, title, and which steps are done.

    Args:
        lessons: all of them.
        done: of each step of each lesson, whether it is done.
        width: cells; the times are left out first, then the ends of titles.
        seconds: what each lesson takes at most, where it is known.
        wide: the summary as a second line.
    """
    most = max(map(len, done), default=0)
    titles = [
        (
            Span("✓" if all(steps) else " ", "pass"),
            Span(f" {number:2}  {lesson.title}", "strong"),
        )
        for number, (lesson, steps) in enumerate(zip(lessons, done, strict=True), 1)
    ]
    longest = max(map(len, map(plain, titles)), default=0)
    columns = [
        Column("title", "", titles, least=longest, most=longest, grows=True),
        Column("done", "", [_pips(steps, most) for steps in done]),
    ]
    if any(seconds):
        texts = (f"~{duration:.0f} s" if duration else "" for duration in seconds)
        times = [(Span(text, "muted"),) for text in texts]
        columns.append(Column("time", "", times, rank=1, right=True))
    table = fit(columns, width)
    listed: list[list[Line]] = []
    for row, lesson in enumerate(lessons):
        cells = (table.cell(row, place) for place in range(len(table.columns)))
        line = tuple(span for cell in cells for span in (*cell, Span("  ")))[:-1]
        summary = (Span(f"      {lesson.summary}", "muted"),)
        listed.append([line, summary] if wide else [line])
    return listed


def about(lesson: Lesson, width: int, indent: str = "") -> list[Line]:
    """Write the summary of a lesson, and its needs."""
    needs = [f"Needs: {lesson.needs}"] if lesson.needs else []
    return text_lines("\n".join([lesson.summary, *needs]), width, indent)


def steps(
    lesson: Lesson, done: Sequence[bool], width: int, here: int | None = None
) -> list[Line]:
    """The titles of its steps, those that are done with a mark.

    Args:
        lesson: the lesson.
        done: of each step, whether it is done.
        width: cells.
        here: index of the step on screen.
    """
    return [
        line
        for number, (step, complete) in enumerate(zip(lesson.steps, done, strict=True))
        for line in text_lines(
            f"{'✓' if complete else '○'} {number + 1}  {step.title}",
            width,
            "     ",
            first="",
            role="pass" if complete else "strong" if number == here else "label",
        )
    ]


def contents(
    lessons: Sequence[Lesson], done: Sequence[Sequence[bool]], width: int
) -> list[Line]:
    """The list with what each lesson is about."""
    lines: list[Line] = []
    for entry, lesson in zip(entries(lessons, done, width), lessons, strict=True):
        how = Span(f"{'':6}As text: "), Span(f"jaxtui learn {lesson.name}", "strong")
        lines += [*entry, *about(lesson, width, " " * 6), how]
    return lines


# A page.

Stage = Literal["before", "running", "done", "broken"]
"""The stage of a step: it has not run; it runs; it has a conclusion; its run came to
nothing."""


class PageFigures(msgspec.Struct, frozen=True):
    """The works of a step, and the conclusion from its figures so far."""

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
        """Evaluate the step's conclusion.

        Args:
            step: which one.
            setting: where it would be run now.
            run: what has arrived.
            colors: as ``plot.COLORS``, for the curves that have none of their own.
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
            rows = (
                row
                for row in conclusion.rows
                if tuple(row.yours) not in ((), (fmt.ABSENT,))
            )
            conclusion = replace(conclusion, rows=tuple(rows))
        picture = step.trial.picture(run.setting, run.outcome)
        if picture is not None:
            picture = replace(picture, series=tuple(_coloured(picture, colors)))
        return cls(works, conclusion, picture)


_SIDES = {
    "BCOO": "device",
    "JAX": "jit",
    "JAX, eager": "eager",
    "JAX, jit": "jit",
    "NumPy": "numpy",
    "TensorFlow": "host",
    "call returned": "host",
    "loss": "device",
    "result ready": "device",
}
"""The side whose colour a curve has, by its label."""


def _coloured(picture: Picture, colors: Sequence[Color]) -> Iterator[Series]:
    """Yield the curves in colour; a curve without a side gets the last one."""
    for curve in picture.series:
        side = SERIES.get(_SIDES.get(curve.label, ""), len(colors) - 1)
        yield curve if curve.color else replace(curve, color=colors[side])


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A step, and how far it is."""

    lesson: Lesson
    number: int
    """Index of the step."""
    setting: Setting | None
    """The setting in which it would run now."""
    figures: PageFigures
    attempt: Attempt = NOT_TRIED
    run: StepRun | None = None
    """The one that runs, or else the one that the learner left."""
    live: bool = False
    """True while it runs."""
    done: tuple[bool, ...] = ()
    """For each step of the lesson true if it is done; empty if that is not shown."""
    elapsed_seconds: float = 0.0
    """Since the run began."""
    job: Job | None = None
    """Its running job."""
    played_seconds: float = 0.0
    """Seconds that its earlier works have taken."""

    @property
    def stage(self) -> Stage:
        """The stage of the step."""
        if self.live or self.attempt.complete:
            return "running" if self.live else "done"
        return "broken" if self.attempt.trouble else "before"

    @property
    def works(self) -> tuple[Work, ...]:
        """All that it has run, or would run."""
        return self.attempt.works or self.figures.works

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the run ends, at most."""
        done, job = self.run.done if self.run is not None else 0, self.job
        here = self.run.setting if self.run is not None else self.setting
        begun = job is not None and not (here and here.grows_to)
        remaining = seconds_of(self.figures.works[done + begun :])
        if job is not None:
            # Before it has said anything there is its budget.
            budget = seconds_of([job.work] if job.work is not None else [])
            remaining += job.remaining_seconds if job.reported else budget
            reported = self.played_seconds + job.elapsed_seconds
            remaining -= max(0.0, self.elapsed_seconds - reported)
        return max(0.0, remaining)

    @property
    def step(self) -> Step:
        """The step of the lesson."""
        return self.lesson.steps[self.number]

    @property
    def asks(self) -> bool:
        """A prediction can be made."""
        return self.step.question is not None and self.stage in ("before", "broken")

    @property
    def title(self) -> str:
        """The number and title of the step."""
        return f"{self.number + 1}/{len(self.lesson.steps)} {self.step.title}"

    @property
    def conclusion(self) -> Conclusion | None:
        """The conclusion from its figures, once everything has run."""
        return self.figures.conclusion if self.stage == "done" else None

    # Its blocks.

    def heading(self, width: int) -> list[Line]:
        """The lesson, which steps of it are done, and where it is run."""
        dots = (Span("  "), *_pips(self.done)) if self.done else ()
        title: Line = (Span(self.lesson.title, "title"), *dots)
        room = width - len(plain(title))
        where = place(self.lesson, self.setting, room - 2)
        if room < len(where) + 2:
            return [title]
        return [(*title, Span(f"{where:>{room}}", "muted"))]

    def question(self, width: int, *, ticks: bool = False) -> list[Line]:
        """Write the facts that a prediction needs, and the question or the claim."""
        setup = prose(self.step.setup, _prose_width(width), ticks=ticks)
        return paragraphs([] if self.conclusion else setup, self.asked(width))

    def asked(self, width: int) -> list[Line]:
        """The question: what was predicted and, once it is known, what is right."""
        if self.step.question is None:
            return text_lines(f"Claim: {self.step.claim}", width, role="strong")
        lines = text_lines(self.step.question.text, width, role="strong")
        for index in range(len(self.step.question.choices)):
            lines += self._choice(index, width)
        return lines

    def _choice(self, index: int, width: int) -> list[Line]:
        question, predicted = self.step.question, index == self.attempt.prediction
        mark, role = ("●", "chosen") if predicted else ("○", "label")
        verdict = ""
        conclusion = self.conclusion
        if conclusion is not None and self._is_right(conclusion, index):
            verdict, role = "  ✓", "pass"
        elif predicted and self._is_wrong(conclusion):
            verdict, role = "  ✗", "fail"
        choice = question.choices[index] if question else ""
        text = f"{mark} {LETTERS[index]}  {choice}{verdict}"
        return text_lines(text, width, "      ", first=" ", role=role)

    def _is_right(self, conclusion: Conclusion, index: int) -> bool:
        """Return whether a choice is marked: the answer, or an allowed prediction."""
        predicted = self.attempt.prediction
        if predicted in conclusion.answers:
            return index == predicted
        return index == conclusion.answer and conclusion.graded

    def _is_wrong(self, conclusion: Conclusion | None) -> bool:
        """Return whether the figures contradict the prediction."""
        return (
            conclusion is not None
            and conclusion.graded
            and conclusion.answer is not None
            and self.attempt.prediction not in conclusion.answers
        )

    def choice_at(self, width: int, line: int) -> int | None:
        """The number, from 1, of the choice in a line of the question."""
        question = self.step.question
        if question is None:
            return None
        heights = [len(self._choice(i, width)) for i in range(len(question.choices))]
        line -= len(self.question(width)) - sum(heights)
        for number, height in enumerate(heights, 1):
            if 0 <= line < height:
                return number
            line -= height
        return None

    def verdict(self, width: int) -> list[Line]:
        """Write the result in a few lines; while it runs, its progress."""
        if self.stage == "running":
            return self._progress(width)
        why, conclusion = self.attempt.trouble, self.conclusion
        lines = text_lines(why, width, role="fail") if why else []
        if conclusion is None:
            return lines
        verdict = {
            True: "✓ Holds here",
            False: "✗ Does not hold here",
            None: "— Not shown here",
        }[conclusion.holds]
        claim = f"{verdict}: {self.step.claim}"
        role = ROLES[conclusion.holds]
        lines += text_lines(claim, width, "  ", first="", role=role)
        for doubt in conclusion.doubts:
            lines += text_lines(words.text(doubt), width, role="low")
        lines += self._prediction(conclusion, width)
        first = "".join(conclusion.sentences[:1])
        return lines + text_lines(first, width, role="strong")

    def _prediction(self, conclusion: Conclusion, width: int) -> list[Line]:
        """Write how the prediction turned out."""
        if self.step.question is None:
            return []
        choices, prediction = self.step.question.choices, self.attempt.prediction
        answer = conclusion.answer
        if prediction is None:
            verdict = "" if answer is None else f"Answer: {choices[answer]}"
            role = ""
        elif answer is None:
            verdict = (
                f"You predicted “{choices[prediction]}”; this machine gives no answer."
            )
            role = ""
        elif prediction in conclusion.answers:
            right = choices[prediction]
            verdict, role = f"Your prediction was right: {right}", "pass"
        elif not conclusion.graded:
            verdict = (
                f"You predicted “{choices[prediction]}”. This run cannot grade it. Run"
                " the step again."
            )
            role = "low"
        else:
            verdict = (
                f"You predicted “{choices[prediction]}”; it is “{choices[answer]}”."
            )
            role = "fail"
        return text_lines(verdict, width, role=role or "label") if verdict else []

    def _progress(self, width: int) -> list[Line]:
        left, elapsed, job = self.seconds_left, self.elapsed_seconds, self.job
        text = f"at most {math.ceil(left)} s left" if left else fmt.left(left)
        time = f" {elapsed:.0f} s, {text}"
        if self.step.trial.follow is not None and self.run is not None:
            # What comes next depends on what this run shows.
            time = f" {elapsed:.0f} s, run {self.run.done + 1}"
            elapsed = job.elapsed_seconds if job is not None else 0.0
        share = elapsed / (elapsed + left) if left else 1.0
        # A full bar would say that it is done.
        drawn = meter(share, max(width - len(time), 1)) if share < 1 else ()
        lines: list[Line] = [(*drawn, Span(time, "strong"))]
        lines += text_lines(job.doing if job is not None else "", width)
        prediction, question = self.attempt.prediction, self.step.question
        if prediction is not None and question is not None:
            words = f"You predicted: {question.choices[prediction]}"
            lines += text_lines(words, width, role="chosen")
        return lines

    def results(self, width: int) -> list[Line]:
        """All figures that are there, and the cases that have none."""
        outcome = self.run.outcome if self.run else NOTHING
        rows = self.figures.conclusion.rows if self.figures.conclusion else ()
        failures = (
            f"{failed.case.label}: {words.why(failed)}" for failed in outcome.failures
        )
        return paragraphs(
            [] if self.figures.picture else bars(outcome, width),
            table(rows, width),
            *(text_lines(why, width, "  ", first="", role="low") for why in failures),
        )

    def program(self, width: int) -> list[Line]:
        """Write the programs."""
        if self.setting is None:
            return text_lines("It depends on the device.", width, role="muted")
        return program(self.works, width)

    def steps(self, width: int) -> list[Line]:
        """Write the steps of its lesson."""
        done = self.done or [False] * len(self.lesson.steps)
        return steps(self.lesson, done, width, self.number)

    @property
    def has_program(self) -> bool:
        """True if it runs more than cases, which their bars name."""
        return any(not isinstance(work, Experiment) for work in self.works)

    def expected(self, width: int) -> list[Line]:
        """The bars of what will be timed, without figures."""
        return empty_bars(self.works, width)

    def explanation(self, width: int, *, ticks: bool = False) -> list[Line]:
        """Write the lesson's explanation, and the sources of the figures."""
        width, conclusion = _prose_width(width), self.conclusion
        more = ""
        if conclusion:
            reasons = map(words.sentence, conclusion.reasons)
            more = " ".join((*conclusion.sentences[1:], *reasons))
        return paragraphs(
            text_lines(more, width, role="strong") if more else [],
            prose(self.step.explanation, width, ticks=ticks),
            self._sources(width),
        )

    def _sources(self, width: int) -> list[Line]:
        """Write where the figures were measured, and the published ones."""
        lines: list[Line] = []
        if self.conclusion and self.run:
            there = self.run.setting
            where = filter(None, (there.device, machine(there.host, "hostname", "jax")))
            simulated = any(device.simulated for device in there.devices)
            note = " SIMULATED devices." if simulated else ""
            lines += text_lines(f"Yours: {', '.join(where)}.{note}", width)
        if self.step.source:
            lines += text_lines(f"Published: {self.step.source}", width)
        return lines

    # All of it as text.

    def opening(
        self, width: int, *, ticks: bool = True, first: bool = True
    ) -> list[Line]:
        """Write the part above the figures, on a command line.

        Args:
            width: cells.
            ticks: keep the backticks around code, where no style shows it.
            first: with the title of the lesson and what it is about.
        """
        summary = prose(self.lesson.summary, _prose_width(width))
        rule = "-" * len(self.title)
        return paragraphs(
            [*self.heading(width), *summary] if first else [],
            [(Span(self.title, "strong"),), (Span(rule, "muted"),)],
            prose(self.step.setup, _prose_width(width), ticks=ticks),
            self.program(width),
            self.asked(width) if self.step.question else [],
        )

    def ending(self, width: int, *, ticks: bool = True) -> list[Line]:
        """The verdict, the figures, and why."""
        return paragraphs(
            self.verdict(width),
            self.results(width),
            self.explanation(width, ticks=ticks),
        )

    def text(self) -> str:
        """All of it, to be taken away."""
        width = PROSE_COLUMNS
        lines = paragraphs(self.opening(width), self.ending(width))
        return "\n".join(plain(line).rstrip() for line in lines) + "\n"


def trouble_of(run: StepRun) -> str:
    """Return why a run came to nothing; empty for one that got to its end."""
    problem = run.outcome.problem
    if problem is None:
        return ""
    if run.outcome.stopped:
        return "Stopped: r runs the step again."
    prefix = "Incomplete: " if run.outcome.lost else ""
    return f"{prefix}{words.why(problem)}"


def takeaway(conclusion: Conclusion) -> str:
    """Return the conclusion of a step for a document; that others used the cores stands
    with its figures there.
    """
    doubts = (doubt for doubt in conclusion.doubts if doubt.code != "step-disturbed")
    reasons = map(words.sentence, conclusion.reasons)
    return " ".join((*conclusion.sentences, *reasons, *map(words.text, doubts)))


def place(lesson: Lesson, setting: Setting | None, room: int) -> str:
    """Size and device, with what the size means if there is room for it."""
    if setting is None:
        return ""
    if not lesson.size_means:
        return setting.device
    size = fmt.size(setting.size) + (" or more" if setting.grows_to else "")
    long = f"{lesson.size_means}: {size} · {setting.device}"
    return long if len(long) <= room else f"size {size} · {setting.device}"


def _prose_width(width: int) -> int:
    return min(width, PROSE_COLUMNS)


def program(works: Sequence[Work], width: int) -> list[Line]:
    """Write the works of a step: programs with their parts, cases, loops."""
    return paragraphs(*(list(_work(work, width)) for work in works))


def _work(work: Work, width: int) -> Iterator[Line]:
    if isinstance(work, Snippet):
        yield from text_lines(f"# {work.title}", width, "# ", first="", role="muted")
        for line in re.sub(r"\n{2,}", "\n\n", work.setup.rstrip("\n")).split("\n"):
            yield (Span(line, "code"),)
        for part in work.parts:
            kind = "time" if isinstance(part, Timed) else "show"
            yield (Span(f"# {kind}: {part.name}", "muted"),)
            for line in part.code.split("\n"):
                yield (Span(line, "code"),)
    elif isinstance(work, Experiment):
        for case in work.cases:
            yield Span("time  ", "muted"), Span(case.label, "code")
    elif isinstance(work, Loop):
        yield (Span(f"# {work.case.label}", "muted"),)
        yield (Span(f"for _ in range({work.calls}):", "code"),)
        yield (Span(f"    y = {work.case.op}({'y' if work.chained else 'x'})", "code"),)
        if line := _WAITING[work.style]:
            yield (Span(line, "code"),)


_WAITING = {
    "never": "",
    "end": "y.block_until_ready()",
    "each": "    y.block_until_ready()",
}
"""The line of a loop in which the host waits."""


# Figures.


def bars(outcome: Outcome, width: int) -> list[Line]:
    """Draw the times so far as bars to one scale, in one unit unless far apart.

    Empty where there are not two times to compare.
    """
    times = [
        *(
            (name, t.seconds.median, "device", not t.once and t.seconds.vague)
            for name, t in outcome.timings.items()
        ),
        *_cases(outcome),
        *_loops(outcome),
    ]
    most = max((seconds for _, seconds, *_ in times), default=0.0)
    if len(times) < 2 or not most:
        return []
    unit = fmt.shared(seconds for _, seconds, *_ in times)
    texts = [unit.whole(seconds) for _, seconds, *_ in times]
    name = min(max(len(name) for name, *_ in times), width // 2)
    text = max(map(len, texts))
    room = max(width - name - text - 4, _NARROWEST)
    return [
        (
            Span(f"{fmt.shorten(label, name):{name}}  "),
            Span(f"{figure:>{text}}  ", "unknown" if vague else "strong"),
            Span(bar(seconds / most, room) or "▏", role),
        )
        for (label, seconds, role, vague), figure in zip(times, texts, strict=True)
    ]


def empty_bars(works: Sequence[Work], width: int) -> list[Line]:
    """Draw a bar without a length for each future time."""
    names = list[str]()
    for work in works:
        if isinstance(work, Snippet):
            names += [part.name for part in work.parts if isinstance(part, Timed)]
        elif isinstance(work, Experiment):
            cases = sorted(work.cases, key=lambda case: (case.size, case.label))
            whole = [case.label for case in cases]
            fits = max(map(len, whole), default=0) <= width // 2
            names += whole if fits else _unlike([case.words for case in cases])
        elif isinstance(work, Loop):
            names += [f"{WAITS[work.style]}: {clock}" for clock in _CLOCKS]
    name = min(max(map(len, names), default=0), width // 2)
    room = max(width - name - 5, _NARROWEST)
    return [
        (
            Span(f"{fmt.shorten(label, name):{name}}  "),
            Span("?", "strong"),
            Span(f"  {'·' * room}", "muted"),
        )
        for label in names
    ]


def _unlike(labels: Sequence[Sequence[str]]) -> list[str]:
    """Return the words of each label that not all of them have."""
    common = set[str]().union(*labels[:1]).intersection(*labels[1:])
    if len(labels) == 1:
        common = set()
    return [" ".join(word for word in label if word not in common) for label in labels]


def _cases(outcome: Outcome) -> Iterator[tuple[str, float, str, bool]]:
    """Cases by the words of their labels that not all of them have, their seconds,
    colour, and whether these are vague.

    What was interpreted is left out: its time says nothing about speed.
    """
    cases = [
        measured
        for measured in outcome.measurements
        if measured.ready is not None and not measured.has("interpreted")
    ]
    # Not in the order in which they arrive, so that no bar changes its place.
    cases.sort(key=lambda measured: (measured.case.size, measured.case.label))
    labels = _unlike([measured.case.words for measured in cases])
    for measured, label in zip(cases, labels, strict=True):
        if measured.ready is not None:
            role = measured.case.mode if measured.case.mode in SERIES else "device"
            yield label, measured.ready.median, role, measured.ready.vague


def _loops(outcome: Outcome) -> Iterator[tuple[str, float, str, bool]]:
    for loop in outcome.loops:
        waits, clock = WAITS[loop.loop.style], loop.undisturbed
        times = clock.stopwatch_seconds, clock.true_seconds
        for name, seconds, role in zip(_CLOCKS, times, ("host", "device"), strict=True):
            yield f"{waits}: {name}", seconds, role, False


_CLOCKS = ("stopwatch", "all results")
"""The clocks of a loop: the stopwatch, and the time when all results are ready."""


# The table.


def cell_text(cell: fmt.Cell | Remark) -> str:
    """A cell in its own unit."""
    return words.sentence(cell) if isinstance(cell, Remark) else str(cell)


def _written(rows: Sequence[Row]) -> list[tuple[str, str, str, str]]:
    """Write the cells from left to right, alike in their units."""
    figures = (cell for row in rows for cell in row.figures)
    write = fmt.alike(cell for cell in figures if not isinstance(cell, Remark))
    return [
        row.texts(
            lambda cell: cell_text(cell) if isinstance(cell, Remark) else write(cell)
        )
        for row in rows
    ]


def table(rows: Sequence[Row], width: int) -> list[Line]:
    """The learner's figures beside the published ones, remarks where they are short."""
    if not rows:
        return []
    texts = _written(rows)
    head = ("", "yours", "published")[: 3 if any(row[2] for row in texts) else 2]
    widths = _widths([head, *(row[: len(head)] for row in texts)], width)
    room = width - sum(widths) - 2 * len(widths)
    below, beside = list[Line](), list[Line]()
    for row, (*cells, remark) in zip(rows, texts, strict=True):
        below += _row(cells[: len(head)], widths, len(head), row.vague)
        if remark:
            below += text_lines(remark, width, "    ", role="muted")
        if room >= _REMARK:
            cells = [*cells[: len(head)], remark]
            beside += _row(cells, (*widths, room), len(head), row.vague)
    fits = room >= _REMARK and len(beside) <= len(below)
    heads = Span(_cells_of(head, widths)[0].rstrip(), "head")
    return [(heads,), *(beside if fits else below)]


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the columns' widths: those of the texts, or less where they must be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cells_of(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of one row, its cells wrapped within their columns."""
    cells = [
        [
            line
            for part in text.split("\n")
            for line in textwrap.wrap(part, cell) or [""]
        ]
        for text, cell in zip(texts, widths, strict=True)
    ]
    height = max(map(len, cells))
    padded = [cell + [""] * (height - len(cell)) for cell in cells]
    return [
        "  ".join(text.ljust(cell) for text, cell in zip(line, widths, strict=True))
        for line in zip(*padded, strict=True)
    ]


def _row(
    texts: Sequence[str], widths: Sequence[int], columns: int, vague: bool
) -> Iterator[Line]:
    """A row whose figures stand out from what they are figures of, and the remark.

    Args:
        texts: its cells, perhaps with the remark.
        widths: of each.
        columns: that come before the remark.
        vague: the learner's figure is not known to within a third.
    """
    ends = list(accumulate(width + 2 for width in widths))
    own, remark = ends[1], ends[columns - 1]
    roles = ("label", "unknown" if vague else "strong", "label", "muted")
    places = (0, ends[0], own, remark, sys.maxsize)
    for text in _cells_of(texts, widths):
        line = text.rstrip()
        pieces = (line[begin:end] for begin, end in pairwise(places))
        yield tuple(
            Span(piece, role)
            for piece, role in zip(pieces, roles, strict=True)
            if piece
        )


# Lines.


def text_lines(
    text: str,
    width: int,
    indent: str = "",
    *,
    first: str | None = None,
    role: str = "label",
) -> list[Line]:
    """The lines of a text; each of its paragraphs begins a new one.

    Args:
        text: what to break.
        width: cells.
        indent: of each line.
        first: of the first line of a paragraph, if that is another one.
        role: of all of it.
    """
    width, first = max(width, _NARROWEST), indent if first is None else first
    return [
        (Span(plain(line), role),)
        for paragraph in text.split("\n")
        for line in fold((Span(paragraph, role),), width, first, indent) or [()]
    ]


def paragraphs(*parts: Sequence[Line]) -> list[Line]:
    """Join the parts that are not empty, with an empty line between."""
    lines: list[Line] = []
    for part in filter(None, parts):
        lines += [*([()] if lines else []), *part]
    return lines


# Prose.


def prose(text: str, width: int, *, ticks: bool = False) -> list[Line]:
    """The text in lines of at most ``width`` cells, an empty one between blocks.

    Code keeps its lines, however long; inline code is not broken where it fits.

    Args:
        text: as ``Step.setup``.
        width: cells.
        ticks: keep the backticks around inline code, where no style shows it.
    """
    parts: list[list[Line]] = []
    for part in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines = [line.rstrip() for line in part.split("\n") if line.strip()]
        for code, group in groupby(lines, lambda line: line.startswith(CODE_INDENT)):
            if code:
                parts.append([(Span(line, "block"),) for line in group])
            else:
                paragraph = " ".join(" ".join(group).split())
                parts.append(_paragraph(paragraph, width, ticks))
    return paragraphs(*parts)


def _paragraph(text: str, width: int, ticks: bool) -> list[Line]:
    """Fill lines with words."""
    spans: list[Span] = []
    for index, piece in enumerate(re.split(r"(`[^`]+`)", text)):
        code = index % 2 == 1
        inner = piece if ticks or not code else piece[1:-1]
        if code and len(inner) <= width:
            inner = inner.replace(" ", _NO_BREAK)
        if inner:
            spans.append(Span(inner, "code" if code else "label"))
    return [
        tuple(Span(span.text.replace(_NO_BREAK, " "), span.role) for span in line)
        for line in fold(tuple(spans), width)
    ]
