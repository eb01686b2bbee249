"""Does the timeline of a loop tell the truth?

    python tests/benchmarks/timeline.py [--seconds 15]

For each size, independent and chained, three loops of 40 calls take turns in one
process, in random order: jaxtui's watched loop; a hand-written one that blocks once at
the end; and a hand-written one that has the same watcher. None keeps its results: a
result that is kept costs each later call a fresh allocation. The device lane's total
(the last result ready) is divided by the total of the second, and the host lane's last
return by that of the third. A row fails when the sign-test 95 % interval of its ratios
lies wholly outside 0.9 to 1.1. A loop that is a quarter longer must fail, or the judge
is blind. The depth of the queue must be found.

The figures above the lanes, stopwatch and work of 20 calls that nobody watches, are
divided by the medians of a plain loop by hand right before and behind each run.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax
from sign_test import sign_test_interval

from jaxtui.core.model import Case, Loop, LoopMeasured
from jaxtui.core.model.measurement import Interval
from jaxtui.features.timeline.measure import repeats, run_loop
from jaxtui.features.timeline.measure.repeats import Body, Watcher
from jaxtui.tasks import ops
from jaxtui.tasks.workload import Pool, Workload, of_op
from jaxtui.timing import coldpath, runtime
from jaxtui.timing.turns import quiet_collector

SIZES = (512, 768, 1000)
CALLS = 40
HEADLINE_CALLS = 20
"""Fewer than the queue takes: the stopwatch reads the hand-over alone."""
BY_HAND = 7
"""Plain loops before each run of jaxtui, and as many behind it."""
ACCEPTED = (0.9, 1.1)
TURNS_AT_LEAST = 7
DEPTH_ON_CPU = 32


class Ratios(NamedTuple):
    """Ours over by hand, one for each turn."""

    device: list[float]
    host: list[float]
    held: list[int | None]
    """From which call on the runtime held the host back, counted from 1."""
    seconds: list[float]
    """What the loop took that blocks once."""


def body(size: int, *, chained: bool, calls: int = CALLS) -> Body:
    """A product of that size, ready to be looped over."""
    device = jax.devices()[0]
    case = Case(
        op="matmul",
        size=size,
        dtype="float32",
        device=f"{device.platform}:{device.id}",
        mode="jit",
    )
    loop = Loop(case=case, calls=calls, style="never", chained=chained)
    workload = of_op(case, ops.get(case.op), device, Pool(0))
    for _ in coldpath.make_ready(workload):
        pass
    made = Body(loop, workload, turns=lambda: range(calls))
    repeats.warm_up(made)
    return made


def blocked_once(made: Workload, *, chained: bool) -> float:
    """Seconds until everything was ready, as anybody would time it."""
    call, (x, y) = made.call, made.args
    start = perf_counter()
    for _ in range(CALLS):
        result = call(x, y)
        if chained:
            x = result
    result.block_until_ready()
    return perf_counter() - start


def watched_by_hand(made: Workload, *, chained: bool) -> float:
    """Seconds until the last call returned."""
    call, (x, y) = made.call, made.args
    returned = 0.0
    with Watcher() as watcher:
        start = perf_counter()
        for _ in range(CALLS):
            result = call(x, y)
            returned = perf_counter()
            watcher.watch(result)
            if chained:
                x = result
    return returned - start


def ratios(ours: Body, seconds: float, *, chained: bool) -> Ratios:
    """All three loops in turn, for about so many seconds."""
    order = random.Random(0)
    found = Ratios([], [], [], [])
    end = perf_counter() + seconds
    while perf_counter() < end or len(found.held) < TURNS_AT_LEAST:
        stamps = ours.stamps()
        taken: dict[str, float] = {}
        names = ["ours", "blocked", "watched"]
        order.shuffle(names)
        for name in names:
            if name == "ours":
                ours.watch(stamps)
            elif name == "blocked":
                taken[name] = blocked_once(ours.workload, chained=chained)
            else:
                taken[name] = watched_by_hand(ours.workload, chained=chained)
        calls = stamps.calls()
        found.device.append(calls[-1].ready / taken["blocked"])
        found.host.append(calls[-1].returned / taken["watched"])
        held = repeats.held_from(calls, DEPTH_ON_CPU)
        found.held.append(None if held is None else held + 1)
        found.seconds.append(taken["blocked"])
    return found


def plain(made: Workload) -> tuple[float, float]:
    """Seconds until the loop was through, and until everything was ready."""
    call, (x, y) = made.call, made.args
    start = perf_counter()
    for _ in range(HEADLINE_CALLS):
        result = call(x, y)
    through = perf_counter()
    result.block_until_ready()
    return through - start, perf_counter() - start


def headlines(size: int, seconds: float) -> tuple[list[float], list[float]]:
    """Stopwatch and work of jaxtui over those by hand, one for each turn."""
    by_hand = body(size, chained=False).workload
    loop = Loop(case=by_hand.case, calls=HEADLINE_CALLS, budget_seconds=2.0)
    stopwatch: list[float] = []
    work: list[float] = []
    end = perf_counter() + seconds
    while perf_counter() < end or len(work) < TURNS_AT_LEAST:
        taken = [plain(by_hand) for _ in range(BY_HAND)]
        ours = [one for one in run_loop(loop) if isinstance(one, LoopMeasured)]
        taken += [plain(by_hand) for _ in range(BY_HAND)]
        for one in ours:
            read, took = (statistics.median(each) for each in zip(*taken, strict=True))
            stopwatch.append(one.undisturbed.stopwatch_seconds / read)
            work.append(one.undisturbed.true_seconds / took)
    return stopwatch, work


def fails(interval: Interval) -> bool:
    """Wholly outside of what is accepted."""
    return interval.high < ACCEPTED[0] or interval.low > ACCEPTED[1]


def table(seconds: float) -> Iterator[tuple[str, bool]]:
    """Each row as text, and whether something is wrong with it."""
    for size in SIZES:
        for chained in (False, True):
            found = ratios(body(size, chained=chained), seconds, chained=chained)
            name = f"matmul {size} {'chained' if chained else 'independent'}"
            each = statistics.median(found.seconds) / CALLS
            yield f"{name}: {each * 1e3:.2f} ms a call, held from {held(found)}", False
            for lane, taken in (("device", found.device), ("host", found.host)):
                interval = sign_test_interval(taken)
                failed = fails(interval)
                yield (
                    line(f"  {lane} lane", interval, "FAIL" if failed else "ok"),
                    failed,
                )
    stopwatch, work = headlines(SIZES[0], seconds)
    yield f"matmul {SIZES[0]}: the figures above the lanes", False
    for name, taken in (("stopwatch", stopwatch), ("work", work)):
        interval = sign_test_interval(taken)
        failed = fails(interval)
        yield line(f"  {name}", interval, "FAIL" if failed else "ok"), failed
    longer = body(SIZES[0], chained=False, calls=CALLS + CALLS // 4)
    interval = sign_test_interval(ratios(longer, seconds, chained=False).device)
    caught = fails(interval)
    verdict = "caught" if caught else "NOT CAUGHT"
    yield line("a quarter more calls", interval, verdict), not caught


def held(found: Ratios) -> str:
    """The call from which the host was held back, as its median and range."""
    seen = sorted(call for call in found.held if call is not None)
    if not seen:
        return "no call"
    return (
        f"call {statistics.median(seen):g} ({seen[0]} to {seen[-1]}, "
        f"seen in {len(seen)} of {len(found.held)})"
    )


def line(name: str, interval: Interval, verdict: str) -> str:
    """One row of the table."""
    return (
        f"{name:<24} {interval.median:>7.3f}  [{interval.low:.3f}, {interval.high:.3f}]"
        f"  {verdict}"
    )


def depth() -> tuple[str, bool]:
    """The depth of the queue, and whether it is not what it must be."""
    found = runtime.of(jax.devices()[0]).queue_depth
    return f"queue depth {found} (must be {DEPTH_ON_CPU})", found != DEPTH_ON_CPU


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a row fails or the longer loop passes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="for each row")
    seconds = parser.parse_args(arguments).seconds
    print(f"jaxtui's lanes / by hand, {CALLS} calls")
    text, wrong = depth()
    print(text)
    with quiet_collector():
        for text, bad in table(seconds):
            print(text, flush=True)
            wrong = wrong or bad
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
