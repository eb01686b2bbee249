"""The keys of the tab Learn, and what they do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from jaxtui.engine.client import EngineUnavailableError
from jaxtui.lessons import progress
from jaxtui.lessons.play import StepRun
from jaxtui.selection import SelectionError
from jaxtui.session import RefusedError
from jaxtui.state import MAXIMUM_LOG_LINES, RUNNING
from jaxtui.tui import learn_state
from jaxtui.tui.command import Command
from jaxtui.tui.learn_state import LearnState, LessonState

if TYPE_CHECKING:
    from jaxtui.lessons.base import Setting, Step
    from jaxtui.model import Work
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.learn_text import Mistake
    from jaxtui.tui.widgets.lesson_list import LessonList
    from jaxtui.tui.widgets.step_view import StepView


LEARN_COMMANDS: tuple[Command, ...] = (
    Command(
        "go_on",
        "enter",
        "go_on",
        "Go on",
        "Run the step of the lesson; once it has run, show the next one.",
        "Learn",
        tab="learn",
    ),
    Command(
        "next_step",
        "n,right,ctrl+right",
        "step(1)",
        "Next",
        "Show the next step of the lesson.",
        "Learn",
        footer=True,
        tab="learn",
    ),
    Command(
        "previous_step",
        "b,left,ctrl+left",
        "step(-1)",
        "Back",
        "Show the step before.",
        "Learn",
        footer=True,
        tab="learn",
    ),
    Command(
        "larger",
        "plus,equals_sign",
        "resize(1)",
        "Larger",
        "Double the size of the lesson.",
        "Learn",
        tab="learn",
    ),
    Command(
        "smaller",
        "minus",
        "resize(-1)",
        "Smaller",
        "Halve the size of the lesson.",
        "Learn",
        tab="learn",
    ),
    Command(
        "lessons",
        "escape",
        "lessons",
        "Lessons",
        "Go back to the list of lessons.",
        "Learn",
        footer=True,
        tab="learn",
    ),
)

ANSWERS = Command(
    "answer",
    "1,2,3,4",
    "answer",
    "Answer",
    "In a step that asks: predict this answer (up and down do it too).",
    "Learn",
    tab="learn",
)
"""Of a step alone: elsewhere the digits show tabs, as their twins do everywhere."""

_OF_A_LESSON = {"go_on", "step", "resize", "lessons"}
"""Actions that need an open lesson."""


def is_of_a_lesson(action: str) -> bool:
    """Whether an action means something only while a lesson is open."""
    return action in _OF_A_LESSON


def why_not_learn(action: str, learn: LearnState) -> str | None:
    """Why an action cannot be done in the tab Learn now, or ``None``.

    Args:
        action: its name without arguments.
        learn: what the tab shows.
    """
    if learn.lesson is None:
        needed = is_of_a_lesson(action) or action in ("run", "code", "copy", "export")
        return "Open a lesson first: Enter does." if needed else None
    if action == "resize" and learn.playing is not None:
        return "A step is running: stop it first."
    return None


class LearnActions:
    """The part of the app that reads, runs and concludes lessons."""

    def __init__(self) -> None:
        super().__init__()
        self.lesson_mistakes: list[Exception] = []
        """What lessons did wrong; shown to the learner, never the end of the app."""

    @property
    def _school(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    @property
    def _learn(self) -> LearnState:
        return self._school.session.state.learn

    # Reading.

    def on_lesson_list_opened(self, event: LessonList.Opened) -> None:
        """Open a lesson at the step where the learner left it."""
        self._set(replace(self._learn, open=event.index))
        self.settle()

    def on_step_view_answered(self, event: StepView.Answered) -> None:
        """Take a prediction, unless the result is there already."""
        lesson = self._learn.lesson
        if lesson is None:
            return
        if lesson.step.complete:
            said = "The result is there already; F2 and F3 show the other tabs."
            self._school.session.say(said)
            return
        self._set_lesson(learn_state.predicted(lesson, event.choice))
        if self._school.learn is not None:
            self._school.learn.to_question()

    def on_step_view_mistaken(self, event: StepView.Mistaken) -> None:
        """Keep what a lesson did wrong."""
        self.mistaken(event.mistake)

    def action_lessons(self) -> None:
        """Back to the list; what runs is not stopped."""
        self._set(replace(self._learn, open=None))

    def action_step(self, steps: int) -> None:
        """Show another step."""
        lesson = self._learn.lesson
        if lesson is None:
            return
        other = learn_state.moved(lesson, steps)
        if other.index == lesson.index:
            last = steps > 0
            end = "That was the last step" if last else "This is the first step"
            self._school.session.say(f"{end}; Esc shows the lessons.")
            return
        self._set_lesson(other)
        self.settle()

    def action_resize(self, doublings: int) -> None:
        """Double or halve the size of the lesson."""
        lesson, session = self._learn.lesson, self._school.session
        if lesson is None:
            return
        try:
            here = learn_state.here(session.state, session.state.cursor, lesson)
            self._set_lesson(learn_state.resized(lesson, here.size, doublings))
        except SelectionError as error:
            session.say(str(error))

    # Running.

    def action_go_on(self) -> None:
        """Run the step; once it has run, show the next one."""
        lesson = self._learn.lesson
        if lesson is None:
            return
        if lesson.step.complete:
            self.action_step(1)
        else:
            self._school.perform("run")

    def run_step(self) -> None:
        """Run the step on screen."""
        setting, lesson = self._setting(), self._learn.lesson
        if setting is not None and lesson is not None:
            if self._school.session.state.busy:
                self._school.session.say(RUNNING)
                return
            self._set(learn_state.begun(self._learn, setting))
            run = StepRun(lesson.shown, setting)
            self._school.background(partial(self._play_step, run))

    async def _play_step(self, run: StepRun) -> None:
        session = self._school.session
        try:
            run = await session.play(run, "lesson")
        except EngineUnavailableError:
            self._give_up("The engine is not there: R starts it again.")
            raise
        except RefusedError as error:
            self._give_up(str(error))
        except Exception as error:  # a lesson's mistake must not take the app with it
            self._went_wrong(error)
        else:
            learn = learn_state.ended(self._learn, run)
            trouble = _new_trouble(self._learn, learn) or _kept(self._learn, learn)
            self._set(learn, trouble)

    def learn_on(self) -> None:
        """Show what the step that is playing has yielded.

        Called after each change of the state.
        """
        state = self._school.session.state
        run = state.series.get("lesson")
        if state.playing == "lesson" and isinstance(run, StepRun):
            work = state.job.work if state.job is not None else None
            learn = learn_state.followed(state.learn, run, work)
            if learn is not state.learn:
                self._school.session.state = replace(state, learn=learn)

    def settle(self) -> None:
        """A step that neither asks nor runs anything has its conclusion at once."""
        lesson = self._learn.lesson
        if lesson is None or lesson.step.complete or self._learn.playing is not None:
            return
        step = lesson.shown
        if step.question is not None or step.follow is not None:
            return
        setting = self._setting(silent=True)
        if setting is not None and self._works(step, setting) == ():
            self.run_step()

    # Showing and taking away.

    def show_step_code(self) -> None:
        """Show the code of all that the step on screen runs, or has run."""
        lesson, works = self._learn.lesson, self.step_works()
        if lesson is not None and works is not None:
            show = partial(self._show_code_of, lesson.shown.title, works)
            self._school.background(show)

    def step_works(self, *, silent: bool = False) -> tuple[Work, ...] | None:
        """All that the step on screen runs, or has run; ``None`` if that is not known.

        Args:
            silent: do not say why.
        """
        lesson, setting = self._learn.lesson, self._setting(silent=silent)
        if lesson is None or setting is None:
            return None
        return lesson.step.works or self._works(lesson.shown, setting)

    async def _show_code_of(self, title: str, works: tuple[Work, ...]) -> None:
        from jaxtui.lessons.base import code_parts
        from jaxtui.scripts import joined
        from jaxtui.tui.screens.code import CodeScreen

        plan = partial(self._school.session.plan, recipes=True)
        parts = await code_parts(works, plan)
        self._school.push_screen(CodeScreen(title, joined(parts, title)))

    def copy_step(self) -> None:
        """Copy the step as text, and write it to a file."""
        lesson = self._learn.lesson
        if lesson is None:
            return
        from jaxtui.tui import learn_text
        from jaxtui.tui.learn_text import Mistake, concluded

        conclusion = concluded(lesson.shown, lesson.step)
        if isinstance(conclusion, Mistake):
            self.mistaken(conclusion)
            return
        self._school.take_away(learn_text.whole(lesson, conclusion), "lesson.txt")

    # A lesson's own mistakes.

    def mistaken(self, mistake: Mistake) -> None:
        """Say that a lesson has a mistake, and write it to the log."""
        self.lesson_mistakes.append(mistake.error)
        session = self._school.session
        log = (*session.state.log, *mistake.lines)[-MAXIMUM_LOG_LINES:]
        session.update(log=log, message=mistake.sentence)

    def _went_wrong(self, error: Exception) -> None:
        from jaxtui.tui.learn_text import Mistake

        mistake = Mistake(error)
        self._give_up(mistake.sentence)
        self.mistaken(mistake)

    def _works(self, step: Step, setting: Setting) -> tuple[Work, ...] | None:
        """What a step runs; ``None`` if the lesson cannot say it."""
        try:
            return step.works(setting)
        except Exception as error:  # a lesson's mistake must not take the app with it
            from jaxtui.tui.learn_text import Mistake

            self.mistaken(Mistake(error))
            return None

    # The snapshot.

    def _setting(self, *, silent: bool = False) -> Setting | None:
        """Where the open lesson would be run; says why if it cannot be."""
        lesson, session = self._learn.lesson, self._school.session
        if lesson is None:
            return None
        try:
            return learn_state.here(session.state, session.state.cursor, lesson)
        except SelectionError as error:
            if not silent:
                session.say(str(error))
            return None

    def _give_up(self, why: str) -> None:
        self._set(learn_state.given_up(self._learn, why), why)

    def _set_lesson(self, lesson: LessonState) -> None:
        index = self._learn.open
        if index is not None:
            self._set(self._learn.with_lesson(index, lesson))

    def _set(self, learn: LearnState, message: str = "") -> None:
        self._school.session.update(learn=learn, message=message)


def _new_trouble(old: LearnState, new: LearnState) -> str:
    """Why the step that was playing came to nothing, if it did."""
    playing = old.playing
    if playing is None or new.playing is not None:
        return ""
    return new.lessons[playing.lesson].steps[playing.step].trouble


def _kept(old: LearnState, new: LearnState) -> str:
    """Keep that the step that was playing is done; why not, if it cannot be kept."""
    playing = old.playing
    if playing is None or new.playing is not None:
        return ""
    lesson = new.lessons[playing.lesson]
    if not lesson.steps[playing.step].complete:
        return ""
    title = lesson.lesson.steps[playing.step].title
    return progress.add(lesson.lesson.name, title)
