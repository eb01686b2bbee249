"""The timeline: a loop of calls as host and device see it, and what it took."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import msgspec
from msgspec.structs import replace
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal

from jaxtui.core import format as fmt
from jaxtui.core.model import (
    LOOP_STYLES,
    Case,
    Experiment,
    Loop,
    LoopCall,
    LoopMeasured,
)
from jaxtui.core.wording import WAITS
from jaxtui.features.bench import scripts
from jaxtui.features.timeline import report as view
from jaxtui.features.timeline import stopwatch
from jaxtui.features.timeline.classroom import Classroom
from jaxtui.features.timeline.lane_view import LaneView
from jaxtui.features.timeline.lanes import Shot, timeline
from jaxtui.features.timeline.loops import LoopScreen, first_loop
from jaxtui.features.timeline.stopwatch import LoopClocks
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.dialogs import CodeScreen
from jaxtui.ui.app.modal import modal_keys
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.report import Fitted, Notes, gather
from jaxtui.ui.sheet import Figure, Sheet
from jaxtui.ui.widgets.keys_line import KeysLine
from jaxtui.ui.widgets.panel import Hint, Panel, hint

_KEYS = (
    ("escape,q", "close", "Back", "Back to the tabs."),
    ("j", "style", "Wait", "Wait never, at the end, or after each call."),
    ("k", "chain", "Chain", "Pass each result to the next call, or not."),
    ("plus,equals_sign", "more", "More", "More calls, up to 200."),
    ("space", "play", "Play", "Play the repeat; pause."),
    ("full_stop", "slow", "Slow", "Slow motion: the repeat takes twenty seconds."),
    ("p", "class", "Class", "For a class: a stopwatch, a bet, the factor, the fix."),
    ("v", "code", "Code", "Show plain Python that measures this loop."),
    ("minus", "fewer", "Less", "Fewer calls, down to 1."),
    ("r,f5", "again", "Again", "Run the loop again."),
    ("left", "move(-1)", "Call before", "Select the previous call."),
    ("right", "move(1)", "Next call", "Select the next call."),
)

_SHOWN = ("Wait", "Chain", "More", "Play", "Slow", "Class", "Code", "Back")


class FiguresPanel(Panel):
    """Stopwatch and work of the loop, and the factor between them."""

    DEFAULT_CSS = """
    FiguresPanel {
        Horizontal { height: auto; }
        Sheet { min-height: 3; }
        Figure { width: auto; height: 3; margin-left: 2; color: $danger; }
        Figure.-right { color: $success; }
        Figure.-vague { color: $foreground; text-style: dim; }
    }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Sheet()
            yield Figure()

    def show(self, clocks: LoopClocks, *, until: float | None) -> None:
        """Show figures as far as they may be known.

        Args:
            clocks: what there is to compare.
            until: where the playback is; ``None`` when all is shown.
        """
        factor = self.query_one(Figure)
        factor.display = until is None and clocks.repeats != 0
        factor.set_class(not clocks.wrong, "-right")
        factor.set_class(clocks.vague, "-vague")
        factor.update(clocks.factor.replace("×", "x"))
        over = until is None or until >= clocks.work

        def lines(width: int) -> list[Text]:
            last = stopwatch.judgement(clocks, width) if over else Text("…", "muted")
            last.no_wrap, last.overflow = True, "ellipsis"
            return [*stopwatch.loop_lines(clocks, width, until=until), last]

        self.query_one(Sheet).content = Fitted(lines)

    def wait(self, why: Text) -> None:
        """Say why there are no figures."""
        self.query_one(Figure).display = False
        self.query_one(Sheet).content = why


