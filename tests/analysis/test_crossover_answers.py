"""Costs by clock, when a start has paid, and where a crossing lies."""

from __future__ import annotations

import pytest

from jaxtui.analysis.crossover import (
    CLOCKS,
    DOUBT,
    Point,
    answer,
    clocks,
    cost,
    crossing_size,
    paybacks,
)
from jaxtui.model import Measurement, Phases
from tests.analysis.figures import JIT, NUMPY, START, case, measurement

SENT, COLD = START.transfer + START.fetch, START.cold_seconds


@pytest.mark.parametrize(
    ("measured", "medians"),
    [
        (measurement(JIT, 1e-3), (1e-3, 1e-3 + SENT, COLD, COLD + SENT)),
        # What runs on the host sends and compiles nothing.
        (measurement(NUMPY, 1e-3), (1e-3,) * 4),
        # Inputs on the host are sent by the call itself.
        (
            measurement(case(inputs="host"), 1e-3),
            (1e-3, 1e-3 + START.fetch, COLD, COLD + START.fetch),
        ),
        # What was not measured has no cost.
        (
            measurement(JIT, 1e-3, phases=Phases(compile=0.1)),
            (1e-3, None, None, None),
        ),
    ],
)
def test_what_a_call_costs_by_each_clock(
    measured: Measurement, medians: tuple[float | None, ...]
) -> None:
    found = [cost(measured, clock) for clock in CLOCKS]
    assert [one and one.median for one in found] == pytest.approx(list(medians))


def test_single_observations_and_few_rounds_are_doubted() -> None:
    measured = measurement(JIT, 1e-3, width=0.1)
    sent, cold, few = (
        cost(one, clock)
        for one, clock in (
            (measured, "call_and_transfers"),
            (measured, "first_call"),
            (measurement(JIT, 1e-3, width=0.0, rounds=1), "call"),
        )
    )
    low, high = 1 - DOUBT, 1 + DOUBT
    assert sent[::2] == pytest.approx((0.9e-3 + low * SENT, 1.1e-3 + high * SENT))
    assert cold[::2] == pytest.approx((low * COLD, high * COLD))
    assert few[::2] == pytest.approx((low * 1e-3, high * 1e-3))


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


QUICK = Phases(transfer=1e-4, first_call=0.0105, fetch=1e-5)
EAGER = measurement(case("eager"), 2e-3, phases=QUICK)


@pytest.mark.parametrize(
    ("first", "second", "side", "calls"),
    [
        # 44.1 ms until the first result, and then 10 ms are saved by each call.
        (measurement(NUMPY, 0.02), measurement(JIT, 0.01), "second", 4),
        (measurement(JIT, 0.01), measurement(NUMPY, 0.02), "first", 4),
        (measurement(NUMPY, 0.05), measurement(JIT, 0.01), "second", 1),
        (measurement(NUMPY, 0.01), measurement(JIT, 0.02), "second", None),
        # A difference that cannot be measured never pays.
        (
            *(measurement(NUMPY, 1.01, 0.02), measurement(JIT, 1.0, 0.02)),
            *("second", None),
        ),
        # Of two of JAX the slower start has to pay: 44.1 ms against 10.6 ms, and a
        # millisecond is saved by each call.
        (EAGER, measurement(JIT, 1e-3), "second", 35),
        (measurement(JIT, 1e-3), EAGER, "first", 35),
    ],
)
def test_after_how_many_calls_a_start_has_paid(
    first: Measurement, second: Measurement, side: str, calls: int | None
) -> None:
    (one,) = paybacks([Point(64, first, second)])
    assert (one.size, one.side, one.calls) == (64, side, calls)


@pytest.mark.parametrize("few", [(5, 12), (12, 5), (2, 2)])
def test_few_rounds_are_no_verdict_however_far_the_two_are_apart(
    few: tuple[int, int],
) -> None:
    sides = zip((NUMPY, JIT), (1e-3, 1.0), few, strict=True)
    slow = Point(64, *(measurement(one, t, rounds=n) for one, t, n in sides))
    sure = Point(16, measurement(NUMPY, 1e-3), measurement(JIT, 1.0))
    for clock in CLOCKS:
        found = answer([sure, slow], clock)
        assert (found.faster, found.sure) == ("first", 16)
        assert found.even == found.few == (64,)
    # Whether its start ever pays is not known either.
    assert [one.size for one in paybacks([sure, slow])] == [16]


def test_nothing_measured_has_no_answers() -> None:
    assert paybacks([]) == ()
    assert answer([], "call").found == "unknown"


def test_the_place_is_straight_between_neighbours_on_logarithmic_axes() -> None:
    assert crossing_size((100, 10_000), (-1.0, 1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (-1.0, 3.0)) == pytest.approx(10**2.5)
    # Of two places the last; of none the middle.
    assert crossing_size((1, 100, 10_000), (-1.0, 1.0, -1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (1.0, 1.0)) == pytest.approx(1000)
