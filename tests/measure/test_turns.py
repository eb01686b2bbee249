"""Turns, with loops whose calls take as long as they are told to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.measure import clocks, turns
from jaxtui.measure.clocks import Block, Call, Wait
from jaxtui.measure.measurement import Record
from jaxtui.measure.turns import Turns, take_turns
from jaxtui.measure.workload import Workload
from jaxtui.model import Case, Mode
from jaxtui.stats import MINIMUM_ROUNDS

CALL_SECONDS = 0.001
QUEUED_SECONDS = 0.0004


class Clockwork:
    """Loops of calls that last as long as they should, and what was asked of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, float]] = []
        self.call_seconds = CALL_SECONDS
        monkeypatch.setattr(clocks, "calls", self.calls)
        monkeypatch.setattr(clocks, "burst", self.burst)
        monkeypatch.setattr(clocks, "ready_at_return", lambda *_: 0.0)

    def calls(
        self,
        call: Call,
        args: Sequence[Any],
        wait: Wait,
        seconds: float,
        *,
        least: int = 1,
    ) -> Block:
        call(*args)
        self.asked.append(("calls", seconds))
        count = max(least, round(seconds / self.call_seconds))
        dispatch = [self.call_seconds / 10] * count
        return Block(dispatch, [self.call_seconds] * count)

    def burst(self, call: Call, args: Sequence[Any], wait: Wait, count: int) -> float:
        call(*args)
        self.asked.append(("burst", count))
        return self.call_seconds + QUEUED_SECONDS * count

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.asked]


@pytest.fixture
def clockwork(monkeypatch: pytest.MonkeyPatch) -> Clockwork:
    return Clockwork(monkeypatch)


def workload(mode: Mode = "jit", call: Call = np.exp) -> Workload:
    host = mode == "numpy"
    device = "host" if host else "cpu:0"
    case = Case(op="add", size=8, dtype="float32", device=device, mode=mode)
    wait = clocks.no_wait if host else clocks.wait_for_array
    args = (np.ones(8),)
    return Workload(case=case, call=call, args=args, wait=wait, on_return=host)


def series(mode: Mode = "jit", depth: int = 32, **options: Any) -> Turns:
    return Turns(workload(mode), queue_depth=depth, **options)


def warm(clockwork: Clockwork, depth: int = 32, **options: Any) -> Turns:
    made = series(depth=depth, **options)
    made.warm_up()
    clockwork.asked.clear()
    return made


def test_latency_and_throughput_come_in_random_order(clockwork: Clockwork) -> None:
    one, orders = series(), Counter[str]()
    for _ in take_turns([one], 60.0, stop=lambda: len(one.rounds) >= 40):
        kinds = [kind for kind, _ in clockwork.asked[1 if not orders else 0 :]]
        orders[kinds[0]] += 1
        clockwork.asked.clear()
    assert set(orders) == {"calls", "burst"}
    assert min(orders.values()) >= 8


def test_the_slope_is_the_time_of_one_queued_call(clockwork: Clockwork) -> None:
    one = warm(clockwork)
    assert one.pipelined_seconds is None
    one.turn("throughput", 0.04)
    assert one.pipelined_seconds == pytest.approx(QUEUED_SECONDS)
    one.turn("latency", 0.04)
    assert one.medians == [CALL_SECONDS]


@pytest.mark.parametrize("depth", [4, 8, 32, 200])
def test_a_burst_stays_below_the_depth_of_the_queue(
    clockwork: Clockwork, depth: int
) -> None:
    one = warm(clockwork, depth)
    one.turn("throughput", 0.04)
    assert max(count for _, count in clockwork.asked) < depth
    assert not one.overfull


def test_a_burst_has_no_more_results_than_there_is_memory_for(
    clockwork: Clockwork,
) -> None:
    one = warm(clockwork, results_at_most=4)
    one.turn("throughput", 0.04)
    assert max(count for _, count in clockwork.asked) == 4


