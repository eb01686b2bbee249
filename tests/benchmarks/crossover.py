"""Are the crossovers that jaxtui finds where a hand-written loop finds them, too?

    python tests/benchmarks/crossover.py [OP]... [--budget 60] [--pairs 40]

The search of ``jaxtui crossover`` runs for matmul, sigmoid and selu, numpy against
eager and against jit, over five decades of elements. Then, with nothing but NumPy and
JAX, blocks of calls of the two alternate at half and at twice the size that was found:
below it the first must be faster, above it the second, by the median of the paired
ratios of the blocks. Where no crossover was found, the one that was said to be faster
must be, at the smallest size and at the last at which that was said.

Both in this process: a call of some microseconds takes up to twice as long in the next
process, for as long as that lives, and this is not about processes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
from collections.abc import Callable, Iterator
from time import perf_counter, sleep
from typing import Any, NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax
import msgspec
import numpy as np
from jax import lax
from sign_test import sign_test_interval

from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import Case, Event, Experiment, Mode
from jaxtui.core.model.base import HOST
from jaxtui.core.model.measurement import Interval
from jaxtui.core.selection import parse_sizes
from jaxtui.core.state import Purpose, State, begin_run, reduce
from jaxtui.features.bench.crossing import Side, other
from jaxtui.features.bench.measure.experiment import run
from jaxtui.features.crossover.judge import around, result
from jaxtui.features.crossover.messages import GRID_SHARE, Crossover, experiment

BLOCK_SECONDS = 0.02
REST_SECONDS = 0.15
"""OpenBLAS spins for 0.1 s after a product, and slows JAX's meanwhile."""

RANGES = {"matmul": "7..2048x4", "sigmoid": "100..1e7x4", "selu": "100..1e7x4"}
"""Five decades of elements each; a matmul has n² of them."""

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def numpy_selu(x: Any) -> Any:
    """Six passes over memory, as jaxtui has them."""
    return SCALE * np.where(x > 0, x, ALPHA * np.exp(x) - ALPHA)


def jax_selu(x: Any) -> Any:
    """The same as six primitives."""
    return SCALE * lax.select(x > 0, x, ALPHA * lax.exp(x) - ALPHA)


FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "matmul": (lambda a, b: a @ b, lambda a, b: lax.dot(a, b)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (1 + lax.exp(-x))),
    "selu": (numpy_selu, jax_selu),
}


class Verdict(NamedTuple):
    """What the loop says at one size."""

    size: int
    expected: Side
    interval: Interval
    """Of the first one's seconds over the second one's."""

    @property
    def confirmed(self) -> bool:
        """Whether the median lies on the side that was expected."""
        return (self.interval.median > 1) == (self.expected == "second")

    @property
    def sure(self) -> bool:
        """Whether the whole interval does."""
        return self.interval.low > 1 or self.interval.high < 1


def search(op: str, mode: Mode, budget: float) -> Crossover:
    """What ``jaxtui crossover`` does, in this process."""
    case = Case(op=op, size=0, dtype="float32", device="cpu:0", mode=mode)
    host = msgspec.structs.replace(case, device=HOST, inputs=HOST, mode="numpy")
    grid = experiment((host, case), parse_sizes(RANGES[op]), GRID_SHARE * budget)
    state = after(list(run(grid)), grid, State())
    if sizes := around(result(state, complete=True)):
        work = experiment((host, case), sizes, (1 - GRID_SHARE) * budget)
        state = after(list(run(work)), work, state, "crossover")
    return result(state, complete=True)


def after(events: list[Event], work: Experiment, state: State, *to: Purpose) -> State:
    """The state after a run."""
    state = begin_run(state, 1, *to or ("bench",), work)
    for event in events:
        state = reduce(state, Envelope(generation=0, run=1, event=event))
    return state


def calls(op: str, mode: str, size: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A call of NumPy and a blocking one of JAX, with the same random inputs."""
    numpy_form, jax_form = FORMS[op]
    made = np.random.default_rng(0)
    shape = (size, size) if op == "matmul" else (size,)
    count = 2 if op == "matmul" else 1
    hosts = [made.standard_normal(shape, np.float32) for _ in range(count)]
    arrays = [jax.device_put(host) for host in hosts]
    form = jax.jit(jax_form).lower(*arrays).compile() if mode == "jit" else jax_form
    return lambda: numpy_form(*hosts), lambda: form(*arrays).block_until_ready()


def mean_seconds(call: Callable[[], Any], count: int) -> float:
    """Of so many calls in a row."""
    start = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - start) / count


def by_hand(op: str, mode: str, size: int, pairs: int) -> Interval:
    """NumPy's seconds over JAX's: blocks in turns, in random order."""
    both = calls(op, mode, size)
    counts = []
    for call in both:
        call()
        once = min(mean_seconds(call, 3) for _ in range(3))
        counts.append(max(1, round(BLOCK_SECONDS / once)))
    order, ratios = random.Random(0), []
    for _ in range(pairs):
        taken = [0.0, 0.0]
        for side in (0, 1) if order.random() < 0.5 else (1, 0):
            taken[side] = mean_seconds(both[side], counts[side])
            if side == 0 and op == "matmul":
                sleep(REST_SECONDS)
        ratios.append(taken[0] / taken[1])
    return sign_test_interval(ratios)


def places(found: Crossover) -> Iterator[tuple[int, Side]]:
    """Where to look, and who should be faster there."""
    crossing = found.crossing
    if crossing is not None:
        # Of a stretch without a difference, from its ends.
        below = min(crossing.at, crossing.below)
        yield max(1, round(0.5 * below)), other(crossing.faster)
        yield round(2 * max(crossing.at, crossing.above)), crossing.faster
    elif found.faster:
        yield found.sizes[0].size, found.faster
        yield found.sizes[-1].size, found.faster


def rows(ops: list[str], budget: float, pairs: int) -> Iterator[tuple[str, bool]]:
    """Each comparison as text, and whether it was confirmed."""
    modes: tuple[Mode, ...] = ("eager", "jit")
    for op, mode in itertools.product(ops, modes):
        found = search(op, mode, budget)
        verdicts = [
            Verdict(size, expected, by_hand(op, mode, size, pairs))
            for size, expected in places(found)
        ]
        told = [verdict_text(one, mode, found) for one in verdicts]
        fine = bool(verdicts) and all(one.confirmed for one in verdicts)
        title = f"{op}, numpy against {mode}: {found.verdict}"
        yield "\n".join([title, *told]), fine


def verdict_text(one: Verdict, mode: str, answer: Crossover) -> str:
    """One line of the table."""
    low, middle, high = one.interval.low, one.interval.median, one.interval.high
    said = "confirmed" if one.confirmed else "NOT CONFIRMED"
    if not one.sure:
        said += ", interval contains 1"
    if not answer.sizes[0].size <= one.size <= answer.sizes[-1].size:
        said += ", outside of the range that was searched"
    around = f"[{low:.3g}, {high:.3g}]"
    return f"    {one.size:>8}: numpy/{mode} by hand {middle:.3g} {around}  {said}"


def main() -> int:
    """Print every comparison; 1 if one was not confirmed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ops", nargs="*", metavar="OP", default=[*RANGES])
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--pairs", type=int, default=40)
    typed = parser.parse_args()
    print(f"load {os.getloadavg()}, {os.cpu_count()} cores, jax {jax.__version__}")
    wrong = False
    for text, fine in rows(typed.ops, typed.budget, typed.pairs):
        print(text, flush=True)
        wrong = wrong or not fine
    print(f"load {os.getloadavg()}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
