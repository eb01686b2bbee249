from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.measure import schedule
from jaxtui.model import Case, PlannedCase
from jaxtui.stats import MINIMUM_ROUNDS


@given(st.floats(0.5, 600), st.integers(1, 200))
def test_six_rounds_of_everybody_fit_the_time(available: float, cases: int) -> None:
    turn = schedule.turn_seconds(available, cases)
    longest = 1.2 * turn  # the jitter
    if turn > 0.002:
        assert longest * cases * MINIMUM_ROUNDS <= available


def test_many_cases_take_short_turns_and_a_lone_case_long_ones() -> None:
    assert schedule.turn_seconds(60, 20) == schedule.TURN_SECONDS
    assert schedule.turn_seconds(60, 1) == schedule.TURN_SECONDS_AT_MOST


@pytest.mark.parametrize(
    ("half_widths", "reason"),
    [
        ([0.01] * 7, None),
        ([0.01] * 8, "target"),
        ([0.2] * 31, None),
        ([0.2] * 32, "noise floor"),
        ([0.5 * 0.95**i for i in range(32)], None),
    ],
)
def test_stop_reasons(half_widths: list[float], reason: str | None) -> None:
    assert schedule.stop_reason(half_widths, target=0.03) == reason


def test_long_calls_afford_bursts_only_when_six_rounds_still_fit() -> None:
    call = {"call_seconds": 0.5, "turn": 0.25}
    assert schedule.affords_bursts(**call, rounds=0, slopes=0, share=1.0)
    assert not schedule.affords_bursts(**call, rounds=1, slopes=1, share=3.0)
    assert schedule.affords_bursts(**call, rounds=1, slopes=1, share=4.1)
    assert schedule.affords_bursts(
        call_seconds=0.01, turn=0.04, rounds=1, slopes=1, share=0.0
    )


def planned(size: int) -> PlannedCase:
    case = Case(op="add", size=size, dtype="float32", device="cpu:0", mode="jit")
    return PlannedCase(
        case=case, memory_bytes=0, host_memory_bytes=0, flops=None, bytes=None
    )


def test_short_memory_runs_sizes_one_after_another() -> None:
    cases = [(0, planned(8)), (1, planned(4)), (2, planned(8))]
    assert schedule.groups(cases, grouped=False) == [cases]
    assert [[i for i, _ in g] for g in schedule.groups(cases, grouped=True)] == [
        [1],
        [0, 2],
    ]
    assert schedule.groups([], grouped=False) == []


def test_a_narrow_interval_of_a_short_span_is_not_believed() -> None:
    assert schedule.stop_reason([0.01] * 20, 0.03, spread=False) is None
    assert schedule.spread_seconds(100.0) == schedule.SPREAD_SECONDS
    assert schedule.spread_seconds(1.0) < 1.0
    assert schedule.spread_seconds(-1.0) == 0.0
