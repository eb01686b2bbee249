"""A step of a lesson: its question, results, figures, and explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message

from jaxtui.features.lessons import report as view
from jaxtui.features.lessons.base import PROSE_COLUMNS
from jaxtui.features.lessons.report import Page, Stage
from jaxtui.tui.widgets.panel import Hint, Panel, ScrollPanel, hint
from jaxtui.tui.widgets.paper import Paper, Write
from jaxtui.tui.widgets.plot_view import PlotView

Detail = Literal["result", "text", "figures"]
"""The content of a step's lower half where there is room for one thing."""

DETAILS: tuple[Detail, ...] = get_args(Detail)


class QuestionPanel(ScrollPanel):
    """The question of a step: up, down and a click choose."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Up", show=False),
        Binding("down", "choose(1)", "Down", show=False),
    ]

    page: Page | None = None
    """The step that asks."""

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
        width, line = paper.size.width, event.screen_y - paper.region.y
        if self.page is not None and (number := self.page.choice_at(width, line)):
            self.post_message(self.Clicked(number))


class StepView(Container):
    """A step: its question, results, figures, and explanation."""

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
        /* Until it runs, prose and program have the width of their lines. */
        &.-asking #step-top { grid-columns: 2fr 1fr; }
        &.-asking #step-explanation { width: 2fr; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="step")
        self._page: Page | None = None
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
                yield Paper(id="step-result-text")

    def show(self, page: Page, detail: Detail, wide: bool) -> None:
        """Draw a step.

        Args:
            page: the step.
            detail: what the lower half shows.
            wide: there is room for two things side by side.
        """
        before, self._page, self._wide = self._page, page, wide
        self.query_one(QuestionPanel).page = page
        self.set_class(wide, "-two")
        self.set_class(page.stage in ("before", "broken"), "-asking")
        self._fit()
        picture = page.figures.picture if wide or detail == "result" else None
        self.query_one("#step-heading", Paper).show(page.heading)
        panels = self._panels(page, detail, plotted=picture is not None)
        for name, (write, title, hints) in panels.items():
            panel = self.query_one(f"#step-{name}", Panel)
            panel.display = write is not None
            panel.set_title(title, hints)
            if write is not None:
                panel.query_one(Paper).show(write)
        conclusion = page.figures.conclusion if page.stage == "done" else None
        role = view.ROLES[conclusion.holds] if conclusion else ""
        for verdict in ("pass", "fail", "low"):
            self.query_one("#step-verdict").set_class(verdict == role, f"-{verdict}")
        self.query_one("#step-result-text").display = picture is None or wide
        plot = self.query_one(PlotView)
        plot.display = picture is not None
        plot.show(picture.rows if picture else None)
        if before is None or _position(before) != _position(page):
            for panel in self.query(ScrollPanel):
                panel.scroll_home(animate=False)
            # Where there is no room for all of it, the question is what is in view.
            self.query_one(QuestionPanel).scroll_end(animate=False)
            self.call_after_refresh(self.take_focus)

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Let texts scroll that are higher than their share of the room."""
        height, page = self.size.height, self._page
        # Below the heading.
        self.query_one("#step-question").styles.max_height = max(height - 1, 3)
        # The plot keeps some room on a small screen.
        done = page is not None and page.stage == "done"
        most = max(5, height * 6 // 10) if done else None
        self.query_one("#step-verdict").styles.max_height = most
        # Below it the figures scroll.
        least = self.app.size.height // 3 if self._wide else 3
        self.query_one(PlotView).styles.min_height = least

    def take_focus(self) -> None:
        question, result = (
            self.query_one("#step-question"),
            self.query_one("#step-result"),
        )
        asks = self._page is not None and self._page.asks
        text = self.query_one("#step-explanation")
        (question if asks else result if result.display else text).focus()

    def _panels(
        self, page: Page, detail: Detail, *, plotted: bool
    ) -> dict[str, tuple[Write | None, str, Sequence[Hint]]]:
        """Return each panel's text, or ``None`` to hide it, its title and its keys."""
        question, stage, wide = page.step.question, page.stage, self._wide
        asks, done = stage in ("before", "broken"), stage == "done"
        # What runs stands where the explanation will, and bars without a length where
        # the figures will.
        expects = wide and bool(page.expected(PROSE_COLUMNS))
        explains = detail == "text" or (wide and done)
        beside = expects and not explains and page.has_program

        again = hint(self, "run", "again")
        run = {"before": hint(self, "proceed", "run"), "broken": again}
        to_do = [run[stage]] if stage in run else []
        if question and not done:
            to_do.insert(
                0, Hint(f"a–{view.LETTERS[len(question.choices) - 1]}", "predict")
            )
        last = page.number + 1 == len(page.lesson.steps)
        onward = (
            hint(self, "back", "lessons")
            if last
            else hint(self, "proceed", "next step")
        )
        after = {"running": [hint(self, "stop")], "done": [onward, again]}
        results = "figures" if page.figures.picture is not None else "result"
        hidden = {"result": "explain", "text": results}.get(detail, "plot")
        switch = [] if wide and done else [hint(self, "detail", hidden)]
        sized = asks and page.lesson.size_means
        program = [Hint("+ −", "size")] if sized else []

        ran = not asks or bool(page.attempt.trouble)
        verdict = {"before": "steps", "broken": "no result", "done": "verdict"}
        name = verdict.get(stage, stage)
        panels: dict[str, tuple[Write | None, str, Sequence[Hint]]] = {
            "question": (page.question if asks or wide else None, page.title, to_do),
            "verdict": (
                page.verdict if ran else page.steps if wide else None,
                name if asks or wide else f"{page.title} · {name}",
                after.get(stage, []),
            ),
            "explanation": (
                page.explanation if explains else None,
                "explanation",
                switch,
            ),
        }
        if beside:
            panels["explanation"] = page.program, "what runs", program
        waiting = "what is timed" if expects else "what runs"
        write = page.expected if expects else page.program
        if plotted or page.results(PROSE_COLUMNS):
            write, waiting = page.results, "plot" if plotted else "figures"
        if asks and question:
            switch = [hint(self, "detail", "explain (tells the answer)")]
        keys = switch if beside else [*switch, *program]
        text = write if wide or detail != "text" else None
        return {**panels, "result": (text, waiting, keys)}


def _position(page: Page) -> tuple[str, int, Stage]:
    return page.lesson.name, page.number, page.stage
