"""The lessons, and what the one under the cursor is about."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from jaxtui.tui import learn_text
from jaxtui.tui.learn_state import NO_LESSONS, LearnState
from jaxtui.tui.widgets.paper import Paper
from jaxtui.view import lesson as view


class LessonList(Container):
    """The list first; below it or beside it what a lesson is about."""

    DEFAULT_CSS = """
    LessonList {
        layout: vertical; height: 1fr;
        OptionList {
            height: auto; max-height: 14; padding: 0; scrollbar-size-vertical: 1;
            &, &:focus { border: none; background: $background; }
        }
        #about-lesson { height: 1fr; padding: 1 2 0 2; scrollbar-size-vertical: 1; }
    }
    """

    learn: reactive[LearnState] = reactive(NO_LESSONS, repaint=False)
    """What is to be shown."""

    class Opened(Message):
        """A lesson was chosen."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__(id="lessons")
        self._wide = False

    def compose(self) -> ComposeResult:
        """The list, and one text."""
        yield OptionList(id="lesson-names")
        with VerticalScroll(id="about-lesson", can_focus=False):
            yield Paper(id="about")
            yield Paper(id="unreadable")

    @property
    def cursor(self) -> int:
        """Index of the lesson under the cursor."""
        return self.query_one(OptionList).highlighted or 0

    def set_wide(self, wide: bool) -> None:
        """Show what a lesson is about beside the list, with its steps."""
        self._wide = wide
        self.set_class(wide, "-beside")
        self._describe()

    def watch_learn(self, old: LearnState, new: LearnState) -> None:
        """Write the entries that changed."""
        names = self.query_one(OptionList)
        lines = view.entries(
            [state.lesson for state in new.lessons],
            [sum(state.done) for state in new.lessons],
        )
        entries = [learn_text.drawn([line]) for line in lines]
        if len(names.options) != len(new.lessons):
            names.clear_options()
            names.add_options(Option(text) for text in entries)
            names.highlighted = 0 if new.lessons else None
        elif old.lessons is not new.lessons:
            for index, text in enumerate(entries):
                if names.get_option_at_index(index).prompt != text:
                    names.replace_option_prompt_at_index(index, text)
        self.query_one("#unreadable", Paper).show(
            lambda width: learn_text.drawn(learn_text.unreadable(new, width))
        )
        self._describe()

    def on_option_list_option_highlighted(self) -> None:
        """Say what the lesson is about."""
        self._describe()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the lesson."""
        event.stop()
        self.post_message(self.Opened(event.option_index))

    def _describe(self) -> None:
        if not self.learn.lessons:
            return
        state, wide = self.learn.lessons[self.cursor], self._wide

        def write(width: int) -> Content:
            return learn_text.drawn(
                view.paragraphs(
                    view.about(state.lesson, width),
                    view.steps(state.lesson, state.done, width) if wide else (),
                )
            )

        self.query_one("#about", Paper).show(write)
