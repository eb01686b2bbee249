"""The texts of the tab Learn, laid out for a width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from textual.content import Content

from jaxtui import format as fmt
from jaxtui.lessons import prose
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
from jaxtui.tui.learn_state import LearnState, LessonState, StepState

_CODE = "$text-secondary on $panel"
_GOOD, _BAD, _OPEN = "bold $text-success", "bold $text-error", "bold $text-warning"

_VERDICTS = {
    True: ("✓ This holds here: ", _GOOD),
    False: ("✗ This does not hold here: ", _BAD),
    None: ("— This machine cannot tell: ", _OPEN),
}

_REMARK = 20
"""Cells that a column of remarks needs; with fewer they stand below their rows."""

_NARROWEST = 10
"""Cells that a column keeps, however long the texts of the others are."""


# The list.


def entries(states: Sequence[LessonState]) -> list[Content]:
    """The lessons: number, title, and how many of the steps have a conclusion."""
    longest = max((len(state.lesson.title) for state in states), default=0)
    return [_entry(number, state, longest) for number, state in enumerate(states, 1)]


def _entry(number: int, state: LessonState, longest: int) -> Content:
    count, done = len(state.steps), state.completed
    mark = "✓" if done == count else "·" if done else " "
    style = "bold $text-success" if done == count else "bold"
    title = f"{mark} {number:2}  {state.lesson.title.ljust(longest)}"
    return Content.assemble((title, style), f"  {done}/{count}")


def about(state: LessonState, width: int, *, steps: bool) -> Content:
    """What a lesson is about; where there is room, with its steps."""
    lesson = state.lesson
    parts = [_filled(lesson.summary, width)]
    if lesson.needs:
        parts.append(_filled(f"Needs: {lesson.needs}", width))
    parts.append(Content.assemble("As text: ", (f"jaxtui learn {lesson.name}", "bold")))
    if steps:
        parts += [Content(""), Content.styled("Steps", "bold $text-accent")]
        for number, (step, done) in enumerate(
            zip(lesson.steps, state.steps, strict=True), 1
        ):
            mark = "✓" if done.complete else " "
            parts.append(_filled(f"{mark} {number}  {step.title}", width, "     "))
    return _joined(parts)


def unreadable(learn: LearnState) -> Content:
    """The lessons that could not be loaded."""
    lines = [
        f"{name}: this lesson has a mistake: {why}" for name, why in learn.unreadable
    ]
    return _joined(Content.styled(line, _BAD) for line in lines)


# A step.


def whole(state: LessonState, conclusion: Conclusion | None) -> str:
    """The step on screen as text, to be taken away."""
    width, shown, step = PROSE_COLUMNS, state.shown, state.step
    answer = conclusion.answer if conclusion and step.complete else None
    parts = [heading(state, step.setting, width), words(shown, width)]
    if shown.question is not None:
        parts.append(question(shown.question, step.prediction, answer, width))
    parts += [results(shown, step, conclusion, width), source(shown, step, width)]
    return _joined((one for one in parts if one.plain), "\n\n").plain + "\n"


def heading(state: LessonState, setting: Setting | None, width: int) -> Content:
    """The lesson and where it would be run; the step and its number."""
    title = state.lesson.title
    where = _where(state.lesson, setting, width - len(title) - 2)
    gap = " " * max(2, width - len(title) - len(where))
    number = f"{state.index + 1}/{len(state.steps)}"
    return _joined(
        [
            Content.assemble((title, "bold $text-accent"), gap, where),
            Content.styled(f"{number}  {state.shown.title}", "bold"),
        ]
    )


def _where(lesson: Lesson, setting: Setting | None, room: int) -> str:
    """Size and device, with what the size means if there is room for it."""
    if setting is None:
        return ""
    if not lesson.size_means:
        return setting.device
    size = fmt.size(setting.size)
    long = f"{lesson.size_means}: {size} · {setting.device}"
    return long if len(long) <= room else f"size {size} · {setting.device}"


def words(step: Step, width: int) -> Content:
    """The prose, with its code set apart."""
    width = min(width, PROSE_COLUMNS)
    lines = []
    for line in prose.lines(step.prose, width):
        block = len(line) == 1 and line[0].code and line[0].text.startswith("    ")
        if block:
            lines.append(Content.styled(line[0].text.ljust(width), _CODE))
        else:
            spans = [
                (one.text, "bold $text-secondary" if one.code else "") for one in line
            ]
            lines.append(Content.assemble(*spans))
    return _joined(lines)


def question(
    asked: Question, prediction: int | None, answer: int | None, width: int
) -> Content:
    """What is asked, what was predicted and, once it is known, what is right."""
    lines = [_filled(asked.text, width, style="bold")]
    for index, choice in enumerate(asked.choices):
        mark = "●" if index == prediction else "○"
        style = "bold $text-accent" if index == prediction else ""
        verdict = ""
        if index == answer:
            verdict, style = "  ✓", _GOOD
        elif answer is not None and index == prediction:
            verdict, style = "  ✗", _BAD
        text = f" {mark} {index + 1}  {choice}{verdict}"
        lines.append(_filled(text, width, "      ", style))
    return _joined(lines)


def hint(learn: LearnState, *, ready: bool, running: bool) -> str:
    """The one line that says what to do now."""
    lesson = learn.lesson
    if lesson is None:
        return "Enter opens a lesson."
    step, last = lesson.step, lesson.index == len(lesson.steps) - 1
    asked = lesson.shown.question
    if learn.plays_shown:
        return "Running; s stops it."
    if running:
        return "Something else is running: it must end, or be stopped with s, first."
    if not ready:
        return "JAX is not ready yet: read on, the step can be run as soon as it is."
    if step.complete:
        on = "Esc goes back to the list" if last else "n goes on"
        return f"{on}, r runs the step again."
    if asked is not None and step.prediction is None:
        return f"Predict first: 1 to {len(asked.choices)}. Then r runs the step."
    again = " again" if step.trouble else ""
    return f"r runs the step{again}."


def results(
    step: Step, state: StepState, conclusion: Conclusion | None, width: int
) -> Content:
    """All that came out, as far as it has: verdict, figures, takeaway, source."""
    parts: list[Content] = []
    if state.trouble:
        parts.append(trouble(state.trouble, width))
    if conclusion is None:
        return _joined(parts)
    if state.complete:
        parts.append(_verdict(step, state, conclusion, width))
    if conclusion.rows:
        parts.append(table(conclusion.rows, width))
    if state.complete:
        parts.append(_filled(conclusion.takeaway, min(width, PROSE_COLUMNS + 20)))
    if state.outcome is not None:
        parts += [_failure(one, width) for one in state.outcome.failures]
    return _joined(parts, "\n\n")


def trouble(sentence: str, width: int) -> Content:
    """Why there is no conclusion."""
    return _filled(sentence, width, style=_BAD)


def source(step: Step, state: StepState, width: int) -> Content:
    """Where the figures were measured: the learner's, and the published ones."""
    lines = []
    setting = state.setting
    if state.complete and setting is not None:
        host = (
            f", {setting.host.hostname}, jax {setting.host.jax}" if setting.host else ""
        )
        lines.append(_filled(f"Yours: {setting.device}{host}.", width))
    if step.source:
        lines.append(_filled(f"Published: {step.source}", width))
    return _joined(lines)


