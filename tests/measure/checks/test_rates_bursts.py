"""Seconds per call from pairs of bursts, under a clock that is made up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxtui.measure import clocks, turns
from jaxtui.measure.checks import rates
from jaxtui.measure.checks.attempts import UnsupportedError, explained
from jaxtui.measure.checks.base import TroubleError
from jaxtui.measure.checks.rates import Prepared
from jaxtui.measure.stopping import never
from jaxtui.model import Case
from jaxtui.stats import MINIMUM_ROUNDS

CASE = Case(op="matmul", size=64, dtype="float32", device="cpu:0", mode="jit")


class Fake:
    """A device: every burst has a hand-over, and every call its time."""

    def __init__(self, call: float, hand_over: float = 0.0, noise: float = 0.0) -> None:
        self.call, self.hand_over, self.noise = call, hand_over, noise
        self.now = 0.0
        self.bursts: list[int] = []

    def burst(self, _call: Any, _args: Any, _wait: Any, count: int) -> float:
        self.bursts.append(count)
        # Every other short burst is disturbed.
        disturbed = self.noise if count == 1 and len(self.bursts) % 4 < 2 else 0.0
        seconds = self.hand_over + count * self.call + disturbed
        self.now += seconds
        return seconds

    def calls(self, *_: Any, least: int = 1) -> clocks.Block:
        one = self.hand_over + self.call
        return clocks.Block([self.hand_over] * least, [one] * least)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def made(call: float, hand_over: float = 0.0, noise: float = 0.0) -> Fake:
        fake = Fake(call, hand_over, noise)
        monkeypatch.setattr(clocks, "burst", fake.burst)
        monkeypatch.setattr(clocks, "calls", fake.calls)
        for module in (rates, turns):
            monkeypatch.setattr(module, "perf_counter", lambda: fake.now)
        monkeypatch.setattr(turns, "rest", lambda: 0.0)
        return fake

    return made


def prepared(call: Any = lambda: jnp.zeros(1)) -> Prepared:
    return Prepared("work", rates.callable_on(jax.devices()[0], CASE, call, ()))


@pytest.mark.parametrize("call", [1e-4, 5e-3, 0.05, 1.0])
@pytest.mark.parametrize("hand_over", [0.0, 1e-3, 0.1])
def test_the_hand_over_is_not_counted(
    clock: Any, call: float, hand_over: float
) -> None:
    clock(call, hand_over)
    rate = rates.throughput(prepared(), 3.0 + 30 * (call + hand_over), never)
    assert rate is not None
    assert rate.seconds.median == pytest.approx(call)
    assert rate.rounds >= MINIMUM_ROUNDS
    assert rate.counted.startswith(f"{rate.rounds} round")


def test_it_takes_its_time_and_no_more(clock: Any) -> None:
    fake = clock(0.01)
    rates.throughput(prepared(), 2.0, never)
    assert 2.0 <= fake.now < 2.0 + 1.2 * turns.TURN_SECONDS_AT_MOST + 0.2


def test_one_round_is_taken_however_slow_the_call(clock: Any) -> None:
    fake = clock(50.0)
    rate = rates.throughput(prepared(), 0.1, never)
    assert rate is not None
    assert sorted(fake.bursts) == [1, 2]
    assert rate.counted == "1 round"


def test_of_few_rounds_the_long_burst_is_what_is_known(clock: Any) -> None:
    clock(1.0, hand_over=0.1)
    rate = rates.throughput(prepared(), 3.0, never)
    assert rate is not None
    assert rate.rounds < MINIMUM_ROUNDS
    assert rate.seconds.median == pytest.approx(1.05)


def test_noise_that_swallows_the_slope_leaves_the_long_burst(clock: Any) -> None:
    clock(0.03, noise=0.5)
    rate = rates.throughput(prepared(), 3.0, never)
    assert rate is not None
    assert rate.seconds.low > 0
    assert rate.seconds.median == pytest.approx(0.03)


def test_stopped_before_the_first_round_there_is_no_rate(clock: Any) -> None:
    clock(0.01)
    assert rates.throughput(prepared(), 1.0, lambda: True) is None


def test_failures_have_a_sentence_and_the_original() -> None:
    def broken() -> None:
        raise RuntimeError("INTERNAL: no answer")

    with pytest.raises(TroubleError, match="no answer") as trouble:
        rates.throughput(prepared(broken), 0.1, never)
    assert trouble.value.what == "work"
    assert "RuntimeError" in trouble.value.detail


def test_what_is_not_implemented_is_told_apart() -> None:
    with (
        pytest.raises(UnsupportedError, match="does not implement it"),
        explained(CASE, "work", "compile"),
    ):
        raise NotImplementedError("UNIMPLEMENTED: no such thing")


def test_a_real_case_is_prepared_where_it_belongs() -> None:
    device = jax.devices()[2]
    ready = rates.prepared(CASE, "work", device, 0).workload
    assert all(array.devices() == {device} for array in ready.args)
    assert ready.call(*ready.args).devices() == {device}
