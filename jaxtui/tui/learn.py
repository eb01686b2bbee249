"""The tab Learn: the lessons and, in the place of the list, one step at a time.

A step asks before it runs, shows what came out, and explains it on demand.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import ContentSwitcher, OptionList
from textual.widgets.option_list import Option

from jaxtui import lessons
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.lessons import progress
from jaxtui.lessons.base import Setting
from jaxtui.lessons.play import StepRun, code_parts
from jaxtui.lessons.trial import Lesson, Step, setting
from jaxtui.model import SelectionError, Work
from jaxtui.scripts import joined
from jaxtui.session import RunRefusedError
from jaxtui.state import MAXIMUM_LOG_LINES, RUNNING
from jaxtui.tui.dialogs import CodeScreen
from jaxtui.tui.export import ExportScreen, look_of, planner
from jaxtui.tui.learn_step import (
    Detail,
    Figures,
    QuestionPanel,
    Shown,
    StepState,
    StepView,
    seconds_of,
    trouble_of,
)
from jaxtui.tui.pane import Pane, bindings
from jaxtui.tui.state import State
from jaxtui.tui.widgets.panel import Panel, PanelList
from jaxtui.tui.widgets.paper import Paper, content
from jaxtui.view import lesson as view
from jaxtui.view.text import Line

Place = tuple[int, int]
"""Index of a lesson, and of a step in it."""


@dataclass(frozen=True, slots=True)
class LearnState:
    """The lessons, which one is open, and what was done in them."""

    lessons: tuple[Lesson, ...] = ()
    """In the order of the course."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Names of lessons that cannot be loaded, and why."""
    kept: progress.Progress = field(default_factory=progress.Progress)
    """What was done in earlier sessions."""
    open: int | None = None
    """Index of the lesson on screen; ``None`` for the list."""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """Of each lesson, the index of the step on screen; the first, if it is not here."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """The sizes that the learner chose."""
    steps: Mapping[Place, StepState] = field(default_factory=dict)
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
    def left(self) -> StepState:
        """The step on screen, as the learner left it."""
        return self.at(self.place) if self.place else StepState()

    def at(self, place: Place) -> StepState:
        """A step as the learner left it."""
        return self.steps.get(place, StepState())

    def done(self, index: int) -> tuple[bool, ...]:
        """Of each step of a lesson, whether it has had a conclusion, ever."""
        before = self.kept.steps(self.lessons[index])
        return tuple(
            one or self.at((index, number)).complete
            for number, one in enumerate(before)
        )

    def setting(self, state: State, index: int) -> Setting:
        """Where a lesson would be run now: on the selected device, with its size.

        Raises:
            SelectionError: JAX is not ready, a setting of it makes every claim
                meaningless, or the size does not fit the lesson.
        """
        if not state.devices:
            raise SelectionError(state.no_jax)
        if refusal := state.refusal("verdicts"):
            raise SelectionError(refusal)
        return setting(
            self.lessons[index],
            state.devices,
            state.host,
            state.ops,
            size=self.sizes.get(index),
            device=state.cursor,
        )

    def seconds(self, state: State, index: int) -> float | None:
        """What the steps of a lesson take at most; ``None`` if that is not known."""
        try:
            here = self.setting(state, index)
            steps = self.lessons[index].steps
            return sum(seconds_of(step.works(here)) for step in steps)
        except Exception:  # a lesson's mistake is told when it is open
            return None

    def with_step(self, place: Place, step: StepState) -> LearnState:
        """The state with one step replaced."""
        return replace(self, steps={**self.steps, place: step})

    @property
    def answers(self) -> range:
        """The numbers, from 1, of what can be predicted now."""
        question = self.step.question if self.step else None
        most = len(question.choices) if question and not self.left.complete else 0
        return range(1, most + 1)

    def predicted(self, number: int) -> LearnState:
        """The state after a prediction, from 1; without such a choice it stays."""
        if self.place is None or number not in self.answers:
            return self
        left = replace(self.left, prediction=number - 1)
        return self.with_step(self.place, left)

    def moved(self, steps: int) -> LearnState:
        """The state with another step of the open lesson; it has a first and last."""
        if self.place is None:
            return self
        index, number = self.place
        last = len(self.lessons[index].steps) - 1
        number = min(max(number + steps, 0), last)
        return replace(self, numbers={**self.numbers, index: number})

    def resized(self, state: State, doublings: int) -> LearnState:
        """The state with twice the size of the open lesson, or half of it.

        Raises:
            SelectionError: it has no size, or this is the end of its range.
        """
        if self.open is None:
            return self
        lesson, size = self.lessons[self.open], self.setting(state, self.open).size
        if not lesson.size_means:
            raise SelectionError("This lesson has no size to set.")
        wanted = size * 2 if doublings > 0 else size // 2
        wanted = min(max(wanted, lesson.minimum), lesson.maximum)
        if wanted == size:
            raise SelectionError(
                f"This lesson takes sizes from {lesson.minimum} to {lesson.maximum} "
                f"({lesson.size_means})."
            )
        return replace(self, sizes={**self.sizes, self.open: wanted})

    def after_run(
        self, place: Place, run: StepRun | None, works: Sequence[Work], trouble: str
    ) -> LearnState:
        """The state after a run has ended; an earlier conclusion survives trouble."""
        before = self.at(place)
        after = StepState(before.prediction, run, tuple(works), trouble)
        if trouble and before.complete:
            after = replace(before, trouble=trouble)
        return replace(self.with_step(place, after), playing=None)


def loaded() -> LearnState:
    """All lessons; one that cannot be loaded does not take the others."""
    found: list[Lesson] = []
    unreadable: dict[str, str] = {}
    for name in lessons.NAMES:
        try:
            found.append(lessons.load(name))
        except Exception as error:  # noqa: PERF203 whatever a lesson does wrong
            unreadable[name] = f"{type(error).__name__}: {error}"
    return LearnState(tuple(found), unreadable, progress.read())


class LessonList(Container):
    """The lessons; below or beside them what the one under the cursor is about."""

    DEFAULT_CSS = """
    LessonList {
        layout: vertical; height: 1fr;
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
        &.-wide {
            layout: horizontal;
            #lesson-list { width: 84; max-width: 70%; }
            #lesson-about { width: 1fr; height: 1fr; max-height: 100%; }
        }
    }
    """

    class Opened(Message):
        """A lesson was chosen."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__(id="lessons")
        self._learn = LearnState()
        self._seconds: tuple[float | None, ...] = ()

    def compose(self) -> ComposeResult:
        with Panel("lessons", "Enter open · 1–4 tabs", id="lesson-list"):
            yield PanelList()
        with Panel("about", id="lesson-about"):
            yield Paper(id="lesson-summary")

    def show(self, learn: LearnState, seconds: tuple[float | None, ...]) -> None:
        """Write the entries that changed.

        Args:
            learn: what was done.
            seconds: what each lesson takes at most, where it is known.
        """
        self._learn, self._seconds = learn, seconds
        names = self.query_one(OptionList)
        done = [learn.done(index) for index in range(len(learn.lessons))]
        wide = self.has_class("-wide") and self.size.height > 2 * len(done) + 2
        width = names.scrollable_content_region.width
        entries = [
            content(lines)
            for lines in view.entries(learn.lessons, done, width, seconds, wide)
        ]
        if len(names.options) != len(entries):
            names.clear_options()
            names.add_options(map(Option, entries))
            names.highlighted = 0 if entries else None
        for index, text in enumerate(entries):
            if names.get_option_at_index(index).prompt != text:
                names.replace_option_prompt_at_index(index, text)
        every = [one for steps in done for one in steps]
        title = f"lessons · {sum(every)} of {len(every)} steps done"
        self.query_one("#lesson-list", Panel).entitle(title)
        self._describe()

    def on_resize(self) -> None:
        self.show(self._learn, self._seconds)

    def on_option_list_option_highlighted(self) -> None:
        self._describe()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened(event.option_index))

    def _describe(self) -> None:
        learn = self._learn
        index = self.query_one(OptionList).highlighted
        if index is None or index >= len(learn.lessons):
            return
        lesson, wide = learn.lessons[index], self.has_class("-wide")
        keys = f"jaxtui learn {lesson.name}"
        self.query_one("#lesson-about", Panel).entitle(lesson.title, keys)

        def write(width: int) -> list[Line]:
            troubles = (
                view.trouble(f"{name}: this lesson has a mistake: {why}", width)
                for name, why in learn.unreadable.items()
            )
            return view.paragraphs(
                view.about(lesson, width),
                view.steps(lesson, learn.done(index), width) if wide else [],
                *troubles,
            )

        self.query_one("#lesson-summary", Paper).show(write)


