"""The class view, step by step: a stopwatch that lies, a bet, the factor, the fix."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from jaxtui.core.model import Case, Loop
from jaxtui.features.timeline import report as view
from jaxtui.features.timeline import stopwatch
from jaxtui.features.timeline.loops import LoopScreen, first_loop
from jaxtui.features.timeline.scene import (
    CLOCKS,
    FIRST_BET,
    RECORDED,
    STEPS,
    Scene,
    Step,
    next_bet,
)
from jaxtui.features.timeline.stopwatch import LoopClocks
from jaxtui.ui.app import themes
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.modal import modal_keys
from jaxtui.ui.app.status import MessageLine
from jaxtui.ui.report import Fitted
from jaxtui.ui.sheet import Figure, Sheet
from jaxtui.ui.widgets.keys_line import KeysLine
from jaxtui.ui.widgets.panel import Panel, hint


class Classroom(LoopScreen):
    """Everything is hidden until it was predicted; Space is the next step.

    Args:
        loop: what is run; ``None`` to show the recorded run.
    """

    HELP: ClassVar[str] = "For a class"

    BINDINGS: ClassVar[list[BindingType]] = modal_keys(
        "class",
        (
            ("escape,q", "close", "Back", "Leave the class view."),
            # What the remote of a presenter sends, too.
            ("space,enter,pagedown", "next", "Next", "Next step, or skip to the end."),
            ("backspace,pageup", "previous", "Step back", "Show the previous step."),
            ("left", "bet(-1)", "Less", "Lower the bet."),
            ("right", "bet(1)", "More", "Raise the bet."),
            ("r,f5", "again", "Again", "Run the program again."),
            ("o", "recorded", "Recorded", "Show a run recorded on another machine."),
        ),
        ("Back", "Next", "Less", "More", "Again", "Recorded"),
    )

    DEFAULT_CSS = """
    Classroom {
        #steps { height: 1; padding: 0 1; background: $panel; }
        #top { height: auto; }
        #program { width: 1fr; min-width: 40; height: 8; }
        #clocks { width: auto; height: auto; }
        .clock { width: 30; height: 8; }
        .clock Figure { width: 1fr; height: 3; margin-top: 1; text-align: center; }
        .clock Static { height: 1; text-style: bold; text-align: center; }
        #stopwatch Figure, #stopwatch Static { color: $lane-host; }
        #work Figure, #work Static { color: $lane-device; }
        #bars { height: auto; }
        #hero { height: 1fr; padding: 0 1; }
        &.-low, &.-flat {
            #top { layout: vertical; }
            #program { width: 100%; height: auto; }
            #clocks { width: 100%; }
            .clock { width: 1fr; height: 5; }
            .clock Figure { margin-top: 0; }
            .clock Static { display: none; }
        }
        &.-low, &.-flat {
            &.-bet, &.-race, &.-factor { #program { display: none; } }
        }
        &.-low.-program #clocks, &.-flat.-program #clocks { display: none; }
        &.-flat.-fix #clocks { display: none; }
        &.-program #bars { display: none; }
    }
    """

    def __init__(self, loop: Loop | None) -> None:
        self.recorded = loop is None
        """True while the recorded run is shown."""
        loop = loop or RECORDED.loop
        loop = msgspec.structs.replace(loop, style="never", chained=False)
        super().__init__(loop, grows=not self.recorded)
        self.step: Step = "program"
        self.bet = FIRST_BET
        self._clocks: LoopClocks | None = None
        self._past = 0
        """The number of the run whose figures are no longer wanted."""
        self._time: float | None = None
        """The position of the playback, seconds."""
        self._theme = ""

    def compose(self) -> ComposeResult:
        yield Sheet(id="steps")
        with Horizontal(id="top"):
            with Panel(id="program"):
                yield Sheet()
            with Horizontal(id="clocks"):
                for name in CLOCKS:
                    with Panel(name, id=name, classes="clock"):
                        yield Figure()
                        yield Static()
        with Panel(id="bars"):
            yield Sheet()
        yield Sheet(id="hero")
        yield MessageLine().data_bind(Classroom.state)
        yield KeysLine()

    def on_mount(self) -> None:
        self._theme = self.app.theme
        self.app.theme = themes.PROJECTOR
        self.add_class("-program")

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    # Actions.

    def action_close(self) -> None:
        self.app.theme = self._theme
        super().action_close()

    def action_next(self) -> None:
        if self.playback is not None:
            self.playback = None
            self.end_playback()
        else:
            self._show_step((STEPS.index(self.step) + 1) % len(STEPS))

    def action_previous(self) -> None:
        self.playback = None
        self._show_step(max(0, STEPS.index(self.step) - 1))

    def action_bet(self, by: int) -> None:
        self.bet = next_bet(self.bet, by)
        self._draw()

    def action_again(self) -> None:
        self._clocks, self._past = None, self.job.number if self.job else 0
        self.recorded = False
        self._show_step(0)
        self.run_loop(self.loop, 0.0)

    def action_recorded(self) -> None:
        """Show the recorded run in the place of one of this machine, which ends."""
        self.stop_loop()
        self.recorded, self.loop = True, RECORDED.loop
        self._show_step(0)
        self.show_loop()

    def why_not(self, action: str) -> str | None:
        if action == "bet" and self.step != "bet":
            return "The arrows change the bet, in its step."
        if action == "again" and not self.state.devices:
            return self.state.no_jax
        waits = self.playback is None and self._clocks is None
        if action == "next" and waits:
            return "The program has not run yet: o shows a recorded run."
        return None

    def _show_step(self, index: int) -> None:
        self.step, self._time = STEPS[index], None
        for step in STEPS:
            self.set_class(step == self.step, f"-{step}")
        if self._clocks is not None and self.step in ("race", "fix"):
            self.play(self._clocks.work, slow=self.step == "race")
        self._draw()
        # Bars and program that come or go leave another height for the large figure.
        self.call_after_refresh(self._draw)
        self.refresh_bindings()

    # The loop.

    def _begin(self) -> None:
        if not self.recorded:
            super()._begin()
            return
        self._open, self._due = True, False
        self.show_loop()

    def on_screen_resume(self) -> None:
        if not self.recorded:
            super().on_screen_resume()

    def show_loop(self) -> None:
        """Keep the figures; what a class has seen stays as it is."""
        new = self.job is not None and self.job.number != self._past
        measured = RECORDED if self.recorded else self.measured if new else None
        if not self.recorded and self._grown(self.loop) is not None:
            return  # a larger one follows
        if measured is not None and (self._clocks is None or self.recorded):
            self._clocks = stopwatch.of_measured(measured)
            self.refresh_bindings()
        if self.playback is None:
            self._draw()

    def show_moment(self, time: float) -> None:
        self._time = time
        self._draw()

    def end_playback(self) -> None:
        self._time = None
        self._draw()

    # Showing.

    @property
    def scene(self) -> Scene:
        """Return the scene that the class sees now."""
        return Scene(
            self.step,
            self.loop,
            self._clocks,
            self.bet,
            self._time,
            self.recorded,
        )

    def _draw(self) -> None:
        scene = self.scene
        self.query_one("#steps", Sheet).content = scene.steps()
        program = self.query_one("#program", Panel)
        hints = [hint(self, "recorded")] if self.step == "program" else []
        program.set_title(f"f = {self.loop.case.label}", hints)
        program.query_one(Sheet).content = scene.program()
        for name in CLOCKS:
            reading, state = scene.clock(name)
            panel = self.query_one(f"#{name}", Panel)
            panel.set_title(f"{name}, {scene.unit.name}")
            panel.query_one(Figure).update(reading)
            panel.query_one(Static).update(state, layout=False)
        bars = self.query_one("#bars", Panel)
        bars.set_title(scene.bars_title())
        thick = 1 if self.has_class("-flat") else 3 if self.has_class("-tall") else 2
        bars.query_one(Sheet).content = Fitted(lambda width: scene.bars(width, thick))
        hero = self.query_one("#hero", Sheet)
        why = view.why_no_figures(self.state, self.job, self.loop)
        waiting = " ".join(why.plain.split("\n"))
        hero.content = Fitted(
            lambda width: scene.hero(waiting, width, hero.content_size.height)
        )


def open_classroom(app: BaseApp, case: Case | None) -> None:
    """Open the class view of a case, or of the recorded run where there is none."""
    device = app.session.state.device
    loop = None if case is None or device is None else first_loop(case, device.name)
    app.push_screen(Classroom(loop))
