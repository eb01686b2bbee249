"""The curves over size: clocks, metrics, crossings, what is read off."""

from __future__ import annotations

import math
import re

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.model import Mode, Peak
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

BOTH = over_sizes(NUMPY, JIT)


def picture_of(run: Job, **options: object) -> Picture:
    options = {"metric": "time", **options}
    drawn = curves.picture(run, colors=COLORS, **options)  # type: ignore[arg-type]
    assert drawn is not None
    return drawn


def top(drawn: Picture, cursor: int | None = None, width: int = 100) -> str:
    return drawn.draw(width, 9, color=False, cursor=cursor).split("\n")[0]


def test_every_curve_has_its_intervals() -> None:
    wide = msgspec.structs.replace(summary(1e-3), ci_low=0.5e-3, ci_high=4e-3)
    rates = {"flops_per_second": 2e9}
    jit = [done(at_size(JIT, size), ready=wide, **rates) for size in SIZES]
    numpy = [done(at_size(NUMPY, size), 4e-3) for size in SIZES]
    run = run_of(*jit, *numpy)
    for metric, ends in (
        ("time", (0.5e-3, 4e-3)),
        ("flops", (0.5e9, 4e9)),
        ("numpy", (4 / 4 * 0.996, 4 / 0.5 * 1.004)),
    ):
        drawn = picture_of(run, metric=metric)
        assert drawn.series[0].spans == [pytest.approx(ends)] * 3
    read = picture_of(run, metric="numpy").read(0).values
    assert [one.text for one in read] == ["uncertain 4.0× 1.0–8.0"]
    assert "┃" in picture_of(run).draw(60, 16)


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
    flops: float | None, moved: float, share: float | None
) -> None:
    peak = Peak(flops_per_second=100, bytes_per_second=100, source="a datasheet")
    rates = {"flops_per_second": flops, "bytes_per_second": moved}
    measured = done(JIT, peak=peak, **rates).measurement
    assert measured is not None
    assert share_of_peak(measured) == share


@pytest.mark.parametrize(
    ("metric", "title", "numpy", "jit"),
    [
        ("time", "time per call over size", 4e-3, 1e-3),
        ("numpy", "× NumPy over size", None, 4.0),
        # Rates say their clock.
        ("flops", "FLOP/s over size · pipelined, numpy: ready", 5e8, 2e9),
        ("peak", "% of peak over size · pipelined", None, 3 / 8),
    ],
)
def test_a_metric_has_its_values_and_title(
    metric: str, title: str, numpy: float | None, jit: float
) -> None:
    rates = {
        "numpy": {"flops_per_second": 5e8, "bytes_per_second": 1e8},
        "jit": {"flops_per_second": 2e9, "bytes_per_second": 3e9},
    }
    peak = measurement(JIT).peak
    of_jit = {
        "pipelined_seconds": 5e-4,
        "peak": msgspec.structs.replace(
            peak, flops_per_second=8e9, bytes_per_second=8e9
        ),
    }
    run = run_of(
        *(done(at_size(NUMPY, size), 4e-3, **rates["numpy"]) for size in SIZES),
        *(done(at_size(JIT, size), 1e-3, **rates["jit"], **of_jit) for size in SIZES),
    )
    drawn = picture_of(run, metric=metric)
    assert drawn.title.startswith(title)
    first = [one.y[0] if one.y else None for one in drawn.series]
    assert first == [numpy, pytest.approx(jit)]
    text = drawn.draw(100, 12, color=False)
    ends = [bool(re.search(f" {name} *$", text, re.M)) for name in ("numpy", "jit")]
    assert ends == [numpy is not None, True]
    # A curve without this metric leaves the other its look.
    assert text.count("◆") == len(SIZES)
    assert drawn.series[1].color == picture_of(run).series[1].color


# Reading off.


def test_a_size_is_read_off_with_intervals() -> None:
    drawn = picture_of(BOTH, selected=done(JIT))
    assert drawn.places[drawn.start] == 1024
    assert re.match(
        r"256:  numpy (\S+ (.s)) \S+–\S+ \2  jit \S+ \2 \S+–\S+ \2",
        top(drawn, 0),
    )
    cases = [*over_sizes(JIT).cases]
    cases[1] = replace(FAILED, case=at_size(JIT, 512))
    assert "512:  jit failed" in top(picture_of(run_of(*cases)), 1)


def test_intervals_go_first_then_the_last_values_and_no_number_is_cut() -> None:
    drawn = picture_of(
        over_sizes(NUMPY, JIT, msgspec.structs.replace(JIT, mode="eager"))
    )
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
    drawn = picture_of(run_of(*BOTH.cases, *eager), metric=metric)
    text = "\n".join(drawn.draw(120, 20, color=False).split("\n")[1:])
    glyphs = "•◆▪"
    if only_ascii:
        text, glyphs = (one.encode("ascii", PLAIN).decode() for one in (text, glyphs))
    curves = [glyph for glyph, one in zip(glyphs, drawn.series, strict=True) if one.y]
    assert len({*curves}) == len(curves) >= 2
    assert all(text.count(glyph) >= len(SIZES) for glyph in curves)


def test_a_sweep_has_a_curve_per_way_of_running() -> None:
    run = over_sizes(NUMPY, msgspec.structs.replace(JIT, dtype="bfloat16"))
    drawn = of_run(run, (), COLORS)
    assert drawn is not None
    assert [one.label for one in drawn.series] == ["numpy float32", "jit bfloat16"]
    assert [*drawn.series[0].x] == [*SIZES]


# Where JAX overtakes NumPy.


