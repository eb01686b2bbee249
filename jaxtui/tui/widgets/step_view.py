"""One step of a lesson: prose, question, figures, conclusion."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message

from jaxtui.lessons.base import PROSE_COLUMNS, Conclusion
from jaxtui.plot import Picture
from jaxtui.tui import learn_text
from jaxtui.tui.colors import drawing, series_colors
from jaxtui.tui.learn_actions import ANSWERS
from jaxtui.tui.learn_state import LearnState, LessonState
from jaxtui.tui.learn_text import Mistake, concluded, pictured
from jaxtui.tui.widgets.paper import Paper, Write
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.view import lesson as view

_READING = 84
"""Cells that the prose takes, with what parts it from a plot beside it."""


class StepView(VerticalScroll, can_focus=True):
    """Scrolls from what is asked to what came out."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"answer({key})", "Answer", show=False)
            for key in ANSWERS.keys.split(",")
        ),
        Binding("up", "towards(-1)", "Up", show=False),
        Binding("down", "towards(1)", "Down", show=False),
        Binding("space", "page_down", "Page down", show=False),
    ]

    DEFAULT_CSS = """
    StepView {
        height: 1fr; padding: 0 1; scrollbar-size-vertical: 1;
        #reading { height: auto; }
        #asking { height: auto; }
        #question { margin: 1 0 0 0; }
        #results { margin: 1 0 0 0; }
        PlotView { display: none; height: 12; margin: 1 0 0 0; }
        #source { margin: 1 0 0 0; }
    }
    """

    class Answered(Message):
        """A prediction was made."""

        def __init__(self, choice: int) -> None:
            super().__init__()
            self.choice = choice

    class Mistaken(Message):
        """The lesson itself went wrong while its figures were drawn."""

        def __init__(self, mistake: Mistake) -> None:
            super().__init__()
            self.mistake = mistake

    def __init__(self) -> None:
        super().__init__()
        self._lesson: LessonState | None = None
        self._wide = False
        self._mistakes: set[str] = set()
        self._arrived = 0

    def compose(self) -> ComposeResult:
        """What is read and asked, a plot beside it or below it, and what came out."""
        with Horizontal(id="reading"):
            with Vertical(id="asking"):
                yield Paper(id="prose")
                yield Paper(id="question")
            yield PlotView(id="plot-beside")
        yield PlotView(id="plot-below")
        yield Paper(id="results")
        yield Paper(id="source")

    def set_wide(self, wide: bool) -> None:
        """Draw the plot beside the prose, or below the figures."""
        self._wide = wide
        if self._lesson is not None:
            self._draw(self._lesson)

    def show(self, learn: LearnState) -> None:
        """Show the step; a new one from its beginning, a result from where it is."""
        before, lesson = self._lesson, learn.lesson
        self._lesson = lesson
        if lesson is None:
            return
        self._draw(lesson)
        if before is None or _place(before) != _place(lesson):
            self.call_after_refresh(self.scroll_home, animate=False)
        elif _stage(before) != _stage(lesson) or self._more(learn):
            self.call_after_refresh(self._to_results)

    def draw(self) -> None:
        """Draw everything anew, for another theme."""
        if self._lesson is not None:
            self._draw(self._lesson)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Digits are answers only where something is asked."""
        return action != "answer" or self._asks

    def action_answer(self, number: int) -> None:
        """Predict the choice of this number."""
        self.post_message(self.Answered(number - 1))

    def action_towards(self, direction: int) -> None:
        """Go to another choice while one can be made, and else scroll."""
        lesson = self._lesson
        if lesson is None or not self._asks or lesson.step.complete:
            self.scroll_relative(y=direction, animate=False)
            return
        assert lesson.shown.question is not None
        last = len(lesson.shown.question.choices) - 1
        made = lesson.step.prediction
        choice = (0 if direction > 0 else last) if made is None else made + direction
        self.post_message(self.Answered(min(max(choice, 0), last)))

    def to_question(self) -> None:
        """Bring the question into view."""
        self.query_one("#question").scroll_visible(animate=False)

    @property
    def _asks(self) -> bool:
        return self._lesson is not None and self._lesson.shown.question is not None

    def _more(self, learn: LearnState) -> bool:
        """Whether what a run yields takes more lines than at the last redraw."""
        lines = self.query_one("#results", Paper).text.count("\n")
        plots = self.query_one("#plot-below", PlotView).display
        before, self._arrived = self._arrived, lines + plots
        return learn.plays_shown and self._arrived != before

    def _to_results(self) -> None:
        """Bring the verdict to the top; while there is none, the plot."""
        plot = self.query_one("#plot-below", PlotView)
        concluded_ = self._lesson is not None and self._lesson.step.complete
        first = plot if plot.display and not concluded_ else self.query_one("#results")
        self.scroll_to(y=first.virtual_region.y, animate=False)

    def _draw(self, lesson: LessonState) -> None:
        step, state = lesson.shown, lesson.step
        conclusion = concluded(step, state)
        picture = pictured(step, state, series_colors(self.app.theme_variables))
        self._paper("prose", lambda width: _prose(step.prose, width))
        self._ask(lesson, conclusion if isinstance(conclusion, Conclusion) else None)
        self._tell(lesson, conclusion)
        self._picture(lesson, picture)
        self._paper(
            "source", lambda width: learn_text.drawn(learn_text.source(lesson, width))
        )

    def _ask(self, lesson: LessonState, conclusion: Conclusion | None) -> None:
        asked, step = lesson.shown.question, lesson.step
        paper = self.query_one("#question", Paper)
        paper.display = asked is not None
        if asked is None:
            return
        answer = conclusion.answer if conclusion and step.complete else None
        paper.show(
            lambda width: learn_text.drawn(
                view.question(asked, step.prediction, answer, width)
            )
        )

    def _tell(
        self, lesson: LessonState, conclusion: Conclusion | Mistake | None
    ) -> None:
        if isinstance(conclusion, Mistake):
            sentence = conclusion.sentence
            self._confess(conclusion)
            self._paper(
                "results", lambda width: learn_text.drawn(view.trouble(sentence, width))
            )
            return
        self._paper(
            "results",
            lambda width: learn_text.drawn(
                learn_text.results(lesson, conclusion, width)
            ),
        )

    def _picture(self, lesson: LessonState, picture: Picture | Mistake | None) -> None:
        if isinstance(picture, Mistake):
            self._confess(picture)
            picture = None
        beside = self.query_one("#plot-beside", PlotView)
        below = self.query_one("#plot-below", PlotView)
        room = self.size.width - _READING if self._wide else 0
        fits = picture is not None and _legend(picture) <= room
        beside.display = fits
        below.display = picture is not None and not fits
        shown = beside if fits else below
        shown.show(drawing(picture, self.app))

    def _confess(self, mistake: Mistake) -> None:
        """Report a mistake, but not again at every redraw."""
        if mistake.sentence not in self._mistakes:
            self._mistakes.add(mistake.sentence)
            # Later, in a turn of this widget: Textual stops a message at its sender,
            # and what is drawn now is drawn in a turn of the app.
            self.call_later(self._report, mistake)

    def _report(self, mistake: Mistake) -> None:
        self.post_message(self.Mistaken(mistake))

    def _paper(self, name: str, write: Write) -> None:
        self.query_one(f"#{name}", Paper).show(write)


def _prose(text: str, width: int) -> Content:
    width = min(width, PROSE_COLUMNS)
    return learn_text.drawn(view.prose(text, width), width)


def _legend(picture: Picture) -> int:
    """Cells that the title and the names of the curves take in one line."""
    names = (one.label for one in picture.series if one.label)
    return len(picture.title) + sum(len(name) + 5 for name in names)


def _place(lesson: LessonState) -> tuple[str, int]:
    return lesson.lesson.name, lesson.index


def _stage(lesson: LessonState) -> tuple[bool, bool, str]:
    """What decides where to look: at the question, or at what comes out."""
    step = lesson.step
    return step.setting is not None, step.complete, step.trouble
