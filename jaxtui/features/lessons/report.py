"""Learn: the list of lessons, and a step as a page, for a screen and as text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Literal

import msgspec
from msgspec.structs import replace
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Markdown, TextElement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Experiment, Loop, Remark, Snippet, Timed, Work
from jaxtui.core.state import Job
from jaxtui.core.text import Painted, join_painted
from jaxtui.core.wording import WAITS
from jaxtui.features.lessons.base import PROSE_COLUMNS, Conclusion, Row, Setting
from jaxtui.features.lessons.course import NOT_TRIED, Attempt, seconds_of
from jaxtui.features.lessons.figures import NOTHING, Outcome
from jaxtui.features.lessons.play import StepRun, conclude
from jaxtui.features.lessons.trial import Lesson, Step
from jaxtui.ui import words
from jaxtui.ui.documents import machine
from jaxtui.ui.plot import SERIES, Color, Picture, Series
from jaxtui.ui.report import Column, Fitted, Rows, styled, written
from jaxtui.ui.text import bar

ROLES = {True: "pass", False: "fail", None: "low"}
"""The roles of a claim that holds, fails, or is undecided here."""

LETTERS = "abcd"
"""The keys of the choices of a question, in their order."""

_NARROWEST = 10
"""Cells that a bar keeps, however long the other texts are."""


def apart(*blocks: RenderableType) -> RenderableType:
    """Join the blocks that are not empty, with an empty line between."""
    shown = [part for block in blocks if block for part in ("", block)]
    return Group(*shown[1:]) if shown else ""


def _hanging(mark: str, text: str, role: str) -> Table:
    """A text whose lines stand beside a mark."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_row(styled(mark, role), styled(text, role))
    return grid


