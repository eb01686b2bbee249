"""The lessons as the learner left them: one immutable record, and its changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jaxtui import lessons
from jaxtui.lessons import progress
from jaxtui.lessons.base import Lesson, Setting, Step, setting
from jaxtui.lessons.outcome import NOTHING, Outcome
from jaxtui.lessons.play import StepRun
from jaxtui.model import Work
from jaxtui.selection import SelectionError
from jaxtui.state import State

NOT_READY = "JAX is not ready yet."
STOPPED = "Stopped. The lesson is where it was; r runs the step again."


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


def loaded() -> LearnState:
    """All lessons, none begun; one that cannot be loaded does not take the others."""
    found: list[LessonState] = []
    unreadable: list[tuple[str, str]] = []
    kept = progress.read()
    for name in lessons.NAMES:
        lesson = _load(name)
        if isinstance(lesson, str):
            unreadable.append((name, lesson))
        else:
            steps = tuple(StepState() for _ in lesson.steps)
            done = kept.steps(lesson)
            found.append(LessonState(lesson=lesson, steps=steps, kept=done))
    return LearnState(lessons=tuple(found), unreadable=tuple(unreadable))


def _load(name: str) -> Lesson | str:
    """A lesson, or why there is none."""
    try:
        return lessons.load(name)
    except Exception as error:  # whatever a lesson does wrong while it is imported
        return f"{type(error).__name__}: {error}"


def here(state: State, device: str | None, lesson: LessonState) -> Setting:
    """Where a lesson would be run now: on the selected device, with its size.

    Raises:
        SelectionError: JAX is not ready, a setting of it makes every claim
            meaningless, or the size does not fit the lesson.
    """
    if not state.devices:
        raise SelectionError(NOT_READY)
    if refusal := state.refusal("verdicts"):
        raise SelectionError(refusal)
    return setting(
        lesson.lesson,
        state.devices,
        state.host,
        state.ops,
        size=lesson.size,
        device=device,
    )


def place(state: State, device: str | None, lesson: LessonState) -> Setting | None:
    """Where a lesson would be run now, if that is known."""
    try:
        return here(state, device, lesson)
    except SelectionError:
        return None


def moved(lesson: LessonState, steps: int) -> LessonState:
    """The lesson some steps on; it has a first and a last one."""
    last = len(lesson.steps) - 1
    return replace(lesson, index=min(max(lesson.index + steps, 0), last))


def predicted(lesson: LessonState, choice: int) -> LessonState:
    """The lesson after a prediction; once the result is there it stays as it is."""
    question = lesson.shown.question
    if question is None or lesson.step.complete:
        return lesson
    if not 0 <= choice < len(question.choices):
        return lesson
    step = replace(lesson.step, prediction=choice)
    return lesson.with_step(lesson.index, step)


def resized(lesson: LessonState, size: int, doublings: int) -> LessonState:
    """The lesson with twice its size, or half of it, as far as it allows.

    Raises:
        SelectionError: it has no size, or this is the end of its range.
    """
    described = lesson.lesson
    if not described.size_means:
        raise SelectionError("This lesson has no size to set.")
    wanted = size * 2 if doublings > 0 else size // 2
    wanted = min(max(wanted, described.minimum), described.maximum)
    if wanted == size:
        raise SelectionError(
            f"This lesson takes sizes from {described.minimum} to "
            f"{described.maximum} ({described.size_means})."
        )
    return replace(lesson, size=wanted)


def begun(learn: LearnState, setting: Setting) -> LearnState:
    """The step on screen is to be run; nothing has been asked for yet."""
    lesson, index = learn.lesson, learn.open
    if lesson is None or index is None:
        return learn
    before = lesson.step
    step = StepState(prediction=before.prediction, setting=setting, outcome=NOTHING)
    learn = learn.with_lesson(index, lesson.with_step(lesson.index, step))
    return replace(learn, playing=Playing(index, lesson.index, before))


def followed(learn: LearnState, run: StepRun, work: Work | None) -> LearnState:
    """What the step that is playing has shown so far.

    Args:
        learn: the state before.
        run: the step.
        work: what runs now.
    """
    step = learn.played
    if step is None:
        return learn
    works = step.works if work is None or work in step.works else (*step.works, work)
    if step.outcome is run.outcome and works is step.works:
        return learn
    return learn.with_played(replace(step, outcome=run.outcome, works=works))


def ended(learn: LearnState, run: StepRun) -> LearnState:
    """The step has come to its end, or something broke it off."""
    learn = followed(learn, run, None)
    step = learn.played
    if step is None:
        return learn
    problem = run.outcome.problem
    if problem is None:
        learn = learn.with_played(replace(step, complete=True))
        return replace(learn, playing=None)
    if run.outcome.stopped:
        return given_up(learn, STOPPED)
    lost = "Incomplete: " if run.outcome.lost else ""
    return given_up(learn, f"{lost}{problem.error} {problem.hint}".rstrip())


def given_up(learn: LearnState, trouble: str) -> LearnState:
    """The step did not get to its end.

    An earlier conclusion comes back; where there was none, what had arrived stays.
    """
    playing, step = learn.playing, learn.played
    if playing is None or step is None:
        return learn
    kept = playing.before if playing.before.complete else step
    kept = replace(kept, prediction=step.prediction, trouble=trouble)
    return replace(learn.with_played(kept), playing=None)
