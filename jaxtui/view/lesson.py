"""What a lesson says, laid out for a width: the list, a step, and what came of it.

Spans have the roles ``title``, ``strong``, ``code``, ``block`` (a line of code),
``head``, ``chosen``, ``pass``, ``fail`` and ``low``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from jaxtui import format as fmt
from jaxtui.lessons.base import (
    PROSE_COLUMNS,
    Conclusion,
    Lesson,
    Question,
    Row,
    Setting,
    Step,
)
from jaxtui.model import Failure
from jaxtui.view.text import Line, Span

VERDICTS = {
    True: ("✓ This holds here: ", "pass"),
    False: ("✗ This does not hold here: ", "fail"),
    None: ("— This machine cannot tell: ", "low"),
}
"""What can become of a claim, and its role."""

CODE_INDENT = "    "
"""A line of prose that begins with it is code."""

_REMARK = 20
"""Cells that a column of remarks needs; with fewer they stand below their rows."""

_NARROWEST = 10
"""Cells that a column keeps, however long the texts of the others are."""


# The list.


def entry(number: int, lesson: Lesson, done: int, longest: int) -> Line:
    """A lesson in the list: its number, title, and how many steps have a conclusion.

    Args:
        number: counts from 1.
        lesson: which one.
        done: how many of its steps.
        longest: the length of the longest title.
    """
    count = len(lesson.steps)
    mark, role = ("✓", "pass") if done >= count else ("·" if done else " ", "strong")
    title = f"{mark} {number:2}  {lesson.title.ljust(longest)}"
    return Span(title, role), Span(f"  {done}/{count}")


def entries(lessons: Sequence[Lesson], done: Sequence[int]) -> list[Line]:
    """The whole list."""
    longest = max((len(lesson.title) for lesson in lessons), default=0)
    both = zip(lessons, done, strict=True)
    return [entry(n, lesson, one, longest) for n, (lesson, one) in enumerate(both, 1)]


def about(lesson: Lesson, width: int, indent: str = "") -> list[Line]:
    """What a lesson is about, what it needs, and how it is had as text."""
    needs = f"Needs: {lesson.needs}" if lesson.needs else ""
    texts = _lines("\n".join(filter(None, (lesson.summary, needs))), width, indent)
    how = Span(f"{indent}As text: "), Span(f"jaxtui learn {lesson.name}", "strong")
    return [*texts, how]


def steps(lesson: Lesson, done: Sequence[bool], width: int) -> list[Line]:
    """The titles of its steps, those that have a conclusion with a mark."""
    found: list[Line] = [(Span("Steps", "title"),)]
    for number, (step, complete) in enumerate(zip(lesson.steps, done, strict=True), 1):
        text = f"{'✓' if complete else ' '} {number}  {step.title}"
        found += _lines(text, width, "     ", first="")
    return found


def contents(lessons: Sequence[Lesson], done: Sequence[int], width: int) -> list[Line]:
    """The list with what each lesson is about."""
    found: list[Line] = []
    for line, lesson in zip(entries(lessons, done), lessons, strict=True):
        found += [line, *about(lesson, width, " " * 6)]
    return found


# A step.


def heading(
    lesson: Lesson, number: int, setting: Setting | None, width: int
) -> list[Line]:
    """The lesson and where it is run; the step and its number, counted from 1."""
    title = lesson.title
    where = _where(lesson, setting, width - len(title) - 2)
    gap = " " * max(2, width - len(title) - len(where))
    count = f"{number}/{len(lesson.steps)}"
    step = lesson.steps[number - 1].title
    return [
        (Span(title, "title"), Span(f"{gap}{where}".rstrip())),
        (Span(f"{count}  {step}", "strong"),),
    ]


def _where(lesson: Lesson, setting: Setting | None, room: int) -> str:
    """Size and device, with what the size means if there is room for it."""
    if setting is None:
        return ""
    if not lesson.size_means:
        return setting.device
    size = fmt.size(setting.size)
    long = f"{lesson.size_means}: {size} · {setting.device}"
    return long if len(long) <= room else f"size {size} · {setting.device}"


def question(
    asked: Question, prediction: int | None, answer: int | None, width: int
) -> list[Line]:
    """What is asked, what was predicted and, once it is known, what is right."""
    found = _lines(asked.text, width, role="strong")
    for index, choice in enumerate(asked.choices):
        mark = "●" if index == prediction else "○"
        role = "chosen" if index == prediction else "label"
        verdict = ""
        if index == answer:
            verdict, role = "  ✓", "pass"
        elif answer is not None and index == prediction:
            verdict, role = "  ✗", "fail"
        text = f"{mark} {index + 1}  {choice}{verdict}"
        found += _lines(text, width, "      ", first=" ", role=role)
    return found


def verdict(
    step: Step, conclusion: Conclusion, prediction: int | None, width: int
) -> list[Line]:
    """What has become of the claim and of the prediction."""
    mark, role = VERDICTS[conclusion.holds]
    found = _lines(f"{mark}{step.claim}", width, "  ", first="", role=role)
    if (asked := step.question) is None:
        return found
    answer, sentence = conclusion.answer, ""
    if prediction is None:
        if answer is not None:
            sentence = f"Answer: {asked.choices[answer]}"
    elif answer is None:
        made = asked.choices[prediction]
        sentence = f"You predicted “{made}”; there is no answer from this machine."
    elif prediction == answer:
        sentence = f"Your prediction was right: {asked.choices[answer]}"
    else:
        made, right = asked.choices[prediction], asked.choices[answer]
        sentence = f"You predicted “{made}”; it is “{right}”."
    return found + (_lines(sentence, width) if sentence else [])


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
        _lines(conclusion.takeaway, min(width, PROSE_COLUMNS + 20)),
        *(failure(one, width) for one in failures),
    )


def failure(found: Failure, width: int) -> list[Line]:
    """A case without a figure, and why."""
    text = f"{found.case.label}: {found.error} {found.hint}".rstrip()
    return _lines(text, width, "  ", first="", role="low")


def trouble(sentence: str, width: int) -> list[Line]:
    """Why there is no conclusion, or not all of it."""
    return _lines(sentence, width, role="fail")


def source(step: Step, setting: Setting | None, width: int) -> list[Line]:
    """Where the figures were measured: the learner's, and the published ones."""
    found: list[Line] = []
    if setting is not None:
        host = setting.host
        machine = f", {host.hostname}, jax {host.jax}" if host else ""
        simulated = any(device.simulated for device in setting.devices)
        remark = " SIMULATED devices." if simulated else ""
        found += _lines(f"Yours: {setting.device}{machine}.{remark}", width)
    if step.source:
        found += _lines(f"Published: {step.source}", width)
    return found