class _Code(TextElement):
    """A block of code, whose lines are indented and never filled."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        lines = self.text.plain.rstrip().split("\n")
        code = "\n".join(f"    {line}" for line in lines)
        yield Text(code, "block")


class Prose(Markdown):
    """The texts of a lesson."""

    elements: ClassVar = {**Markdown.elements, "code_block": _Code}


# The list.


def _pips(done: Sequence[bool], most: int = 0) -> Text:
    """A dot for each step, filled where the step is done, and the count.

    Args:
        done: of each step, whether it is.
        most: steps of the longest lesson, for a column.
    """
    full, count = sum(done), len(done)
    dots = "".join("●" if complete else "○" for complete in done).ljust(most)
    role = "pass" if full == count else "chosen" if full else "muted"
    return Text.assemble((dots, role), (f" {full}/{count}", "muted"))


def entries(
    lessons: Sequence[Lesson],
    done: Sequence[Sequence[bool]],
    seconds: Sequence[float | None] = (),
) -> list[Text]:
    """The list: of each lesson its number, title, and which steps are done.

    Args:
        lessons: all of them.
        done: of each step of each lesson, whether it is done.
        seconds: what each lesson takes at most, where it is known.
    """
    most = max(map(len, done), default=0)
    longest = max((len(lesson.title) for lesson in lessons), default=0)
    texts = [f"{f'~{s:.0f} s':>8}" if s else "" for s in seconds] or [""] * len(lessons)
    return [
        Text.assemble(
            ("✓" if all(steps) else " ", "pass"),
            (f" {number:2}  {lesson.title:{longest}}  ", "strong"),
            _pips(steps, most),
            (text, "muted"),
        )
        for number, (lesson, steps, text) in enumerate(
            zip(lessons, done, texts, strict=True), 1
        )
    ]


def about(lesson: Lesson) -> RenderableType:
    """Write the summary of a lesson, and its needs."""
    needs = f"\nNeeds: {lesson.needs}" if lesson.needs else ""
    return Text(f"{lesson.summary}{needs}")


def contents(lessons: Sequence[Lesson], done: Sequence[Sequence[bool]]) -> Group:
    """The list with what each lesson is about."""
    lines: list[RenderableType] = []
    for entry, lesson in zip(entries(lessons, done), lessons, strict=True):
        how = Text.assemble("As text: ", (f"jaxtui learn {lesson.name}", "strong"))
        more = Padding(Group(about(lesson), how), (0, 0, 0, 6))
        lines += [entry, more]
    return Group(*lines)


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
        conclusion = None if live else conclude(step, run.setting, run.outcome)
        picture = step.trial.picture(step.figures(run.setting, run.outcome))
        if picture is not None:
            picture = replace(picture, series=tuple(_coloured(picture, colors)))
        return cls(works, conclusion, picture)


_SIDES = {
    "BCOO": "device",
    "JAX": "jit",
    "JAX, eager": "eager",
    "JAX, jit": "jit",
    "NumPy": "numpy",
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
        return self.stage in ("before", "broken")

    @property
    def title(self) -> str:
        """The number and title of the step."""
        return f"{self.number + 1}/{len(self.lesson.steps)} {self.step.title}"

    @property
    def conclusion(self) -> Conclusion | None:
        """The conclusion from its figures, once everything has run."""
        return self.figures.conclusion if self.stage == "done" else None

    # Its blocks.

    def heading(self) -> RenderableType:
        """The lesson, which steps of it are done, and where it is run."""
        return Fitted(self._heading)

    def _heading(self, width: int) -> Iterator[Text]:
        title = Text.assemble((self.lesson.title, "title"))
        if self.done:
            title.append("  ").append_text(_pips(self.done))
        room = width - title.cell_len
        where = place(self.lesson, self.setting, room - 2)
        if len(where) + 2 <= room:
            title.append(f"{where:>{room}}", "muted")
        yield title

    @property
    def setup(self) -> RenderableType:
        """The facts that a prediction needs."""
        return Prose(self.step.setup)

    @property
    def prompt(self) -> Text:
        """The question."""
        return styled(self.step.question.text, "strong")

    def choices(self) -> list[RenderableType]:
        """The choices: what was predicted and, once it is known, what is right."""
        texts = enumerate(self.step.question.choices)
        return [self._choice(index, text) for index, text in texts]

    def _choice(self, index: int, text: str) -> RenderableType:
        predicted = index == self.attempt.prediction
        mark, role = ("●", "chosen") if predicted else ("○", "label")
        conclusion = self.conclusion
        if conclusion is not None and self._is_right(conclusion, index):
            text, role = f"{text}  ✓", "pass"
        elif predicted and self._is_wrong(conclusion):
            text, role = f"{text}  ✗", "fail"
        return _hanging(f" {mark} {LETTERS[index]} ", text, role)

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

    def verdict(self) -> RenderableType:
        """Write the result in a few lines; while it runs, its progress."""
        if self.stage == "running":
            return self._progress()
        conclusion = self.conclusion
        lines: list[RenderableType] = []
        if self.attempt.trouble:
            lines.append(styled(self.attempt.trouble, "fail"))
        if conclusion is not None:
            mark, verdict = {
                True: ("✓", "Holds here"),
                False: ("✗", "Does not hold here"),
                None: ("—", "Not shown here"),
            }[conclusion.holds]
            claim = f"{verdict}: {self.step.claim}"
            lines.append(_hanging(mark, claim, ROLES[conclusion.holds]))
            lines += [styled(words.text(doubt), "low") for doubt in conclusion.doubts]
            lines += self._prediction(conclusion)
            lines += [styled(line, "strong") for line in conclusion.sentences[:1]]
        return Group(*lines) if lines else ""

    def _prediction(self, conclusion: Conclusion) -> list[Text]:
        """Write how the prediction turned out."""
        choices, prediction = self.step.question.choices, self.attempt.prediction
        answer = conclusion.answer
        if prediction is None:
            return [] if answer is None else [styled(f"Answer: {choices[answer]}")]
        predicted = f"You predicted “{choices[prediction]}”"
        if answer is None:
            return [styled(f"{predicted}; this machine gives no answer.")]
        if prediction in conclusion.answers:
            right = f"Your prediction was right: {choices[prediction]}"
            return [styled(right, "pass")]
        if not conclusion.grades(prediction):
            again = "This run cannot grade it. Run the step again."
            return [styled(f"{predicted}. {again}", "low")]
        return [styled(f"{predicted}; it is “{choices[answer]}”.", "fail")]

    def _progress(self) -> RenderableType:
        left, elapsed, job = self.seconds_left, self.elapsed_seconds, self.job
        text = f"at most {math.ceil(left)} s left" if left else fmt.left(left)
        time = f" {elapsed:.0f} s, {text}"
        if self.step.trial.follow is not None and self.run is not None:
            # What comes next depends on what this run shows.
            time = f" {elapsed:.0f} s, run {self.run.done + 1}"
            elapsed = job.elapsed_seconds if job is not None else 0.0
        share = elapsed / (elapsed + left) if left else 1.0

        def meter(width: int) -> Iterator[Text]:
            room = max(width - len(time), 1)
            # A full bar would say that it is done.
            drawn = bar(share, room).ljust(room, "░") if share < 1 else ""
            yield Text.assemble((drawn, "device"), (time, "strong"))

        lines: list[RenderableType] = [Fitted(meter)]
        if job is not None and job.doing:
            lines.append(styled(job.doing))
        prediction = self.attempt.prediction
        if prediction is not None:
            prediction_text = f"You predicted: {self.step.question.choices[prediction]}"
            lines.append(styled(prediction_text, "chosen"))
        return Group(*lines)

    def results(self) -> RenderableType:
        """All figures that are there, and the cases that have none."""
        outcome = self.run.outcome if self.run else NOTHING
        rows = self.figures.conclusion.rows if self.figures.conclusion else ()
        failures = (
            styled(f"{failed.case.label}: {words.why(failed)}", "low")
            for failed in outcome.failures
        )
        drawn = "" if self.figures.picture else bars(outcome)
        return apart(drawn, table(rows), *failures)

    def program(self) -> RenderableType:
        """Write the programs."""
        if self.setting is None:
            return Text("It depends on the device.", "muted")
        return apart(*map(program, self.figures.works))

    def explanation(self) -> RenderableType:
        """Write the lesson's explanation, and the sources of the figures."""
        conclusion, more = self.conclusion, ""
        if conclusion:
            reasons = map(words.sentence, conclusion.reasons)
            more = " ".join((*conclusion.sentences[1:], *reasons))
        return apart(
            styled(more, "strong"), Prose(self.step.explanation), self._sources()
        )

    def _sources(self) -> RenderableType:
        """Write where the figures were measured, and the published ones."""
        lines: list[Text] = []
        if self.conclusion and self.run:
            there = self.run.setting
            where = filter(None, (there.device, machine(there.host, "hostname", "jax")))
            simulated = any(device.simulated for device in there.devices)
            note = " SIMULATED devices." if simulated else ""
            lines.append(styled(f"Yours: {', '.join(where)}.{note}"))
        if self.step.source:
            lines.append(styled(f"Published: {self.step.source}"))
        return Group(*lines) if lines else ""

    # All of it as text.

    def opening(
        self, write: Callable[[RenderableType], Painted], *, first: bool = True
    ) -> Painted:
        """Write the part above the figures, on a command line.

        Args:
            write: all but the programs, whose lines stay as they are.
            first: with the title of the lesson and what it is about.
        """
        summary = Group(self.heading(), Text(self.lesson.summary)) if first else ""
        rule = Text("-" * len(self.title), "muted")
        title = Group(Text(self.title, "strong"), rule)
        code = (program(work).plain for work in self.figures.works)
        before = write(apart(summary, title, self.setup))
        question = write(Group(self.prompt, *self.choices()))
        return join_painted((before, *code, question), "\n\n")

    def ending(self) -> RenderableType:
        """The verdict, the figures, and why."""
        return apart(self.verdict(), self.results(), self.explanation())

    def text(self) -> str:
        """All of it, to be taken away."""

        def write(block: RenderableType) -> Painted:
            return written(block, PROSE_COLUMNS)

        return f"{self.opening(write)}\n\n{write(self.ending())}\n"


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


