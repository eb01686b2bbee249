"""One step of a lesson: what it asks, what came of it, what it shows, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message

from jaxtui import format as fmt
from jaxtui.export import COLUMNS, LINES, Look, as_svg, file_stem, stamp
from jaxtui.lessons.base import PROSE_COLUMNS, Conclusion, Setting
from jaxtui.lessons.outcome import NOTHING
from jaxtui.lessons.play import Planner, StepRun, code_parts, conclude
from jaxtui.lessons.trial import Lesson, Step
from jaxtui.model import Experiment, Loop, Snippet, Work, explanation
from jaxtui.plot import Picture
from jaxtui.scripts import joined
from jaxtui.state import Job
from jaxtui.tui.colors import drawing, series_colors
from jaxtui.tui.export import Offer, formats
from jaxtui.tui.widgets.panel import Panel, ScrollPanel
from jaxtui.tui.widgets.paper import Paper
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.view import lesson as view
from jaxtui.view.text import Line, Span, bar, plain

Stage = Literal["before", "running", "done", "broken"]
"""Of a step: it has not run; it runs; it has a conclusion; its run came to nothing."""

Detail = Literal["result", "figures", "text"]
"""What the lower half of a step shows where there is room for one thing."""


@dataclass(frozen=True, slots=True)
class StepState:
    """One step as the learner left it."""

    prediction: int | None = None
    """Index of a choice."""
    run: StepRun | None = None
    """The last run that got to its end; while there is none, the last one."""
    works: tuple[Work, ...] = ()
    """What that run gave to the engine."""
    trouble: str = ""
    """Why the last run came to nothing, in a sentence or two."""

    @property
    def complete(self) -> bool:
        """Everything has run, so that there is a conclusion."""
        return self.run is not None and self.run.outcome.problem is None


def trouble_of(run: StepRun) -> str:
    """Why a run came to nothing; empty for one that got to its end."""
    problem = run.outcome.problem
    if problem is None:
        return ""
    if run.outcome.stopped:
        return "Stopped. The lesson is where it was; r runs the step again."
    lost = "Incomplete: " if run.outcome.lost else ""
    return f"{lost}{explanation(problem)}"


def seconds_of(works: Iterable[Work]) -> float:
    """What they take at most."""
    timed = (Experiment, Loop, Snippet)
    return sum(work.budget for work in works if isinstance(work, timed))


@dataclass(frozen=True, slots=True)
class Figures:
    """What a step runs, and what its figures say as far as it has run."""

    works: tuple[Work, ...] = ()
    conclusion: Conclusion | None = None
    picture: Picture | None = None

    @classmethod
    def of(
        cls,
        step: Step,
        here: Setting | None,
        run: StepRun | None,
        variables: Mapping[str, str],
        *,
        live: bool,
    ) -> Figures:
        """Ask the step.

        Args:
            step: which one.
            here: where it would be run now.
            run: what has arrived.
            variables: of the theme, for the colours of the plot.
            live: it still runs.

        Raises:
            Exception: whatever its lesson does wrong.
        """
        works = step.works(here) if here is not None else ()
        if run is None:
            return cls(works)
        conclusion = conclude(step, run.setting, run.outcome)
        if live or run.outcome.problem is not None:
            # What is missing is not known to be missing yet.
            known = (
                row for row in conclusion.rows if row.texts()[1] not in ("", fmt.ABSENT)
            )
            conclusion = replace(conclusion, rows=tuple(known))
        picture = step.trial.picture(run.setting, run.outcome)
        if picture is not None:
            colors = series_colors(variables)
            series = (
                one if one.color else replace(one, color=colors[index % len(colors)])
                for index, one in enumerate(picture.series)
            )
            picture = replace(picture, series=tuple(series))
        return cls(works, conclusion, picture)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A step, and how far it is."""

    lesson: Lesson
    number: int
    done: tuple[bool, ...]
    """Of each step of the lesson, whether it is done."""
    left: StepState
    run: StepRun | None
    """The one that runs, or else the one that the learner left."""
    live: bool
    here: Setting | None
    """Where it would be run now."""
    figures: Figures
    passed: float
    """Seconds since the run began."""
    job: Job | None
    """What runs of it."""
    played: float
    """Seconds that its earlier works have taken."""

    @property
    def stage(self) -> Stage:
        """How far it is."""
        if self.live or self.left.complete:
            return "running" if self.live else "done"
        return "broken" if self.left.trouble else "before"

    @property
    def works(self) -> tuple[Work, ...]:
        """All that it has run, or would run."""
        return self.left.works or self.figures.works

    @property
    def seconds_left(self) -> float:
        """At most, until the run ends."""
        done, job = self.run.done if self.run is not None else 0, self.job
        left = seconds_of(self.figures.works[done + (job is not None) :])
        if job is not None:
            begun = job.elapsed_seconds or job.remaining_seconds
            # Before it has told anything there is its budget.
            budget = seconds_of([job.work] if job.work is not None else [])
            left += job.remaining_seconds if begun else budget
            left -= max(0.0, self.passed - self.played - job.elapsed_seconds)
        return max(0.0, left)

    @property
    def step(self) -> Step:
        """As the lesson has it."""
        return self.lesson.steps[self.number]

    @property
    def asks(self) -> bool:
        """A prediction can be made."""
        return self.step.question is not None and self.stage in ("before", "broken")

    @property
    def title(self) -> str:
        """Its number and title."""
        return f"{self.number + 1}/{len(self.lesson.steps)} {self.step.title}"

    @property
    def told(self) -> Conclusion | None:
        """What its figures say, once everything has run."""
        return self.figures.conclusion if self.stage == "done" else None

    @property
    def answer(self) -> int | None:
        """Index of the choice that turned out right."""
        return self.told.answer if self.told else None

    def verdict(self, width: int) -> list[Line]:
        """What came out in a few lines; while it runs, how far it is."""
        if self.stage == "running":
            return self._progress(width)
        trouble = view.trouble(self.left.trouble, width) if self.left.trouble else []
        if (told := self.told) is None:
            return trouble
        return [
            *trouble,
            *view.verdict(self.step, told, self.left.prediction, width),
            *view.text_lines("".join(told.sentences[:1]), width, role="strong"),
        ]

    def _progress(self, width: int) -> list[Line]:
        left, passed, job = self.seconds_left, self.passed, self.job
        rest = f"at most {left:.0f} s left" if left >= 0.5 else "finishing"
        time = f" {passed:.0f} s, {rest}"
        if self.step.trial.follow is not None and self.run is not None:
            # What comes next depends on what this run shows.
            passed = job.elapsed_seconds if job is not None else 0.0
            time = f" {self.passed:.0f} s, run {self.run.done + 1}"
        room = max(width - len(time), 1)
        full = bar(passed / (passed + left) if left else 1.0, room)
        empty = "░" * (room - len(full))
        meter = Span(full, "device"), Span(empty, "muted"), Span(time, "strong")
        doing = job.doing if job is not None else ""
        made, question = self.left.prediction, self.step.question
        found = [meter, *view.text_lines(doing, width)]
        if made is not None and question is not None:
            said = f"You predicted: {question.choices[made]}"
            found += view.text_lines(said, width, role="chosen")
        return found

    def question(self, width: int) -> list[Line]:
        """What must be known, and the question with its choices, or what is claimed."""
        question, made = self.step.question, self.left.prediction
        claim = f"Claim: {self.step.claim}"
        return view.paragraphs(
            [] if self.told else view.prose(self.step.setup, min(width, PROSE_COLUMNS)),
            view.question(question, made, self.answer, width)
            if question
            else view.text_lines(claim, width, role="strong"),
        )

    def results(self, width: int) -> list[Line]:
        """All figures that are there."""
        outcome = self.run.outcome if self.run else NOTHING
        rows = self.figures.conclusion.rows if self.figures.conclusion else ()
        return view.paragraphs(
            [] if self.figures.picture else view.bars(outcome, width),
            view.table(rows, width),
            *(view.failure(one, width) for one in outcome.failures),
        )

    def program(self, width: int) -> list[Line]:
        """What runs."""
        if self.here is None:
            return view.text_lines("It depends on the device.", width, role="muted")
        return view.program(self.figures.works, width)

    def explanation(self, width: int) -> list[Line]:
        """What the lesson says about it, and where the figures are from."""
        width, told = min(width, PROSE_COLUMNS), self.told
        more = " ".join(told.sentences[1:]) if told else ""
        setting = self.run.setting if told and self.run else None
        return view.paragraphs(
            view.text_lines(more, width, role="strong") if more else [],
            view.prose(self.step.explanation, width),
            view.source(self.step, setting, width),
        )

    def whole(self) -> str:
        """All of it as ``jaxtui learn`` prints it, to be taken away."""
        step, left, told, run = self.step, self.left, self.told, self.run
        here, outcome = (run.setting, run.outcome) if run else (self.here, NOTHING)
        guess, width = left.prediction, PROSE_COLUMNS
        found = self.results(width)
        if told is not None:
            found = view.results(step, told, outcome.failures, guess, width)
        lines = view.paragraphs(
            view.opening(
                self.lesson, self.number + 1, here, self.works, guess, self.answer
            ),
            view.ending(step, here if told else None, found, left.trouble),
        )
        return "\n".join(map(plain, lines)) + "\n"

    def offer(self, look: Look, plan: Planner) -> Offer:
        """What can be written to a file.

        Args:
            look: the colours of the theme.
            plan: asks the engine how to do cases without jaxtui.
        """
        title, picture = self.step.title, self.figures.picture
        works = self.works

        async def script() -> str:
            return joined(await code_parts(works, plan), title)

        def svg() -> str:
            rows = picture.rows(COLUMNS, LINES) if picture else []
            return as_svg(rows, f"{self.lesson.title}: {title}", look)

        text = "what the step says and what came out"
        stem = file_stem(self.lesson.name, f"step{self.number + 1}", stamp())
        found = formats(stem, (".txt", text, self.whole))
        if works:
            holds = "plain Python of what it runs, with JAX and NumPy alone"
            found += formats(stem, (".py", holds, script))
        if picture is not None:
            holds = "the plot as it is shown, as a picture"
            found += formats(stem, (".svg", holds, svg))
        return Offer(what=f"the step “{title}”", formats=tuple(found))


