"""The tab Learn: the lessons, or the step of one of them."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widgets import ContentSwitcher, OptionList, Static

from jaxtui.tui import learn_state, learn_text
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.lesson_list import LessonList
from jaxtui.tui.widgets.paper import Paper
from jaxtui.tui.widgets.step_view import StepView
from jaxtui.view import lesson as view


class LearnPane(Vertical):
    """A list of lessons; in its place, once one is open, one step at a time."""

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    def compose(self) -> ComposeResult:
        """The list and the step; one of them is in view."""
        with ContentSwitcher(initial="lessons"):
            yield LessonList()
            with Vertical(id="lesson"):
                yield Paper(id="lesson-heading")
                yield StepView()
        yield Static(id="lesson-hint")

    def watch_state(self, old: State, new: State) -> None:
        """Draw what changed."""
        if _seen(old) == _seen(new):
            return
        self.query_one(LessonList).learn = new.learn
        self._show_lesson(new)
        open_ = new.learn.open is not None
        if open_ != (old.learn.open is not None):
            self.query_one(ContentSwitcher).current = "lesson" if open_ else "lessons"
            if self.screen.focused in (self._names, self._step):
                self.take_focus()

    def set_wide(self, wide: bool) -> None:
        """Use the room that there is beside the text."""
        self.query_one(LessonList).set_wide(wide)
        self._step.set_wide(wide)

    def draw(self) -> None:
        """Draw the plot anew: another tab or another theme."""
        self._step.draw()

    def to_question(self) -> None:
        """Bring the question of the step into view."""
        self._step.to_question()

    def take_focus(self) -> None:
        """Put the focus where keys make sense."""
        where = self._names if self.state.learn.open is None else self._step
        where.focus()

    @property
    def cursor(self) -> int:
        """Index of the lesson under the cursor of the list."""
        return self.query_one(LessonList).cursor

    @property
    def _names(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _step(self) -> StepView:
        return self.query_one(StepView)

    def _show_lesson(self, state: State) -> None:
        hint = learn_text.hint(
            state.learn, ready=bool(state.devices), running=state.running
        )
        self.query_one("#lesson-hint", Static).update(hint, layout=False)
        lesson = state.learn.lesson
        if lesson is None:
            return
        where = learn_state.place(state, state.cursor, lesson)
        self.query_one("#lesson-heading", Paper).show(
            lambda width: learn_text.drawn(
                view.heading(lesson.lesson, lesson.index + 1, where, width)
            )
        )
        self._step.show(state.learn)


def _seen(state: State) -> tuple[object, ...]:
    """What the pane depends on, to be compared by identity where it is large."""
    return state.learn, state.cursor, state.devices, state.running, state.host
