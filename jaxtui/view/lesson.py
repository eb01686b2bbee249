"""What a lesson says, laid out for a width: the list, a step, and what came of it.

Spans have the roles ``title``, ``strong``, ``muted``, ``code``, ``block`` (a line of
code), ``head``, ``chosen``, ``pass``, ``fail`` and ``low``; those of bars are
``device``, ``host`` and ``numpy``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from jaxtui import format as fmt
from jaxtui.lessons.base import PROSE_COLUMNS, Conclusion, Question, Row, Setting
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.trial import Lesson, Step
from jaxtui.model import Experiment, Failure, Loop, Snippet, Timed, Work, explanation
from jaxtui.view.document import machine
from jaxtui.view.text import Column, Line, Span, bar, fit, fold, plain

VERDICTS = {
    True: ("✓ Holds here: ", "pass"),
    False: ("✗ Does not hold here: ", "fail"),
    None: ("— Not shown here: ", "low"),
}
"""What can become of a claim, and its role."""

CODE_INDENT = "    "
"""A line of prose that begins with it is code."""

_NO_BREAK = "\xa0"

_REMARK = 20
"""Cells that a column of remarks needs; with fewer they stand below their rows."""

_NARROWEST = 10
"""Cells that a column keeps, however long the texts of the others are."""


# The list.


def pips(done: Sequence[bool], most: int = 0) -> Line:
    """A dot for each step, filled where the step is done, and the count.

    Args:
        done: of each step, whether it is.
        most: steps of the longest lesson, for a column.
    """
    full, count = sum(done), len(done)
    dots = "".join("●" if one else "○" for one in done).ljust(most)
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
        Column("done", "", [pips(steps, most) for steps in done]),
    ]
    if any(seconds):
        times = [(Span(f"~{one:.0f} s" if one else "", "muted"),) for one in seconds]
        columns.append(Column("time", "", times, rank=1, right=True))
    table = fit(columns, width)
    found: list[list[Line]] = []
    for row, lesson in enumerate(lessons):
        cells = (table.cell(row, place) for place in range(len(table.columns)))
        line = tuple(span for cell in cells for span in (*cell, Span("  ")))[:-1]
        summary = (Span(f"      {lesson.summary}", "muted"),)
        found.append([line, summary] if wide else [line])
    return found


def about(lesson: Lesson, width: int, indent: str = "") -> list[Line]:
    """What a lesson is about, and what it needs."""
    needs = [f"Needs: {lesson.needs}"] if lesson.needs else []
    return text_lines("\n".join([lesson.summary, *needs]), width, indent)


def steps(lesson: Lesson, done: Sequence[bool], width: int) -> list[Line]:
    """The titles of its steps, those that are done with a mark."""
    return [
        line
        for number, (step, complete) in enumerate(zip(lesson.steps, done, strict=True))
        for line in text_lines(
            f"{'✓' if complete else '○'} {number + 1}  {step.title}",
            width,
            "     ",
            first="",
            role="pass" if complete else "label",
        )
    ]


def contents(
    lessons: Sequence[Lesson], done: Sequence[Sequence[bool]], width: int
) -> list[Line]:
    """The list with what each lesson is about."""
    found: list[Line] = []
    for entry, lesson in zip(entries(lessons, done, width), lessons, strict=True):
        how = Span(f"{'':6}As text: "), Span(f"jaxtui learn {lesson.name}", "strong")
        found += [*entry, *about(lesson, width, " " * 6), how]
    return found


# A step before it runs.


def heading(
    lesson: Lesson, number: int, setting: Setting | None, width: int
) -> list[Line]:
    """The lesson and where it is run; the step and its number, counted from 1."""
    title = lesson.title
    where = place(lesson, setting, width - len(title) - 2)
    gap = " " * max(2, width - len(title) - len(where))
    count = f"{number}/{len(lesson.steps)}"
    step = lesson.steps[number - 1].title
    return [
        (Span(title, "title"), Span(f"{gap}{where}".rstrip())),
        (Span(f"{count}  {step}", "strong"),),
    ]


def place(lesson: Lesson, setting: Setting | None, room: int) -> str:
    """Size and device, with what the size means if there is room for it."""
    if setting is None:
        return ""
    if not lesson.size_means:
        return setting.device
    size = fmt.size(setting.size)
    long = f"{lesson.size_means}: {size} · {setting.device}"
    return long if len(long) <= room else f"size {size} · {setting.device}"


def question(
    question: Question, prediction: int | None, answer: int | None, width: int
) -> list[Line]:
    """What is to be predicted, the prediction and, once it is known, what is right."""
    found = text_lines(question.text, width, role="strong")
    for index, choice in enumerate(question.choices):
        mark = "●" if index == prediction else "○"
        role = "chosen" if index == prediction else "label"
        verdict = ""
        if index == answer:
            verdict, role = "  ✓", "pass"
        elif answer is not None and index == prediction:
            verdict, role = "  ✗", "fail"
        text = f"{mark} {index + 1}  {choice}{verdict}"
        found += text_lines(text, width, "      ", first=" ", role=role)
    return found


def program(works: Sequence[Work], width: int) -> list[Line]:
    """What a step runs: programs with what is timed and shown in them, cases, loops."""
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


# What came out.


def bars(outcome: Outcome, width: int) -> list[Line]:
    """What was timed so far as bars to one scale, in one unit unless far apart.

    Empty where there are not two times to compare.
    """
    times = [
        *(
            (name, one.seconds.median, "device", not one.once and one.seconds.vague)
            for name, one in outcome.timings.items()
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


def _cases(outcome: Outcome) -> Iterator[tuple[str, float, str, bool]]:
    """Cases by the words of their labels that not all of them have, their seconds,
    colour, and whether these are vague.

    A single one is shown with either memory, where they differ. What was interpreted
    is left out: its time says nothing about speed.
    """
    found = [
        one
        for one in outcome.measurements
        if one.ready is not None and not one.has("interpreted")
    ]
    # Not in the order in which they arrive, so that no bar changes its place.
    found.sort(key=lambda one: (one.case.size, one.case.label))
    if len(found) == 1 and (span := found[0].memory) is not None:
        yield "reused memory", span.reused, "numpy", False
        yield "fresh memory", span.fresh, "numpy", False
        return
    words = [set(one.case.words) for one in found]
    common = set.intersection(*words) if len(words) > 1 else set()
    for one in found:
        label = " ".join(word for word in one.case.words if word not in common)
        if one.ready is not None:
            role = "numpy" if one.case.on_host else "device"
            yield label, one.ready.median, role, one.ready.vague


def _loops(outcome: Outcome) -> Iterator[tuple[str, float, str, bool]]:
    for one in outcome.loops:
        waits, clock = one.loop.waits, one.undisturbed
        yield f"{waits}: stopwatch", clock.stopwatch_seconds, "host", False
        yield f"{waits}: all results", clock.true_seconds, "device", False


def verdict(
    step: Step, conclusion: Conclusion, prediction: int | None, width: int
) -> list[Line]:
    """What has become of the claim, why to doubt that, and of the prediction."""
    mark, role = VERDICTS[conclusion.holds]
    found = text_lines(f"{mark}{step.claim}", width, "  ", first="", role=role)
    for doubt in conclusion.doubts:
        found += text_lines(doubt.text, width, role="low")
    if step.question is None:
        return found
    choices, answer = step.question.choices, conclusion.answer
    made = None if prediction is None else choices[prediction]
    if answer is None:
        said = f"You predicted “{made}”; there is no answer from this machine."
        return found + (text_lines(said, width) if made else [])
    right = choices[answer]
    if made is None:
        return found + text_lines(f"Answer: {right}", width)
    if prediction == answer:
        said = f"Your prediction was right: {right}"
        return found + text_lines(said, width, role="pass")
    said = f"You predicted “{made}”; it is “{right}”."
    return found + text_lines(said, width, role="fail")


def results(
    step: Step,
    conclusion: Conclusion,
    failures: Sequence[Failure],
    prediction: int | None,
    width: int,
) -> list[Line]:
    """All that came out: verdict, figures, the takeaway, and what failed."""
    return paragraphs(
        verdict(step, conclusion, prediction, width),
        table(conclusion.rows, width),
        text_lines(" ".join(conclusion.sentences), min(width, PROSE_COLUMNS + 20)),
        *(failure(one, width) for one in failures),
    )


def failure(found: Failure, width: int) -> list[Line]:
    """A case without a figure, and why."""
    text = f"{found.case.label}: {explanation(found)}"
    return text_lines(text, width, "  ", first="", role="low")


def trouble(sentence: str, width: int) -> list[Line]:
    """Why there is no conclusion, or not all of it."""
    return text_lines(sentence, width, role="fail")


def source(step: Step, setting: Setting | None, width: int) -> list[Line]:
    """Where the figures were measured: the learner's, and the published ones."""
    found: list[Line] = []
    if setting is not None:
        machine_text = machine(setting.host, "hostname", "jax")
        where = ", ".join(filter(None, (setting.device, machine_text)))
        simulated = any(device.simulated for device in setting.devices)
        remark = " SIMULATED devices." if simulated else ""
        found += text_lines(f"Yours: {where}.{remark}", width)
    if step.source:
        found += text_lines(f"Published: {step.source}", width)
    return found