def test_numpy_has_nothing_to_queue(clockwork: Clockwork) -> None:
    one = series("numpy")
    assert one.kinds(0.04, 10.0) == ["latency"]
    one.turn("latency", 0.04)
    assert one.pipelined_seconds is None
    assert not one.rounds[0].dispatch


def test_long_calls_have_bursts_only_when_six_rounds_still_fit() -> None:
    one = series()
    one.call_seconds = 0.5
    assert one.kinds(0.25, 4.6) == ["latency", "throughput"]
    assert one.kinds(0.25, 4.4) == ["latency"]
    one.call_seconds = 8.0  # the first pair is no exception
    assert one.kinds(0.25, 10.0) == ["latency"]
    one.call_seconds = 0.01
    assert one.kinds(0.25, 0.0) == ["latency", "throughput"]


def test_whoever_raises_is_out_and_the_others_go_on(clockwork: Clockwork) -> None:
    def broken(_: Any) -> None:
        raise ValueError("planted")

    bad = Turns(workload(call=broken))
    good = series()
    yielded = list(
        take_turns(
            [bad, good],
            60.0,
            stop=lambda: len(good.rounds) >= 3,
            faults=(ValueError,),
        )
    )
    assert isinstance(bad.fault, ValueError)
    assert yielded.count(bad) == 1
    assert yielded.count(good) >= 2


def test_whoever_is_done_gets_no_more_turns(clockwork: Clockwork) -> None:
    first, second = series(), series()
    for one in take_turns([first, second], 60.0, stop=lambda: False):
        one.done = len(one.rounds) >= (2 if one is first else 5)
    assert (len(first.rounds), len(second.rounds)) == (2, 5)


def test_jax_waits_for_the_threads_of_numpy(
    clockwork: Clockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[int] = []
    monkeypatch.setattr(turns, "rest", lambda: waits.append(len(clockwork.asked)))
    host, one, two = series("numpy"), series(), series()
    for each in take_turns([one, host, two], 60.0, stop=lambda: False):
        each.done = len(each.rounds) >= 3
    assert len(waits) == 3  # once a round, behind NumPy's turn


@given(st.floats(0.5, 600), st.integers(1, 200))
def test_six_rounds_of_everybody_fit_the_time(available: float, count: int) -> None:
    length = turns.turn_seconds(available, count)
    longest = 1.2 * length  # the jitter
    if length > 0.002:
        assert longest * count * MINIMUM_ROUNDS <= available


def test_many_take_short_turns_and_a_lone_one_long_ones() -> None:
    assert turns.turn_seconds(60, 20) == turns.TURN_SECONDS
    assert turns.turn_seconds(60, 1) == turns.TURN_SECONDS_AT_MOST


@pytest.mark.parametrize(
    ("medians", "reasons"),
    [
        ([1.0] * 12, {8: "target", 12: "target"}),
        ([1.0, 1.5] * 32, {32: "noise floor", 48: "noise floor", 64: "noise floor"}),
    ],
)
def test_it_is_decided_at_times_that_are_fixed_beforehand(
    medians: list[float], reasons: dict[int, str]
) -> None:
    chance = random.Random(0)
    if len(set(medians)) > 1:
        medians = [chance.choice(medians) for _ in medians]
        medians[::8] = [1.0] * len(medians[::8])
        medians[1::8] = [1.5] * len(medians[1::8])
    one = series()
    record = Record(0, one.workload, one, None)
    found = {}
    for rounds, value in enumerate(medians, 1):
        one.medians.append(value)
        one.rounds.append(Block([], [value]))
        if reason := record.stop_reason(0.03, spread=True):
            found[rounds] = reason
    assert set(found) <= set(reasons)
    assert set(found.values()) == set(reasons.values())
    assert record.stop_reason(0.03, spread=False) is None
    assert record.stop_reason(0.0, spread=True) is None


def test_threads_at_rest_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "process_time", lambda: 0.0)
    assert turns.rest(at_most=60.0) < 30.0


def test_threads_that_never_rest_are_waited_for_no_longer_than_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "process_time", perf_counter)
    assert turns.rest(at_most=0.1) >= 0.1
