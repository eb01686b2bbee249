"""A lesson as text: the list, what a step says before it runs, and what came out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from jaxtui.lessons.base import (
    PROSE_COLUMNS,
    Conclusion,
    Lesson,
    Question,
    Row,
    Setting,
    Step,
)
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.prose import plain
from jaxtui.model import WorkFailed
from jaxtui.plot import printed
from jaxtui.view.bench import failure_text
from jaxtui.view.text import table

HOLDS = {
    True: "holds here",
    False: "does not hold here",
    None: "cannot be told here",
}
"""What can become of a claim."""

_INDENT = "    "


def contents(lessons: Sequence[Lesson]) -> str:
    """The lessons, each with a line on what it is about and one on what it needs."""
    width = max(len(lesson.name) for lesson in lessons)
    lines = []
    for lesson in lessons:
        lines.append(f"{lesson.name.ljust(width)}  {lesson.title}")
        about = [lesson.summary, f"Needs: {lesson.needs}" if lesson.needs else ""]
        lines += [line for text in about for line in _wrapped(text, " " * (width + 2))]
    return "\n".join(lines)


def heading(lesson: Lesson, setting: Setting) -> str:
    """What the lesson is, and where it is run."""
    size = f"size {setting.size} ({lesson.size_means})" if lesson.size_means else ""
    facts = [size, f"on {setting.device}"]
    if setting.host:
        facts += [setting.host.hostname, f"jax {setting.host.jax}"]
    if any(device.simulated for device in setting.devices):
        facts.append("SIMULATED devices")
    where = " · ".join(fact for fact in facts if fact)
    return "\n".join(
        [*_underlined(lesson.title, "="), *_wrapped(lesson.summary), where]
    )


def opening(step: Step, number: int, count: int) -> str:
    """What a step says and asks before it runs; ``number`` counts from 1."""
    parts = [
        "\n".join(_underlined(f"{number}/{count}  {step.title}", "-")),
        plain(step.prose, PROSE_COLUMNS),
    ]
    if step.question:
        parts.append(_asked(step.question))
    return "\n" + "\n\n".join(parts) + "\n"


def drawing(
    step: Step,
    setting: Setting,
    outcome: Outcome,
    *,
    width: int,
    colour: bool,
    ascii_only: bool,
) -> str:
    """The step's plot; empty if it has none, or nothing to draw.

    Args:
        step: which one.
        setting: where it was run.
        outcome: what it yielded.
        width: columns of the terminal.
        colour: whether to use colours.
        ascii_only: use no character beyond ASCII.
    """
    picture = step.picture(setting, outcome) if step.picture else None
    return printed(picture, width=width, colour=colour, ascii_only=ascii_only)


def closing(
    step: Step, conclusion: Conclusion, outcome: Outcome, guess: int | None
) -> str:
    """What came out: what went wrong, the table, the claim and the takeaway."""
    parts = [failure_text(failure) for failure in outcome.failures]
    if outcome.problem:
        parts.append(problem_text(outcome.problem))
    if conclusion.rows:
        parts.append(_table(conclusion.rows))
    claim = f"Claim: {step.claim} This {HOLDS[conclusion.holds]}."
    said = [claim, conclusion.takeaway]
    if step.question:
        said.insert(0, _answered(step.question, conclusion.answer, guess))
    if step.source:
        said.append(f"Source: {step.source}")
    parts += ["\n".join(_wrapped(text)) for text in said if text]
    return "\n\n".join(parts)


def problem_text(problem: WorkFailed) -> str:
    """Why a step has not everything that it should."""
    return "\n".join(_wrapped(f"Went wrong: {problem.error} {problem.hint}".rstrip()))


def _asked(question: Question) -> str:
    lines = list(_wrapped(question.text))
    for number, choice in enumerate(question.choices, 1):
        lines.append(f"{_INDENT}{number}. {choice}")
    return "\n".join(lines)


def _answered(question: Question, answer: int | None, guess: int | None) -> str:
    """The right choice, and what the learner had made of it."""
    if answer is None:
        return ""
    right = f"{answer + 1}. {question.choices[answer]}"
    if guess is None:
        return f"Answer: {right}"
    verdict = "Right" if guess == answer else f"You said {guess + 1}; it is"
    return f"{verdict}: {right}"


def _table(rows: Sequence[Row]) -> str:
    """Yours beside the published, with the remarks below their rows."""
    published = any(row.published for row in rows)
    head = ["", "here", "published"] if published else ["", "here"]
    cells = [[row.what, row.yours, row.published][: len(head)] for row in rows]
    first, *lines = table(head, cells).split("\n")
    whole = [first]
    for row, line in zip(rows, lines, strict=True):
        whole += [line, *_wrapped(row.remark, _INDENT)]
    return "\n".join(whole)


def _underlined(text: str, rule: str) -> list[str]:
    return [text, rule * min(len(text), PROSE_COLUMNS)]


def _wrapped(text: str, indent: str = "") -> Iterator[str]:
    """The text in lines as wide as prose; each paragraph begins a new one."""
    for paragraph in text.split("\n"):
        yield from textwrap.wrap(
            paragraph,
            PROSE_COLUMNS,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
