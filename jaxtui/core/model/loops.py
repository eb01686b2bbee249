"""A loop of calls on one time axis: what the host did, and when results were ready."""

from __future__ import annotations

from typing import Literal, get_args

from jaxtui.core.model.base import Record, WithBudget
from jaxtui.core.model.cases import Case, Peak
from jaxtui.core.model.remark import Remark

LoopStyle = Literal["never", "end", "each"]
"""The time of the host's wait, with ``block_until_ready``: never, once at the end, or
after every call."""

LOOP_STYLES: tuple[LoopStyle, ...] = get_args(LoopStyle)

MAXIMUM_LOOP_CALLS = 200


class Loop(WithBudget, frozen=True, kw_only=True, tag=True):
    """A number of calls of one case, one after the other, as a program would do it."""

    case: Case
    """The case; its mode is ``eager`` or ``jit``."""
    calls: int = 40
    """The number of calls, from 1 to ``MAXIMUM_LOOP_CALLS``."""
    style: LoopStyle = "never"
    chained: bool = False
    """Each call takes the last result as its first argument; else all calls have the
    same arguments."""
    budget_seconds: float = 10.0
    """Seconds for everything, compile included; sets how often the loop is repeated."""


DeviceLane = Literal["measured", "inferred"]
"""The source of the device's share of a call: the runtime's own trace, or the order in
which results became ready."""


class LoopCall(Record, frozen=True, kw_only=True):
    """A call of a loop; seconds since the first call was entered."""

    entered: float
    returned: float
    """The call came back: the result is promised."""
    ready: float
    """A watching thread saw the result ready, in the order of the calls. Never before
    ``returned``: only then there is a result to watch."""
    waited: float | None = None
    """The host was through with waiting for it; ``None`` if it did not wait then."""
    device_start: float | None = None
    device_end: float | None = None
    """The device's own times, where the lane is measured."""


class LoopClock(Record, frozen=True, kw_only=True):
    """The times of a loop as a whole: medians over its repeats, in seconds."""

    repeats: int
    stopwatch_seconds: float
    """Seconds from the first call until the loop's own code was through: a stopwatch
    around the loop reads them. It waits only where the style does."""
    true_seconds: float
    """Seconds from the first call until every result was ready, and the loop's own code
    was through."""
    factor: tuple[float, float] | None = None
    """The least and the largest of how many times longer that is than the stopwatch
    says: of the turns of these repeats, each the median of its own. ``None`` of one."""


class LoopSeen(Record, frozen=True, kw_only=True, tag=True):
    """Some calls of the first watched repeat; of a long one as they became ready."""

    first: int
    """Index of the first of these calls."""
    calls: tuple[LoopCall, ...]


class LoopMeasured(Record, frozen=True, kw_only=True, tag=True):
    """The result of a loop."""

    loop: Loop
    calls: tuple[LoopCall, ...]
    """The calls of one watched repeat: the traced one, or the one whose total is the
    median."""
    watched: LoopClock
    """The clocks of the repeats with the watcher."""
    undisturbed: LoopClock
    """The clocks of the repeats without it, interleaved with the others."""
    inline: bool
    """Results were ready when their calls returned: nothing here is asynchronous."""
    queue_depth: int
    """Computations that this runtime lets be in flight, as the engine found it."""
    device_lane: DeviceLane = "inferred"
    """A note says why it is inferred."""
    traced: LoopClock | None = None
    """The clocks of the traced repeat, where the lane is measured."""
    flops: float | None
    """Flops of one call, by the op's own formula."""
    peak: Peak | None = None
    held_from: int | None = None
    """Index of the first call that the runtime held back because its queue was full;
    ``None`` if it held none."""
    notes: tuple[Remark, ...] = ()
