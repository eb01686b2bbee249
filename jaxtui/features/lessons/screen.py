"""The tab Learn: the lessons and, in the place of the list, one step at a time.

A step asks before it runs, then shows what came out and explains it.
"""

from __future__ import annotations

import contextlib
import traceback
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import ContentSwitcher, OptionList
from textual.widgets.option_list import Option

from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.model import SelectionError
from jaxtui.core.session import RunRefusedError
from jaxtui.core.state import MAXIMUM_LOG_LINES, RUNNING
from jaxtui.features.lessons import progress
from jaxtui.features.lessons import report as view
from jaxtui.features.lessons.base import Setting
from jaxtui.features.lessons.course import Course, Place, load_course, seconds_of
from jaxtui.features.lessons.play import StepRun
from jaxtui.features.lessons.report import Page, PageFigures
from jaxtui.features.lessons.step import QuestionPanel, StepView
from jaxtui.ui import words
from jaxtui.ui.app.colors import series_colors
from jaxtui.ui.app.export import ExportScreen
from jaxtui.ui.app.pane import Pane, bindings
from jaxtui.ui.app.state import State
from jaxtui.ui.export import file_stem
from jaxtui.ui.report import SVG_PLOT, Plot, as_svg
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.panel import Hint, Panel, PanelList

_KEYS = (
    ("r,f5", "run", "Run", "Run the step, or run it again."),
    ("enter", "proceed", "Proceed", "Run the step; once it has run, show the next."),
    ("n", "move(1)", "Next", "Show the next step."),
    ("backspace", "move(-1)", "Previous", "Show the previous step."),
    *(
        (
            letter,
            f"answer({number})",
            f"Predict {letter}",
            f"Predict answer {letter} of the question.",
        )
        for number, letter in enumerate(view.LETTERS, 1)
    ),
    ("plus,equals_sign", "resize(1)", "More", "Double the size of the lesson."),
    ("minus", "resize(-1)", "Less", "Halve the size of the lesson."),
    ("y", "copy", "Copy", "Copy the step as text, also to a file next to the history."),
    ("u", "export", "Export", "Write the step to a file: text or plot."),
    ("escape", "back", "Back", "Back to the lessons."),
)
"""The keys of an open lesson: keys, action, label, and sentence."""


