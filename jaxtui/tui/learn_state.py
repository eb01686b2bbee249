"""The lessons as the learner left them: one immutable snapshot, changed by events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxtui.model import Event, RunFinished, Work

if TYPE_CHECKING:
    from jaxtui.lessons.base import Lesson, Setting, Step
    from jaxtui.lessons.outcome import Outcome

# The lessons are imported when the tab is first shown: the first frame has none in it.


@dataclass(frozen=True, slots=True)
class StepState:
    """One step as the learner left it."""

    prediction: int | None = None
    """Index of the choice that the learner made."""
    setting: Setting | None = None
    """Where its last run was made; the selected device may be another one by now."""
    works: tuple[Work, ...] = ()
    """What has been given to the engine."""
    outcome: Outcome | None = None
    """``None`` before its first run."""
    done: int = 0
    """Works that have finished."""
    complete: bool = False
    """Everything has run, so that there is a conclusion."""
    trouble: str = ""
    """Why the last run came to nothing, in a sentence or two."""


@dataclass(frozen=True, slots=True)
class LessonState:
    """A lesson, the step that is on screen, and all that was done in it."""

    lesson: Lesson
    steps: tuple[StepState, ...]
    index: int = 0
    """The step that is on screen."""
    size: int | None = None
    """The size that the learner chose; ``None`` is the lesson's own."""
    kept: tuple[bool, ...] = ()
    """Of each step, whether it was done in an earlier session."""

    @property
    def shown(self) -> Step:
        """The step on screen, as the lesson has it."""
        return self.lesson.steps[self.index]

    @property
    def step(self) -> StepState:
        """The step on screen, as the learner left it."""
        return self.steps[self.index]

    @property
    def done(self) -> tuple[bool, ...]:
        """Of each step, whether it has had a conclusion, now or in earlier sessions."""
        kept = self.kept or (False,) * len(self.steps)
        return tuple(
            step.complete or before
            for step, before in zip(self.steps, kept, strict=True)
        )

    def with_step(self, index: int, step: StepState) -> LessonState:
        """The lesson with one step replaced."""
        steps = (*self.steps[:index], step, *self.steps[index + 1 :])
        return replace(self, steps=steps)


@dataclass(frozen=True, slots=True)
class Playing:
    """The step that is being run."""

    lesson: int
    step: int
    before: StepState
    """The step as it was; it comes back if this run does not get to its end."""
    stop: bool = False
    """It was stopped while the engine was still being asked to begin."""


@dataclass(frozen=True, slots=True)
class LearnState:
    """Everything that the tab Learn shows."""

    lessons: tuple[LessonState, ...] = ()
    """All lessons, in the order of the course; none before the tab was shown."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """Names of lessons that cannot be loaded, and why."""
    open: int | None = None
    """Index of the lesson on screen; ``None`` for the list."""
    playing: Playing | None = None

    @property
    def lesson(self) -> LessonState | None:
        """The lesson on screen."""
        return None if self.open is None else self.lessons[self.open]

    @property
    def played(self) -> StepState | None:
        """The step that is being run."""
        if self.playing is None:
            return None
        return self.lessons[self.playing.lesson].steps[self.playing.step]

    @property
    def plays_shown(self) -> bool:
        """Whether the step on screen is the one that is being run."""
        lesson, playing = self.lesson, self.playing
        if lesson is None or playing is None:
            return False
        return (playing.lesson, playing.step) == (self.open, lesson.index)

    def with_lesson(self, index: int, lesson: LessonState) -> LearnState:
        """The state with one lesson replaced."""
        lessons = (*self.lessons[:index], lesson, *self.lessons[index + 1 :])
        return replace(self, lessons=lessons)

    def with_played(self, step: StepState) -> LearnState:
        """The state with the step that is being run replaced."""
        if self.playing is None:
            return self
        lesson = self.lessons[self.playing.lesson]
        lesson = lesson.with_step(self.playing.step, step)
        return self.with_lesson(self.playing.lesson, lesson)


NO_LESSONS = LearnState()


def learn_event(state: LearnState, event: Event) -> LearnState:
    """The state after one event of the run of the step that is playing."""
    from jaxtui.lessons.outcome import NOTHING, collect

    step = state.played
    if step is None:
        return state
    step = replace(step, outcome=collect(step.outcome or NOTHING, event))
    if isinstance(event, RunFinished):
        step = replace(step, done=step.done + 1)
    return state.with_played(step)
