"""The async view: one loop of calls on two lanes, host and device."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Static

from jaxtui import format as fmt
from jaxtui.model import Loop, LoopMeasured
from jaxtui.plot import Axis, Color, Mark, Picture, Series
from jaxtui.state import Job
from jaxtui.tui import bindings, loop_text, loop_words, pace
from jaxtui.tui.colors import drawing, series_colors
from jaxtui.tui.lanes import Queue, queue
from jaxtui.tui.loop_commands import GROUP, LOOP_COMMANDS, SHARED, LoopCommands
from jaxtui.tui.loop_keys import LoopKeys
from jaxtui.tui.playback import Playback
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.giant import Giant
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.tui.widgets.lane_view import LaneView
from jaxtui.tui.widgets.plot_view import PlotView
from jaxtui.tui.widgets.status_line import MessageLine, StatusLine

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp


_NOTHING = Job(number=0, purpose="loop")
"""Before the loop that was asked for has begun."""


def _measured(job: Job) -> LoopMeasured | None:
    return job.result if isinstance(job.result, LoopMeasured) else None


def _facts(job: Job) -> tuple[object, ...]:
    """Whatever is shown at once; the calls come with the clock."""
    return job.number, job.result, job.failed, job.outcome


def _shared() -> Iterator[Binding]:
    """The keys of the app that mean the same here."""
    for command in bindings.COMMANDS:
        if command.id in SHARED:
            yield from (
                replace(
                    binding,
                    action=f"app.{binding.action}",
                    id=None,
                    show=binding.show and command.id == "help",
                )
                for binding in bindings.bindings((command,))
            )


class AsyncView(LoopKeys, ModalScreen[None]):
    """Runs a loop when it opens, and whenever another one is asked for.

    Modal, so that the keys of the tabs below it do nothing.

    Args:
        loop: what to begin with.
        fps: redraws per second at most.
        clock: monotonic seconds.
    """

    PLACE: ClassVar[str] = GROUP
    """Whose keys the help shows first."""
    COMMANDS: ClassVar = {LoopCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings.bindings(LOOP_COMMANDS),
        *_shared(),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-flat"),
        (20, "-low"),
        (32, "-tall"),
    ]

    DEFAULT_CSS = """
    AsyncView {
        background: $background; overflow: hidden;
        #loop-title {
            height: auto; max-height: 2; padding: 0 1; text-style: bold;
        }
        #loop-legend {
            height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        #loop-headline { height: auto; min-height: 3; padding: 0 1; }
        LaneView { margin: 0 1; }
        #loop-call { height: 2; padding: 0 1; }
        #loop-queue { height: 1fr; padding: 0 1; display: none; }
        #loop-depth { height: auto; max-height: 2; }
        #loop-notes {
            height: auto; max-height: 4; padding: 0 1; scrollbar-size-vertical: 1;
        }
        #loop-notes Static { color: $foreground 80%; }
        Giant { display: none; }
    }
    AsyncView.-flat { #loop-legend, #loop-notes { display: none; } }
    AsyncView.-flat LaneView { min-height: 4; }
    AsyncView.-queue {
        #loop-queue { display: block; }
        #loop-legend, LaneView, #loop-call { display: none; }
    }
    AsyncView.-tall {
        #loop-legend, LaneView, #loop-call, #loop-queue { display: block; }
        #loop-call { height: 3; }
        #loop-queue { height: 12; }
        #loop-notes { max-height: 8; }
    }
    AsyncView.-no-queue #loop-queue { display: none; }
    AsyncView.-giant {
        #loop-headline, #loop-legend, LaneView, #loop-call, #loop-queue, #loop-notes {
            display: none;
        }
        Giant { display: block; }
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""
    loop: reactive[Loop | None] = reactive(None, repaint=False)
    """The loop that was asked for last."""
    playback: reactive[Playback | None] = reactive(None, repaint=False)
    """How the loop is being played; ``None`` when all is shown."""
    slow: reactive[bool] = reactive(False, repaint=False)
    """Whether loops are played in slow motion."""
    giant: reactive[bool] = reactive(False, repaint=False)
    """Whether the two figures take the screen."""
    depth: reactive[bool | None] = reactive(None, repaint=False)
    """Whether the queue is shown; ``None`` leaves it to the room there is."""

    def __init__(
        self,
        loop: Loop,
        *,
        fps: float = 4.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._first = loop
        self._fps = fps
        self.clock = clock
        """Monotonic seconds."""
        self._due = False
        self._starting = False
        self._shown = _NOTHING

    @property
    def _app(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self.app)

    @property
    def lanes(self) -> LaneView:
        """The two lanes."""
        return self.query_one(LaneView)

    def compose(self) -> ComposeResult:
        """What is looped, what it cost, the lanes, what happened, and keys."""
        yield StatusLine(self.clock).data_bind(AsyncView.state)
        yield Static(id="loop-title", markup=False)
        yield Static(id="loop-headline")
        yield Static(id="loop-legend")
        yield LaneView()
        yield Static(id="loop-call")
        with Vertical(id="loop-queue"):
            yield Static(id="loop-depth", markup=False)
            yield PlotView(id="loop-plot")
        with VerticalScroll(id="loop-notes", can_focus=False):
            yield Static(id="loop-sentences")
        yield Giant()
        yield MessageLine().data_bind(AsyncView.state)
        yield KeysLine()

    def on_mount(self) -> None:
        """Follow the app, and run the loop."""
        self.watch(self.app, "state", self._follow)
        self.watch(self.app, "theme", self._themed, init=False)
        self.set_interval(1 / self._fps, self.tick)
        # Not before the first layout: Textual forgets the height of a text that is
        # replaced between its layout and the next idle moment.
        self.call_after_refresh(self.run_loop, self._first)

    def on_resize(self) -> None:
        """There is room for other notes."""
        self.call_after_refresh(self._show_notes)

    # Runs.

    def run_loop(self, loop: Loop) -> None:
        """Run a loop as soon as nothing else runs; a running loop is stopped."""
        self.loop = loop
        self._due = True
        self.stop_playing()
        self.query_one(Giant).revealed = False
        self._show_all()
        self.stop_loop()
        self._start_if_idle()

    def stop_loop(self) -> None:
        """Stop the running loop."""
        session = self._app.session
        if session.state.running and session.state.purpose == "loop":
            self._app.background(session.stop)

    def _start_if_idle(self) -> None:
        """Begin what is due; until then what came of the loop before is shown."""
        state = self._app.session.state
        idle = state.engine in ("ready", "released") and not state.running
        if self._due and idle and not self._starting and self.loop is not None:
            self._due = False
            self._starting = True
            self._app.background(partial(self._start, self.loop))

    async def _start(self, loop: Loop) -> None:
        try:
            await self._app.session.run(loop, "loop")
        finally:
            self._starting = False
        self._start_if_idle()

    # The snapshot.

    def _follow(self, state: State) -> None:
        self.state = state
        self._start_if_idle()
        mine = self._mine(state)
        # Calls that came in are shown by ``tick``, whatever else happened is shown now.
        if _facts(self._shown) != _facts(mine) or not mine.seen or self._due:
            self._show_all()

    def _mine(self, state: State) -> Job:
        """What came of the loop that was asked for."""
        last = state.loop
        return last if last is not None and last.work == self.loop else _NOTHING

    def tick(self) -> None:
        """Move the cursor, or let the lanes grow, if the terminal keeps up."""
        if pace.backlog(self._app._driver) > 1 or not self._app.pacer.ready():
            return
        if self.playback is not None:
            self._advance(self.playback)
        elif self._mine(self.state).seen != self._shown.seen:
            self._show_all()

    def _advance(self, playback: Playback) -> None:
        now = self.clock()
        if playback.over(now):
            self.stop_playing()
        else:
            self.lanes.play(playback.time(now))
        self.show_call()

    def stop_playing(self) -> None:
        """Show all calls, at once."""
        self.playback = None
        self.lanes.until = self.lanes.count = None

    # Showing.

    def _show_all(self) -> None:
        """Show what is known of the loop."""
        loop, old, new = self.loop, self._shown, self._mine(self.state)
        if loop is None:
            return
        self._shown = new
        measured = _measured(new)
        _update(self.query_one("#loop-title", Static), Content(loop_words.title(loop)))
        headline = loop_text.headline(self.state, new, loop, due=self._due)
        _update(self.query_one("#loop-headline", Static), headline)
        lanes = self.lanes
        if new.seen[:1] != old.seen[:1]:
            lanes.reset()
        lanes.take(
            new.seen,
            complete=measured is not None,
            inline=measured is not None and measured.inline,
        )
        giant = self.query_one(Giant)
        giant.measured, giant.waiting = measured, headline.plain
        if measured is not None and measured is not _measured(old):
            self.action_replay()
        self.show_call()
        self._show_notes()
        self.draw_queue()

    def show_call(self) -> None:
        """The call that is pointed out, and how the loop is being played."""
        lanes = self.lanes
        rows = 3 if self.has_class("-tall") else 2
        # A line may end early, before a word that does not fit.
        room = rows * (self.size.width - 2) - 20 * (rows - 1)
        name, text = loop_words.call(
            lanes.line, self._queue(), lanes.selected, lanes.inline, room
        )
        content = Content.assemble((name, "bold $plot-3"), ": " if name else "", text)
        _update(self.query_one("#loop-call", Static), content)
        legend = loop_text.legend(self._playing(), self.size.width - 2)
        _update(self.query_one("#loop-legend", Static), legend)

    def _playing(self) -> str:
        """How the loop is being played, and how far; empty when all is shown."""
        if self.playback is not None:
            return self.playback.words
        count = self.lanes.count
        if count is None:
            return ""
        return f"calls 1 to {count}" if count > 1 else "call 1"

    def _show_notes(self) -> None:
        measured = _measured(self._shown)
        content = loop_text.notes(measured, all_of_them=self.has_class("-tall"))
        _update(self.query_one("#loop-sentences", Static), content)

    def _queue(self) -> Queue:
        """What the calls say; where the engine has judged, its judgement counts."""
        found, measured = queue(self.lanes.line), _measured(self._shown)
        return found if measured is None else replace(found, held=measured.held_from)

    def draw_queue(self) -> None:
        """Draw the queue; also after a change of the theme."""
        line = self.lanes.line
        found = self._queue()
        words = loop_words.depth(line, found, _measured(self._shown))
        _update(
            self.query_one("#loop-depth", Static), Content(words if line.calls else "")
        )
        colors = series_colors(self.app.theme_variables)
        picture = _queue_picture(found, colors)
        self.query_one("#loop-plot", PlotView).show(drawing(picture, self.app))

    def _themed(self) -> None:
        """Draw in the new colours, once the app has them."""
        self.call_after_refresh(self.lanes.redraw)
        self.call_after_refresh(self.draw_queue)

    def watch_giant(self, giant: bool) -> None:
        """Show the two figures and nothing that would give the truth away."""
        self.set_class(giant, "-giant")

    def watch_depth(self, depth: bool | None) -> None:
        """Show or hide the queue where the size does not decide."""
        self.set_class(depth is True, "-queue")
        self.set_class(depth is False, "-no-queue")

    @on(LaneView.Picked)
    def _picked(self, event: LaneView.Picked) -> None:
        event.stop()
        self.select(event.call)


def _update(widget: Static, content: Content) -> None:
    """Write it if it differs."""
    if widget.content != content:
        widget.update(content)


def _queue_picture(queue: Queue, colors: Sequence[Color]) -> Picture | None:
    """Dispatch over calls in flight; ``None`` without calls.

    Args:
        queue: what the calls say.
        colors: of the calls, and of the marks.
    """
    if not queue.dispatch:
        return None
    calls = Series(
        "a call",
        [float(count) for count in queue.in_flight],
        list(queue.dispatch),
        colors[1],
        points=True,
        line=False,
    )
    marks = [Mark(queue.computation, "one computation", "y", colors[0])]
    if queue.held is not None:
        text = f"held back at {queue.depth}"
        marks.append(Mark(float(queue.depth), text, "x", colors[3]))
    # The mark of one computation must be in view, also where no call took so long.
    ends = [*queue.dispatch, queue.computation]
    positive = [value for value in ends if value > 0]
    limits = (min(positive) / 2, max(positive) * 2) if positive else None
    return Picture(
        (calls,),
        Axis(
            "calls in flight when the call was entered",
            limits=(0.0, max(4.0, queue.deepest + 1.0)),
            format=_whole,
        ),
        Axis(
            "until the call returned", log=True, limits=limits, format=fmt.tick_seconds
        ),
        "",
        tuple(marks),
    )


def _whole(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else ""
