"""The loops, on real JAX on CPU; each trap is planted and must be seen."""

from __future__ import annotations

from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.core.stats import median
from jaxtui.tasks import waiting
from jaxtui.tasks.waiting import Call, Wait
from jaxtui.timing import clocks


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


@pytest.mark.parametrize("wait", [waiting.wait_for_array, waiting.no_wait])
def test_the_last_result_is_freed_before_the_next_clock_starts(
    wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeResult.alive = FakeResult.most_alive = 0
    monkeypatch.setattr(clocks, "perf_counter_ns", count(step=10**8).__next__)
    assert len(clocks.calls(FakeResult, (), wait, 3.0).ready) > 5
    assert FakeResult.most_alive == 1


def test_dispatch_ends_with_the_call_and_ready_with_the_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0

    def take(nanoseconds: int) -> FakeResult:
        nonlocal now
        now += nanoseconds
        return FakeResult()

    monkeypatch.setattr(clocks, "perf_counter_ns", lambda: now)
    three = clocks.calls(take, (2_000,), lambda _: take(30_000), 0.0, least=3)
    # As many as were asked for, though there is no time.
    assert three == clocks.Block([2e-6] * 3, [32e-6] * 3)
    queued = clocks.burst(take, (2_000,), lambda _: take(30_000), 3)
    assert queued == pytest.approx(36e-6)


def test_freeing_ends_when_the_result_is_gone_and_costs_no_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0

    class Slow(FakeResult):
        def __del__(self) -> None:
            nonlocal now
            now += 7_000

    def read() -> int:
        nonlocal now
        now += 100
        return now

    monkeypatch.setattr(clocks, "perf_counter_ns", read)
    assert clocks.free(Slow, (), waiting.wait_for_array, 3) == [7e-6] * 3
    # What costs less than reading the clock costs nothing, and never less.
    assert clocks.free(object, (), waiting.no_wait, 1) == [0.0]


def test_a_tree_is_waited_for_with_all_of_its_arrays() -> None:
    @jax.jit
    def both(x: jax.Array) -> dict[str, jax.Array]:
        return {"small": x[0], "large": x @ x @ x @ x}

    x = jnp.ones((512, 512))
    alone = jax.jit(lambda x: x @ x @ x @ x)
    for call in (both, alone):
        jax.block_until_ready(call(x))
    wait, wait_alone = waiting.wait_for(both(x)), waiting.wait_for(alone(x))
    ratios = []
    for _ in range(9):  # in turns: a machine has more than one speed
        tree = clocks.calls(both, (x,), wait, 0, least=2).ready
        array = min(clocks.calls(alone, (x,), wait_alone, 0, least=2).ready)
        ratios.append(min(tree) / array)
    assert median(ratios) > 0.5
    assert clocks.burst(both, (x,), wait, 3) > array
    assert clocks.ready_at_return(both, (x,), 10) < 0.5


def compiled(function: Call, *args: jax.Array) -> Call:
    made: Call = jax.jit(function).lower(*args).compile()
    return made


def test_the_queue_holds_the_host_back_at_about_32() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((512, 512), np.float32))
    call = compiled(lambda x: x @ x, x)
    clocks.calls(call, (x,), waiting.wait_for_array, 0.02)
    depth = max(clocks.pending_after(call, (x,), 64) for _ in range(3))
    assert 28 <= depth <= 34


def test_an_inline_op_is_ready_on_return_and_a_product_is_not() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((512, 512), np.float32))
    inline, product = compiled(jnp.exp, x), compiled(lambda x: x @ x, x)
    assert clocks.ready_at_return(inline, (x,), 20) > 0.9
    assert clocks.ready_at_return(product, (x,), 20) < 0.5


def looped(trips: int) -> Call:
    """A product repeated on the device; XLA takes it for one that may differ."""

    def loop(x: jax.Array) -> jax.Array:
        def body(_: int, carry: tuple[jax.Array, jax.Array]) -> object:
            x, y = carry
            x = x.at[0, 0].add(y[0, 0] * 0)  # XLA may not fold y * 0: y may be NaN
            return x, x @ x

        result: jax.Array
        _, result = jax.lax.fori_loop(0, trips, body, (x, jnp.zeros_like(x)))
        return result

    return loop


def test_twice_the_work_on_the_device_reads_twice_the_time() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((256, 256), np.float32))
    once, twice = compiled(looped(8), x), compiled(looped(16), x)

    def shortest(call: Call) -> float:
        return min(clocks.calls(call, (x,), waiting.wait_for_array, 0, least=3).ready)

    # Far from the 1 of work that was not waited for, or hoisted; with two programs
    # beside it that spin on both cores it read 1.9 to 2.8.
    assert 1.5 < median([shortest(twice) / shortest(once) for _ in range(40)]) < 4