class TimelineScreen(LoopScreen):
    """Runs a loop when it opens, and whenever another one is asked for."""

    HELP: ClassVar[str] = "In the timeline"

    BINDINGS: ClassVar[list[BindingType]] = modal_keys("timeline", _KEYS, _SHOWN)

    DEFAULT_CSS = """
    TimelineScreen {
        #lanes { height: 1fr; }
        #call { height: 4; }
        #notes {
            height: auto; max-height: 3; border: none; overflow: hidden;
        }
        &.-flat #call, &.-flat #notes { display: none; }
        &.-tall {
            #notes {
                max-height: 12; overflow: hidden auto;
                border: round $panel-border; scrollbar-size-vertical: 1;
            }
        }
    }
    """

    def __init__(self, loop: Loop, *, grows: bool = False) -> None:
        super().__init__(loop, grows=grows)
        self.slow = False
        """True while loops are played in slow motion."""
        self._calls: tuple[LoopCall, ...] = ()
        self._measured: LoopMeasured | None = None
        """The measurement behind the lanes and notes."""

    @property
    def lanes(self) -> LaneView:
        """Host, device and queue."""
        return self.query_one(LaneView)

    def compose(self) -> ComposeResult:
        yield StatusLine(self.base.clock).data_bind(TimelineScreen.state)
        yield FiguresPanel(id="figures")
        with Panel("lanes", [hint(self, "play"), hint(self, "slow")], id="lanes"):
            yield LaneView()
        with Panel(hints=[Hint("← →", "select")], id="call"):
            yield Sheet()
        with Panel("notes", id="notes"):
            yield Sheet()
        yield MessageLine().data_bind(TimelineScreen.state)
        yield KeysLine()

    def on_mount(self) -> None:
        # Draw in the colours of another theme.
        repaint = self.lanes.watch_shot
        self.app.theme_changed_signal.subscribe(self, lambda _: repaint())

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_notes)

    # Actions: another loop.

    def action_again(self) -> None:
        self._change()

    def action_style(self) -> None:
        index = LOOP_STYLES.index(self.loop.style) + 1
        self._change(style=LOOP_STYLES[index % len(LOOP_STYLES)])

    def action_chain(self) -> None:
        self._change(chained=not self.loop.chained)

    def action_more(self) -> None:
        self._change(calls=view.next_calls(self.loop.calls, 1))

    def action_fewer(self) -> None:
        self._change(calls=view.next_calls(self.loop.calls, -1))

    def _change(self, **changes: object) -> None:
        self.run_loop(msgspec.structs.replace(self.loop, **changes))

    def action_code(self) -> None:
        self.base.background(partial(self._show_code, self.loop))

    async def _show_code(self, loop: Loop) -> None:
        experiment = Experiment(cases=(loop.case,))
        plan = await self.base.session.plan(experiment, recipes=True)
        script = scripts.loop_script(loop, plan.cases)
        if self.is_current:  # an engine that is busy answers late
            self.app.push_screen(CodeScreen(view.label(loop), script))

    def action_class(self) -> None:
        self.app.push_screen(Classroom(self.loop))

    # Actions: what is shown of it.

    def action_play(self) -> None:
        """Play the repeat; pause and resume."""
        if self.playback is not None:
            self.playback = self.playback.toggled(self.base.clock())
            self._set_title()
        elif self.complete:
            self.play(self.lanes.shot.line.total, slow=self.slow)

    def action_slow(self) -> None:
        self.slow = not self.slow
        if self.playback is not None:
            self.playback = self.playback.at_speed(self.slow, self.base.clock())
            self._set_title()
        else:
            self.action_play()

    def action_move(self, by: int) -> None:
        self._show_still(self.lanes.shot.selected + by)

    def _show_still(self, call: int | None = None) -> None:
        """End the playback, show all calls, and point out one."""
        self.playback = None
        shot = replace(self.lanes.shot, until=None)
        self.lanes.shot = shot if call is None else shot.selecting(call)
        self.show_loop()

    def why_not(self, action: str) -> str | None:
        state = self.base.session.state
        if action == "code" and state.engine not in ("ready", "running"):
            return "The code of a loop needs JAX: r starts JAX and runs the loop."
        if action in ("play", "slow") and not self.complete:
            return "No complete repeat yet."
        if action == "move" and not self._calls:
            return "No calls yet."
        if action == "more" and self.loop.calls >= view.CALLS[-1]:
            return f"A loop has at most {view.CALLS[-1]} calls."
        if action == "fewer" and self.loop.calls <= view.CALLS[0]:
            return "A loop has at least one call."
        return None

    # Showing.

    def show_loop(self) -> None:
        if self.playback is not None:
            return
        calls, measured = self.job.seen if self.job is not None else (), self.measured
        shot = self.lanes.shot
        changed = calls is not self._calls or measured is not self._measured
        if changed:
            line = timeline(calls, measured.held_from if measured else None)
            # Those of another loop are looked at anew.
            same = calls[:1] == self._calls[:1]
            shot = replace(shot, line=line) if same else Shot(line)
            self._calls, self._measured = calls, measured
        self.lanes.shot = replace(shot, complete=self.complete)
        self._set_title()
        self._show_figures()
        self._show_call()
        if changed:
            self._show_notes()

    def show_moment(self, time: float) -> None:
        self.lanes.shot = self.lanes.shot.playing(time)
        self._set_title()
        self._show_figures(time)
        self._show_call()

    def end_playback(self) -> None:
        self._show_still()

    def _set_title(self) -> None:
        loop, job = self.loop, self.job
        count = fmt.plural(loop.calls, "call")
        hints = [
            hint(self, "style", WAITS[loop.style]),
            hint(self, "chain", view.links(loop)),
            Hint("+ −", count),
            hint(self, "class"),
        ]
        self.query_one("#figures", Panel).set_title(loop.case.label, hints)
        shot = self.lanes.shot
        source = "measured" if shot.line.measured else "inferred"
        if self.measured is not None and self.measured.inline:
            source = "inline"
        title = f"lanes · device {source}" if shot.line.calls else "lanes"
        if self.playback is not None:
            title += f" · {self.playback.words}"
        elif self.measured is not None:
            title += f" · one {'traced' if self.measured.traced else 'watched'} repeat"
        elif self.complete and job is not None and job.outcome is None:
            title += " · first repeat, refining"
        self.query_one("#lanes", Panel).set_title(title)

    def _show_figures(self, until: float | None = None) -> None:
        panel = self.query_one(FiguresPanel)
        if not self.complete:
            panel.wait(view.why_no_figures(self.state, self.job, self.loop))
            return
        line = self.lanes.shot.line
        clocks = stopwatch.of_loop(line, self.measured)
        if until is not None:
            until = stopwatch.moment(clocks, line, until)
        panel.show(clocks, until=until)

    def _show_call(self) -> None:
        line, index = self.lanes.shot.line, self.lanes.shot.selected
        panel = self.query_one("#call", Panel)
        in_range = 0 <= index < line.calls
        panel.set_title(f"call {index + 1} of {line.calls}" if in_range else "call")
        inline = self.measured is not None and self.measured.inline
        panel.query_one(Sheet).content = view.call_text(line, index, inline=inline)

    def _show_notes(self) -> None:
        notes = gather((), self.measured.notes if self.measured else ())
        # A low screen has a line for each.
        brief = not self.has_class("-tall")
        content = Notes(notes, brief=brief) if notes else ""
        self.query_one("#notes", Panel).query_one(Sheet).content = content

    @on(LaneView.Picked)
    def _select_clicked(self, event: LaneView.Picked) -> None:
        event.stop()
        self._show_still(event.call)


def open_timeline(app: BaseApp, case: Case, *, grows: bool) -> None:
    """Open the timeline of a case.

    Args:
        app: the app.
        case: whose calls are shown.
        grows: its size is a guess of jaxtui, and may grow.
    """
    device = app.session.state.device
    if device is not None and not isinstance(app.screen, TimelineScreen):
        app.push_screen(TimelineScreen(first_loop(case, device.name), grows=grows))
