"""The runs and the playback of a loop, shared by its screens."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec.structs import replace
from textual.timer import Timer

from jaxtui.core import format as fmt
from jaxtui.core.experiments import fitting_size, loopable
from jaxtui.core.model import Case, Loop, LoopMeasured
from jaxtui.core.state import Job
from jaxtui.ui.app import pace
from jaxtui.ui.app.modal import Modal
from jaxtui.ui.app.state import State

FIRST_CALLS = 20
"""Fewer calls than any queue holds, so that nothing blocks the host: the first view
should show only dispatch."""

BUDGET_SECONDS = 6.0
"""Seconds of a loop that the user waits for, compile included."""

SETTLE_SECONDS = 0.2
"""A loop starts when no other one was asked for so long."""

SECONDS = 4.0
"""Seconds that a loop takes on the screen."""

SLOW_SECONDS = 20.0
"""Seconds in slow motion, for an audience."""


def first_loop(case: Case, device: str) -> Loop:
    """Return the first loop of a case.

    Args:
        case: the selected one.
        device: where a case of the host is looped.
    """
    return Loop(
        case=loopable(case, device), calls=FIRST_CALLS, budget_seconds=BUDGET_SECONDS
    )


class Playback(msgspec.Struct, frozen=True):
    """A playback of a loop; immutable, the clock is handed in."""

    total: float
    """Seconds that the loop took."""
    since: float
    """The clock when it began, or would have begun at today's speed."""
    slow: bool = False
    paused: float | None = None
    """The clock when it was paused."""

    @property
    def takes(self) -> float:
        """Seconds on the screen."""
        return SLOW_SECONDS if self.slow else SECONDS

    def time(self, clock: float) -> float:
        """Return the cursor's position in the loop, seconds."""
        now = clock if self.paused is None else self.paused
        return self.total * max(0.0, min((now - self.since) / self.takes, 1.0))

    def over(self, clock: float) -> bool:
        """Return whether all of it has been shown."""
        return self.paused is None and clock - self.since >= self.takes

    def at_speed(self, slow: bool, clock: float) -> Playback:
        """Slow motion or not, from the same place on."""
        now = clock if self.paused is None else self.paused
        share = (now - self.since) / self.takes
        playback = replace(self, slow=slow)
        return replace(playback, since=now - share * playback.takes)

    def toggled(self, clock: float) -> Playback:
        """Pause or resume."""
        if self.paused is None:
            return replace(self, paused=clock)
        return replace(self, paused=None, since=self.since + clock - self.paused)

    @property
    def words(self) -> str:
        """The playback, e.g. ``slow motion, 100× slower than real time``."""
        if self.paused is not None:
            return "paused"
        name = "slow motion" if self.slow else "playing"
        if self.total <= 0:
            return name
        ratio = self.takes / self.total
        if ratio >= 1:
            return f"{name}, {fmt.ratio(ratio)} slower than real time"
        return f"{name}, {fmt.ratio(1 / ratio)} faster than real time"