def table(rows: Sequence[Row], width: int) -> Content:
    """The learner's figures beside the published ones, remarks where they are short."""
    published = any(row.published for row in rows)
    head = ("", "yours", "published") if published else ("", "yours")
    cells = [(row.what, row.yours, row.published)[: len(head)] for row in rows]
    widths = _widths([head, *cells], width)
    remarks = [row.remark for row in rows]
    below = _below(cells, remarks, widths, width)
    beside = _beside(cells, remarks, widths, width)
    lines = beside if beside and len(beside) <= len(below) else below
    return _joined([Content.styled(_row(head, widths)[0], "underline"), *lines])


def _verdict(
    step: Step, state: StepState, conclusion: Conclusion, width: int
) -> Content:
    mark, style = _VERDICTS[conclusion.holds]
    lines = [_filled(f"{mark}{step.claim}", width, "  ", style)]
    said = _prediction(step.question, state.prediction, conclusion.answer)
    if said:
        lines.append(_filled(said, width))
    return _joined(lines)


def _prediction(asked: Question | None, made: int | None, answer: int | None) -> str:
    if asked is None or made is None:
        return ""
    mine = asked.choices[made]
    if answer is None:
        return f"You predicted “{mine}”; there is no answer from this machine."
    if made == answer:
        return f"Your prediction was right: {mine}"
    return f"You predicted “{mine}”; it is “{asked.choices[answer]}”."


def _failure(failure: Failure, width: int) -> Content:
    text = f"{failure.case.label}: {failure.error} {failure.hint}".rstrip()
    return _filled(text, width, "  ", _OPEN)


# Layout.


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Of each column: as wide as its texts, the widest one less where they must."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _row(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
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


def _below(
    cells: Sequence[Sequence[str]],
    remarks: Sequence[str],
    widths: Sequence[int],
    width: int,
) -> list[Content]:
    """The lines of a table whose remarks stand below their rows."""
    lines: list[Content] = []
    for texts, remark in zip(cells, remarks, strict=True):
        lines += [_figures(line, widths) for line in _row(texts, widths)]
        if remark:
            lines += map(Content, _lines(remark, width, "    ", "    "))
    return lines


def _beside(
    cells: Sequence[Sequence[str]],
    remarks: Sequence[str],
    widths: Sequence[int],
    width: int,
) -> list[Content]:
    """The same with a column of remarks; none where there is no room for it."""
    rest = width - sum(widths) - 2 * len(widths)
    if rest < _REMARK:
        return []
    return [
        _figures(line, widths)
        for texts, remark in zip(cells, remarks, strict=True)
        for line in _row((*texts, remark), (*widths, rest))
    ]


def _figures(line: str, widths: Sequence[int]) -> Content:
    """A row whose figures stand out from what they are figures of, and the remark."""
    start = widths[0] + 2
    end = start + sum(widths[1:]) + 2 * len(widths[1:])
    return Content.assemble(line[:start], (line[start:end], "bold"), line[end:])


def _filled(text: str, width: int, indent: str = "", style: str = "") -> Content:
    """A text in lines of at most ``width`` cells."""
    return _joined(Content.styled(one, style) for one in _lines(text, width, indent))


def _lines(text: str, width: int, indent: str, first: str = "") -> list[str]:
    """The lines of a text; each of its paragraphs begins a new one."""
    return [
        line
        for paragraph in text.split("\n")
        for line in textwrap.wrap(
            paragraph,
            max(width, _NARROWEST),
            initial_indent=first,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        or [""]
    ]


def _joined(parts: Iterable[Content], by: str = "\n") -> Content:
    return Content(by).join(list(parts))
