"""The class view, step by step: a stopwatch that lies, a bet, the factor, the fix."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from jaxtui import format as fmt
from jaxtui.model import Loop
from jaxtui.tui import themes
from jaxtui.tui.loops import FIRST_CALLS, LoopScreen
from jaxtui.tui.pane import bindings
from jaxtui.tui.status import MessageLine
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.tui.widgets.panel import Panel
from jaxtui.tui.widgets.paper import Figure, Paper
from jaxtui.view import stopwatch
from jaxtui.view import timeline as view
from jaxtui.view.classroom import CLOCKS, FIRST_BET, STEPS, Scene, Step, next_bet
from jaxtui.view.stopwatch import Clocks
from jaxtui.view.text import plain


class Classroom(LoopScreen):
    """Everything is hidden until it was predicted; Space is the next step.

    Args:
        loop: its case is shown, first without waiting.
    """

    HELP: ClassVar[str] = "For a class"

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "class",
        (
            ("escape,q", "close", "Back", "Leave the class view."),
            # What the remote of a presenter sends, too.
            ("space,enter,pagedown", "next", "Next", "The next step, or an end."),
            ("backspace,pageup", "previous", "Step back", "The step before."),
            ("left", "bet(-1)", "Lower bet", "Bet on less work."),
            ("right", "bet(1)", "Higher bet", "Bet on more work."),
            ("r,f5", "again", "Again", "Run the program anew."),
            ("s,f6", "app.stop", "Stop", "Stop the program."),
            ("t", "app.theme", "Theme", "Dark, light, projector."),
            ("question_mark,f1", "app.help", "Help", "Show all keys."),
        ),
        ("Back", "Next", "Lower bet", "Higher bet", "Again"),
    )

    DEFAULT_CSS = """
    Classroom {
        background: $background; overflow: hidden;
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
        &.-flat.-program #clocks, &.-flat.-fix #clocks { display: none; }
        &.-program #bars { display: none; }
    }
    """

    def __init__(self, loop: Loop) -> None:
        # So few that the host is not held back.
        calls = min(loop.calls, FIRST_CALLS)
        super().__init__(
            msgspec.structs.replace(
                loop, style="never", beside="end", chained=False, calls=calls
            )
        )
        self.step: Step = "program"
        self.bet = FIRST_BET
        self._clocks: tuple[Clocks, Clocks] | None = None
        """Without waiting and with it, of one run in which both took turns."""
        self._past = 0
        """The number of the run whose figures are no longer wanted."""
        self._time: float | None = None
        """Where the playback is."""
        self._theme = ""

    def compose(self) -> ComposeResult:
        yield Paper(id="steps")
        with Horizontal(id="top"):
            with Panel(id="program"):
                yield Paper()
            with Horizontal(id="clocks"):
                for name in CLOCKS:
                    with Panel(name, id=name, classes="clock"):
                        yield Figure()
                        yield Static()
        with Panel(id="bars"):
            yield Paper()
        yield Paper(id="hero")
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
        self._show_step(0)
        self.run_loop(self.loop)

    def why_not(self, action: str) -> str | None:
        if action == "bet" and self.step != "bet":
            return "The bet is made in the second step."
        if action == "next" and self.playback is None and self._clocks is None:
            return "The program has not run yet."
        return None

    def _show_step(self, index: int) -> None:
        self.step, self._time = STEPS[index], None
        for step in STEPS:
            self.set_class(step == self.step, f"-{step}")
        if self._clocks is not None and self.step in ("race", "fix"):
            found = self._clocks[self.step == "fix"]
            self.play(found.work, slow=self.step == "race")
        self._draw()
        # Bars and program that come or go leave another height for the large figure.
        self.call_after_refresh(self._draw)
        self.refresh_bindings()

    # The loop.

    def show_loop(self) -> None:
        """Keep the figures; what a class has seen stays as it is."""
        measured = self.measured
        new = self.job is not None and self.job.number != self._past
        if self._clocks is None and new and measured is not None and measured.beside:
            self._clocks = (
                stopwatch.of_repeats(measured.undisturbed, measured),
                stopwatch.of_repeats(measured.beside, measured),
            )
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
        """What the class sees now."""
        never, end = self._clocks or (None, None)
        return Scene(
            self.step,
            end if self.step == "fix" else never,
            never.unit if never is not None else fmt.common(()),
            self.bet,
            self._time,
            never.stopwatch if never is not None else 0.0,
        )

    def _draw(self) -> None:
        scene, loop = self.scene, self.loop
        self.query_one("#steps", Paper).show(lambda _: [scene.steps()])
        program = self.query_one("#program", Panel)
        program.entitle(f"f = {loop.case.label}")
        program.query_one(Paper).show(lambda _: scene.program(loop))
        for name in CLOCKS:
            reading, state = scene.clock(name)
            panel = self.query_one(f"#{name}", Panel)
            panel.entitle(f"{name}, {scene.unit.name}")
            panel.query_one(Figure).update(reading)
            panel.query_one(Static).update(state, layout=False)
        bars = self.query_one("#bars", Panel)
        bars.entitle(scene.bars_title())
        thick = 1 if self.has_class("-flat") else 3 if self.has_class("-tall") else 2
        bars.query_one(Paper).show(lambda width: scene.bars(width, thick))
        hero = self.query_one("#hero", Paper)
        lines = view.why_no_figures(self.state, self.job, loop)
        waiting = " ".join(map(plain, lines))
        hero.show(lambda width: scene.hero(waiting, width, hero.content_size.height))
