"""The key that exports what is on screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from jaxtui.engine.client import EngineUnavailableError
from jaxtui.tui.command import Command

if TYPE_CHECKING:
    from jaxtui.export import Look
    from jaxtui.model import Experiment, Plan
    from jaxtui.plot import Picture
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.offers import Offer
    from jaxtui.tui.state import State

# What writes files is imported by the first export.

EXPORT: tuple[Command, ...] = (
    Command(
        "export",
        "u,ctrl+x",
        "export",
        "Export",
        "Write what is shown to a file: JSON, CSV, Markdown, SVG, text or a script.",
        "View",
    ),
)
"""What asks which."""

NOT_READY = "JAX is not ready yet, and it is what writes the script."


def why_not_export(state: State, tab: str) -> str | None:
    """Why there is nothing to export, or ``None``; Learn and History say it themselves.

    Args:
        state: what is on screen.
        tab: the tab that is shown.
    """
    if tab == "bench" and state.run is None:
        return "There is no result yet."
    if tab == "devices" and not state.devices and state.run is None:
        return "JAX is not ready yet."
    return None


class ExportActions:
    """The part of the app that offers to write files."""

    @property
    def _desk(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    def action_export(self) -> None:
        """Ask what to write, and where."""
        offer = self._offered()
        if offer is not None:
            from jaxtui.tui.screens.export import ExportScreen

            self._desk.push_screen(ExportScreen(offer))

    def _offered(self) -> Offer | None:
        """What the tab that is shown has to export."""
        from jaxtui.tui import offers

        desk, tab = self._desk, self._desk.tab
        state = desk.session.state
        if tab == "learn":
            return self._step()
        if tab == "history":
            return offers.of_past(state.history, desk.read_listed, self._plan)
        report = desk.shown_check() if tab == "devices" else None
        if report is not None:
            return offers.of_check(state, report)
        if state.run is None:
            return offers.of_devices(state)
        run = offers.of_run(state, state.run, self._picture(), self._look(), self._plan)
        return offers.with_devices(run, state) if tab == "devices" else run

    def _step(self) -> Offer | None:
        from jaxtui.tui import offers
        from jaxtui.tui.learn_text import Mistake, concluded

        desk = self._desk
        lesson = desk.session.state.learn.lesson
        if lesson is None:
            return None
        conclusion = concluded(lesson.shown, lesson.step)
        if isinstance(conclusion, Mistake):
            desk.mistaken(conclusion)
            return None
        works = desk.step_works(silent=True) or ()
        return offers.of_step(
            lesson, conclusion, works, self._picture(), self._look(), self._plan
        )

    def _picture(self) -> Picture | None:
        """The plot that is shown."""
        from jaxtui.tui.colors import Drawing
        from jaxtui.tui.widgets.plot_view import PlotView

        desk = self._desk
        pane = desk.screen_stack[0].query_one(f"#{desk.tab}")
        for view in pane.query(PlotView):
            if view.display and isinstance(view.shown, Drawing):
                return view.shown.picture
        return None

    def _look(self) -> Look:
        """The colours of the theme; where it leaves them to the terminal, dark ones."""
        from textual.color import Color

        from jaxtui.export import DARK, Look

        variables = self._desk.theme_variables
        found = [Color.parse(variables[name]) for name in ("background", "foreground")]
        if any(color.ansi is not None for color in found):
            return DARK
        return Look(*(color.rgb for color in found))

    async def _plan(self, experiment: Experiment) -> Plan:
        from jaxtui.export import ExportError

        session = self._desk.session
        if session.state.engine not in ("ready", "running"):
            raise ExportError(NOT_READY)
        try:
            return await session.plan(experiment, recipes=True)
        except EngineUnavailableError as error:
            raise ExportError(str(error)) from error
