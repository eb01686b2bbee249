"""What a lesson does next: decisions over the snapshot, without widgets and engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jaxtui import lessons
from jaxtui.lessons import progress
from jaxtui.lessons.base import Lesson, Setting, next_work, setting
from jaxtui.lessons.outcome import NOTHING, Outcome
from jaxtui.selection import SelectionError
from jaxtui.tui.learn_state import LearnState, LessonState, Playing, StepState

if TYPE_CHECKING:
    from jaxtui.model import Work
    from jaxtui.tui.state import State

NOT_READY = "JAX is not ready yet."
STOPPED = "Stopped. The lesson is where it was; r runs the step again."


def loaded() -> LearnState:
    """All lessons, none begun; one that cannot be loaded does not take the others."""
    kept = progress.read()
    found: list[LessonState] = []
    unreadable: list[tuple[str, str]] = []
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


def here(state: State, lesson: LessonState) -> Setting:
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
        device=state.cursor,
    )


def place(state: State, lesson: LessonState) -> Setting | None:
    """Where a lesson would be run now, if that is known."""
    try:
        return here(state, lesson)
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


def resized(state: State, lesson: LessonState, doublings: int) -> LessonState:
    """The lesson with twice its size, or half of it, as far as it allows.

    Raises:
        SelectionError: it has no size, or this is the end of its range.
    """
    described = lesson.lesson
    if not described.size_means:
        raise SelectionError("This lesson has no size to set.")
    size = here(state, lesson).size
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


def following(learn: LearnState) -> tuple[LearnState, Work | None]:
    """What the step that is playing runs next, once its last work has finished.

    Returns:
        The state with that work in it, and the work; or the state of a step that has
        come to its end, and ``None``. While a work goes on nothing changes.
    """
    playing, step = learn.playing, learn.played
    if playing is None or step is None or step.done < len(step.works):
        return learn, None
    if step.setting is None or step.outcome is None:
        return learn, None
    described = learn.lessons[playing.lesson].lesson.steps[playing.step]
    work = next_work(described, step.setting, step.outcome, step.done)
    if work is not None:
        return learn.with_played(replace(step, works=(*step.works, work))), work
    if step.outcome.problem is not None:
        return given_up(learn, _trouble(step.outcome)), None
    learn = learn.with_played(replace(step, complete=True))
    return replace(learn, playing=None), None


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


def _trouble(outcome: Outcome) -> str:
    problem = outcome.problem
    if outcome.stopped or problem is None:
        return STOPPED
    lost = "Incomplete: " if outcome.lost else ""
    return f"{lost}{problem.error} {problem.hint}".rstrip()
