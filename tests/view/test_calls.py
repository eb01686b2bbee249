"""The plots of one case's calls: as they come, and how they spread."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.plot import Picture
from jaxtui.state import CaseState
from jaxtui.stats import bin_edge, bin_of
from jaxtui.trace import Trace
from jaxtui.view import calls
from tests.view.making import COLORS, JIT, NUMPY, sampled_case


def test_calls_are_read_off_one_by_one_or_nearly() -> None:
    drawn = calls.live(sampled_case(turns=2), COLORS)
    assert drawn is not None
    assert drawn.count == 200
    top = drawn.draw(80, 9, color=False, cursor=16).split("\n")[0]
    assert re.match(r"call 17:  ⠒⠢ ready [\d.]+ ms  ⠒⠢ dispatch [\d.]+ µs", top)
    many = sampled_case(turns=2)
    thinned = replace(many, ready=replace(many.ready, counts={bin_of(1e-3): 2000}))
    drawn = calls.live(thinned, COLORS)
    assert drawn is not None
    assert drawn.read(100).name == "near call 1,005"


def test_the_curves_of_calls_are_named_where_they_end() -> None:
    for status in ("running", "done"):
        drawn = calls.live(replace(sampled_case(), status=status), COLORS)  # type: ignore[arg-type]
        assert drawn is not None
        for options in ({}, {"color": False}):
            _, *body = drawn.draw(80, 14, **options).split("\n")  # type: ignore[arg-type]
            for name in ("ready", "dispatch"):
                assert sum(f"{name}" in line for line in body) == 1


# Histograms.


def spread(case: CaseState) -> list[Picture]:
    drawn = calls.histogram(case, COLORS)
    assert drawn is not None
    return [one for one in (drawn.left, drawn) if one is not None]


def test_both_clocks_stand_side_by_side_with_median_and_p99() -> None:
    for width, height in ((80, 9), (120, 20)):
        drawn = calls.histogram(sampled_case(turns=12), COLORS)
        assert drawn is not None
        text = drawn.draw(width, height, color=False)
        assert text.count("1,200 calls") == 2
        assert text.count("median") == 2
        assert text.count("p99") == 2
        assert {len(line) for line in text.split("\n")} == {width}


def test_numpy_has_one_histogram() -> None:
    assert len(spread(sampled_case(NUMPY))) == 1
    assert len(spread(sampled_case(JIT))) == 2


def test_every_call_is_in_a_bin_or_counted_as_slower() -> None:
    state = sampled_case(turns=12)
    points = state.ready.points
    slow = Trace().extended([*points, 1.0, 2.0])
    (drawn,) = spread(replace(state, ready=slow, dispatch=Trace()))
    assert "2 slower, to 2.0 s" in drawn.title
    assert sum(drawn.series[0].y) >= 0.99 * len(points)


def test_calls_that_the_engine_left_out_are_in_the_bins() -> None:
    everything = {bin_of(1e-5): 100, bin_of(1.2e-5): 4_800, bin_of(2e-5): 100}
    fast = Trace().extended([1e-5, 2e-5] * 100, everything)
    (drawn,) = spread(replace(sampled_case(), ready=fast, dispatch=Trace()))
    assert "5,000 calls" in drawn.draw(80, 9, color=False)
    assert max(drawn.series[0].y) >= 4_800


def test_a_bin_is_read_off() -> None:
    drawn = calls.histogram(sampled_case(turns=12), COLORS)
    assert drawn is not None
    assert drawn.left is not None
    text = drawn.draw(100, 9, color=False, cursor=drawn.begin)
    assert re.search(r"ready [\d.]+ ms to [\d.]+ ms:  \d+ calls \([\d.]+ %\)", text)
    text = drawn.draw(100, 9, color=False, cursor=0)
    assert text.startswith("dispatch ")


@given(
    st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=300),
    st.integers(1, 120),
    st.integers(1, 30),
)
@settings(max_examples=60)
def test_any_calls_make_a_histogram(
    points: list[float], width: int, height: int
) -> None:
    trace = Trace().extended(points)
    state = replace(sampled_case(), ready=trace, dispatch=trace)
    for one in spread(state):
        assert sum(one.series[0].y) <= len(points)
        assert all(low < high for low, high in pairwise(one.places))
    drawn = calls.histogram(state, COLORS)
    assert drawn is not None
    for cursor in (None, 0, drawn.count - 1):
        lines = drawn.draw(width, height, color=False, cursor=cursor).split("\n")
        assert [len(line) for line in lines] == [width] * height


@given(st.floats(1e-9, 1e3))
def test_a_time_lies_in_its_bin(seconds: float) -> None:
    index = bin_of(seconds)
    assert bin_edge(index) <= seconds * (1 + 1e-12)
    assert seconds <= bin_edge(index + 1) * (1 + 1e-12)


def test_the_live_axis_moves_in_steps() -> None:
    widths = set()
    for count in range(1, 300):
        state = replace(CaseState(JIT), ready=Trace((1e-3,) * count))
        picture = calls.live(state, COLORS)
        assert picture is not None
        assert picture.x.limits is not None
        widths.add(picture.x.limits[1])
    assert widths == {64, 128, 256, 512}


def test_each_call_is_a_dot_and_nothing_is_drawn_between_them() -> None:
    slow_and_fast = tuple(1e-3 if index % 8 else 1e-2 for index in range(120))
    state = replace(CaseState(JIT), ready=Trace(slow_and_fast))
    picture = calls.live(state, COLORS)
    assert picture is not None
    few = replace(CaseState(JIT), ready=Trace(slow_and_fast[:20]))
    drawn = calls.live(few, COLORS)
    assert drawn is not None
    assert drawn.draw(120, 12, color=False).count("•") == 20
    canvas = picture.draw(110, 12, color=False).split("\n")[1:-1]
    dots = sum(
        bin(ord(character) - 0x2800).count("1")
        for line in canvas
        for character in line
        if 0x2800 <= ord(character) < 0x2900
    )
    assert dots == len(slow_and_fast)