def paragraphs(*parts: Sequence[Line]) -> list[Line]:
    """What there is of them, an empty line between."""
    found: list[Line] = []
    for part in filter(None, parts):
        found += [*([()] if found else []), *part]
    return found


# The table.


def table(rows: Sequence[Row], width: int) -> list[Line]:
    """The learner's figures beside the published ones, remarks where they are short."""
    if not rows:
        return []
    published = any(row.published for row in rows)
    head = ("", "yours", "published") if published else ("", "yours")
    cells = [(row.what, row.yours, row.published)[: len(head)] for row in rows]
    widths = _widths([head, *cells], width)
    below: list[Line] = []
    for row, texts in zip(rows, cells, strict=True):
        below += [_figures(line, widths) for line in _cells(texts, widths)]
        if row.remark:
            below += _lines(row.remark, width, "    ")
    lines, rest = below, width - sum(widths) - 2 * len(widths)
    if rest >= _REMARK:
        beside = [
            _figures(line, widths)
            for row, texts in zip(rows, cells, strict=True)
            for line in _cells((*texts, row.remark), (*widths, rest))
        ]
        lines = beside if len(beside) <= len(below) else below
    return [(Span(_cells(head, widths)[0], "head"),), *lines]


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Of each column: as wide as its texts, the widest one less where they must."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cells(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
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
    end = start + sum(widths[1:]) + 2 * len(widths[1:])
    return Span(line[:start]), Span(line[start:end], "strong"), Span(line[end:])