GRID = (16, 64, 256, 1024, 4096)


def timed(mode: Mode, size: int, seconds: float, dtype: str = "float32") -> CaseState:
    asked = at_size(NUMPY if mode == "numpy" else JIT, size, mode)
    return done(msgspec.structs.replace(asked, dtype=dtype), seconds)


def sweep(at: float, *more: CaseState, slope: float = 0.5) -> Job:
    """A run in which jit is as fast as NumPy at that size."""
    cases = [timed("numpy", n, 1e-6 * n) for n in GRID]
    cases += [timed("jit", n, 1e-6 * n * (at / n) ** slope) for n in GRID]
    return run_of(*cases, *more)


EAGER_TWICE = [
    timed("eager", n, 1e-6 * n * (0.5 if n in (64, 4096) else 2.0)) for n in GRID
]
# At the last two sizes eager is 0.5 % ahead and 0.5 % behind; each is ± 0.4 %.
EAGER_CLOSE = [
    timed("eager", n, 1e-6 * n * {1024: 0.995, 4096: 1.005}.get(n, 0.5)) for n in GRID
]
JIT_FROM_380 = [(384.0, "jit beats numpy from ~380")]
RUN = sweep(384.0)
*MOST_OF_IT, LAST = RUN.cases


@pytest.mark.parametrize(
    ("run", "marks"),
    [
        (sweep(20.0), [(20.0, "jit beats numpy from ~20")]),
        (sweep(100.0), [(100.0, "jit beats numpy from ~100")]),
        (RUN, JIT_FROM_380),
        (sweep(3000.0), [(3000.0, "jit beats numpy from ~3000")]),
        (sweep(384.0, slope=-0.5), [(384.0, "numpy beats jit from ~380")]),
        # What cannot be told in between leaves nothing to interpolate.
        (sweep(1024.0), [(4096.0, "jit beats numpy at 4096")]),
        # Nothing outside of the sizes.
        (sweep(5.0), []),
        (sweep(100_000.0), []),
        # Each mode has its mark, and only the last one.
        (
            sweep(384.0, *EAGER_TWICE),
            [*JIT_FROM_380, (2048.0, "eager beats numpy from ~2000")],
        ),
        # A lead within the uncertainty is none.
        (sweep(384.0, *EAGER_CLOSE), JIT_FROM_380),
        # Nothing where an engine died, without NumPy, or before the sweep is over.
        (replace(RUN, outcome="complete"), JIT_FROM_380),
        (replace(RUN, outcome="crashed"), []),
        (run_of(*RUN.cases[len(GRID) :]), []),
        (run_of(*MOST_OF_IT, replace(LAST, status="running")), []),
        (run_of(*MOST_OF_IT, replace(FAILED, case=LAST.case)), JIT_FROM_380),
    ],
)
def test_where_the_curves_cross(run: Job, marks: list[tuple[float, str]]) -> None:
    found = [(mark.at, mark.label) for mark in picture_of(run).marks]
    assert found == [(pytest.approx(at), label) for at, label in marks]
    drawn = picture_of(run).draw(100, 20, color=False)
    assert not marks or marks[0][1] in drawn


def test_no_curves_cross_that_had_single_rounds() -> None:
    once = []
    for one in RUN.cases:
        ready = msgspec.structs.replace(one.measurement.ready, rounds=1)
        measured = msgspec.structs.replace(one.measurement, ready=ready)
        once.append(replace(one, measurement=measured, rounds=()))
    assert picture_of(run_of(*once)).marks == ()


def test_there_are_not_too_many_crossings() -> None:
    more = [
        timed("jit", n, 1e-6 * n * math.sqrt(at / n), dtype)
        for at, dtype in ((90, "bfloat16"), (300, "float16"), (500, "float64"))
        for n in GRID
    ]
    eager = [timed("eager", n, 1e-6 * n * (100 / n)) for n in GRID]
    assert len(picture_of(sweep(384.0, *more, *eager)).marks) == MOST


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ({"metric": "numpy"}, ["equal", "jit beats numpy from ~380"]),
        ({"metric": "flops"}, []),
    ],
)
def test_marks_stand_where_they_mean_something(
    options: dict[str, str], labels: list[str]
) -> None:
    assert [one.label for one in picture_of(RUN, **options).marks] == labels


def test_only_sizes_that_mean_the_same_share_an_axis() -> None:
    selu = msgspec.structs.replace(JIT, op="selu")
    run = over_sizes(JIT, selu)
    assert of_run(run, (), COLORS) is None
    alike = [records.op("matmul"), records.op("selu")]
    assert of_run(run, alike, COLORS) is not None
    apart = [alike[0], records.op("selu", size_means="number of elements")]
    assert of_run(run, apart, COLORS) is None
    ops = {case.case.op for case in swept(run, run.cases[1], apart).cases}
    assert ops == {"selu"}
    file = [msgspec.structs.replace(JIT, op=f"/a/b.py:{name}") for name in "fg"]
    assert of_run(over_sizes(*file), (), COLORS) is not None


def test_a_curve_has_the_colour_of_its_mode() -> None:
    eager, bfloat16 = (
        msgspec.structs.replace(JIT, **changes)
        for changes in ({"mode": "eager"}, {"dtype": "bfloat16"})
    )
    assert tints(over_sizes(JIT, eager, NUMPY)) == (
        SERIES["jit"],
        SERIES["eager"],
        SERIES["numpy"],
    )
    # Of two curves of one mode only one can have it.
    assert len({*tints(over_sizes(JIT, bfloat16, NUMPY))}) == 3
