"""Costs by clock, when a start has paid, and the sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.analysis.crossover import (
    CLOCKS,
    DOUBT,
    Point,
    answer,
    clocks,
    cost,
    crossing_size,
    faster,
    paybacks,
)
from jaxtui.model import Phases
from tests.analysis.figures import JIT, NUMPY, START, case, measurement


def test_what_a_call_costs_by_each_clock() -> None:
    measured = measurement(JIT, 1e-3, width=0.1)
    seconds = {clock: cost(measured, clock) for clock in CLOCKS}
    assert seconds["call"][:3] == pytest.approx((0.9e-3, 1e-3, 1.1e-3))
    sent = START.transfer + START.fetch
    assert seconds["call_and_transfers"][:3] == pytest.approx(
        (0.9e-3 + (1 - DOUBT) * sent, 1e-3 + sent, 1.1e-3 + (1 + DOUBT) * sent)
    )
    cold = START.cold_seconds
    assert seconds["first_call"][:3] == pytest.approx(
        ((1 - DOUBT) * cold, cold, (1 + DOUBT) * cold)
    )
    assert seconds["first_call_and_transfers"].median == pytest.approx(cold + sent)


def test_what_runs_on_the_host_sends_and_compiles_nothing() -> None:
    measured = measurement(NUMPY, 1e-3)
    assert {cost(measured, clock) for clock in CLOCKS} == {cost(measured, "call")}


def test_inputs_on_the_host_are_sent_by_the_call_itself() -> None:
    measured = measurement(case(inputs="host"), 1e-3)
    found = cost(measured, "call_and_transfers")
    assert found is not None
    assert found.median == pytest.approx(1e-3 + START.fetch)


def test_what_was_not_measured_costs_nothing_known() -> None:
    measured = measurement(JIT, 1e-3, phases=Phases(compile=0.1))
    assert cost(measured, "call") is not None
    assert {cost(measured, clock) for clock in CLOCKS[1:]} == {None}


def test_few_rounds_are_doubted() -> None:
    found = cost(measurement(JIT, 1e-3, width=0.0, rounds=1), "call")
    assert found is not None
    assert found[:3] == pytest.approx((1e-3 * (1 - DOUBT), 1e-3, 1e-3 * (1 + DOUBT)))


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [
        (NUMPY, JIT, CLOCKS),
        (case("eager"), JIT, ("call", "first_call")),
        (case(dtype="bfloat16"), JIT, CLOCKS),
        (case(device="cpu:1"), JIT, CLOCKS),
        (case(inputs="host"), JIT, CLOCKS),
        (case(precision="highest"), JIT, ("call", "first_call")),
        (NUMPY, case("numpy", dtype="float64"), ("call",)),
    ],
)
def test_only_clocks_that_can_tell_the_two_apart_are_asked(
    first, second, asked
) -> None:
    assert clocks(first, second) == asked


@given(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
def test_a_start_has_paid_at_the_first_call_at_which_the_sum_is_smaller(
    numpy: float, jit: float
) -> None:
    point = Point(64, measurement(NUMPY, numpy, 0.0), measurement(JIT, jit, 0.0))
    (one,) = paybacks([point])
    assert (one.size, one.side) == (64, "second")
    if jit >= numpy:
        assert one.calls is None
        return
    assert one.calls is not None
    start = START.cold_seconds + START.transfer

    def saved(calls: int) -> float:
        return calls * numpy - start - (calls - 1) * jit

    assert saved(one.calls) >= -1e-9 * one.calls
    assert one.calls == 1 or saved(one.calls - 1) <= 1e-9 * one.calls


def test_between_two_of_jax_it_is_the_slower_start_that_has_to_pay() -> None:
    quick = Phases(transfer=1e-4, first_call=0.0105, fetch=1e-5)
    eager = measurement(case("eager"), 2e-3, phases=quick)
    (one,) = paybacks([Point(64, eager, measurement(JIT, 1e-3))])
    # 44.1 ms against 10.6 ms, and a millisecond is saved by each call.
    assert (one.side, one.calls) == ("second", 35)
    (other,) = paybacks([Point(64, measurement(JIT, 1e-3), eager)])
    assert (other.side, other.calls) == ("first", 35)


def test_a_difference_that_cannot_be_measured_never_pays() -> None:
    point = Point(64, measurement(NUMPY, 1.01, 0.02), measurement(JIT, 1.0, 0.02))
    assert faster(point, "call") == "even"
    assert paybacks([point])[0].calls is None


def test_nothing_measured_has_no_answers() -> None:
    assert paybacks([]) == ()
    assert answer([], "call").found == "unknown"


def test_the_place_is_straight_between_neighbours_on_logarithmic_axes() -> None:
    assert crossing_size((100, 10_000), (-1.0, 1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (-1.0, 3.0)) == pytest.approx(10**2.5)
    # Of two places the last; of none the middle.
    assert crossing_size((1, 100, 10_000), (-1.0, 1.0, -1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (1.0, 1.0)) == pytest.approx(1000)
