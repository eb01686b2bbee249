"""Medians, intervals and ratios of rounds, and what is counted."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core import stats
from jaxtui.core.model import Interval, Summary
from jaxtui.core.model.measurement import confidence
from tests.records import summarize

seconds = st.floats(1e-9, 1e3)
some = st.lists(seconds, min_size=1, max_size=40)


@given(st.lists(seconds, min_size=2, max_size=50))
def test_medians_and_quantiles_are_the_standard_librarys(values: list[float]) -> None:
    assert stats.median(values) == pytest.approx(statistics.median(values))
    wanted = statistics.quantiles(values, n=8, method="inclusive")
    found = [stats.quantile(sorted(values), place / 8) for place in range(1, 8)]
    assert found == pytest.approx(wanted)


def test_quantile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        stats.quantile([], 0.5)


@pytest.mark.parametrize(
    ("rounds", "interval"),
    [
        # Below six rounds it is minimum and maximum, and not called sure.
        ([7], (7, 7, 7, 0)),
        ([1, 0], (0, 0.5, 1, 0.5)),
        (range(5), (0, 2, 4, 0.9375)),
        (range(6), (0, 2.5, 5, 0.96875)),
        # From eight on it is that of eight contiguous batches, and spans a drift.
        (range(8), (0, 3.5, 7, 0.9921875)),
        (range(13), (0, 6, 11.5, 0.9921875)),
        (range(80), (4.5, 39.5, 74.5, 0.9921875)),
        ([1] * 50 + [2] * 50, (1, 1.5, 2, 0.9921875)),
    ],
)
def test_the_interval_of_rounds(
    rounds: Sequence[int], interval: tuple[float, float, float, float]
) -> None:
    expected = Interval(*interval)
    assert stats.rounds_interval(rounds) == expected
    assert summarize([[one] for one in rounds]).interval == expected
    assert confidence(len(rounds)) == interval[-1]


def test_the_half_width_is_relative_to_the_median() -> None:
    assert Interval(1.0, 1.5, 2.0).half_width == pytest.approx(1 / 3)
    assert Interval(0.0, 0.0, 2.0).half_width == 0


def test_a_summary_of_before_knows_how_sure_its_interval_is() -> None:
    made = summarize([[1.0]] * 7)
    document = {**msgspec.to_builtins(made)}
    assert document.pop("confidence") == 0.984375
    assert msgspec.convert(document, Summary) == made
    assert msgspec.structs.replace(made, rounds=6).confidence == 0.96875


def test_lowest_and_highest_batch_contain_the_median_as_often_as_stated() -> None:
    chance = random.Random(0)
    inside = 0
    for _ in range(4000):
        found = stats.rounds_interval([chance.gauss(0, 1) for _ in range(8)])
        inside += found.low <= 0 <= found.high
    assert inside / 4000 == pytest.approx(confidence(8), abs=0.006)


@given(st.lists(st.lists(seconds, min_size=1, max_size=9), min_size=1, max_size=40))
def test_a_summary_is_ordered(rounds: list[list[float]]) -> None:
    summary = summarize(rounds)
    assert summary.ci_low <= summary.median <= summary.ci_high
    assert summary.p10 <= summary.p90 <= summary.p99 <= summary.max
    assert summary.n == sum(map(len, rounds))
    # Not that of the pooled calls.
    assert summary.median == stats.median([stats.median(one) for one in rounds])


def test_a_summary_has_the_quantiles_of_all_calls() -> None:
    found = summarize(
        [[float(n) for n in range(50)], [float(n) for n in range(50, 101)]]
    )
    assert (found.p10, found.p90, found.p99, found.max) == (10.0, 90.0, 99.0, 100.0)


def test_outliers_are_counted_and_kept() -> None:
    rounds = [[1.0, 1.1, 0.9, 1.0, 50.0]] * 6
    summary = summarize(rounds)
    assert (summary.outliers, summary.n, summary.max) == (6, 30, 50.0)
    assert summary.mean == pytest.approx(10.8)


def test_a_ratio_is_that_of_rounds_which_both_took() -> None:
    # A load comes half-way, and the first one ends before its end.
    first, second = (1.0,) * 5 + (2.0,) * 3, (3.0,) * 5 + (6.0,) * 9
    one, other = stats.rounds_interval(first), stats.rounds_interval(second)
    found = stats.ratio(other, one, (second, first))
    assert found == Interval(3.0, 3.0, 3.0, confidence(8))


def test_the_ratio_of_two_that_took_no_turns_is_as_wide_as_both_allow() -> None:
    one, other = Interval(1.0, 2.0, 4.0, 0.99), Interval(3.0, 6.0, 8.0, 0.98)
    confidence: Any = pytest.approx(0.97)
    alone = Interval(0.75, 3.0, 8.0, confidence)
    assert stats.ratio(other, one) == alone
    assert stats.ratio(other, one, ((1.0,) * 5, (2.0,) * 5)) == alone
    assert stats.ratio(other, Interval(0.0, 1.0, 1.0)) is None


@pytest.mark.parametrize(
    ("low", "high", "confidence", "vague", "uncertain"),
    [
        (2 / 3, 4 / 3, 0.99, False, True),
        (2.0, 4.0, 0.99, False, False),
        (2.0, 4.1, 0.99, True, True),
        (0.3, 0.5, 0.99, False, False),
        # Of a single round nothing is known.
        (3.0, 3.0, 0.0, True, True),
    ],
)
def test_a_ratio_is_known_to_within_a_third(
    low: float, high: float, confidence: float, vague: bool, uncertain: bool
) -> None:
    found = Interval(low, (low + high) / 2, high, confidence)
    assert (found.vague, found.uncertain) == (vague, uncertain)


@given(some, some)
def test_a_ratio_lies_inside_its_interval(
    first: list[float], second: list[float]
) -> None:
    sides = stats.rounds_interval(first), stats.rounds_interval(second)
    for rounds in ((), ()), (first, second):
        found = stats.ratio(*sides, rounds)
        assert found is not None
        assert found.low <= found.median <= found.high


@pytest.mark.parametrize(
    ("first", "call", "rival", "calls"),
    [(10, 1, 2, 9), (1, 1, 2, 1), (10, 2, 2, None), (10, 3, 2, None)],
)
def test_break_even(first: float, call: float, rival: float, calls: int | None) -> None:
    assert stats.break_even_calls(first, call, rival) == calls


@given(seconds, seconds, seconds)
def test_break_even_is_the_first_call_that_pays(
    first: float, call: float, rival: float
) -> None:
    n = stats.break_even_calls(first, call, rival)
    if n is not None and n < 1e6:
        slack = 1e-6 * (first + n * rival)
        assert first + (n - 1) * call <= n * rival + slack
        if n > 1:
            assert first + (n - 2) * call >= (n - 1) * rival - slack


def test_in_flight_is_what_was_promised_and_not_ready() -> None:
    entered, ready = [0.0, 1.0, 2.0, 9.0], [3.0, 4.0, 5.0, 10.0]
    assert stats.in_flight(entered, ready) == [0, 1, 2, 0]
    assert stats.in_flight([0.0, 6.0], [3.0, 4.0]) == [0, 0]
    assert stats.held_back([], [], [], 32) == []


@given(seconds)
def test_a_time_is_counted_in_the_bin_that_it_lies_in(one: float) -> None:
    index = stats.bin_of(one)
    assert stats.bins([one, 0.0, one]) == {index: 2}
    assert stats.bin_edge(index) <= one * (1 + 1e-12)
    assert one <= stats.bin_edge(index + 1) * (1 + 1e-12)
