"""The loops, on real JAX on CPU; each trap is planted and must be seen."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.measure import clocks
from jaxtui.stats import Interval, sign_test_interval


class FakeResult:
    """Looks like a jax.Array and counts who is alive."""

    alive = 0
    most_alive = 0

    def __init__(self) -> None:
        FakeResult.alive += 1
        FakeResult.most_alive = max(FakeResult.most_alive, FakeResult.alive)

    def __del__(self) -> None:
        FakeResult.alive -= 1

    def block_until_ready(self) -> FakeResult:
        return self


@pytest.fixture(autouse=True)
def _reset() -> None:
    FakeResult.alive = FakeResult.most_alive = 0


@pytest.mark.parametrize("loop", [clocks.blocked_calls, clocks.plain_calls])
def test_the_last_result_is_freed_before_the_next_clock_starts(loop: object) -> None:
    loop(FakeResult, (), 0.0, least=10)  # type: ignore[operator]
    assert FakeResult.most_alive == 1


def test_least_and_most_bound_the_calls() -> None:
    assert len(clocks.blocked_calls(FakeResult, (), 0.0, least=7).ready) == 7
    assert len(clocks.blocked_calls(FakeResult, (), 60.0, most=9).ready) == 9


def test_dispatch_never_exceeds_ready() -> None:
    block = clocks.blocked_calls(FakeResult, (), 0.001)
    assert all(d <= r for d, r in zip(block.dispatch, block.ready, strict=True))
    assert clocks.plain_calls(FakeResult, (), 0.001).dispatch == []


def compiled(function: object, *args: jax.Array) -> object:
    return jax.jit(function).lower(*args).compile()  # type: ignore[arg-type]


KEEPING = """
import jax
import jax.numpy as jnp
import numpy as np
from jaxtui.measure import clocks
from jaxtui.stats import median

x = jnp.asarray(np.random.default_rng(0).standard_normal(1_000_000, np.float32))
call = jax.jit(lambda x: x * 1.0001 + 1e-6).lower(x).compile()

def keeping(calls):
    kept, ready = [], []
    for _ in range(calls):
        start = clocks.perf_counter_ns()
        kept.append(call(x).block_until_ready())
        ready.append((clocks.perf_counter_ns() - start) * 1e-9)
    return median(ready)

clocks.blocked_calls(call, (x,), 0.05)
ratios = []
for _ in range(5):
    ours = median(clocks.blocked_calls(call, (x,), 0, least=40).ready)
    ratios.append(keeping(40) / ours)
print(median(ratios))
"""


def test_results_kept_in_a_list_would_read_much_slower() -> None:
    # In a process of its own: malloc remembers what this one has freed before.
    done = subprocess.run(
        [sys.executable, "-c", KEEPING], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) > 2


def test_the_queue_holds_the_host_back_at_about_32() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((512, 512), np.float32))
    call = compiled(lambda x: x @ x, x)
    clocks.blocked_calls(call, (x,), 0.02)  # type: ignore[arg-type]
    depth = max(clocks.pending_after(call, (x,), 64) for _ in range(3))  # type: ignore[arg-type]
    assert 28 <= depth <= 34


def test_an_inline_op_is_ready_on_return_and_a_product_is_not() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((512, 512), np.float32))
    inline, product = compiled(jnp.exp, x), compiled(lambda x: x @ x, x)
    assert clocks.ready_at_return(inline, (x,), 20) > 0.9  # type: ignore[arg-type]
    assert clocks.ready_at_return(product, (x,), 20) < 0.5  # type: ignore[arg-type]


def looped(trips: int, *, hoistable: bool) -> object:
    """A product repeated on the device; the hoistable form is what XLA takes apart."""

    def loop(x: jax.Array) -> jax.Array:
        def depending(_: int, carry: tuple[jax.Array, jax.Array]) -> object:
            x, y = carry
            x = x.at[0, 0].add(y[0, 0] * 0)  # XLA may not fold y * 0: y may be NaN
            return x, x @ x

        def barred(_: int, carry: tuple[jax.Array, jax.Array]) -> object:
            x, y = carry
            z, _ = jax.lax.optimization_barrier((x, y))
            return x, z @ z

        body = barred if hoistable else depending
        return jax.lax.fori_loop(0, trips, body, (x, jnp.zeros_like(x)))[1]

    return loop


SURE = 0.999
"""Confidence of the interval: one test run in twenty must not fail by chance."""


def doubled_ratio(*, hoistable: bool) -> Interval:
    """Time of 16 trips over that of 8, interleaved until the interval is narrow."""
    x = jnp.asarray(np.random.default_rng(0).standard_normal((512, 512), np.float32))
    once = compiled(looped(8, hoistable=hoistable), x)
    twice = compiled(looped(16, hoistable=hoistable), x)
    ratios: list[float] = []
    while len(ratios) < 150:
        short = min(clocks.blocked_calls(once, (x,), 0, least=3).ready)  # type: ignore[arg-type]
        long = min(clocks.blocked_calls(twice, (x,), 0, least=3).ready)  # type: ignore[arg-type]
        ratios.append(long / short)
        if len(ratios) >= 24 and sign_test_interval(ratios, SURE).half_width < 0.06:
            break
    return sign_test_interval(ratios, SURE)


def test_twice_the_work_on_the_device_reads_twice_the_time() -> None:
    interval = doubled_ratio(hoistable=False)
    assert interval.low <= 2.0 <= interval.high
    assert interval.half_width <= 0.10


def test_a_hoisted_loop_fails_that() -> None:
    interval = doubled_ratio(hoistable=True)
    assert not interval.low <= 2.0 <= interval.high
