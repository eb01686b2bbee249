from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from jaxtui.measure.clocks import Block, Call, Loops
from jaxtui.measure.executable import Executable
from jaxtui.measure.sampling import LATENCY_SHARE, Sampler
from jaxtui.model import Case, Mode

CALL_SECONDS = 0.001
QUEUED_SECONDS = 0.0004


class Clockwork:
    """Loops of calls that last as long as they should, and what was asked of them."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []

    def calls(
        self,
        call: Call,
        args: Sequence[Any],
        seconds: float,
        *,
        least: int = 1,
        most: int = 2000,
    ) -> Block:
        self.asked.append(("calls", seconds))
        count = min(most, max(least, round(seconds / CALL_SECONDS)))
        return Block([CALL_SECONDS / 10] * count, [CALL_SECONDS] * count)

    def burst(self, call: Call, args: Sequence[Any], count: int) -> float:
        self.asked.append(("burst", count))
        return CALL_SECONDS + QUEUED_SECONDS * count

    def ready_at_return(self, call: Call, args: Sequence[Any], count: int) -> float:
        return 0.0

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.asked]


@pytest.fixture
def clockwork() -> Clockwork:
    return Clockwork()


def sampler(clockwork: Clockwork, mode: Mode = "jit", depth: int = 32) -> Sampler:
    case = Case(op="add", size=8, dtype="float32", device="cpu:0", mode=mode)
    loops = Loops(clockwork.calls, clockwork.burst, clockwork.ready_at_return)
    args = (np.ones(8),)
    made = Sampler(Executable(case, call=np.exp, args=args, loops=loops), depth)
    made.warm_up()
    clockwork.asked.clear()
    return made


def test_bursts_come_first_in_every_turn(clockwork: Clockwork) -> None:
    sampled = sampler(clockwork)
    for _ in range(20):
        clockwork.asked.clear()
        sampled.turn(0.04)
        assert clockwork.kinds[-1] == "calls"
        assert set(clockwork.kinds[:-1]) == {"burst"}


def test_blocked_calls_get_their_share_of_a_turn(clockwork: Clockwork) -> None:
    sampled = sampler(clockwork)
    sampled.turn(0.04)
    _, seconds = clockwork.asked[-1]
    assert 0.04 * LATENCY_SHARE <= seconds <= 0.048 * LATENCY_SHARE
    clockwork.asked.clear()
    sampled.turn(0.04, bursts=False)
    ((kind, seconds),) = clockwork.asked
    assert kind == "calls"
    assert 0.04 <= seconds <= 0.048


def test_the_slope_is_the_time_of_one_queued_call(clockwork: Clockwork) -> None:
    sampled = sampler(clockwork)
    assert sampled.pipelined_seconds is None
    sampled.turn(0.04)
    assert sampled.pipelined_seconds == pytest.approx(QUEUED_SECONDS)
    assert sampled.medians == [CALL_SECONDS]


@pytest.mark.parametrize("depth", [4, 8, 32, 200])
def test_a_burst_stays_below_the_depth_of_the_queue(
    clockwork: Clockwork, depth: int
) -> None:
    sampled = sampler(clockwork, depth=depth)
    sampled.turn(0.04)
    queued = max(count for kind, count in clockwork.asked if kind == "burst")
    assert queued < depth
    assert not sampled.overfull


def test_numpy_has_nothing_to_queue(clockwork: Clockwork) -> None:
    sampled = sampler(clockwork, mode="numpy")
    sampled.turn(0.002)
    assert not clockwork.asked
    assert sampled.pipelined_seconds is None
    assert not sampled.rounds[0].dispatch
