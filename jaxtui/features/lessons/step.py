"""A step of a lesson: its question, verdict, figures and explanation on one page."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group, RenderableType
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.message import Message

from jaxtui.features.lessons import report as view
from jaxtui.features.lessons.report import Page, apart
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.panel import Hint, Panel, ScrollPanel, hint
from jaxtui.ui.widgets.plot_view import PlotView


class QuestionPanel(ScrollPanel):
    """The question of a step: up, down and a click choose; without one they scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Up", show=False),
        Binding("down", "choose(1)", "Down", show=False),
    ]

    page: Page | None = None

    class Chosen(Message):
        """A choice was taken, from 1."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def action_choose(self, direction: int) -> None:
        """Take the choice above or below."""
        if self.page is not None and self.page.asks:
            first = 0 if direction > 0 else len(self.page.step.question.choices) + 1
            before = self.page.attempt.prediction
            number = (first if before is None else before + 1) + direction
            self.post_message(self.Chosen(number))
        elif direction > 0:
            self.action_scroll_down()
        else:
            self.action_scroll_up()

    def on_click(self, event: events.Click) -> None:
        if event.widget is not None and event.widget.has_class("choice"):
            choices = [*self.query(".choice")]
            self.post_message(self.Chosen(choices.index(event.widget) + 1))


class StepView(Container):
    """A step: beside each other where there is room, else one below the other."""

    DEFAULT_CSS = """
    StepView {
        layout: vertical; height: 1fr;
        #step-heading { padding: 0 1; }
        #step-page { height: 1fr; scrollbar-gutter: stable; }
        #step-plot { height: 14; }
        #step-question.-pass { border-title-color: $text-success; }
        #step-question.-fail { border-title-color: $text-error; }
        #step-question.-low { border-title-color: $text-warning; }
        &.-two #step-page {
            layout: grid; grid-size: 2 1; grid-columns: 5fr 6fr;
            ScrollPanel { height: 1fr; }
            #step-plot { height: 1fr; min-height: 40vh; }
        }
        &.-two.-done #step-page {
            grid-size: 2 2; grid-rows: auto 1fr;
            #step-question { height: auto; max-height: 50vh; }
            #step-figures { row-span: 2; }
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="step")
        self._page: Page | None = None
        self._written: dict[str, object] = {}

    def compose(self) -> ComposeResult:
        """Three panels; the last one is in view once the step has run."""
        yield Sheet(id="step-heading")
        with VerticalScroll(id="step-page", can_focus=False):
            with QuestionPanel(id="step-question"):
                yield Sheet(id="step-text")
                for letter in view.LETTERS:
                    choice = Sheet(id=f"step-{letter}")
                    choice.add_class("choice")
                    yield choice
                yield Sheet(id="step-verdict")
            with ScrollPanel(id="step-figures"):
                yield PlotView(id="step-plot")
                yield Sheet(id="step-results")
            with ScrollPanel("explanation", id="step-explanation"):
                yield Sheet(id="step-why")

    def show(self, page: Page, wide: bool) -> None:
        """Draw a step.

        Args:
            page: the step.
            wide: there is room for two things side by side.
        """
        before, self._page = self._page, page
        stage, picture = page.stage, page.figures.picture
        done = stage == "done"
        self.set_class(wide, "-two")
        self.set_class(done, "-done")
        position, verdict = (*_position(page), wide), page.verdict()
        self._write("heading", page.heading())
        # Where there is no room for it, the question makes way for its answer.
        shown = wide if done else page.asks
        question = apart(page.setup if not done else "", page.prompt) if shown else ""
        self._write("text", question, position)
        choices = [*(page.choices() if shown else []), *[""] * 4]
        for letter, choice in zip(view.LETTERS, choices, strict=False):
            self._write(letter, choice, (position, page.attempt.prediction))
        self._write("verdict", Group("", verdict) if verdict and shown else verdict)
        run = page.run
        key = (position, run and run.outcome, page.figures.works)
        runs = page.program() if page.asks else ""
        self._write("results", apart(page.results(), runs), key)
        self._write("why", page.explanation() if done else "", (position, run))
        self._titles(page)
        self.query_one(QuestionPanel).page = page
        plot = self.query_one(PlotView)
        plot.display = picture is not None
        plot.show(picture.rows if picture else None)
        if before is None or _position(before) != _position(page):
            for scrolled in (self.query_one("#step-page"), *self.query(ScrollPanel)):
                scrolled.scroll_home(animate=False)
            self.call_after_refresh(self.take_focus)

    def take_focus(self) -> None:
        self.query_one(QuestionPanel).focus()

    def _write(self, name: str, content: RenderableType, key: object = None) -> None:
        """Show something where the key is another one than before."""
        if key is None or self._written.get(name) != key:
            self._written[name] = key
            sheet = self.query_one(f"#step-{name}", Sheet)
            sheet.content = content
            sheet.display = content != ""

    def _titles(self, page: Page) -> None:
        """Write what the panels are, and their keys."""
        stage = page.stage
        again = hint(self, "run", "again")
        keys = {
            "before": [hint(self, "proceed", "run")],
            "broken": [again],
            "running": [hint(self, "stop")],
            "done": [hint(self, "proceed", "next step"), again],
        }[stage]
        if stage == "done" and page.number + 1 == len(page.lesson.steps):
            keys[0] = hint(self, "back", "lessons")
        if page.asks:
            last = view.LETTERS[len(page.step.question.choices) - 1]
            keys.insert(0, Hint(f"a–{last}", "predict"))
        panel = self.query_one("#step-question", Panel)
        panel.set_title(page.title, keys)
        role = view.ROLES[page.conclusion.holds] if page.conclusion else ""
        for verdict in view.ROLES.values():
            panel.set_class(verdict == role, f"-{verdict}")
        title = "what runs" if page.asks else "figures"
        keys = [Hint("+ −", "size")] if page.asks and page.lesson.size_means else []
        self.query_one("#step-figures", Panel).set_title(title, keys)
        self.query_one("#step-explanation").display = stage == "done"


def _position(page: Page) -> tuple[str, int, str]:
    return page.lesson.name, page.number, page.stage
