"""Does jaxtui's clock agree with a loop that anybody would write?

    python tests/benchmarks/accuracy.py [--pairs 60]

For each case, blocks of our timed calls alternate with blocks of a ``timeit``-style
loop over the same compiled callable in one process, and the means of each pair are
divided. A row fails when the sign-test 95 % interval of its ratios lies wholly outside
0.95 to 1.05. A planted bias of 10 % must fail, or the judge is blind.
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

from jaxtui.measure import clocks, ops
from jaxtui.measure.executable import (
    Executable,
    InputPool,
    JaxPath,
    NumpyPath,
    prepare,
)
from jaxtui.model import Case, Mode
from jaxtui.stats import Interval, sign_test_interval

BLOCK_SECONDS = 0.03
ACCEPTED = (0.95, 1.05)


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
    Row("selu", 1_000, "jit", judged=False),
)


def executable(row: Row) -> Executable:
    """The case through jaxtui's own cold path."""
    device = jax.devices()[0]
    name = "host" if row.mode == "numpy" else f"{device.platform}:{device.id}"
    case = Case(
        op=row.op,
        size=row.size,
        dtype="float32",
        device=name,
        mode=row.mode,
        inputs="host" if row.mode == "numpy" else "device",
    )
    op = ops.get(row.op)
    path = (
        NumpyPath(case, op, 0)
        if row.mode == "numpy"
        else JaxPath(case, op, device, InputPool(0))
    )
    for _ in prepare(0, path):
        pass
    return path.executable


def ours(
    call: Callable[..., Any], args: Sequence[Any], *, jax_: bool
) -> tuple[float, int]:
    """Mean seconds per call of one of jaxtui's blocks, and how many calls it had."""
    loop = clocks.blocked_calls if jax_ else clocks.plain_calls
    ready = loop(call, args, BLOCK_SECONDS).ready
    return statistics.fmean(ready), len(ready)


def by_hand(
    call: Callable[..., Any], args: Sequence[Any], calls: int, *, jax_: bool
) -> float:
    """Mean seconds per call, as ``timeit`` would measure them."""
    start = perf_counter()
    if jax_:
        for _ in range(calls):
            call(*args).block_until_ready()
    else:
        for _ in range(calls):
            call(*args)
    return (perf_counter() - start) / calls


def paired_ratios(
    made: Executable, pairs: int, plant: Callable[..., Any] | None = None
) -> list[float]:
    """Ours over by hand, block against block, in random order."""
    jax_ = made.case.mode != "numpy"
    order = random.Random(0)
    ratios = []
    with made.scope():
        _, calls = ours(made.call, made.args, jax_=jax_)
        for _ in range(pairs):
            if order.random() < 0.5:
                mean, calls = ours(plant or made.call, made.args, jax_=jax_)
                other = by_hand(made.call, made.args, calls, jax_=jax_)
            else:
                other = by_hand(made.call, made.args, calls, jax_=jax_)
                mean, calls = ours(plant or made.call, made.args, jax_=jax_)
            ratios.append(mean / other)
    return ratios


def biased(made: Executable, share: float) -> Callable[..., Any]:
    """The same call, made ``share`` slower by spinning before it returns."""
    block = clocks.blocked_calls(made.call, made.args, BLOCK_SECONDS)
    extra = int(statistics.median(block.ready) * share * 1e9)

    def call(*args: Any) -> Any:
        result = made.call(*args).block_until_ready()
        end = perf_counter_ns() + extra
        while perf_counter_ns() < end:
            pass
        return result

    return call


def fails(interval: Interval) -> bool:
    """Wholly outside of what is accepted."""
    return interval.high < ACCEPTED[0] or interval.low > ACCEPTED[1]


def table(pairs: int) -> Iterator[tuple[str, bool]]:
    """Each row as text, and whether it is in order."""
    for row in ROWS:
        interval = sign_test_interval(paired_ratios(executable(row), pairs))
        failed = fails(interval)
        verdict = ("FAIL" if failed else "ok") if row.judged else "reported only"
        name = f"{row.op} {row.size:g} {row.mode}"
        yield line(name, interval, verdict), row.judged and failed
    made = executable(Row("matmul", 256, "jit"))
    interval = sign_test_interval(paired_ratios(made, pairs, biased(made, 0.10)))
    caught = fails(interval)
    verdict = "caught" if caught else "NOT CAUGHT"
    yield line("planted bias of 10 %", interval, verdict), not caught


def line(name: str, interval: Interval, verdict: str) -> str:
    """One row of the table."""
    return (
        f"{name:<24} {interval.median:>7.3f}  [{interval.low:.3f}, {interval.high:.3f}]"
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
