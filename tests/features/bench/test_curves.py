"""The curves over size: clocks, metrics, crossings, what is read off."""

from __future__ import annotations

import math
import re

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.model import CollectiveRates, Mode, Peak
from jaxtui.core.state import CaseState, Job
from jaxtui.core.text import PLAIN
from jaxtui.features.bench import curves
from jaxtui.features.bench.curves import METRICS, MOST, case_at, of_run, swept, tints
from jaxtui.features.bench.figures import share_of_peak
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
    ready = changed(case.measurement.ready, rounds=1)
    measured = changed(case.measurement, ready=ready)
    return replace(case, measurement=measured, rounds=())


def rated(numpy: dict[str, float], **jit: object) -> Job:
    peak = changed(measurement(JIT).peak, flops_per_second=8e9, bytes_per_second=8e9)
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
def test_no_share_is_far_beyond_its_peak(flops, moved, share) -> None:
    peak = Peak(flops_per_second=100, bytes_per_second=100, source="a datasheet")
    case = done(JIT, peak=peak, flops_per_second=flops, bytes_per_second=moved)
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