class LearnPane(Pane):
    """A list of lessons; in its place, once one is open, one step at a time."""

    HELP = "On the tab Learn"

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "learn", _KEYS, ("Run", "Next", "Previous", "Back")
    )

    DEFAULT_CSS = """
    LearnPane {
        height: 1fr;
        ContentSwitcher { height: 1fr; }
        #lessons { layout: vertical; height: 1fr; }
        #lesson-list { height: 1fr; padding: 0; }
        #lesson-about { height: auto; max-height: 40%; }
        PanelList {
            height: 1fr; scrollbar-gutter: stable;
            &, &:focus { background: transparent; }
            & > .option-list--option-highlighted { background: $panel; }
            &:focus > .option-list--option-highlighted {
                background: $panel; color: $foreground;
            }
        }
        &.-two {
            #lessons { layout: horizontal; }
            #lesson-list { width: 72; max-width: 70%; }
            #lesson-about { width: 1fr; height: 1fr; max-height: 100%; }
        }
    }
    """

    course: reactive[Course] = reactive(Course(), repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self.mistakes: list[Exception] = []
        """Exceptions of lessons, shown to the learner; they never end the app."""
        self._wide = False
        self._since = 0.0
        self._past: object = None
        """The series that was there before the run began."""

    def compose(self) -> ComposeResult:
        with ContentSwitcher(initial="lessons"):
            with Container(id="lessons"):
                open_key = Hint("Enter", "open", "enter")
                with Panel("lessons", [open_key], id="lesson-list"):
                    yield PanelList()
                with Panel("about", id="lesson-about"):
                    yield Sheet(id="lesson-summary")
            yield StepView()

    def on_mount(self) -> None:
        self.course = load_course()
        self.set_interval(0.5, self._tick)

    # Drawing.

    def watch_state(self, old: State, new: State) -> None:
        if self._live or _machine(old) != _machine(new):
            self.draw()

    def watch_course(self, old: Course, new: Course) -> None:
        if not self._alive:
            return
        opened = new.open is not None
        if opened != (old.open is not None):
            self.query_one(ContentSwitcher).current = "step" if opened else "lessons"
            if self.has_focus_within:
                self.take_focus()
        self.draw()
        self.refresh_bindings()

    def set_wide(self, wide: bool) -> None:
        self._wide = wide
        self.set_class(wide, "-two")
        self.draw()

    def take_focus(self) -> None:
        if self.course.open is None:
            self.screen.set_focus(self.query_one(OptionList))
        else:
            self.query_one(StepView).take_focus()

    @property
    def _alive(self) -> bool:
        """Return whether there are widgets: an ending takes them before its workers."""
        return self.is_mounted and not self.base.leaving

    def draw(self) -> None:
        if not self._alive:
            return
        page = self._page()
        run = page.run if page is not None else None
        self.disturbed = run is not None and run.outcome.disturbed
        if page is not None:
            self.query_one(StepView).show(page, self._wide)
            return
        course, names = self.course, self.query_one(OptionList)
        count = range(len(course.lessons))
        done = [course.done(index) for index in count]
        texts = view.entries(course.lessons, done, [*map(self._seconds_of, count)])
        console = self.app.console
        entries = [Content.from_rich_text(text, console) for text in texts]
        if len(names.options) != len(entries):
            names.clear_options()
            names.add_options(map(Option, entries))
            names.highlighted = 0 if entries else None
        for index, text in enumerate(entries):
            if names.get_option_at_index(index).prompt != text:
                names.replace_option_prompt_at_index(index, text)
        every = [step for steps in done for step in steps]
        title = f"lessons · {sum(every)} of {len(every)} steps done"
        self.query_one("#lesson-list", Panel).set_title(title)
        self._describe()

    @on(OptionList.OptionHighlighted)
    def _describe(self) -> None:
        """Write what the lesson under the cursor is about."""
        index = self.query_one(OptionList).highlighted
        if index is not None:
            lesson = self.course.lessons[index]
            panel = self.query_one("#lesson-about", Panel)
            panel.set_title(lesson.title, [f"jaxtui learn {lesson.name}"])
            self.query_one("#lesson-summary", Sheet).content = view.about(lesson)

    def _setting_of(self, index: int) -> Setting:
        """Return the setting of a lesson now: the selected device, with its size.

        Raises:
            SelectionError: JAX is not ready, a setting of it makes every claim
                meaningless, or the size does not fit the lesson.
        """
        state = self.session.state
        if not state.devices:
            raise SelectionError(state.no_jax)
        if refusal := state.refusal("verdicts"):
            raise SelectionError(words.text(refusal))
        return self.course.setting(index, state.devices, state.host, state.cursor)

    def _seconds_of(self, index: int) -> float | None:
        """Return the most seconds that a lesson's steps take; ``None`` if unknown."""
        try:
            here = self._setting_of(index)
            steps = self.course.lessons[index].steps
            return sum(seconds_of(step.works(here)) for step in steps)
        except Exception:  # a lesson's mistake is told when it is open
            return None

    def _tick(self) -> None:
        if self._live:
            self.draw()

    @property
    def _live(self) -> bool:
        """The step on screen is being run."""
        course = self.course
        return course.playing is not None and course.playing == course.place

    def _page(self) -> Page | None:
        """The step on screen; a mistake of its lesson is told instead of figures."""
        course, state = self.course, self.session.state
        if course.place is None or course.step is None:
            return None
        (index, number), attempt = course.place, course.attempt
        run = attempt.run
        if live := self._live:
            latest = state.series.get("lesson")
            new = isinstance(latest, StepRun) and latest is not self._past
            run = latest if new else None  # type: ignore[assignment]
        here, figures, trouble = None, PageFigures(), attempt.trouble
        with contextlib.suppress(SelectionError):
            here = self._setting_of(index)
        colors = series_colors(self.app.theme_variables)
        try:
            figures = PageFigures.of(course.step, here, run, colors, live=live)
        except Exception as error:  # a lesson's mistake must not take the app with it
            trouble = self._report_mistake(error)
        return Page(
            lesson=course.lessons[index],
            number=number,
            done=course.done(index),
            attempt=replace(attempt, trouble="" if live else trouble),
            run=run,
            live=live,
            setting=here,
            figures=figures,
            elapsed_seconds=self.base.clock() - self._since,
            job=state.job if live else None,
            played_seconds=state.played_seconds,
        )

    # Reading.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a lesson its keys are not shown, nor a digit that is no answer."""
        if self.course.open is None:
            return False
        if action == "answer":
            return parameters[0] in self.course.answers
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str | None:
        course = self.course
        if course.step is None:
            return "Open a lesson first: Enter does."
        if action == "resize" and course.playing is not None:
            return "A step is running: stop it first."
        if action == "run" and (self.session.state.busy or course.playing is not None):
            return words.text(RUNNING)
        return None

    @on(OptionList.OptionSelected)
    def _open_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.open_lesson(event.option_index)

    def open_lesson(self, index: int) -> None:
        """Open a lesson at the step where the learner left it."""
        self.course = replace(self.course, open=index)

    def action_back(self) -> None:
        """Back to the list; what runs is not stopped."""
        self.course = replace(self.course, open=None)

    def action_move(self, steps: int) -> None:
        moved = self.course.moved(steps)
        if moved.place == self.course.place:
            which = "That was the last" if steps > 0 else "This is the first"
            self.base.say(f"{which} step; Esc shows the lessons.")
            return
        self.course = moved

    def action_answer(self, number: int) -> None:
        self.course = self.course.with_prediction(number)

    @on(QuestionPanel.Chosen)
    def _predict(self, event: QuestionPanel.Chosen) -> None:
        self.action_answer(event.number)

    def action_resize(self, doublings: int) -> None:
        try:
            if self.course.open is not None:
                here = self._setting_of(self.course.open)
                self.course = self.course.resized(here, doublings)
        except SelectionError as error:
            self.base.say(str(error))

    # Running.

    def action_proceed(self) -> None:
        """Run the step; once it has run, show the next one."""
        if self.course.attempt.complete:
            self.action_move(1)
        else:
            self.perform("run")

    def action_run(self) -> None:
        course = self.course
        if course.place is None or course.step is None or self.why_not("run"):
            return
        try:
            here = self._setting_of(course.place[0])
        except SelectionError as error:
            self.base.say(str(error))
            return
        self._since = self.base.clock()
        self.course = replace(course, playing=course.place)
        self._past = self.session.state.series.get("lesson")
        run = StepRun(course.step, here)
        self.base.background(partial(self._play, course.place, run))

    async def _play(self, place: Place, start: StepRun) -> None:
        run: StepRun | None = None
        trouble = ""
        try:
            run = await self.session.play(start, "lesson")
            trouble = view.trouble_of(run)
        except RunRefusedError as error:
            trouble = words.text(error.remark)
        except EngineUnavailableError:
            trouble = "There is no engine: R tries again."
            raise
        except Exception as error:  # a lesson's mistake must not take the app with it
            trouble = self._report_mistake(error)
        finally:
            self.course = self.course.after_run(place, run, trouble)
            lesson = self.course.lessons[place[0]]
            if self.course.done(place[0])[place[1]] and not trouble:
                trouble = progress.add(lesson.name, start.step.title)
            self.base.say(trouble)

    def _report_mistake(self, error: Exception) -> str:
        """Write to the log, once, that a lesson has a mistake; say it."""
        why = f"{type(error).__name__}: {error}"
        sentence = f"This lesson has a bug: {why}. Your machine is not the cause."
        if repr(error) not in map(repr, self.mistakes):
            self.mistakes.append(error)
            lines = "".join(traceback.format_exception(error)).splitlines()
            log = (*self.session.state.log, *lines)[-MAXIMUM_LOG_LINES:]
            # Later: what draws a snapshot must not make the next one.
            self.call_later(partial(self.session.update, log=log))
            self.call_later(partial(self.session.say, sentence))
        return sentence

    # Showing and taking away.

    def action_copy(self) -> None:
        if (page := self._page()) is not None:
            self.base.copy_to_file(page.text(), "lesson.txt")

    def action_export(self) -> None:
        if (page := self._page()) is not None:
            stem = file_stem(page.lesson.name, f"step{page.number + 1}")
            contents = {".md": page.text}
            if (picture := page.figures.picture) is not None:
                title = f"{page.lesson.title}: {page.step.title}"
                contents[".svg"] = partial(as_svg, Plot(picture, SVG_PLOT), title)
            self.app.push_screen(ExportScreen(stem, contents))


def _machine(state: State) -> tuple[object, ...]:
    """Return the state on which a lesson depends that does not run."""
    return state.cursor, state.devices, state.host
