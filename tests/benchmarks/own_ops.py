"""Is a function of the user's own timed as a loop that anybody would write times it?

    python tests/benchmarks/own_ops.py [--pairs 60]

A training step of this file (parameters as a pytree, ``jax.value_and_grad``, an SGD
update) is prepared as ``jaxtui bench tests/benchmarks/own_ops.py:step`` prepares it.
Blocks of our timed calls alternate with blocks of a hand-written loop over
``jax.jit(step)`` in one process, and the means of each pair are divided. A row fails
when the sign-test 95 % interval of its ratios lies wholly outside 0.95 to 1.05. A
planted bias of 10 % must fail.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from time import perf_counter, perf_counter_ns
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.measure import own, planning
from jaxtui.measure.executable import Executable, InputPool
from jaxtui.model import Case, Experiment
from jaxtui.stats import Interval, sign_test_interval

BLOCK_SECONDS = 0.03
ACCEPTED = (0.95, 1.05)
SIZES = (16, 256, 1024)

Params = dict[str, jax.Array]


def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """The mean squared error of a network with one hidden layer."""
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)


def step(params: Params, x: jax.Array, y: jax.Array) -> tuple[Params, jax.Array]:
    """One step of gradient descent, and the loss before it."""
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), value


def step_args(size: int = 256, seed: int = 0) -> tuple[Any, ...]:
    """Parameters of ``size`` hidden units, and a batch of 256 examples."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    params = {
        "w1": normal(64, size),
        "b1": normal(size),
        "w2": normal(size, 1),
        "b2": normal(1),
    }
    return params, normal(256, 64), normal(256, 1)


def executable(size: int) -> Executable:
    """The step through jaxtui's own cold path."""
    op = f"{os.path.abspath(__file__)}:step"
    case = Case(op=op, size=size, dtype="", device="cpu:0", mode="jit")
    (planned,) = planning.plan(Experiment(cases=(case,))).cases
    source = own.source(op)
    assert source is not None
    device = jax.devices()[0]
    timer = own.OwnTimer(0, planned, source, device, None, InputPool(0), 0)
    for _ in timer.prepare():
        pass
    return timer.sampler.executable


def ours(made: Executable, call: Callable[..., Any]) -> tuple[float, int]:
    """Mean seconds per call of one of jaxtui's blocks, and how many calls it had."""
    ready = made.loops.calls(call, made.args, BLOCK_SECONDS).ready
    return statistics.fmean(ready), len(ready)


def by_hand(call: Callable[..., Any], args: tuple[Any, ...], calls: int) -> float:
    """Mean seconds per call of the loop that one would write.

    It keeps no result: one that is still alive makes the next call up to a tenth slower
    (new memory), which is what a loop that keeps them measures on top.
    """
    start = perf_counter()
    for _ in range(calls):
        jax.block_until_ready(call(*args))
    return (perf_counter() - start) / calls


def paired_ratios(
    made: Executable, size: int, pairs: int, plant: Callable[..., Any] | None = None
) -> list[float]:
    """Ours over by hand, block against block, in random order."""
    order = random.Random(0)
    jitted, args = jax.jit(step), jax.device_put(step_args(size))
    by_hand(jitted, args, 20)
    ratios = []
    with made.scope():
        _, calls = ours(made, made.call)
        for _ in range(pairs):
            if order.random() < 0.5:
                mean, calls = ours(made, plant or made.call)
                other = by_hand(jitted, args, calls)
            else:
                other = by_hand(jitted, args, calls)
                mean, calls = ours(made, plant or made.call)
            ratios.append(mean / other)
    return ratios


def biased(made: Executable, share: float) -> Callable[..., Any]:
    """The same call, made ``share`` slower by spinning before it returns."""
    block = made.loops.calls(made.call, made.args, BLOCK_SECONDS)
    extra = int(statistics.median(block.ready) * share * 1e9)

    def call(*args: Any) -> Any:
        result = jax.block_until_ready(made.call(*args))
        end = perf_counter_ns() + extra
        while perf_counter_ns() < end:
            pass
        return result

    return call


def fails(interval: Interval) -> bool:
    """Wholly outside of what is accepted."""
    return interval.high < ACCEPTED[0] or interval.low > ACCEPTED[1]


def table(pairs: int) -> Iterator[tuple[str, bool]]:
    """Each row as text, and whether it is wrong."""
    for size in SIZES:
        made = executable(size)
        interval = sign_test_interval(paired_ratios(made, size, pairs))
        verdict = "FAIL" if fails(interval) else "ok"
        seconds = made.loops.calls(made.call, made.args, BLOCK_SECONDS).ready
        name = f"step {size} ({statistics.median(seconds) * 1e6:.0f} µs)"
        yield line(name, interval, verdict), fails(interval)
    made = executable(SIZES[1])
    ratios = paired_ratios(made, SIZES[1], pairs, biased(made, 0.10))
    interval = sign_test_interval(ratios)
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
    """Print the table; 1 if a row fails or the planted bias passes."""
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
