"""A lesson as a command prints it: the list, a step before it runs, and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxtui.lessons.base import PROSE_COLUMNS, Conclusion, Lesson, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.progress import Progress
from jaxtui.plot import printed
from jaxtui.view import lesson as view
from jaxtui.view.text import Line, Span, plain


def contents(lessons: Sequence[Lesson], progress: Progress) -> str:
    """The lessons, what each is about and needs, and how far the learner is."""
    done = [sum(progress.steps(lesson)) for lesson in lessons]
    return _text(view.contents(lessons, done, PROSE_COLUMNS))


def opening(lesson: Lesson, setting: Setting, number: int, *, first: bool) -> str:
    """What a step says and asks before it runs.

    Args:
        lesson: its lesson.
        setting: where it is run.
        number: of the step, from 1.
        first: the lesson's own title stands before it.
    """
    step = lesson.steps[number - 1]
    title, name = view.heading(lesson, number, setting, PROSE_COLUMNS)
    asked = step.question
    parts = view.paragraphs(
        [title, *view.prose(lesson.summary, PROSE_COLUMNS)] if first else (),
        [name, (Span("-" * len(plain(name))),)],
        view.prose(step.prose, PROSE_COLUMNS, ticks=True),
        view.question(asked, None, None, PROSE_COLUMNS) if asked else (),
    )
    return f"{'' if first else chr(10)}{_text(parts)}\n"


def drawing(
    step: Step,
    setting: Setting,
    outcome: Outcome,
    *,
    width: int,
    colour: bool,
) -> str:
    """The step's plot; empty if it has none, or nothing to draw.

    Args:
        step: which one.
        setting: where it was run.
        outcome: what it yielded.
        width: columns of the terminal.
        colour: whether to use colours.
    """
    picture = step.picture(setting, outcome) if step.picture else None
    return printed(picture, width=width, colour=colour)


def closing(
    step: Step,
    setting: Setting,
    conclusion: Conclusion,
    outcome: Outcome,
    prediction: int | None,
) -> str:
    """What came out: what went wrong, verdict, table, takeaway, and the sources."""
    problem = outcome.problem
    sentence = f"{problem.error} {problem.hint}".rstrip() if problem else ""
    width = PROSE_COLUMNS
    return _text(
        view.paragraphs(
            view.trouble(sentence, width) if problem else (),
            view.results(step, conclusion, outcome.failures, prediction, width),
            view.source(step, setting, width),
        )
    )


def _text(lines: Iterable[Line]) -> str:
    return "\n".join(plain(line).rstrip() for line in lines)
