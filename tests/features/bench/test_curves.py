"""The plots of a run: curves over size, calls as they come and how they spread."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core.model import CollectiveRates, Mode, Peak
from jaxtui.core.state import CaseState, Job
from jaxtui.core.stats import bin_of
from jaxtui.core.text import PLAIN
from jaxtui.core.trace import Trace
from jaxtui.features.bench import calls, curves
from jaxtui.features.bench.choices import next_picture, view_of
from jaxtui.features.bench.curves import METRICS, MOST, case_at, of_run, swept, tints
from jaxtui.features.bench.figures import share_of_peak
from jaxtui.ui.app.state import State as AppState
from jaxtui.ui.plot import SERIES, Picture
from tests import records
from tests.fake_engine import measurement, summary
from tests.ui.making import (
    COLORS,
    FAILED,
    JIT,
    NUMPY,
    SIZES,
    at_size,
    done,
    over_sizes,
    run_of,
    sampled_case,
)

changed = msgspec.structs.replace
EAGER, BFLOAT16 = changed(JIT, mode="eager"), changed(JIT, dtype="bfloat16")
BOTH = over_sizes(NUMPY, JIT)


def picture_of(run: Job, metric: str = "time", **options: object) -> Picture:
    drawn = curves.picture(run, metric, COLORS, **options)  # type: ignore[arg-type]
    assert drawn is not None
    return drawn


# Where JAX overtakes NumPy.

GRID = (16, 64, 256, 1024, 4096)


def timed(mode: Mode, size: int, seconds: float, dtype: str = "float32") -> CaseState:
    asked = at_size(NUMPY if mode == "numpy" else JIT, size, mode)
    return done(changed(asked, dtype=dtype), seconds)


def sweep(at: float, *more: CaseState, slope: float = 0.5) -> Job:
    """A run in which jit is as fast as NumPy at that size."""
    cases = [timed("numpy", n, 1e-6 * n) for n in GRID]
    cases += [timed("jit", n, 1e-6 * n * (at / n) ** slope) for n in GRID]
    return run_of(*cases, *more)


def eager(factors: dict[int, float], others: float) -> list[CaseState]:
    """In the time of NumPy."""
    return [timed("eager", n, 1e-6 * n * factors.get(n, others)) for n in GRID]


def once(case: CaseState) -> CaseState:
    assert case.measurement
    assert case.measurement.ready
    ready = changed(case.measurement.ready, rounds=1)
    measured = changed(case.measurement, ready=ready)
    return replace(case, measurement=measured, rounds=())


def rated(numpy: dict[str, float], **jit: object) -> Job:
    peak = measurement(JIT).peak
    assert peak
    peak = changed(peak, flops_per_second=8e9, bytes_per_second=8e9)
    jit = {"pipelined_seconds": 5e-4, "peak": peak, **jit}
    slow = (done(at_size(NUMPY, size), 4e-3, **numpy) for size in SIZES)
    return run_of(*slow, *(done(at_size(JIT, size), 1e-3, **jit) for size in SIZES))


def reduced(size: int, bus: float) -> CaseState:
    facts = {"algorithm_bytes_per_second": bus / 1.75, "bus_bytes_per_second": bus}
    rates = CollectiveRates(participants=8, wrong=0, **facts)
    case = records.case(op="all_reduce", device="tpu:0-7", size=size)
    return done(case, 1e-3, collective=rates, flops_per_second=None, peak=None)


WIDE = changed(summary(1e-3), ci_low=0.5e-3, ci_high=4e-3)
RUN = sweep(384.0)
*MOST_OF_IT, LAST = RUN.cases
SWEEPS = {
    "with rates": rated(
        {"flops_per_second": 5e8, "bytes_per_second": 1e8},
        flops_per_second=2e9,
        bytes_per_second=3e9,
    ),
    "with wide intervals": run_of(
        *(done(at_size(JIT, n), ready=WIDE, flops_per_second=2e9) for n in SIZES),
        *(done(at_size(NUMPY, n), 4e-3) for n in SIZES),
    ),
    "in two dtypes": over_sizes(NUMPY, BFLOAT16),
    "collectives": run_of(reduced(1024, 1.75e9), reduced(4096, 7e9)),
    "cross at 20": sweep(20.0),
    "cross at 384": RUN,
    "cross at 3000": sweep(3000.0),
    "cross the other way": sweep(384.0, slope=-0.5),
    # What cannot be told in between leaves nothing to interpolate.
    "cross where it cannot be told": sweep(1024.0),
    "cross before the sizes": sweep(5.0),
    "cross after the sizes": sweep(100_000.0),
    # Each mode has its mark, and only the last one.
    "cross twice": sweep(384.0, *eager({64: 0.5, 4096: 0.5}, 2.0)),
    # 0.5 % ahead and behind; each is ± 0.4 %.
    "a lead within the uncertainty": sweep(
        384.0, *eager({1024: 0.995, 4096: 1.005}, 0.5)
    ),
    "complete": replace(RUN, outcome="complete"),
    "the engine died": replace(RUN, outcome="crashed"),
    "without NumPy": run_of(*RUN.cases[len(GRID) :]),
    "before it is over": run_of(*MOST_OF_IT, replace(LAST, status="running")),
    "the last failed": run_of(*MOST_OF_IT, replace(FAILED, case=LAST.case)),
    "single rounds": run_of(*map(once, RUN.cases)),
}

RATED = ("with rates", "with wide intervals", "collectives")


@pytest.mark.parametrize(
    ("flops", "moved", "share"),
    [
        (80, 20, 0.8),
        (10, 103, 1.03),
        (10, 620, 0.1),  # from a cache
        (None, 620, None),
        (120, 20, None),  # impossible
    ],
)
def test_no_share_is_far_beyond_its_peak(
    flops: int | None, moved: int, share: float | None
) -> None:
    peak = Peak(flops_per_second=100, bytes_per_second=100, source="a datasheet")
    case = done(JIT, peak=peak, flops_per_second=flops, bytes_per_second=moved)
    assert case.measurement
    assert share_of_peak(case.measurement) == share


def test_intervals_are_drawn() -> None:
    assert "┃" in picture_of(SWEEPS["with wide intervals"]).draw(60, 16)


def test_there_are_not_too_many_crossings() -> None:
    more = [
        timed("jit", n, 1e-6 * n * math.sqrt(at / n), dtype)
        for at, dtype in ((90, "bfloat16"), (300, "float16"), (500, "float64"))
        for n in GRID
    ]
    slow = [timed("eager", n, 1e-6 * n * (100 / n)) for n in GRID]
    assert len(picture_of(sweep(384.0, *more, *slow)).marks) == MOST


# Reading off.


def test_intervals_go_first_then_the_last_values_and_no_number_is_cut() -> None:
    drawn = picture_of(over_sizes(NUMPY, JIT, EAGER))
    seen = set()
    for width in range(1, 120):
        line = drawn.draw(width, 7, color=False, cursor=1).split("\n")[0].rstrip()
        shape = re.sub(r"[\d.]+(–[\d.]+)? (ms|µs|%)", "N", line)
        seen.add(re.sub(r" +", " ", shape))
    assert seen == {
        "",
        "512:",
        "512: +3",
        "512: numpy N +2",
        "512: numpy N jit N +1",
        "512: numpy N jit N eager N",
        "512: numpy N N jit N N eager N N",
    }


def test_the_case_of_a_size_is_the_one_like_the_selected() -> None:
    for selected in BOTH.cases:
        drawn = picture_of(BOTH, selected=selected)
        assert drawn.places[drawn.start] == selected.case.size
        for size in SIZES:
            index = case_at(BOTH, size, selected)
            assert index is not None
            found = BOTH.cases[index].case
            assert (found.size, found.mode) == (size, selected.case.mode)


@pytest.mark.parametrize("metric", [each for each in METRICS if each != "busbw"])
@pytest.mark.parametrize("only_ascii", [False, True])
def test_points_tell_curves_apart(metric: str, only_ascii: bool) -> None:
    slow = {"flops_per_second": 3e9, "bytes_per_second": 5e7}
    eager = (done(at_size(JIT, size, "eager"), 9.0, **slow) for size in SIZES)
    drawn = picture_of(run_of(*BOTH.cases, *eager), metric)
    text = "\n".join(drawn.draw(120, 20, color=False).split("\n")[1:])
    glyphs = "•◆▪"
    if only_ascii:
        text, glyphs = (one.encode("ascii", PLAIN).decode() for one in (text, glyphs))
    curves = [glyph for glyph, one in zip(glyphs, drawn.series, strict=True) if one.y]
    assert len({*curves}) == len(curves) >= 2
    assert all(text.count(glyph) >= len(SIZES) for glyph in curves)


def test_only_sizes_that_mean_the_same_share_an_axis() -> None:
    run = over_sizes(JIT, changed(JIT, op="selu"))
    assert of_run(run, (), COLORS) is None
    alike = [records.op("matmul"), records.op("selu")]
    assert of_run(run, alike, COLORS) is not None
    apart = [alike[0], records.op("selu", size_means="number of elements")]
    assert of_run(run, apart, COLORS) is None
    ops = {case.case.op for case in swept(run, run.cases[1], apart).cases}
    assert ops == {"selu"}
    file = [changed(JIT, op=f"/a/b.py:{name}") for name in "fg"]
    assert of_run(over_sizes(*file), (), COLORS) is not None


def test_a_curve_has_the_colour_of_its_mode() -> None:
    modes = tuple(SERIES[mode] for mode in ("jit", "eager", "numpy"))
    assert tints(over_sizes(JIT, EAGER, NUMPY)) == modes
    # Of two curves of one mode only one can have it.
    assert len({*tints(over_sizes(JIT, BFLOAT16, NUMPY))}) == 3


FEW, MANY = sampled_case(turns=2), sampled_case(turns=12)
TIMED = MANY.measurement
assert TIMED
NOT_ALL = {bin_of(1e-5): 100, bin_of(1.2e-5): 4_800, bin_of(2e-5): 100}
# One digit of the median is known, which would be 0.02 ms.
UNSURE = changed(records.summary(18.3e-6, 0.5), p99=99e-6)


def only(ready: Trace) -> CaseState:
    return replace(MANY, ready=ready)


CALLS: dict[str, tuple[Any, CaseState]] = {
    "as they come": (calls.live, FEW),
    "nearly all": (
        calls.live,
        replace(FEW, ready=replace(FEW.ready, counts={bin_of(1e-3): 2000})),
    ),
    "while they come": (calls.live, replace(sampled_case(), status="running")),
    "a few": (calls.live, replace(CaseState(JIT), ready=Trace((1e-2, *(1e-3,) * 19)))),
    "spread": (calls.histogram, MANY),
    "of NumPy": (calls.histogram, sampled_case(NUMPY, turns=12)),
    "a median in doubt": (
        calls.histogram,
        replace(MANY, measurement=changed(TIMED, ready=UNSURE)),
    ),
    "two that are slower": (
        calls.histogram,
        only(Trace().extended([*MANY.ready.points, 1.0, 2.0])),
    ),
    "with those that the engine left out": (
        calls.histogram,
        only(Trace().extended([1e-5, 2e-5] * 100, NOT_ALL)),
    ),
}


def test_each_call_is_a_dot_and_the_axis_moves_in_steps() -> None:
    def live(*seconds: float) -> Picture:
        drawn = calls.live(replace(CaseState(JIT), ready=Trace(seconds)), COLORS)
        assert drawn is not None
        return drawn

    limits = (live(*(1e-3,) * count).x.limits for count in range(1, 300))
    widths = {ends[1] for ends in limits if ends}
    assert widths == {64, 128, 256, 512}
    # Nothing is drawn between them.
    many = live(*(1e-3 if index % 8 else 1e-2 for index in range(120)))
    canvas = many.draw(110, 12, color=False).split("\n")[1:-1]
    braille = re.findall("[\u2800-\u28ff]", "".join(canvas))
    assert sum((ord(char) - 0x2800).bit_count() for char in braille) == 120


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=300))
@settings(max_examples=40)
def test_any_calls_make_a_histogram(points: list[float]) -> None:
    drawn = calls.histogram(only(Trace().extended(points)), COLORS)
    assert drawn is not None
    assert 0 < sum(drawn.series[0].y) <= len(points)
    assert all(low < high for low, high in pairwise(drawn.places))
    for cursor in (None, 0, len(drawn.places) - 1):
        lines = drawn.draw(60, 9, color=False, cursor=cursor).split("\n")
        assert [len(line) for line in lines] == [60] * 9


WAITING = run_of(*(CaseState(at_size(JIT, size)) for size in SIZES))
ON_TWO = (CaseState(replace(JIT, device=name)) for name in ("tpu:0", "tpu:1"))

VIEWED = {
    "waiting": WAITING,
    "in its first call": run_of(CaseState(JIT, status="running", doing="first_call")),
    "failed": run_of(FAILED),
    "cancelled": replace(WAITING, outcome="cancelled"),
    "without NumPy and peak": over_sizes(JIT, peak=None, flops_per_second=None),
    "over sizes": over_sizes(NUMPY, JIT),
    "on two devices": run_of(*ON_TWO),
}
VIEWS: dict[str, dict[str, Any]] = {
    "live": {},
    "histogram": {},
    "roofline": {},
    "sweep": {},
    "numpy": {"metric": "numpy"},
    "peak": {"metric": "peak"},
    "flops": {"metric": "flops"},
}


def test_pictures_go_round_and_curves_need_several_sizes() -> None:
    peak = Peak(flops_per_second=1e13, bytes_per_second=None, source="a data sheet")
    ran = over_sizes(JIT, flops_per_second=1e12, peak=peak)
    state = AppState(jobs={"bench": ran})
    seen = []
    for _ in range(8):
        seen.append((view_of(state), state.metric))
        view, metric = next_picture(state)
        state = replace(state, view=view, metric=metric)
    metrics = ("time", "flops", "peak", "numpy")
    others = ("histogram", "roofline", "live", "sweep")
    assert seen == [("sweep", x) for x in metrics] + [(x, "time") for x in others]
    # No empty plot in between where no peak is published; a metric that an earlier run
    # had is left.
    unknown = AppState(jobs={"bench": over_sizes(JIT, peak=None)}, metric="flops")
    assert next_picture(unknown) == ("sweep", "numpy")
    assert next_picture(replace(unknown, metric="peak")) == ("sweep", "flops")
    one = AppState(jobs={"bench": run_of(done(JIT))}, view="sweep")
    assert view_of(one) == "live"
    assert next_picture(replace(one, view="live")) == ("histogram", "time")
