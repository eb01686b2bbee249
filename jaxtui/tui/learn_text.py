"""What a lesson says, in the styles of the app, and what there is to do now."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.content import Content

from jaxtui.format import ABSENT
from jaxtui.lessons.base import PROSE_COLUMNS, Conclusion, conclude
from jaxtui.tui.learn_state import LearnState, LessonState
from jaxtui.view import lesson as view
from jaxtui.view.text import Line, plain

if TYPE_CHECKING:
    from jaxtui.lessons.base import Conclusion, Step
    from jaxtui.plot import Color, Picture
    from jaxtui.tui.learn_state import StepState


_STYLES = {
    "title": "bold $text-accent",
    "strong": "bold",
    "code": "bold $text-secondary",
    "block": "$text-secondary on $panel",
    "head": "underline",
    "chosen": "bold $text-accent",
    "pass": "bold $text-success",
    "fail": "bold $text-error",
    "low": "bold $text-warning",
}
"""Of the roles that have one."""


def drawn(lines: Iterable[Line], width: int = 0) -> Content:
    """Lines in the styles of their roles; blocks of code fill the width."""
    return Content("\n").join(
        [
            Content.assemble(
                *(
                    (
                        span.text.ljust(width if span.role == "block" else 0),
                        _STYLES.get(span.role, ""),
                    )
                    for span in line
                )
            )
            for line in lines
        ]
    )


def whole(state: LessonState, conclusion: Conclusion | None) -> str:
    """The step on screen as text, to be taken away."""
    width, shown, step = PROSE_COLUMNS, state.shown, state.step
    answer = conclusion.answer if conclusion and step.complete else None
    asked = shown.question
    lines = view.paragraphs(
        view.heading(state.lesson, state.index + 1, step.setting, width),
        view.prose(shown.prose, width, ticks=True),
        view.question(asked, step.prediction, answer, width) if asked else (),
        results(state, conclusion, width),
        source(state, width),
    )
    return "\n".join(map(plain, lines)) + "\n"


def results(
    state: LessonState, conclusion: Conclusion | None, width: int
) -> list[Line]:
    """All that came out, as far as it has."""
    step = state.step
    trouble = view.trouble(step.trouble, width) if step.trouble else ()
    if conclusion is None:
        return view.paragraphs(trouble)
    failures = step.outcome.failures if step.outcome else ()
    if not step.complete:
        failed = (view.failure(one, width) for one in failures)
        return view.paragraphs(trouble, view.table(conclusion.rows, width), *failed)
    return view.paragraphs(
        trouble,
        view.results(state.shown, conclusion, failures, step.prediction, width),
    )


def source(state: LessonState, width: int) -> list[Line]:
    """Where the figures on screen were measured."""
    step = state.step
    return view.source(state.shown, step.setting if step.complete else None, width)


def unreadable(learn: LearnState, width: int) -> list[Line]:
    """The lessons that could not be loaded."""
    return [
        line
        for name, why in learn.unreadable
        for line in view.trouble(f"{name}: this lesson has a mistake: {why}", width)
    ]


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


@dataclass(frozen=True)
class Mistake:
    """An exception in what a lesson does with its figures."""

    error: Exception

    @property
    def sentence(self) -> str:
        """For the learner."""
        return (
            f"This lesson has a mistake: {type(self.error).__name__}: {self.error}. "
            "Your figures are not the reason."
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """For the log."""
        text = "".join(traceback.format_exception(self.error))
        return tuple(text.splitlines())


def concluded(step: Step, state: StepState) -> Conclusion | Mistake | None:
    """The conclusion as far as it goes; ``None`` before the first run."""
    if state.setting is None or state.outcome is None:
        return None
    try:
        conclusion = conclude(step, state.setting, state.outcome)
    except Exception as error:  # a lesson's mistake must not take the app with it
        return Mistake(error)
    if state.complete:
        return conclusion
    # Only figures that are there: what is missing is not known to be missing yet.
    known = tuple(row for row in conclusion.rows if row.yours not in ("", ABSENT))
    return replace(conclusion, rows=known)


def pictured(
    step: Step, state: StepState, colors: list[Color]
) -> Picture | Mistake | None:
    """The picture as far as it goes, in the colours of the theme."""
    if step.picture is None or state.setting is None or state.outcome is None:
        return None
    try:
        picture = step.picture(state.setting, state.outcome)
    except Exception as error:  # a lesson's mistake must not take the app with it
        return Mistake(error)
    if picture is None:
        return None
    series = (
        one if one.color else replace(one, color=colors[index % len(colors)])
        for index, one in enumerate(picture.series)
    )
    return replace(picture, series=tuple(series))