_KEYS = (
    ("r,f5", "run", "Run", "Run the step, or run it again."),
    ("enter", "proceed", "Proceed", "Run the step; once it has run, show the next."),
    ("n", "move(1)", "Next", "Show the next step."),
    ("b", "move(-1)", "Back", "Show the step before."),
    *(
        (f"{n}", f"answer({n})", f"Predict {n}", f"Predict answer {n} of the question.")
        for n in range(1, 5)
    ),
    ("e", "detail('text')", "Explain", "Show or hide what the lesson says about it."),
    ("f", "detail('figures')", "Figures", "Show the figures, or the plot again."),
    ("plus,equals_sign", "resize(1)", "Larger", "Double the size of the lesson."),
    ("minus", "resize(-1)", "Smaller", "Halve the size of the lesson."),
    ("v", "code", "Code", "Show plain JAX code of all that the step runs."),
    ("y", "copy", "Copy", "Copy the step as text, and write it to a file."),
    ("u", "export", "Export", "Write the step to a file: text, script or plot."),
    ("escape", "lessons", "Lessons", "Go back to the list of lessons."),
)
"""Of an open lesson: keys, action, label, and what it does."""


class LearnPane(Pane):
    """A list of lessons; in its place, once one is open, one step at a time."""

    HELP = "On the tab Learn"

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "learn", _KEYS, ("Run", "Next", "Back", "Explain", "Code", "Lessons")
    )

    DEFAULT_CSS = """
    LearnPane { height: 1fr; ContentSwitcher { height: 1fr; } }
    """

    learn: reactive[LearnState] = reactive(LearnState(), repaint=False)
    detail: reactive[Detail] = reactive[Detail]("result", repaint=False)

    def __init__(self) -> None:
        super().__init__()
        self.mistakes: list[Exception] = []
        """What lessons did wrong; shown to the learner, never the end of the app."""
        self._wide = False
        self._since = 0.0
        self._setting: Setting | None = None

    def compose(self) -> ComposeResult:
        with ContentSwitcher(initial="lessons"):
            yield LessonList()
            yield StepView()

    def on_mount(self) -> None:
        self.learn = loaded()
        self.set_interval(0.5, self._tick)

    # Drawing.

    def watch_state(self, old: State, new: State) -> None:
        if not old.devices and new.devices:
            self.call_later(self._settle)
        if self._live or _machine(old) != _machine(new):
            self.draw()

    def watch_learn(self, old: LearnState, new: LearnState) -> None:
        if not self._alive:
            return
        opened = new.open is not None
        if opened != (old.open is not None):
            self.query_one(ContentSwitcher).current = "step" if opened else "lessons"
            if self.has_focus_within:
                self.take_focus()
        self.draw()
        self.refresh_bindings()

    def watch_detail(self) -> None:
        self.draw()

    def set_wide(self, wide: bool) -> None:
        self._wide = wide
        self.query_one(LessonList).set_class(wide, "-wide")
        self.draw()

    def take_focus(self) -> None:
        if self.learn.open is None:
            self.query_one(OptionList).focus()
        else:
            self.query_one(StepView).take_focus()

    @property
    def _alive(self) -> bool:
        """There are widgets to draw in: an ending takes them before its workers."""
        return self.is_mounted and not self.base.leaving

    def draw(self) -> None:
        if not self._alive:
            return
        shown = self._shown()
        run = shown.run if shown is not None else None
        self.disturbed = run is not None and bool(run.outcome.disturbed)
        if shown is not None:
            self.query_one(StepView).show(shown, self.detail, self._wide)
            return
        learn = self.learn
        count = range(len(learn.lessons))
        seconds = tuple(learn.seconds(self.session.state, index) for index in count)
        self.query_one(LessonList).show(learn, seconds)

    def _tick(self) -> None:
        if self._live:
            self.draw()

    @property
    def _live(self) -> bool:
        """The step on screen is being run."""
        return self.learn.playing is not None and self.learn.playing == self.learn.place

    def _shown(self) -> Shown | None:
        """The step on screen; a mistake of its lesson is told instead of figures."""
        learn, state = self.learn, self.session.state
        if learn.place is None or learn.step is None:
            return None
        (index, number), step, run = learn.place, learn.step, learn.left.run
        if live := self._live:
            latest = state.series.get("lesson")
            ours = isinstance(latest, StepRun) and latest.setting is self._setting
            run = latest if ours else None  # type: ignore[assignment]
        here, figures, trouble = None, Figures(), learn.left.trouble
        with contextlib.suppress(SelectionError):
            here = learn.setting(state, index)
        try:
            figures = Figures.of(step, here, run, self.app.theme_variables, live=live)
        except Exception as error:  # a lesson's mistake must not take the app with it
            trouble = self._mistake(error)
        return Shown(
            lesson=learn.lessons[index],
            number=number,
            done=learn.done(index),
            left=replace(learn.left, trouble="" if live else trouble),
            run=run,
            live=live,
            here=here,
            figures=figures,
            passed=self.base.clock() - self._since,
            job=state.job if live else None,
            played=state.played_seconds,
        )

    # Reading.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a lesson its keys are not shown, nor a digit that is no answer."""
        if self.learn.open is None:
            return False
        if action == "answer":
            return parameters[0] in self.learn.answers
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str | None:
        learn = self.learn
        if learn.step is None:
            return "Open a lesson first: Enter does."
        if action == "resize" and learn.playing is not None:
            return "A step is running: stop it first."
        if action == "run" and (self.session.state.busy or learn.playing is not None):
            return RUNNING
        return None

    def on_lesson_list_opened(self, event: LessonList.Opened) -> None:
        """Open a lesson at the step where the learner left it."""
        self.detail = "result"
        self.learn = replace(self.learn, open=event.index)
        self._settle()

    def action_lessons(self) -> None:
        """Back to the list; what runs is not stopped."""
        self.learn = replace(self.learn, open=None)

    def action_detail(self, detail: Detail) -> None:
        self.detail = "result" if self.detail == detail else detail

    def action_move(self, steps: int) -> None:
        other = self.learn.moved(steps)
        if other.place == self.learn.place:
            end = "That was the last step" if steps > 0 else "This is the first step"
            self.base.say(f"{end}; Esc shows the lessons.")
            return
        self.detail, self.learn = "result", other
        self._settle()

    def action_answer(self, number: int) -> None:
        self.learn = self.learn.predicted(number)

    def on_question_panel_clicked(self, event: QuestionPanel.Clicked) -> None:
        self.action_answer(event.number)

    def on_question_panel_moved(self, event: QuestionPanel.Moved) -> None:
        """Predict the choice above or below."""
        made, answers = self.learn.left.prediction, self.learn.answers
        first = 1 if event.direction > 0 else len(answers)
        self.action_answer(first if made is None else made + 1 + event.direction)

    def action_resize(self, doublings: int) -> None:
        try:
            self.learn = self.learn.resized(self.session.state, doublings)
        except SelectionError as error:
            self.base.say(str(error))

    # Running.

    def action_proceed(self) -> None:
        """Run the step; once it has run, show the next one."""
        if self.learn.left.complete:
            self.action_move(1)
        else:
            self.perform("run")

    def action_run(self) -> None:
        learn, state = self.learn, self.session.state
        if learn.place is None or learn.step is None or self.why_not("run"):
            return
        try:
            self._setting = learn.setting(state, learn.place[0])
        except SelectionError as error:
            self.base.say(str(error))
            return
        self._since, self.detail = self.base.clock(), "result"
        self.learn = replace(learn, playing=learn.place)
        run = StepRun(learn.step, self._setting)
        self.base.background(partial(self._play, learn.place, run))

    async def _play(self, place: Place, begun: StepRun) -> None:
        session, works = self.session, list[Work]()
        run: StepRun | None = None
        trouble = ""

        def note(_: StepRun) -> None:
            if (work := session.state.jobs["lesson"].work) is not None:
                works.append(work)

        try:
            run = await session.play(begun, "lesson", note)
            trouble = trouble_of(run)
        except RunRefusedError as error:
            trouble = str(error)
        except EngineUnavailableError:
            trouble = "The engine is not there: R starts it again."
            raise
        except Exception as error:  # a lesson's mistake must not take the app with it
            trouble = self._mistake(error)
        finally:
            self.learn = self.learn.after_run(place, run, works, trouble)
            lesson = self.learn.lessons[place[0]]
            if not trouble:
                trouble = progress.add(lesson.name, begun.step.title)
            self.base.say(trouble)

    def _settle(self) -> None:
        """A step that neither asks nor runs anything has its conclusion at once."""
        shown = self._shown()
        if shown is None or shown.here is None or self.learn.playing is not None:
            return
        step, idle = shown.step, not shown.figures.works and not shown.left.trouble
        asks = step.question is not None or step.trial.follow is not None
        if idle and not asks and shown.run is None:
            self.action_run()

    def _mistake(self, error: Exception) -> str:
        """Write to the log, once, that a lesson has a mistake; say it."""
        said = (
            f"This lesson has a mistake: {type(error).__name__}: {error}. "
            "Your figures are not the reason."
        )
        if repr(error) not in map(repr, self.mistakes):
            self.mistakes.append(error)
            told = "".join(traceback.format_exception(error)).splitlines()
            log = (*self.session.state.log, *told)[-MAXIMUM_LOG_LINES:]
            # Later: what draws a snapshot must not make the next one.
            self.call_later(partial(self.session.update, log=log, message=said))
        return said

    # Showing and taking away.

    def action_code(self) -> None:
        if (shown := self._shown()) is None:
            return
        if shown.here is None:
            self.base.say(self.session.state.no_jax)
            return
        self.base.background(partial(self._show_code, shown))

    async def _show_code(self, shown: Shown) -> None:
        plan = partial(self.session.plan, recipes=True)
        parts = await code_parts(shown.works, plan)
        title = shown.step.title
        self.app.push_screen(CodeScreen(title, joined(parts, title)))

    def action_copy(self) -> None:
        if (shown := self._shown()) is not None:
            self.base.take_away(shown.whole(), "lesson.txt")

    def action_export(self) -> None:
        if (shown := self._shown()) is None:
            return
        offer = shown.offer(look_of(self.base), planner(self.base))
        self.app.push_screen(ExportScreen(offer))


def _machine(state: State) -> tuple[object, ...]:
    """What a lesson depends on that does not run."""
    return state.cursor, state.devices, state.host
