"""Do turns keep a ratio right when the machine changes in the middle of a sweep?

    python tests/benchmarks/interleaving.py [--budget 40]

Two functions of this file with the same body are timed over sizes, and half-way as many
processes as there are cores begin to burn time. Their true ratio is 1 at every size.
Once all cases take turns, as jaxtui has it; once the first function has its whole sweep
before the second begins, as a loop over cases would have it.

Per size there are two ratios. That of the rounds is the median over pairs of rounds
that were taken next to each other, with the interval of their batches. That of the
headlines divides two medians, as a reader would; a load that comes exactly half-way is
the worst for it, because either median lies between the two speeds, and its interval
(from those of the headlines) must say so.

The last row is the median over the pairs of all sizes. In turns it fails when it is
further from 1 than 5 %, and the row of a size when an interval lies wholly beyond. That
the other way gets a size wrong is shown beside it, and must be seen too, or the load
was none: the size that it gets most wrong is the judge, because a call of microseconds
can end before a load gets its share of the core.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax
import jax.numpy as jnp
import numpy as np
from sign_test import sign_test_interval

from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Experiment,
    Progress,
    Sampled,
    Summary,
)
from jaxtui.core.model.measurement import Interval
from jaxtui.core.stats import ratio
from jaxtui.features.bench.measure import experiment

SIZES = (10_000, 30_000, 100_000, 300_000)
"""Half a millisecond to thirty: what is over within a time slice feels no load."""
ACCEPTED = (0.95, 1.05)
BURN = "while True: pass"
SEEN = 1.1
"""A load that makes equals differ less, one after the other, was none."""


def f(x: jax.Array) -> jax.Array:
    """What XLA does in one thread on a CPU, so that nothing depends on its pool."""
    return jnp.sort(x) + 1


def g(x: jax.Array) -> jax.Array:
    """The same."""
    return jnp.sort(x) + 1


def make_args(size: int, seed: int = 0) -> tuple[Any, ...]:
    """A vector."""
    return (np.random.default_rng(seed).standard_normal(size, dtype=np.float32),)


@dataclass
class Series:
    """What came of a function, by size."""

    rounds: dict[int, list[float]] = field(default_factory=dict)
    """The median of each round."""
    headline: dict[int, Summary] = field(default_factory=dict)


def cases(name: str) -> tuple[Case, ...]:
    """A sweep of one function."""
    op = f"{os.path.abspath(__file__)}:{name}"
    return tuple(
        Case(op=op, size=size, dtype="", device="cpu:0", mode="jit") for size in SIZES
    )


def timed(
    swept: Sequence[Case], budget: float, half_way: Callable[[], object] = lambda: None
) -> dict[str, Series]:
    """Time cases in turns, until the budget ends.

    Args:
        swept: the cases.
        budget: seconds.
        half_way: called once half of the time for sampling is over.
    """
    work = Experiment(cases=tuple(swept), budget_seconds=budget, target_half_width=0.0)
    found = {case.op: Series() for case in swept}
    began: float | None = None
    called = False
    for event in experiment.run(work):
        match event:
            case Sampled(index=index, ready_median=ready):
                case = swept[index]
                rounds = found[case.op].rounds.setdefault(case.size, [])
                rounds.append(ready)
            case Progress(elapsed_seconds=elapsed, doing=doing):
                if began is None and doing.startswith("sampling"):
                    began = elapsed
                if began is not None and elapsed > (began + budget) / 2 and not called:
                    called = True
                    half_way()
            case CaseMeasured(index=index, measurement=measurement):
                case = swept[index]
                assert measurement.ready is not None
                found[case.op].headline[case.size] = measurement.ready
            case CaseFailed(failure=failure):
                raise SystemExit(f"{failure.error}\n{failure.detail}")
    return found


@contextmanager
def burners() -> Iterator[Callable[[], None]]:
    """Gives what starts a load on every core; it ends with the block."""
    running: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        cores = range(os.cpu_count() or 1)
        running.extend(subprocess.Popen([sys.executable, "-c", BURN]) for _ in cores)

    try:
        yield start
    finally:
        for process in running:
            process.kill()
            process.wait()


def in_turns(budget: float, *, load: bool) -> tuple[Series, Series]:
    """Both sweeps in one experiment."""
    with burners() as start:
        found = timed((*cases("f"), *cases("g")), budget, start if load else str)
    first, second = found.values()
    return first, second


def one_after_the_other(budget: float, *, load: bool) -> tuple[Series, Series]:
    """The second sweep after the first, each with half of the time."""
    (first,) = timed(cases("f"), budget / 2).values()
    with burners() as start:
        if load:
            start()
        (second,) = timed(cases("g"), budget / 2).values()
    return first, second


def pairs(first: Series, second: Series, size: int) -> list[float]:
    """The second function's seconds per call over the first's, round by round."""
    rounds = zip(first.rounds[size], second.rounds[size], strict=False)
    return [b / a for a, b in rounds]


def compared(first: Series, second: Series, size: int, *, paired: bool) -> Interval:
    """The same as jaxtui has it: of rounds in turns, or of the two medians."""
    a, b = first.headline[size], second.headline[size]
    rounds = (second.rounds[size], first.rounds[size]) if paired else ((), ())
    found = ratio(b.interval, a.interval, rounds)
    assert found is not None
    return found


def beyond(interval: Interval) -> bool:
    """Whether equals are said to differ."""
    return interval.high < ACCEPTED[0] or interval.low > ACCEPTED[1]


def text(interval: Interval) -> str:
    """A ratio and its interval, as wide as any."""
    around = f"[{interval.low:.3f}, {interval.high:.3f}]"
    return f"{interval.median:.3f}  {around:<16}"


def shown(first: Series, second: Series, *, judged: bool) -> tuple[float, bool]:
    """Print a table; returns the largest ratio of a size, and whether all are good."""
    print("  size  rounds                   headlines")
    good, largest = True, 0.0
    for size in SIZES:
        rounds = compared(first, second, size, paired=True)
        headlines = compared(first, second, size, paired=False)
        fails = beyond(rounds) or beyond(headlines)
        good, largest = good and not fails, max(largest, rounds.median)
        verdict = ("FAIL" if fails else "ok") if judged else ""
        print(f"{size:>6}  {text(rounds)}  {text(headlines)}  {verdict}".rstrip())
    every = [one for size in SIZES for one in pairs(first, second, size)]
    over_all = sign_test_interval(every)
    fails = not ACCEPTED[0] <= over_all.median <= ACCEPTED[1]
    verdict = ("FAIL" if fails else "ok") if judged else ""
    print(f"   all  {text(over_all)}  {verdict}".rstrip(), flush=True)
    return largest, good and not fails


def main() -> int:
    """Print the tables; 1 if turns did not help, or nothing needed their help."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=40.0, metavar="SECONDS")
    budget = parser.parse_args().budget
    good, moved = True, 1.0
    ways = (("in turns", in_turns), ("one after the other", one_after_the_other))
    for load in (False, True):
        for name, way in ways:
            print(f"g / f {name}, {'load from half-way' if load else 'no load'}")
            turns = way is in_turns
            largest, fine = shown(*way(budget, load=load), judged=turns)
            good = good and (fine or not turns)
            moved = largest if load and not turns else moved
    print(f"one after the other, the load makes equals differ by {moved:.2f} ×")
    return int(not good or moved < SEEN)


if __name__ == "__main__":
    sys.exit(main())