class QuestionPanel(ScrollPanel):
    """What a step asks: up, down and a click choose."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Up", show=False),
        Binding("down", "choose(1)", "Down", show=False),
    ]

    class Moved(Message):
        """Another choice, so many further."""

        def __init__(self, direction: int) -> None:
            super().__init__()
            self.direction = direction

    class Clicked(Message):
        """A choice was clicked, from 1."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def action_choose(self, direction: int) -> None:
        self.post_message(self.Moved(direction))

    def on_click(self, event: events.Click) -> None:
        """Choose what is under the pointer; a choice may take several lines."""
        paper = self.query_one(Paper)
        if not paper.region.contains(event.screen_x, event.screen_y):
            return
        lines = paper.text.split("\n")[: event.screen_y - paper.region.y + 1]
        while lines and lines[-1].startswith("      "):
            lines.pop()
        if lines and (found := re.match(r" [○●] (\d+) ", lines[-1])):
            self.post_message(self.Clicked(int(found[1])))


class StepView(Container):
    """One step: what it asks, what came of it, what it shows, and why."""

    DEFAULT_CSS = """
    StepView {
        layout: vertical; height: 1fr;
        #step-heading { padding: 0 1; }
        #step-top { layout: grid; grid-size: 1; grid-rows: auto; height: auto; }
        #step-bottom { layout: horizontal; height: 1fr; }
        #step-question, #step-verdict { height: 100%; }
        #step-explanation, #step-result { width: 1fr; height: 1fr; }
        #step-plot { height: 1fr; min-height: 3; }
        .hidden { display: none; }
        #step-verdict.-pass { border-title-color: $text-success; }
        #step-verdict.-fail { border-title-color: $text-error; }
        #step-verdict.-low { border-title-color: $text-warning; }
        &.-two #step-top { grid-size: 2; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="step")
        self._shown: Shown | None = None
        self._wide = False

    def compose(self) -> ComposeResult:
        """Four panels; which of them are in view depends on how far the step is."""
        yield Paper(id="step-heading")
        with Container(id="step-top"):
            with QuestionPanel("", id="step-question"):
                yield Paper(id="step-question-text")
            with ScrollPanel("", id="step-verdict"):
                yield Paper(id="step-verdict-text")
        with Container(id="step-bottom"):
            with ScrollPanel("explanation", id="step-explanation"):
                yield Paper(id="step-explanation-text")
            with ScrollPanel("", id="step-result"):
                yield PlotView(id="step-plot")
                yield Paper(id="step-figures")

    def show(self, shown: Shown, detail: Detail, wide: bool) -> None:
        """Draw a step.

        Args:
            shown: the step.
            detail: what the lower half shows.
            wide: there is room for two things side by side.
        """
        before, self._shown, self._wide = self._shown, shown, wide
        ran = shown.stage in ("running", "done") or bool(shown.left.trouble)
        asks = wide or shown.stage in ("before", "broken")
        explains = detail == "text" or (wide and shown.stage == "done")
        results = wide or detail != "text"
        plot = shown.figures.picture is not None and (wide or detail == "result")
        figures = not plot or wide
        for name, visible in (
            ("step-question", asks),
            ("step-verdict", ran),
            ("step-explanation", explains),
            ("step-result", results),
            ("step-plot", plot),
            ("step-figures", figures),
        ):
            self.query_one(f"#{name}").display = visible
        self.set_class(asks and ran and wide, "-two")
        self._fit()
        told = plot or bool(shown.results(PROSE_COLUMNS))
        self._titles(shown, detail, plot, told)
        for name, write in (
            ("step-heading", self._heading),
            ("step-question-text", shown.question),
            ("step-verdict-text", shown.verdict),
            ("step-explanation-text", shown.explanation),
            ("step-figures", shown.results if told else shown.program),
        ):
            self.query_one(f"#{name}", Paper).show(write)
        picture = shown.figures.picture if plot else None
        self.query_one(PlotView).show(drawing(picture, self.app))
        if before is None or _position(before) != _position(shown):
            for panel in self.query(ScrollPanel):
                panel.scroll_home(animate=False)
            # Where there is no room for all of it, the question is what is in view.
            self.query_one(QuestionPanel).scroll_end(animate=False)
            self.call_after_refresh(self.take_focus)

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Let texts scroll that are higher than their share of the room."""
        height, shown = self.size.height, self._shown
        # Below the heading.
        self.query_one("#step-question").styles.max_height = max(height - 1, 3)
        # The plot keeps some room on a small screen.
        done = shown is not None and shown.stage == "done"
        most = max(5, height * 6 // 10) if done else None
        self.query_one("#step-verdict").styles.max_height = most

    def take_focus(self) -> None:
        question, result = (
            self.query_one("#step-question"),
            self.query_one("#step-result"),
        )
        asks = self._shown is not None and self._shown.asks
        text = self.query_one("#step-explanation")
        (question if asks else result if result.display else text).focus()

    def _heading(self, width: int) -> list[Line]:
        shown = self._shown
        assert shown is not None
        title, dots = shown.lesson.title, view.pips(shown.done)
        left = f"{title}  {plain(dots)}"
        where = view.place(shown.lesson, shown.here, width - len(left) - 2)
        room = width - len(left) - len(where)
        end = f"{'':{room}}{where}" if room >= 2 else ""
        return [(Span(f"{title}  ", "title"), *dots, Span(end, "muted"))]

    def _titles(self, shown: Shown, detail: Detail, plot: bool, told: bool) -> None:
        """What the borders say: names above, keys below."""
        step, stage = shown.step, shown.stage
        keys = f"1–{len(step.question.choices)} predict" if step.question else ""
        run = {"before": "Enter run", "broken": "r run again"}.get(stage, "")
        asked = " · ".join(filter(None, (keys, run)))
        last = shown.number + 1 == len(shown.lesson.steps)
        onward = "Esc lessons" if last else "Enter next step"
        after = {"running": "s stop", "done": f"{onward} · r again · 1–4 tabs"}
        verdict = {"running": "running", "done": "verdict"}.get(stage, "no result")
        every = self._wide and stage == "done"
        switch = "e result" if detail == "text" else "e explain"
        result = ["v code"]
        if stage in ("before", "broken"):
            result.insert(0, "e explain (tells the answer)" if keys else switch)
            result += ["+ − size"] if shown.lesson.size_means else []
        elif not every:
            result.insert(0, switch)
            other = "f figures" if detail == "result" else "f plot"
            result = [other, *result] if shown.figures.picture is not None else result
        alone = not self.query_one("#step-question").display
        named = {
            "step-question": (shown.title, asked if stage != "done" else ""),
            "step-verdict": (
                f"{shown.title} · {verdict}" if alone else verdict,
                after.get(stage, ""),
            ),
            "step-explanation": ("explanation", "" if every else switch),
            "step-result": (
                "plot" if plot else "figures" if told else "what runs",
                " · ".join(result),
            ),
        }
        for name, (title, subtitle) in named.items():
            self.query_one(f"#{name}", Panel).entitle(title, subtitle)
        holds = shown.figures.conclusion.holds if shown.figures.conclusion else None
        role = view.VERDICTS[holds][1] if stage == "done" else ""
        for one in ("pass", "fail", "low"):
            self.query_one("#step-verdict").set_class(one == role, f"-{one}")


def _position(shown: Shown) -> tuple[str, int, Stage]:
    return shown.lesson.name, shown.number, shown.stage
