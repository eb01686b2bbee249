"""The lessons as a learner goes through them: what is open, predicted, run and done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from jaxtui.core.model import Device, Experiment, Host, Loop, Snippet, Work
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons import progress
from jaxtui.features.lessons.base import Setting
from jaxtui.features.lessons.play import StepRun, conclude
from jaxtui.features.lessons.trial import Lesson, Step, setting

Place = tuple[int, int]
"""Index of a lesson, and of a step in it."""


class Attempt(msgspec.Struct, frozen=True):
    """A step as the learner left it."""

    prediction: int | None = None
    """Index of a choice."""
    run: StepRun | None = None
    """The last run that got to its end; while there is none, the last one."""
    trouble: str = ""
    """The reason why the last run came to nothing, in a sentence or two."""

    @property
    def complete(self) -> bool:
        """Everything has run, so that there is a conclusion."""
        return self.run is not None and self.run.outcome.problem is None

    @property
    def done(self) -> bool:
        """It has a conclusion, which can grade the prediction."""
        if self.run is None or not self.complete:
            return False
        try:
            concluded = conclude(self.run.step, self.run.setting, self.run.outcome)
        except Exception:  # a lesson's mistake is told with its page
            return False
        return concluded.grades(self.prediction)


NOT_TRIED = Attempt()


class Course(msgspec.Struct, frozen=True):
    """The lessons, which one is open, and what was done in them."""

    lessons: tuple[Lesson, ...] = ()
    """The lessons in the order of the course."""
    progress: progress.Progress = msgspec.field(default_factory=progress.Progress)
    """The progress of earlier sessions and of this one."""
    open: int | None = None
    """Index of the lesson on screen; ``None`` for the list."""
    numbers: Mapping[int, int] = msgspec.field(default_factory=dict)
    """The index of the step on screen, by lesson; the first, if it is not here."""
    sizes: Mapping[int, int] = msgspec.field(default_factory=dict)
    """The sizes that the learner chose."""
    fitted: Mapping[tuple[int, str], int] = msgspec.field(default_factory=dict)
    """The size of each lesson that was fitted to a device, by index and device."""
    attempts: Mapping[Place, Attempt] = msgspec.field(default_factory=dict)
    playing: Place | None = None
    """The step that is being run."""

    @property
    def place(self) -> Place | None:
        """The step on screen."""
        index = self.open
        return None if index is None else (index, self.numbers.get(index, 0))

    @property
    def step(self) -> Step | None:
        """The step on screen, as its lesson has it."""
        place = self.place
        return self.lessons[place[0]].steps[place[1]] if place else None

    @property
    def attempt(self) -> Attempt:
        """The step on screen, as the learner left it."""
        return self.attempt_at(self.place) if self.place else NOT_TRIED

    def attempt_at(self, place: Place) -> Attempt:
        return self.attempts.get(place, NOT_TRIED)

    def done(self, index: int) -> tuple[bool, ...]:
        """Return for each step of a lesson whether it was ever done."""
        return self.progress.steps(self.lessons[index])

    def setting(
        self,
        index: int,
        devices: Sequence[Device],
        host: Host | None,
        device: str | None,
    ) -> Setting:
        """Return the setting of a lesson now, with the size that was chosen for it.

        Raises:
            SelectionError: there is no such device, or the size does not fit.
        """
        size = self.sizes.get(index)
        here = setting(self.lessons[index], devices, host, size, device)
        fitted = self.fitted.get((index, here.device))
        if here.grows_to and fitted:
            return replace(here, size=fitted, grows_to=0)
        return here

    @property
    def answers(self) -> range:
        """The numbers, from 1, of what can be predicted now."""
        question = self.step.question if self.step else None
        most = len(question.choices) if question and not self.attempt.complete else 0
        return range(1, most + 1)

    def with_prediction(self, number: int) -> Course:
        """After a prediction, from 1; without such a choice it stays."""
        if self.place is None or number not in self.answers:
            return self
        attempt = replace(self.attempt, prediction=number - 1)
        return self._with_attempt(self.place, attempt)

    def moved(self, steps: int) -> Course:
        """Return the course at another step of the open lesson."""
        if self.place is None:
            return self
        index, number = self.place
        last = len(self.lessons[index].steps) - 1
        number = min(max(number + steps, 0), last)
        return replace(self, numbers={**self.numbers, index: number})

    def resized(self, here: Setting, doublings: int) -> Course:
        """Return the course with twice the size of the open lesson, or half of it.

        Raises:
            SelectionError: it has no size, or this is the end of its range.
        """
        if self.open is None:
            return self
        lesson, size = self.lessons[self.open], here.size
        new_size = size * 2 if doublings > 0 else size // 2
        fitting = min(max(new_size, lesson.minimum), lesson.maximum)
        if fitting == size or not lesson.size_means:
            lesson.check_size(new_size)
        return replace(self, sizes={**self.sizes, self.open: fitting})

    def after_run(self, place: Place, run: StepRun | None, trouble: str) -> Course:
        """After a run has ended; an earlier conclusion survives trouble."""
        before = self.attempt_at(place)
        after = Attempt(before.prediction, run, trouble)
        if trouble and before.complete:
            after = replace(before, trouble=trouble)
        fitted = self.fitted
        if run is not None and not run.setting.grows_to:
            fitted = {**fitted, (place[0], run.setting.device): run.setting.size}
        done, lesson = self.progress, self.lessons[place[0]]
        if not trouble and after.done:
            done = done.with_step(lesson.name, lesson.steps[place[1]].title)
        course = self._with_attempt(place, after)
        return replace(course, progress=done, fitted=fitted, playing=None)

    def _with_attempt(self, place: Place, attempt: Attempt) -> Course:
        return replace(self, attempts={**self.attempts, place: attempt})


def load_course() -> Course:
    return Course(lessons.load_all(), progress=progress.read())


def seconds_of(works: Iterable[Work]) -> float:
    """Return the seconds that the works take at most."""
    timed = (Experiment, Loop, Snippet)
    return sum(work.budget for work in works if isinstance(work, timed))
