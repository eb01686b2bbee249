"""The lesson that is open, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jaxtui.model import Event, RunFinished

if TYPE_CHECKING:
    from jaxtui.lessons.base import Lesson, Setting
    from jaxtui.lessons.outcome import Outcome

# The lessons are imported when one is opened: the first frame has none in it.


@dataclass(frozen=True, slots=True)
class StepState:
    """One step as the learner left it."""

    prediction: int | None = None
    """Index of the choice that the learner made."""
    outcome: Outcome | None = None
    """``None`` before its first run."""
    done: int = 0
    """Works that have finished."""
    complete: bool = False
    """Everything has run, so that there is a conclusion."""


@dataclass(frozen=True, slots=True)
class LessonState:
    """A lesson on a machine."""

    lesson: Lesson
    setting: Setting
    steps: tuple[StepState, ...]
    index: int = 0
    """The step that is on screen."""
    playing: int | None = field(default=None)
    """The step whose work runs now."""

    @property
    def step(self) -> StepState:
        """The step that is on screen."""
        return self.steps[self.index]

    def with_step(self, index: int, step: StepState) -> LessonState:
        """The lesson with one step replaced."""
        steps = (*self.steps[:index], step, *self.steps[index + 1 :])
        return replace(self, steps=steps)


def lesson_event(state: LessonState, event: Event) -> LessonState:
    """The state after one event of the run of the step that is playing."""
    from jaxtui.lessons.outcome import NOTHING, collect

    if state.playing is None:
        return state
    step = state.steps[state.playing]
    step = replace(step, outcome=collect(step.outcome or NOTHING, event))
    if isinstance(event, RunFinished):
        step = replace(step, done=step.done + 1)
    return state.with_step(state.playing, step)
