"""Turns, with loops whose calls take as long as they are told to."""

from __future__ import annotations

from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.model import Mode
from jaxtui.core.stats import MINIMUM_ROUNDS
from jaxtui.features.bench.measure.measurement import Record
from jaxtui.tasks import waiting
from jaxtui.tasks.waiting import Call, Wait
from jaxtui.tasks.workload import Workload
from jaxtui.timing import clocks, turns
from jaxtui.timing.clocks import Block
from jaxtui.timing.turns import Turns, take_turns
from tests.tasks.running import case

CALL_SECONDS = 0.001
QUEUED_SECONDS = 0.0004
FREE_SECONDS = 0.00003


@pytest.fixture
def bursts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Calls last as long as they should; the lengths of their bursts."""
    lengths: list[int] = []

    def calls(
        call: Call, args: Any, wait: Wait, seconds: float, *, least: int = 1
    ) -> Block:
        call(*args)
        count = max(least, round(seconds / CALL_SECONDS))
        return Block([CALL_SECONDS / 10] * count, [CALL_SECONDS] * count)

    def burst(call: Call, args: Any, wait: Wait, count: int) -> float:
        call(*args)
        lengths.append(count)
        return CALL_SECONDS + QUEUED_SECONDS * count

    monkeypatch.setattr(clocks, "calls", calls)
    monkeypatch.setattr(clocks, "burst", burst)
    monkeypatch.setattr(clocks, "free", lambda *args: [FREE_SECONDS] * args[-1])
    monkeypatch.setattr(clocks, "ready_at_return", lambda *_: 0.0)
    return lengths


def workload(mode: Mode = "jit", call: Call = np.exp) -> Workload:
    host = mode == "numpy"
    wait = waiting.no_wait if host else waiting.wait_for_array
    args = (np.ones(8),)
    return Workload(
        case=case("add", 8, mode), call=call, args=args, wait=wait, on_return=host
    )


def series(mode: Mode = "jit", depth: int = 32, **options: Any) -> Turns:
    return Turns(workload(mode), queue_depth=depth, **options)


@pytest.mark.parametrize("platform", ["gpu", "cpu"])
def test_an_accelerator_is_kept_busy_after_its_turns(
    bursts: list[int], platform: str
) -> None:
    loaded = series()
    loaded.workload.device = SimpleNamespace(platform=platform)
    loaded.turn("throughput", 0.040)
    in_turns = len(bursts)
    loaded.load()
    if platform == "cpu":
        assert (loaded.loaded, len(bursts)) == (None, in_turns)
    else:
        many = loaded.burst[1]
        assert loaded.loaded == pytest.approx(QUEUED_SECONDS + CALL_SECONDS / many)
        busy = sum(CALL_SECONDS + QUEUED_SECONDS * n for n in bursts[in_turns:])
        assert busy >= turns.LOAD_SECONDS


def test_turns_that_settle_begin_with_calls_that_do_not_count(
    monkeypatch: pytest.MonkeyPatch, bursts: list[int]
) -> None:
    asked: list[float] = []
    clocked = clocks.calls

    def calls(call: Call, args: Any, wait: Wait, seconds: float, **more: Any) -> Block:
        asked.append(seconds)
        return clocked(call, args, wait, seconds, **more)

    monkeypatch.setattr(clocks, "calls", calls)
    settling = series(throughput=False, settles=True)
    settling.call_seconds = CALL_SECONDS
    settling.turn("latency", 0.040)
    first, second = asked
    assert first == second
    assert len(settling.rounds) == 1
    # Where a turn has hardly room for a call none is spent.
    settling.call_seconds = 0.030
    settling.turn("latency", 0.040)
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"depth": 4}, 3),
        ({"depth": 32}, 31),
        ({"depth": 200}, 199),
        ({"results_at_most": 4}, 4),
    ],
)
def test_a_burst_has_room_in_the_queue_and_in_memory(
    bursts: list[int], options: dict[str, Any], most: int
) -> None:
    one = series(**options)
    one.warm_up()
    one.turn("throughput", 0.04)
    assert max(bursts) <= most
    assert not one.overfull


def test_long_calls_have_bursts_only_when_six_rounds_still_fit() -> None:
    one = series()
    one.call_seconds = 0.5
    assert one.kinds(0.25, 4.6) == ["latency", "throughput"]
    assert one.kinds(0.25, 4.4) == ["latency"]
    one.call_seconds = 8.0  # the first pair is no exception
    assert one.kinds(0.25, 10.0) == ["latency"]
    one.call_seconds = 0.01
    assert one.kinds(0.25, 0.0) == ["latency", "throughput"]


@pytest.mark.usefixtures("bursts")
def test_whoever_raises_is_out_and_the_others_go_on() -> None:
    def broken(_: Any) -> None:
        raise ValueError("planted")

    bad = Turns(workload(call=broken))
    good = series()
    turns = take_turns(
        [bad, good], 60.0, stop=lambda: len(good.rounds) >= 3, faults=(ValueError,)
    )
    yielded = list(turns)
    assert isinstance(bad.fault, ValueError)
    assert yielded.count(bad) == 1
    assert yielded.count(good) >= 2


@pytest.mark.usefixtures("bursts")
def test_whoever_is_done_gets_no_more_turns() -> None:
    first, second = series(), series()
    for one in take_turns([first, second], 60.0, stop=lambda: False):
        one.done = len(one.rounds) >= (2 if one is first else 5)
    assert (len(first.rounds), len(second.rounds)) == (2, 5)


@pytest.mark.usefixtures("bursts")
def test_jax_waits_for_the_threads_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[None] = []
    monkeypatch.setattr(turns, "rest", lambda: waits.append(None))
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


def test_it_is_decided_at_times_that_are_fixed_beforehand() -> None:
    one = series()
    record, found = Record(0, one, None), []
    for rounds in range(1, 50):
        one.medians.append(1.0)
        one.rounds.append(Block([], [1.0]))
        assert record.stop_reason(0.03, spread=False) is None
        assert record.stop_reason(0.0, spread=True) is None
        if record.stop_reason(0.03, spread=True) == "target":
            found.append(rounds)
    assert found == [8, 12, 16, 24, 32, 48]


def test_threads_at_rest_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "process_time", lambda: 0.0)
    assert turns.rest(at_most=60.0) < 30.0


def test_threads_that_never_rest_are_waited_for_no_longer_than_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "process_time", perf_counter)
    assert turns.rest(at_most=0.1) >= 0.1


def test_freeing_a_result_is_timed_in_a_twentieth_of_the_calls(
    bursts: list[int],
) -> None:
    one = series()
    assert one.free_seconds is None
    one.warm_up()
    one.turn("latency", 0.1)
    calls = len(one.rounds[0].ready)
    assert len(one.freeing) == 1 + calls // turns.FREE_EVERY
    assert one.free_seconds == FREE_SECONDS