class LoopScreen(Modal):
    """Runs the loop that was asked for last, and plays what came of it.

    Args:
        loop: what to begin with.
        grows: its size is a guess of jaxtui: it grows until the work takes twenty
            dispatches, unless something else is asked for.
    """

    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-flat"),
        (20, "-low"),
        (32, "-tall"),
    ]

    def __init__(self, loop: Loop, *, grows: bool = False) -> None:
        super().__init__()
        self._guess = loop if grows else None
        """The loop whose size may grow."""
        self.loop = loop
        """The loop that was asked for last."""
        self.playback: Playback | None = None
        """The running playback; ``None`` when all is shown."""
        self._open = False
        """The screen has been laid out."""
        self._due = True
        """The loop has not been run yet."""
        self._starting = False
        """The session was asked to run it."""
        self._stopping = 0
        """The run whose end was asked for."""
        self._latest: Job | None = None
        """The latest job of a loop that was started here."""
        self._settling: Timer | None = None
        """While another loop may still be asked for."""

    def on_mount(self) -> None:
        self.set_interval(1 / self.base.fps, self.tick)
        # Not before the first layout: Textual forgets the height of a text that is
        # replaced between its layout and the next idle moment.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._open = True
        self.run_loop(self.loop, 0.0)

    def on_screen_resume(self) -> None:
        """Run what another screen of a loop, above this one, has kept from it."""
        if self._due:
            self._start_if_idle()
        elif self.job is None and not self._starting:
            self.run_loop(self.loop)

    # Runs.

    def run_loop(self, loop: Loop, settle: float | None = None) -> None:
        """Run a loop when nothing else runs; a running loop is stopped.

        Args:
            loop: the loop.
            settle: seconds in which another loop may still be asked for.
        """
        self.loop = loop
        self.playback = None
        self._due = True
        self.show_loop()
        self.stop_loop()
        if self._settling is not None:
            self._settling.stop()
        wait = SETTLE_SECONDS if settle is None else settle
        self._settling = self.set_timer(wait, self._end_settling) if wait else None
        self._start_if_idle()

    def stop_loop(self) -> None:
        """Stop the running loop; it is asked to end once."""
        session = self.base.session
        job = session.state.job
        if job is None or job.purpose != "loop" or job.number == self._stopping:
            return
        self._stopping = job.number
        self.base.background(session.stop)

    def _end_settling(self) -> None:
        self._settling = None
        self._start_if_idle()

    def _start_if_idle(self) -> None:
        """Begin what is due, unless another screen of a loop is above this one."""
        state, top = self.base.session.state, self.app.screen
        if not self._open or (top is not self and isinstance(top, LoopScreen)):
            return
        idle = state.engine in ("ready", "released") and not state.busy
        waits = not self._due or self._settling is not None or self._starting
        if idle and not waits:
            self._due = False
            self._starting = True
            self.base.background(partial(self._start, self.loop))

    async def _start(self, loop: Loop) -> None:
        try:
            await self.base.session.run(loop, "loop")
        finally:
            self._starting = False
        if loop == self.loop and (grown := self._grown(loop)) is not None:
            self._guess = grown
            self.run_loop(grown, 0.0)
        self._start_if_idle()

    def _grown(self, loop: Loop) -> Loop | None:
        """The loop with a size whose work takes longer; ``None`` where it does."""
        if loop != self._guess or self.measured is None or loop.case.op != "matmul":
            return None
        calls = self.measured.calls
        # Later ones are held back by the queue.
        dispatch = min(call.returned - call.entered for call in calls[:FIRST_CALLS])
        work = self.measured.undisturbed.true_seconds / loop.calls
        size = fitting_size(loop.case.size, dispatch, work)
        if size == loop.case.size:
            return None
        return replace(loop, case=replace(loop.case, size=size))

    # The snapshot.

    @property
    def job(self) -> Job | None:
        """The job of the requested loop; ``None`` before it has begun."""
        job = self._latest
        return None if self._due or job is None or job.work != self.loop else job

    @property
    def measured(self) -> LoopMeasured | None:
        """All that the engine says of the loop, once it does."""
        result = self.job.result if self.job is not None else None
        return result if isinstance(result, LoopMeasured) else None

    @property
    def complete(self) -> bool:
        """True if a whole repeat can be drawn."""
        return self.job is not None and len(self.job.seen) == self.loop.calls

    def follow(self, state: State) -> None:
        super().follow(state)
        job = state.jobs.get("loop")
        # Another screen of a loop above this one has others.
        if job is not None and job.work == self.loop:
            self._latest = job
        self._start_if_idle()
        if self._open and self.playback is None:
            self.show_loop()

    def tick(self) -> None:
        """Move the cursor of the playback, if the terminal keeps up."""
        if pace.backlog(self.app._driver) > 1 or not self.base.pacer.ready():
            return
        playback, now = self.playback, self.base.clock()
        if playback is None:
            return
        if playback.over(now):
            self.playback = None
            self.end_playback()
        else:
            self.show_moment(playback.time(now))

    def play(self, total: float, *, slow: bool) -> None:
        """Play a repeat that took so many seconds from its beginning."""
        self.playback = Playback(total, self.base.clock(), slow)
        self.show_moment(0.0)

    def action_close(self) -> None:
        """Leave the screen; its loop is stopped, and one that waits never begins."""
        self._open = False
        self.stop_loop()
        self.dismiss()

    # For the screens.

    def show_loop(self) -> None:
        """Show what is known of the loop."""
        raise NotImplementedError

    def show_moment(self, time: float) -> None:
        """Show the loop up to a time, while it is played."""
        raise NotImplementedError

    def end_playback(self) -> None:
        """Show all of a loop that was played to its end."""
        raise NotImplementedError
