"""Warms a loop up, and sees how long it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import msgspec

from jaxtui.measure import clocks
from jaxtui.measure.loops.bodies import Body
from jaxtui.measure.notes import INLINE_SHARE
from jaxtui.measure.turns import PROBE_CALLS, SLOW_CALL_SECONDS
from jaxtui.measure.workload import Workload
from jaxtui.stats import median

WARM_UP_SECONDS = 0.05
"""For single calls, before the loop itself is warmed up."""

WARM_LOOP_SECONDS = 0.5
"""A longer loop is warmed up with fewer calls."""


class Warmth(NamedTuple):
    """What the warm-up saw."""

    inline: bool
    """Results are ready when their calls return."""
    repeat_seconds: float
    """About how long one repeat of the loop takes."""


def warm_up(body: Body) -> Warmth:
    """Single calls first, then the loop itself, shortened where it is long."""
    workload = body.workload
    with workload.scope():
        block = clocks.calls(
            workload.call, workload.args, workload.wait, WARM_UP_SECONDS
        )
        one = median(block.ready[len(block.ready) // 2 :])
        inline = _runs_inline(workload, quick=one < SLOW_CALL_SECONDS)
    # Printing compiles something, too, so that the first call is not the loop's pace.
    taken = shortened(body, 1).undisturbed()
    calls = min(body.loop.calls, int(WARM_LOOP_SECONDS / max(one, 1e-9)))
    if calls > 1:
        taken = shortened(body, calls).undisturbed()
    return Warmth(inline, taken.true * body.loop.calls / taken.calls)


def _runs_inline(workload: Workload, *, quick: bool) -> bool:
    """Whether results are ready when their calls return.

    On a busy machine a host may be stopped until a result is ready that it did not
    compute itself; with a second call right behind the first, that shows.
    """
    call, args, pairs = workload.call, workload.args, PROBE_CALLS if quick else 1
    if clocks.ready_at_return(call, args, pairs) <= INLINE_SHARE:
        return False
    return not any(clocks.pending_after(call, args, 2) for _ in range(pairs))


def shortened(body: Body, calls: int) -> Body:
    """The same loop with fewer calls."""
    loop = msgspec.structs.replace(body.loop, calls=calls)
    return replace(body, loop=loop, turns=lambda: range(calls))
