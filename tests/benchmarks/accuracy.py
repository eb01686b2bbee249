"""Does jaxtui's clock agree with a loop that anybody would write?

    python tests/benchmarks/accuracy.py [--pairs 60]

For each case, blocks of our timed calls alternate with blocks of two loops by hand over
the same callable in one process, one that ``timeit`` would run and one that reads when
each call returned. Of ``ready`` the means of a pair are divided, of ``dispatch`` the
medians, which are what jaxtui prints. The loop of ``timeit`` pays for freeing each
result, so the mean of that, which jaxtui times apart, is added to ours. A row fails
when the sign-test 95 % interval of its ratios lies wholly outside 0.98 to 1.02 (0.96 to
1.04 for what takes less than 50 µs). A planted bias of 5 % must fail, or the judge is
blind.

The mean of ``dispatch`` is only reported: the few hand-overs that find the threads of
the runtime asleep decide it, and they are more frequent the more a loop does between a
result and the next call, be it the third of a microsecond that keeping two times costs.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import Any, NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax
from sign_test import sign_test_interval

from jaxtui.core.model import Case, Mode
from jaxtui.core.model.measurement import Interval
from jaxtui.tasks import ops, own, waiting, workload
from jaxtui.tasks.workload import Workload
from jaxtui.timing import clocks, coldpath
from jaxtui.timing.clocks import Block

BLOCK_SECONDS = 0.03
ACCEPTED, ACCEPTED_SHORT, SHORT_SECONDS = 0.02, 0.04, 50e-6
PLANTED = 0.05
MEAN = "dispatch mean"


class Subject(NamedTuple):
    """One case and whether it is judged or only reported."""

    op: str
    size: int
    mode: Mode
    judged: bool = True


CASES = (
    Subject("matmul", 64, "jit"),
    Subject("matmul", 256, "jit"),
    Subject("matmul", 1000, "jit"),
    Subject("selu", 1_000_000, "jit"),
    Subject("selu", 1_000_000, "eager"),
    Subject("sum", 1_000_000, "numpy"),
    Subject(f"{__file__}:scaled", 256, "jit"),
    Subject("selu", 1_000, "jit", judged=False),
)


def scaled(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A function of a file, whose result is a pytree."""
    y = x @ x
    return y, y.sum()


def scaled_args(size: int) -> tuple[jax.Array]:
    """Its argument."""
    return (jax.random.normal(jax.random.key(0), (size, size)),)


def prepared(row: Subject) -> Workload:
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


def wake(made: Workload) -> None:
    """Call once, untimed: the first call after a pause finds the threads asleep.

    That would be in the first loop of a block, and in jaxtui's there is only one.
    """
    made.wait(made.call(*made.args))


def ours(made: Workload, call: Callable[..., Any]) -> Block:
    """One of jaxtui's."""
    wake(made)
    return clocks.calls(call, made.args, made.wait, BLOCK_SECONDS)


def freeing(made: Workload, calls: int) -> float:
    """Mean seconds that giving back a result takes, as jaxtui times it."""
    wake(made)
    return statistics.fmean(clocks.free(made.call, made.args, made.wait, calls))


def ready_by_hand(made: Workload, calls: int) -> float:
    """Mean seconds per call, as ``timeit`` would measure them."""
    call, args = made.call, made.args
    wake(made)
    if made.on_return:
        start = perf_counter()
        for _ in range(calls):
            call(*args)
    elif made.wait is waiting.wait_for_array:
        start = perf_counter()
        for _ in range(calls):
            call(*args).block_until_ready()
    else:
        start = perf_counter()
        for _ in range(calls):
            jax.block_until_ready(call(*args))
    return (perf_counter() - start) / calls


def dispatch_by_hand(made: Workload, calls: int) -> list[float]:
    """Seconds until each call returned; of NumPy none."""
    call, args, seconds = made.call, made.args, list[float]()
    if made.on_return:
        return seconds
    wake(made)
    for _ in range(calls):
        result = None  # freeing it is no part of the next hand-over
        start = perf_counter()
        result = call(*args)
        seconds.append(perf_counter() - start)
        made.wait(result)
    return seconds


class Row(NamedTuple):
    """Seconds per call of one clock, ours and by hand, of blocks side by side."""

    clock: str
    pairs: list[tuple[float, float]]

    @property
    def interval(self) -> Interval:
        return sign_test_interval([mine / other for mine, other in self.pairs])

    @property
    def fails(self) -> bool:
        """Whether the interval lies wholly outside of what is accepted."""
        seconds = statistics.fmean(other for _, other in self.pairs)
        accepted = ACCEPTED_SHORT if seconds < SHORT_SECONDS else ACCEPTED
        interval = self.interval
        return interval.high < 1 - accepted or interval.low > 1 + accepted


def compared(
    made: Workload, pairs: int, plant: Callable[..., Any] | None = None
) -> list[Row]:
    """Ready and both figures of dispatch, from blocks in random order."""
    order = random.Random(0)
    ready, middle, mean = (Row(name, []) for name in ("ready", "dispatch", MEAN))
    with made.scope():
        calls = len(ours(made, made.call).ready)
        for _ in range(pairs):
            blocks: dict[str, Callable[[], Any]] = {
                "ours": partial(ours, made, plant or made.call),
                "freeing": partial(freeing, made, calls),
                "ready": partial(ready_by_hand, made, calls),
                "dispatch": partial(dispatch_by_hand, made, calls),
            }
            names = order.sample(sorted(blocks), len(blocks))
            done: dict[str, Any] = {name: blocks[name]() for name in names}
            block, other = done["ours"], done["dispatch"]
            calls = len(block.ready)
            mine = statistics.fmean(block.ready) + done["freeing"]
            ready.pairs.append((mine, done["ready"]))
            if other:
                returned = block.dispatch
                middle.pairs.append(
                    (statistics.median(returned), statistics.median(other))
                )
                mean.pairs.append((statistics.fmean(returned), statistics.fmean(other)))
    return [row for row in (ready, middle, mean) if row.pairs]


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


def table(pairs: int) -> Iterator[tuple[str, bool]]:
    """Each row as text, and whether it fails."""
    for case in CASES:
        op = case.op.rpartition(":")[2]
        for row in compared(prepared(case), pairs):
            judged = case.judged and row.clock != MEAN
            verdict = ("FAIL" if row.fails else "ok") if judged else "reported only"
            name = f"{op} {case.size:g} {case.mode} {row.clock}"
            yield line(name, row.interval, verdict), judged and row.fails
    # Of NumPy, whose calls no thread of JAX disturbs: there 5 % can be told.
    made = prepared(Subject("sum", 1_000_000, "numpy"))
    row = compared(made, pairs, biased(made, PLANTED))[0]
    verdict = "caught" if row.fails else "NOT CAUGHT"
    yield line(f"planted bias of {PLANTED:.0%}", row.interval, verdict), not row.fails


def line(name: str, interval: Interval, verdict: str) -> str:
    """One row of the table."""
    return (
        f"{name:<32} {interval.median:>7.3f}  [{interval.low:.3f}, {interval.high:.3f}]"
        f"  {verdict}"
    )


def main() -> int:
    """Print the table; 1 if a judged row fails or the planted bias passes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60)
    pairs = parser.parse_args().pairs
    print(f"jaxtui / hand-written, {pairs} alternating blocks of each")
    wrong = False
    for text, bad in table(pairs):
        print(text, flush=True)
        wrong = wrong or bad
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
