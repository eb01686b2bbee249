"""What people read: prefixes, digits, and a dash for what is absent."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core import format as fmt
from tests.records import case, measurement, summary


@pytest.mark.parametrize(
    ("low", "median", "high", "text"),
    [
        (0.809, 0.812, 0.815, "812 µs"),
        (0.71, 0.812, 0.92, "0.81 ms"),
        (4.88, 5.03, 5.18, "5.0 ms"),
        (0.0548, 0.056, 0.0572, "56 µs"),
        (0.32, 0.812, 1.3, "~0.81 ms"),
        (111e3, 123e3, 135e3, "120 s"),
        (91, 101, 111, "100 ms"),
        (1, 1, 1, "1.00 ms"),
        # Three where two lie outside of it.
        (1.38, 1.47, 3.49, "~1.5 ms"),
        (0.1232, 0.1249, 0.1281, "125 µs"),
        (0.19, 16.2, 18.4, "~16 ms"),
        (1.1, 2.6, 7, "~2.6 ms"),
    ],
)
def test_digits_follow_the_interval(
    low: float, median: float, high: float, text: str
) -> None:
    ends = {"ci_low": low / 1e3, "ci_high": high / 1e3}
    assert str(fmt.median(replace(summary(median / 1e3), **ends))) == text


@pytest.mark.parametrize(
    ("values", "quantity", "unit"),
    [
        # The unit of the largest, but no time is a part of a second.
        ((815e-6, 0.541), "s", "ms"),
        ((2e-6, 9e-6), "s", "µs"),
        ((0.5, 2.0), "s", "ms"),
        ((1.5, 2.0), "s", "s"),
        ((0.0, math.nan, math.inf, 12.0), "s", "s"),
        ((), "s", "ms"),
        ((9e9, 2e12), "FLOP/s", "TFLOP/s"),
        ((3 * 2**20,), "memory", "MiB"),
    ],
)
def test_a_common_unit_suits_the_largest(values: Any, quantity: Any, unit: str) -> None:
    assert fmt.common(values, quantity).name == unit


@pytest.mark.parametrize(
    ("values", "quantity", "texts"),
    [
        ([116e-6, 21.4e-3, None], "s", ["0.116 ms", "21.4 ms", "—"]),
        # No time below a hundredth of its unit; none that is three decades away.
        ([2.14e-6, 1.8e-3], "s", ["2.14 µs", "1.80 ms"]),
        ([116e-6, 0.541], "s", ["116 µs", "541 ms"]),
        ([2.16, 0.837, 1.6], "s", ["2160 ms", "837 ms", "1600 ms"]),
        ([2.16, 12.0], "s", ["2.16 s", "12.0 s"]),
        ([16e-9, 1.2e-3], "s", ["16.0 ns", "1.20 ms"]),
        # A rate has one unit, whatever stands beside it.
        ([60.4e9, 12.6e12], "FLOP/s", ["60.4 GFLOP/s", "12.6 TFLOP/s"]),
        ([9.05e9, 126e9], "FLOP/s", ["9.05 GFLOP/s", "126 GFLOP/s"]),
        ([512, 16_384, 0], "memory", ["0.500 KiB", "16.0 KiB", "0 KiB"]),
    ],
)
def test_figures_that_stand_together_have_one_unit(
    values: list[Any], quantity: Any, texts: list[str]
) -> None:
    cells = [fmt.figure(value, quantity) for value in values]
    assert [*map(fmt.alike(cells), cells)] == texts


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(345e-6, 16e-3, "0.345–16.0 ms"), (34.5e-6, 16e-3, "34.5 µs–16.0 ms")],
)
def test_the_ends_of_an_interval_share_a_unit_that_suits_both(
    low: float, high: float, text: str
) -> None:
    clock = replace(summary(8e-3, 0.001), ci_low=low, ci_high=high)
    assert str(fmt.ends(clock)) == text
    assert fmt.OwnUnits("s").ends(low, high) == text
    unit = fmt.Units.of([measurement(case(), clock)]).ready
    beside = fmt.ends_beside(clock.interval, unit)
    assert beside == text.removesuffix(" ms" * ("µ" not in text))


@given(st.lists(st.floats(1e-9, 1e3), min_size=1))
def test_no_time_is_a_small_part_of_its_unit(values: Any) -> None:
    write = fmt.alike(cells := [fmt.figure(value) for value in values])
    assert all(float(write(cell).split()[0]) >= 0.00995 for cell in cells)


def test_each_quantity_has_a_unit_of_its_own_and_words_stay() -> None:
    ends = fmt.Figure((0.24e-3, 7.69e-3), "s", fmt.Unit("ms", 1e-3))
    cells = [ends, fmt.figure(92e-5, digits=2), "5 s", fmt.figure(9.05e10, "B/s")]
    assert [*map(fmt.alike(cells), cells)] == [
        "0.240–7.69 ms",
        "0.92 ms",
        "5 s",
        "90.5 GB/s",
    ]


def test_what_was_published_is_quoted_to_the_digit() -> None:
    texts = ["0.42 ms", "7.60 µs", "130 µs", "1.61 s"]
    assert [str(fmt.quoted(text)) for text in texts] == texts
    assert [*map(fmt.quoted, ("call 2", "30×", "1.21 GB"))] == [None] * 3


@pytest.mark.parametrize(
    ("function", "texts"),
    [
        (fmt.seconds, {math.nan: "—", math.inf: "—", 0: "0 s", -2e-6: "-2.00 µs"}),
        (fmt.seconds, {5.6e-10: "0.560 ns", 8.1249e-4: "812 µs", 5.03e-3: "5.03 ms"}),
        (fmt.seconds, {9.9996e-4: "1.00 ms", 0.9994: "999 ms", 0.9996: "1.00 s"}),
        (fmt.seconds, {345.6: "346 s"}),
        (
            fmt.rate,
            {1.69e14: "169 TFLOP/s", 2.45e15: "2.45 PFLOP/s", 12: "12.0 FLOP/s"},
        ),
        (partial(fmt.rate, quantity="B/s"), {2.61e10: "26.1 GB/s"}),
        (fmt.bytes_text, {15.75 * 2**30: "15.8 GiB", 2**30: "1.00 GiB", 0: "0 B"}),
        (fmt.bytes_text, {512: "512 B"}),
        (fmt.bytes_used, {3 * 2**20: "3.0M", 0: "0.0B"}),
        (
            partial(fmt.bytes_used, limit=15.7 * 2**30),
            {1e8: "0.1/15.7G", 0: "0.0/15.7G"},
        ),
        (fmt.size, {4096: "4096", 1_000_000: "1e6", 1.5e6: "1.5e6", 2**20: "1048576"}),
        (
            fmt.tick_size,
            {4096: "4k", 256: "256", 1536: "1.5k", 2**20: "1M", 1e6: "1e6"},
        ),
        (
            fmt.tick_seconds,
            {1e-4: "100 µs", 10.0**-3: "1 ms", 1.5e-3: "1.5 ms", 0.0: "0"},
        ),
        (fmt.tick_seconds, {9.999999999999999e-4: "1 ms"}),
        (fmt.tick_rate, {1e11: "100G"}),
        (fmt.percent, {0.86: "86 %", 0.0042: "0.42 %", 0.0995: "10 %"}),
        (fmt.error, {2.13e-3: "2.1e-3", 0.0: "0"}),
        (fmt.ratio, {88.2: "88×", 4.06: "4.1×", 0.25: "0.25×", 1234.0: "1234×"}),
        (fmt.count, {12345: "12,345"}),
        (fmt.duration, {83: "1:23", 5.4: "0:05", 3725: "1:02:05"}),
        (fmt.how_long, {119.9: "120 s", 150: "2.5 min", 10_000: "2.8 h"}),
        (partial(fmt.plural, noun="chip"), {1: "1 chip", 0: "0 chips"}),
        (partial(fmt.plural, noun="other process"), {2: "2 other processes"}),
    ],
)
def test_texts(function: Any, texts: Any) -> None:
    assert {value: function(value) for value in texts} == texts


def test_absent_is_a_dash() -> None:
    quantities = (fmt.seconds, fmt.rate, fmt.bytes_text, fmt.bytes_used)
    others = (fmt.median, fmt.size, fmt.percent, fmt.error, fmt.ratio, fmt.count)
    for function in (*quantities, *others, fmt.duration, fmt.Unit("s", 1.0).text):
        assert function(None) == "—"


@example(1.795e308)
@example(5e-324)
@given(st.floats())
def test_any_time_has_a_text(value: Any) -> None:
    for function in (fmt.seconds, fmt.rate, fmt.tick_seconds, fmt.ratio, fmt.error):
        assert function(value)


@given(st.floats(1e-9, 1e4))
def test_three_digits_are_right(value: Any) -> None:
    number, unit = fmt.seconds(value).split()
    factor = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    assert float(number) * factor == pytest.approx(value, rel=0.00501)
    assert unit == "s" or float(number) < 1000


def test_an_interval_about_processes_says_so() -> None:
    few = replace(summary(0.005, 0.02, rounds=30), processes=3)
    many = replace(few, processes=7)
    assert fmt.interval(few) == "min–max of 3 processes 4.90–5.10 ms"
    assert fmt.interval(many) == "95 % interval of processes 4.90–5.10 ms"
    assert fmt.sampled(many) == "100 calls in 7 processes"