def program(work: Work) -> Text:
    """Write a work of a step: a program with its parts, cases, or a loop."""
    lines: list[tuple[str, str]] = []
    if isinstance(work, Snippet):
        lines.append((f"# {work.title}", "muted"))
        lines.append((re.sub(r"\n{2,}", "\n\n", work.setup.rstrip("\n")), "code"))
        for part in work.parts:
            kind = "time" if isinstance(part, Timed) else "show"
            lines += [(f"# {kind}: {part.name}", "muted"), (part.code, "code")]
    elif isinstance(work, Experiment):
        lines += [(f"# time: {case.label}", "code") for case in work.cases]
    elif isinstance(work, Loop):
        loop = f"for _ in range({work.calls}):"
        call = f"    y = {work.case.op}({'y' if work.chained else 'x'})"
        wait = _WAITING[work.style]
        lines = [(f"# {work.case.label}", "muted"), (loop, "code"), (call, "code")]
        lines += [(wait, "code")] if wait else []
    return Text("\n").join(Text(line, role) for line, role in lines)


_WAITING = {
    "never": "",
    "end": "y.block_until_ready()",
    "each": "    y.block_until_ready()",
}
"""The line of a loop in which the host waits."""


# Figures.


def bars(outcome: Outcome) -> RenderableType:
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
        return ""
    unit = fmt.shared(seconds for _, seconds, *_ in times)
    texts = [
        f"~{unit.whole(seconds, 2)}" if vague else unit.whole(seconds)
        for _, seconds, _, vague in times
    ]
    text = max(map(len, texts))

    def lines(width: int) -> Iterator[Text]:
        name = min(max(len(name) for name, *_ in times), width // 2)
        room = max(width - name - text - 4, _NARROWEST)
        for (label, seconds, role, vague), figure in zip(times, texts, strict=True):
            yield Text.assemble(
                f"{fmt.shorten(label, name):{name}}  ",
                (f"{figure:>{text}}  ", "unknown" if vague else "strong"),
                (bar(seconds / most, room) or "▏", role),
            )

    return Fitted(lines)


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


def table(rows: Sequence[Row]) -> RenderableType:
    """The learner's figures beside the published ones, alike in their units."""
    if not rows:
        return ""
    cells = (cell for row in rows for cell in row.figures)
    write = fmt.alike(cell for cell in cells if not isinstance(cell, Remark))
    texts = [
        row.texts(lambda c: cell_text(c) if isinstance(c, Remark) else write(c))
        for row in rows
    ]
    what, yours, published, remarks = zip(*texts, strict=True)
    roles = ("unknown" if row.vague else "strong" for row in rows)
    columns = [
        Column("", what),
        Column("yours", [*map(styled, yours, roles)], grows=True),
        Column("published", published, grows=True),
        Column("", [styled(text, "muted") for text in remarks], grows=True),
    ]
    return Rows([column for column in columns if any(column.cells)])
