"""The plots of one case's calls: as they come, and how they spread."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.plot import Picture
from jaxtui.state import CaseState
from jaxtui.stats import bin_of
from jaxtui.trace import Trace
from jaxtui.view import calls
from tests import records
from tests.view.making import COLORS, JIT, NUMPY, sampled_case

MANY = sampled_case(turns=12)


def live(case: CaseState) -> Picture:
    drawn = calls.live(case, COLORS)
    assert drawn is not None
    return drawn


def running(*seconds: float) -> Picture:
    return live(replace(CaseState(JIT), ready=Trace(seconds)))


def test_calls_are_read_off_one_by_one_or_nearly() -> None:
    few = sampled_case(turns=2)
    drawn = live(few)
    assert drawn.count == 200
    top = drawn.draw(80, 9, color=False, cursor=16).split("\n")[0]
    assert re.match(r"call 17:  ⠒⠢ ready [\d.]+ ms  ⠒⠢ dispatch [\d.]+ µs", top)
    thinned = replace(few, ready=replace(few.ready, counts={bin_of(1e-3): 2000}))
    assert live(thinned).read(100).name == "near call 1,005"


def test_the_curves_of_calls_are_named_where_they_end() -> None:
    for case in (sampled_case(), replace(sampled_case(), status="running")):
        for color in (True, False):
            _, *body = live(case).draw(80, 14, color=color).split("\n")
            for name in ("ready", "dispatch"):
                assert sum(name in line for line in body) == 1


def test_the_live_axis_moves_in_steps() -> None:
    widths = {running(*(1e-3,) * count).x.limits[1] for count in range(1, 300)}
    assert widths == {64, 128, 256, 512}


def test_each_call_is_a_dot_and_nothing_is_drawn_between_them() -> None:
    seconds = [1e-3 if index % 8 else 1e-2 for index in range(120)]
    assert running(*seconds[:20]).draw(120, 12, color=False).count("•") == 20
    canvas = running(*seconds).draw(110, 12, color=False).split("\n")[1:-1]
    braille = re.findall("[\u2800-\u28ff]", "".join(canvas))
    assert sum((ord(char) - 0x2800).bit_count() for char in braille) == 120


# Histograms.


def spread(case: CaseState) -> list[Picture]:
    drawn = calls.histogram(case, COLORS)
    assert drawn is not None
    return [one for one in (drawn.left, drawn) if one is not None]


def only(ready: Trace) -> Picture:
    (drawn,) = spread(replace(MANY, ready=ready, dispatch=Trace()))
    return drawn


def test_both_clocks_stand_side_by_side_with_median_and_p99() -> None:
    assert len(spread(sampled_case(NUMPY))) == 1
    _, drawn = spread(MANY)
    for width, height in ((80, 9), (120, 20)):
        text = drawn.draw(width, height, color=False)
        assert [text.count(one) for one in ("1,200 calls", "median", "p99")] == [2] * 3
        assert {len(line) for line in text.split("\n")} == {width}
    # A bin of either is read off.
    text = drawn.draw(100, 9, color=False, cursor=drawn.begin)
    assert re.search(r"ready [\d.]+ ms to [\d.]+ ms:  \d+ calls \([\d.]+ %\)", text)
    assert drawn.draw(100, 9, color=False, cursor=0).startswith("dispatch ")


def test_the_median_of_a_histogram_is_in_the_unit_that_suits_it() -> None:
    assert MANY.measurement is not None
    # One digit of it is known, which would be 0.02 ms.
    wide = msgspec.structs.replace(records.summary(18.3e-6, 0.5), p99=99e-6)
    measured = msgspec.structs.replace(MANY.measurement, ready=wide)
    drawn = spread(replace(MANY, measurement=measured))[-1]
    assert [mark.label for mark in drawn.marks] == ["median 18 µs", "p99 99 µs"]


def test_every_call_is_in_a_bin_or_counted_as_slower() -> None:
    points = MANY.ready.points
    drawn = only(Trace().extended([*points, 1.0, 2.0]))
    assert "2 slower, to 2.0 s" in drawn.title
    assert sum(drawn.series[0].y) >= 0.99 * len(points)
    # Those that the engine left out, too.
    everything = {bin_of(1e-5): 100, bin_of(1.2e-5): 4_800, bin_of(2e-5): 100}
    drawn = only(Trace().extended([1e-5, 2e-5] * 100, everything))
    assert "5,000 calls" in drawn.draw(80, 9, color=False)
    assert max(drawn.series[0].y) >= 4_800


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=300))
@settings(max_examples=60)
def test_any_calls_make_a_histogram(points: list[float]) -> None:
    drawn = only(Trace().extended(points))
    assert 0 < sum(drawn.series[0].y) <= len(points)
    assert all(low < high for low, high in pairwise(drawn.places))
    for cursor in (None, 0, drawn.count - 1):
        lines = drawn.draw(60, 9, color=False, cursor=cursor).split("\n")
        assert [len(line) for line in lines] == [60] * 9