def paragraphs(*parts: Sequence[Line]) -> list[Line]:
    """What there is of them, an empty line between."""
    found: list[Line] = []
    for part in filter(None, parts):
        found += [*([()] if found else []), *part]
    return found


# A step as a text, for a terminal and to be taken away.


def opening(
    lesson: Lesson,
    number: int,
    setting: Setting | None,
    works: Sequence[Work],
    prediction: int | None = None,
    answer: int | None = None,
    *,
    first: bool = True,
) -> list[Line]:
    """What a step says before it runs.

    Args:
        lesson: whose step.
        number: of the step, counted from 1.
        setting: where it is run.
        works: what runs.
        prediction: index of the choice that was made.
        answer: index of the one that is right, once that is known.
        first: with the title of the lesson and what it is about.
    """
    width, step = PROSE_COLUMNS, lesson.steps[number - 1]
    title, name = heading(lesson, number, setting, width)
    asked = step.question
    return paragraphs(
        [title, *prose(lesson.summary, width)] if first else [],
        [name, (Span("-" * len(plain(name))),)],
        prose(step.setup, width, ticks=True),
        program(works, width),
        question(asked, prediction, answer, width) if asked else [],
    )


def ending(
    step: Step, setting: Setting | None, found: Sequence[Line], problem: str
) -> list[Line]:
    """What a step says of its run: why it has no result, what came out, and why.

    Args:
        step: which one.
        setting: where it was run; ``None`` if nothing came of that.
        found: as ``results``.
        problem: why there is no result, or not all of it.
    """
    width = PROSE_COLUMNS
    return paragraphs(
        trouble(problem, width) if problem else [],
        found,
        prose(step.explanation, width, ticks=True),
        source(step, setting, width),
    )


