"""Does jaxtui's clock agree with a loop that anybody would write?

    python tests/benchmarks/accuracy.py [--pairs 60]

For each case, blocks of our timed calls alternate with blocks of a loop by hand over
the same callable in one process, and the means of each pair are divided, of ``ready``
and of ``dispatch``. A row fails when the sign-test 95 % interval of its ratios lies
wholly outside 0.98 to 1.02 (0.96 to 1.04 for calls below 50 µs). A planted bias of 5 %
must fail, or the judge is blind.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter, perf_counter_ns
from typing import Any, NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax
from sign_test import sign_test_interval

from jaxtui.measure import clocks, coldpath, ops, own, workload
from jaxtui.measure.workload import Workload
from jaxtui.model import Case, Mode
from jaxtui.stats import Interval

BLOCK_SECONDS = 0.03
ACCEPTED, ACCEPTED_SHORT, SHORT_SECONDS = 0.02, 0.04, 50e-6
PLANTED = 0.05


class Row(NamedTuple):
    """One case and whether it is judged or only reported."""

    op: str
    size: int
    mode: Mode
    judged: bool = True


ROWS = (
    Row("matmul", 64, "jit"),
    Row("matmul", 256, "jit"),
    Row("matmul", 1000, "jit"),
    Row("selu", 1_000_000, "jit"),
    Row("selu", 1_000_000, "eager"),
    Row("sum", 1_000_000, "numpy"),
    Row(f"{__file__}:scaled", 256, "jit"),
    Row("selu", 1_000, "jit", judged=False),
)


def scaled(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A function of a file, whose result is a pytree."""
    y = x @ x
    return y, y.sum()


def scaled_args(size: int) -> tuple[jax.Array]:
    """Its argument."""
    return (jax.random.normal(jax.random.key(0), (size, size)),)


def prepared(row: Row) -> Workload:
    """The case through jaxtui's own cold path."""
    device = None if row.mode == "numpy" else jax.devices()[0]
    name = f"{device.platform}:{device.id}" if device else "host"
    case = Case(
        op=row.op,
        size=row.size,
        dtype="float32",
        device=name,
        mode=row.mode,
        inputs="device" if device else "host",
    )
    pool, source = workload.Pool(0), own.source(row.op)
    if source is None:
        made = workload.of_op(case, ops.get(row.op), device, pool)
    else:
        made = workload.of_function(own.load(source, device), case, device, pool)
    for _ in coldpath.prepare(0, made):
        pass
    return made


class Means(NamedTuple):
    """Mean seconds per call of one block."""

    ready: float
    dispatch: float
    calls: int


def wake(made: Workload) -> None:
    """Call once, untimed: the first call after a pause finds the threads asleep.

    That would be in the first loop of a block, and in jaxtui's there is only one.
    """
    made.wait(made.call(*made.args))


def ours(made: Workload, call: Callable[..., Any]) -> Means:
    """One of jaxtui's blocks."""
    wake(made)
    block = clocks.calls(call, made.args, made.wait, BLOCK_SECONDS)
    ready, dispatch = statistics.fmean(block.ready), statistics.fmean(block.dispatch)
    return Means(ready, dispatch, len(block.ready))


def by_hand(made: Workload, calls: int) -> Means:
    """The same number of calls as ``timeit`` would measure them, and their dispatch."""
    call, args = made.call, made.args
    dispatch = 0.0
    wake(made)
    if made.on_return:
        start = perf_counter()
        for _ in range(calls):
            call(*args)
        ready = (perf_counter() - start) / calls
    elif made.wait is clocks.wait_for_array:
        start = perf_counter()
        for _ in range(calls):
            call(*args).block_until_ready()
        ready = (perf_counter() - start) / calls
    else:
        start = perf_counter()
        for _ in range(calls):
            jax.block_until_ready(call(*args))
        ready = (perf_counter() - start) / calls
    for _ in range(0 if made.on_return else calls):
        result = None  # freeing it is no part of the next hand-over
        start = perf_counter()
        result = call(*args)
        dispatch += perf_counter() - start
        made.wait(result)
    return Means(ready, dispatch / calls, calls)


def paired_ratios(
    made: Workload, pairs: int, plant: Callable[..., Any] | None = None
) -> tuple[list[float], list[float], float]:
    """Ours over by hand, block against block, in random order; of ready and dispatch.

    The last is the mean of ready, seconds.
    """
    order = random.Random(0)
    found: list[tuple[Means, Means]] = []
    with made.scope():
        calls = ours(made, made.call).calls
        for _ in range(pairs):
            if order.random() < 0.5:
                mine = ours(made, plant or made.call)
                other = by_hand(made, mine.calls)
            else:
                other = by_hand(made, calls)
                mine = ours(made, plant or made.call)
            calls = mine.calls
            found.append((mine, other))
    ready = [mine.ready / other.ready for mine, other in found]
    dispatch = [mine.dispatch / (other.dispatch or 1.0) for mine, other in found]
    return ready, dispatch, statistics.fmean(other.ready for _, other in found)


def biased(made: Workload, share: float) -> Callable[..., Any]:
    """The same call, made ``share`` slower by spinning before it returns."""
    block = clocks.calls(made.call, made.args, made.wait, BLOCK_SECONDS)
    extra = int(statistics.median(block.ready) * share * 1e9)

    def call(*args: Any) -> Any:
        result = made.call(*args)
        end = perf_counter_ns() + extra
        while perf_counter_ns() < end:
            pass
        return result

    return call


def fails(interval: Interval, seconds: float) -> bool:
    """Wholly outside of what is accepted for calls of so many seconds."""
    accepted = ACCEPTED_SHORT if seconds < SHORT_SECONDS else ACCEPTED
    return interval.high < 1 - accepted or interval.low > 1 + accepted


def table(pairs: int) -> Iterator[tuple[str, bool]]:
    """Each row as text, and whether it fails."""
    for row in ROWS:
        made = prepared(row)
        ready, dispatch, seconds = paired_ratios(made, pairs)
        both: list[tuple[str, Sequence[float]]] = [("ready", ready)]
        if not made.on_return:
            both.append(("dispatch", dispatch))
        for clock, ratios in both:
            interval = sign_test_interval(ratios)
            failed = fails(interval, seconds)
            verdict = ("FAIL" if failed else "ok") if row.judged else "reported only"
            op = row.op.rpartition(":")[2]
            name = f"{op} {row.size:g} {row.mode} {clock}"
            yield line(name, interval, verdict), row.judged and failed
    # Of NumPy, whose calls no thread of JAX disturbs: there 5 % can be told.
    made = prepared(Row("sum", 1_000_000, "numpy"))
    ratios, _, seconds = paired_ratios(made, pairs, biased(made, PLANTED))
    interval = sign_test_interval(ratios)
    caught = fails(interval, seconds)
    verdict = "caught" if caught else "NOT CAUGHT"
    yield line(f"planted bias of {PLANTED:.0%}", interval, verdict), not caught


def line(name: str, interval: Interval, verdict: str) -> str:
    """One row of the table."""
    return (
        f"{name:<30} {interval.median:>7.3f}  [{interval.low:.3f}, {interval.high:.3f}]"
        f"  {verdict}"
    )


def main() -> int:
    """Print the table; 1 if a judged row fails or the planted bias passes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60)
    pairs = parser.parse_args().pairs
    print(f"jaxtui's mean / hand-written mean, {pairs} alternating block pairs")
    wrong = False
    for text, bad in table(pairs):
        print(text, flush=True)
        wrong = wrong or bad
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
