"""From a loop to something that can be run again and again, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import msgspec

from jaxtui.measure import clocks
from jaxtui.measure.clocks import Call
from jaxtui.measure.diagnosis import INLINE_SHARE
from jaxtui.measure.executable import Executable, InputPool, JaxPath
from jaxtui.measure.loops.bodies import Body
from jaxtui.measure.ops.base import Op
from jaxtui.measure.sampling import PROBE_CALLS, SLOW_CALL_SECONDS
from jaxtui.model import Loop
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


def make(loop: Loop, op: Op, device: jax.Device) -> tuple[Executable, Iterator[str]]:
    """The executable of a loop, and the phases that make it, done one by one.

    The phases are those of a case, without the copies that are only there to be timed.
    """
    pool = InputPool(seed=0)
    path = JaxPath(loop.case, op, device, pool)

    def phases() -> Iterator[str]:
        yield "inputs"
        hosted = loop.case.inputs == "host"
        with path.executable.scope():
            sent = pool.resident(op, loop.case, device)
        path.executable.args = pool.host(op, loop.case) if hosted else sent
        for phase, step in path.steps():
            if phase not in ("transfer", "fetch"):
                yield phase
                with path.executable.scope():
                    step()
        path.executable.result = None

    return path.executable, phases()


def warm_up(body: Body) -> Warmth:
    """Single calls first, then the loop itself, shortened where it is long."""
    call, args = body.executable.call, body.executable.args
    with body.executable.scope():
        block = clocks.blocked_calls(call, args, WARM_UP_SECONDS)
        one = median(block.ready[len(block.ready) // 2 :])
        inline = _runs_inline(call, args, quick=one < SLOW_CALL_SECONDS)
    # Printing compiles something, too, so that the first call is not the loop's pace.
    taken = shortened(body, 1).undisturbed()
    calls = min(body.loop.calls, int(WARM_LOOP_SECONDS / max(one, 1e-9)))
    if calls > 1:
        taken = shortened(body, calls).undisturbed()
    return Warmth(inline, taken.true * body.loop.calls / taken.calls)


def _runs_inline(call: Call, args: Sequence[Any], *, quick: bool) -> bool:
    """Whether results are ready when their calls return.

    On a busy machine a host may be stopped until a result is ready that it did not
    compute itself; with a second call right behind the first, that shows.
    """
    if clocks.ready_at_return(call, args, PROBE_CALLS if quick else 1) <= INLINE_SHARE:
        return False
    pairs = PROBE_CALLS if quick else 1
    return not any(clocks.pending_after(call, args, 2) for _ in range(pairs))


def shortened(body: Body, calls: int) -> Body:
    """The same loop with fewer calls."""
    loop = msgspec.structs.replace(body.loop, calls=calls)
    return Body(loop, body.executable, turns=lambda: range(calls))