# The table.


def table(rows: Sequence[Row], width: int) -> list[Line]:
    """The learner's figures beside the published ones, remarks where they are short."""
    if not rows:
        return []
    write = fmt.alike(cell for row in rows for cell in row.figures)
    found = [row.texts(write) for row in rows]
    head = ("", "yours", "published")[: 3 if any(row[2] for row in found) else 2]
    cells = [row[: len(head)] for row in found]
    widths = _widths([head, *cells], width)
    below: list[Line] = []
    for texts, (*_, remark) in zip(cells, found, strict=True):
        below += [_figures(line, widths) for line in _cells_of(texts, widths)]
        if remark:
            below += text_lines(remark, width, "    ", role="muted")
    lines, rest = below, width - sum(widths) - 2 * len(widths)
    if rest >= _REMARK:
        beside = [
            _figures(line, widths)
            for texts, (*_, remark) in zip(cells, found, strict=True)
            for line in _cells_of((*texts, remark), (*widths, rest))
        ]
        lines = beside if len(beside) <= len(below) else below
    return [(Span(_cells_of(head, widths)[0], "head"),), *lines]


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Of each column: as wide as its texts, the widest one less where they must."""
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


def _figures(line: str, widths: Sequence[int]) -> Line:
    """A row whose figures stand out from what they are figures of, and the remark."""
    start = widths[0] + 2
    own = start + widths[1] + 2
    end = own + sum(widths[2:]) + 2 * len(widths[2:])
    return (
        Span(line[:start]),
        Span(line[start:own], "strong"),
        Span(line[own:end]),
        Span(line[end:], "muted"),
    )


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
    """As many words to a line as it holds."""
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
