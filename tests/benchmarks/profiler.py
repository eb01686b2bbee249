"""Do ``pipelined`` and the device lane agree with the runtime's own trace?

    python tests/benchmarks/profiler.py [--turns 7]

For each op, by turns in one process: a run that yields ``pipelined``, and a loop of 20
calls (5 of the long sort) of which one repeat has both a watching thread and the
runtime's trace. The trace says how long the device took from one call to the next (its
*period*). Held against the period: ``pipelined``; the inferred lane, from the watcher's
stamps of that repeat; and the calls of the measured lane, which is never idle in such a
loop. A row fails when the sign-test 95 % interval of its ratios lies wholly outside 0.9
to 1.1. Ops of less than 0.5 ms are reported only. A lane that is a quarter longer must
fail, or the judge is blind.

``call`` is the median deviation of single calls in the inferred lane, ``cost`` what
the trace adds to a loop; neither is judged. Where the trace costs more than a tenth,
``pipelined``, which has none, is reported only.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax.numpy as jnp
from sign_test import sign_test_interval

from jaxtui.core.model import (
    Case,
    CaseMeasured,
    Experiment,
    Loop,
    LoopMeasured,
    RunEvent,
)
from jaxtui.core.model.measurement import Interval
from jaxtui.core.stats import median
from jaxtui.features.bench.measure import experiment
from jaxtui.features.timeline.measure import run_loop
from jaxtui.ui import words


def tanh(x: Any) -> Any:
    """In parallel."""
    return jnp.tanh(x)


def line(x: Any) -> Any:
    """In parallel, bound by memory."""
    return x * 2 + 1


CALLS = 20
ROWS: tuple[tuple[str, int, str, int], ...] = (
    ("matmul", 512, "", CALLS),
    ("matmul", 1000, "", CALLS),
    ("selu", 1_000_000, "", CALLS),
    ("softmax", 1000, "", CALLS),
    ("sum", 10_000_000, "", CALLS),
    ("fft", 1024, "", CALLS),
    ("cholesky", 600, "", CALLS),
    (f"{__file__}:tanh", 0, "f32[4000000]", CALLS),
    (f"{__file__}:line", 0, "f32[10000000]", CALLS),
    ("sort", 1_000_000, "", 5),
)
"""Op, size, arguments of a function, calls of the loop."""

ACCEPTED = (0.9, 1.1)
JUDGED_SECONDS = 0.5e-3
TURNS_AT_LEAST = 6
"""Fewer have no 95 % interval by the sign test."""


COST_AT_MOST = 0.1
"""Of a trace, for what it says to hold without it."""


class Turn(NamedTuple):
    """One repeat of both sides, seconds per call."""

    pipelined: float | None
    period: float
    lane: float
    """In which a call is on the measured lane."""
    inferred: float
    """By the watcher, in the traced repeat."""
    untraced: float
    """By the watcher, in repeats without a trace."""
    deviation: float
    """Median of single calls in the inferred lane, relative."""


def turn(case: Case, calls: int) -> Turn | str:
    """One turn, or why the loop had no measured lane."""
    # Bursts of calls that take so long need more time.
    budget = 2.0 if calls == CALLS else 8.0
    asked = Experiment(cases=(case,), budget_seconds=budget, target_half_width=0.0)
    loop = Loop(case=case, calls=calls)
    events: list[RunEvent] = [*experiment.run(asked), *run_loop(loop)]
    timed = next((one for one in events if isinstance(one, CaseMeasured)), None)
    lane = next((one for one in events if isinstance(one, LoopMeasured)), None)
    if timed is None or lane is None:
        return f"no figures: {events[-2]}"
    if lane.traced is None:
        return next(words.text(x) for x in lane.notes if x.code == "inferred")
    began, ended = [], []
    inferred, before = [], 0.0
    for call in lane.calls:
        assert call.device_start is not None
        assert call.device_end is not None
        began.append(call.device_start)
        ended.append(call.device_end)
        inferred.append(call.ready - max(before, call.entered))
        before = call.ready
    # The first call of a loop finds its threads asleep.
    periods = [later - end for end, later in pairwise(ended)]
    return Turn(
        timed.measurement.pipelined_seconds,
        (ended[-1] - began[0]) / calls,
        sum(b - a for a, b in zip(began, ended, strict=True)) / calls,
        before / calls,
        lane.watched.true_seconds / calls,
        median(
            [
                abs(seen / period - 1)
                for seen, period in zip(inferred[1:], periods, strict=True)
            ]
        ),
    )


def judged(name: str, ratios: Sequence[float], judge: bool) -> tuple[str, bool]:
    """One line, and whether it fails."""
    if len(ratios) < TURNS_AT_LEAST:
        return f"  {name:<22} {len(ratios)} turns are too few", judge
    interval = sign_test_interval(ratios)
    failed = fails(interval) and judge
    verdict = "FAIL" if failed else "ok" if judge else "reported"
    return (
        f"  {name:<22} {interval.median:>7.3f}  "
        f"[{interval.low:.3f}, {interval.high:.3f}]  {verdict}",
        failed,
    )


def fails(interval: Interval) -> bool:
    """Wholly outside of what is accepted."""
    return interval.high < ACCEPTED[0] or interval.low > ACCEPTED[1]


def table(turns: int) -> Iterator[tuple[str, bool]]:
    """Each line as text, and whether something is wrong with it."""
    for op, size, arguments, calls in ROWS:
        own = bool(arguments)
        case = Case(
            op=op,
            size=size,
            dtype="" if own else "float32",
            device="cpu:0",
            mode="jit",
            params={"args": arguments} if own else None,
        )
        found: list[Turn] = []
        reasons: list[str] = []
        while len(found) < turns and len(reasons) < turns:
            one = turn(case, calls)
            found += [one] if isinstance(one, Turn) else []
            reasons += [one] if isinstance(one, str) else []
        name = f"{op.rpartition(':')[2]} {arguments or size}"
        if reasons:
            yield f"{name}: {len(reasons)} turns without a lane", False
            yield f"  {reasons[0]}", False
        if not found:
            yield f"{name}: no lane at all", True
            continue
        period = median([one.period for one in found])
        deviation = median([one.deviation for one in found])
        cost = median([one.inferred / one.untraced - 1 for one in found])
        yield (
            f"{name}: period {period * 1e3:.3f} ms, "
            f"call {deviation:.1%}, cost {cost:+.1%}",
            False,
        )
        judge = period >= JUDGED_SECONDS
        piped = [one.pipelined / one.period for one in found if one.pipelined]
        lanes = [one.inferred / one.period for one in found]
        # A loop that the trace itself slows down says nothing about one without.
        yield judged("pipelined / trace", piped, judge and cost <= COST_AT_MOST)
        yield judged("inferred lane / trace", lanes, judge)
        yield judged("measured lane / trace", [x.lane / x.period for x in found], judge)
        longer = sign_test_interval([1.25 * ratio for ratio in lanes])
        if judge and not fails(longer):
            yield "  a quarter longer: NOT CAUGHT", True


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a row fails or a longer lane passes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7, help="for each op")
    turns = parser.parse_args(arguments).turns
    wrong = False
    for text, bad in table(turns):
        print(text, flush=True)
        wrong = wrong or bad
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