def _lines(
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
    return [
        (Span(line, role),)
        for paragraph in text.split("\n")
        for line in textwrap.wrap(
            paragraph,
            max(width, _NARROWEST),
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        or [""]
    ]


# Prose.


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or lines of code that belong together."""

    text: str
    """A paragraph in one line, inline code in backticks; or lines of code without
    their common indent."""
    code: bool = False


def blocks(text: str) -> tuple[Block, ...]:
    """The paragraphs and the code of a text, in order."""
    found: list[Block] = []
    for part in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines = [line.rstrip() for line in part.split("\n") if line.strip()]
        for code, group in groupby(lines, lambda line: line.startswith(CODE_INDENT)):
            if code:
                cut = [line.removeprefix(CODE_INDENT) for line in group]
                found.append(Block("\n".join(cut), code=True))
            else:
                found.append(Block(" ".join(" ".join(group).split())))
    return tuple(found)


def prose(text: str, width: int, *, ticks: bool = False) -> list[Line]:
    """The text in lines of at most ``width`` cells, an empty one between blocks.

    Code keeps its lines, however long; inline code is not broken where it fits.

    Args:
        text: as ``Step.prose``.
        width: cells.
        ticks: keep the backticks around inline code, where no style shows it.
    """
    parts: list[list[Line]] = []
    for block in blocks(text):
        if block.code:
            code = block.text.split("\n")
            parts.append([(Span(CODE_INDENT + line, "block"),) for line in code])
        else:
            parts.append(list(_filled(block.text, width, ticks)))
    return paragraphs(*parts)


def _filled(paragraph: str, width: int, ticks: bool) -> Iterator[Line]:
    """A paragraph, as many words to a line as it holds."""
    line: list[Span] = []
    used = 0
    words = _words(paragraph, ticks, width)
    for word in chain.from_iterable(_cut(word, width) for word in words):
        length = sum(len(span.text) for span in word)
        if line and used + 1 + length > width:
            yield _merged(line)
            line, used = [], 0
        if line:
            # Within inline code that had to be broken, the blank is code too.
            both = line[-1].role == word[0].role == "code"
            line.append(Span(" ", "code" if both else "label"))
            used += 1
        line += word
        used += length
    if line:
        yield _merged(line)


def _words(paragraph: str, ticks: bool, width: int) -> Iterator[list[Span]]:
    """What must not be broken: words, and inline code with all that it has in it."""
    word: list[Span] = []
    for index, piece in enumerate(re.split(r"(`[^`]+`)", paragraph)):
        code = index % 2 == 1
        text = piece if ticks or not code else piece[1:-1]
        parts = [text] if code and len(text) <= width else re.split(r"( +)", text)
        for part in parts:
            if part.strip(" "):
                word.append(Span(part, "code" if code else "label"))
            elif part and word:
                yield word
                word = []
    if word:
        yield word


def _cut(word: list[Span], width: int) -> Iterator[list[Span]]:
    """A word that is longer than any line, in pieces that are not."""
    if sum(len(span.text) for span in word) <= width:
        yield word
        return
    for span in word:
        for start in range(0, len(span.text), width):
            yield [Span(span.text[start : start + width], span.role)]


def _merged(line: Iterable[Span]) -> Line:
    """Neighbours of one role as one stretch."""
    groups = groupby(line, lambda span: span.role)
    return tuple(Span("".join(s.text for s in group), role) for role, group in groups)
