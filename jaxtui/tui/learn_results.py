"""What a step's figures say, or that the lesson itself has a mistake."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxtui.format import ABSENT
from jaxtui.lessons.base import conclude

if TYPE_CHECKING:
    from jaxtui.lessons.base import Conclusion, Step
    from jaxtui.plot import Color, Picture
    from jaxtui.tui.learn_state import StepState


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
