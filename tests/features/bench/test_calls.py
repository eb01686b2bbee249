"""The plots of one case's calls: as they come, and how they spread."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core.state import CaseState
from jaxtui.core.stats import bin_of
from jaxtui.core.trace import Trace
from jaxtui.features.bench import calls
from jaxtui.ui.plot import Picture
from tests import records
from tests.ui.making import COLORS, JIT, NUMPY, sampled_case

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
    assert len(drawn.places) == 200
    top = drawn.draw(80, 9, color=False, cursor=16).split("\n")[0]
    assert re.match(r"call 17:  ready [\d.]+ ms  dispatch [\d.]+ µs", top)
    thinned = replace(few, ready=replace(few.ready, counts={bin_of(1e-3): 2000}))
    assert live(thinned).read(100).name == "near call 1,005"
    # The curves are named where they end.
    for case in (sampled_case(), replace(sampled_case(), status="running")):
        text = live(case).draw(80, 14, color=False)
        for name in ("ready", "dispatch"):
            assert len(re.findall(f" {name} *$", text, re.MULTILINE)) == 1


def test_each_call_is_a_dot_and_the_axis_moves_in_steps() -> None:
    widths = {running(*(1e-3,) * count).x.limits[1] for count in range(1, 300)}
    assert widths == {64, 128, 256, 512}
    seconds = [1e-3 if index % 8 else 1e-2 for index in range(120)]
    assert running(*seconds[:20]).draw(120, 12, color=False).count("•") == 20
    # Nothing is drawn between them.
    canvas = running(*seconds).draw(110, 12, color=False).split("\n")[1:-1]
    braille = re.findall("[\u2800-\u28ff]", "".join(canvas))
    assert sum((ord(char) - 0x2800).bit_count() for char in braille) == 120


# Histograms.


def spread(case: CaseState) -> Picture:
    drawn = calls.histogram(case, COLORS)
    assert drawn is not None
    return drawn


def only(ready: Trace) -> Picture:
    return spread(replace(MANY, ready=ready))


def test_a_histogram_has_median_and_p99_and_is_read_off() -> None:
    for case in (MANY, sampled_case(NUMPY, turns=12)):
        text = spread(case).draw(80, 9, color=False)
        names = ("ready · 1,200 calls", "median", "p99")
        assert [text.count(name) for name in names] == [1] * 3
    text = spread(MANY).draw(100, 9, color=False, cursor=spread(MANY).start)
    assert re.match(r"[\d.]+ ms to [\d.]+ ms:  \d+ calls \([\d.]+ %\)", text)
    # One digit of the median is known, which would be 0.02 ms.
    wide = msgspec.structs.replace(records.summary(18.3e-6, 0.5), p99=99e-6)
    measured = msgspec.structs.replace(MANY.measurement, ready=wide)
    drawn = spread(replace(MANY, measurement=measured))
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
@settings(max_examples=40)
def test_any_calls_make_a_histogram(points: list[float]) -> None:
    drawn = only(Trace().extended(points))
    assert 0 < sum(drawn.series[0].y) <= len(points)
    assert all(low < high for low, high in pairwise(drawn.places))
    for cursor in (None, 0, len(drawn.places) - 1):
        lines = drawn.draw(60, 9, color=False, cursor=cursor).split("\n")
        assert [len(line) for line in lines] == [60] * 9
