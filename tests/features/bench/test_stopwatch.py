"""A stopwatch beside the truth, and the clocks of a case: to scale, at any width."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jaxtui.core.model import Failure, Peak, Phases, Summary
from jaxtui.core.state import CaseState
from jaxtui.features.bench import stopwatch
from jaxtui.features.bench.phases import bars
from jaxtui.features.bench.stopwatch import Bar
from jaxtui.ui.text import plain
from tests import records
from tests.fake_engine import PHASES, summary
from tests.records import told
from tests.ui.making import JIT, NUMPY, done

PEAK = Peak(flops_per_second=197e12, bytes_per_second=None, source="published")
MS = 1e-3


def wide(median: float, low: float, high: float, rounds: int = 12) -> Any:
    ends = {"ci_low": low, "ci_high": high, "rounds": rounds}
    return msgspec.structs.replace(summary(median), **ends)


def claims(flops: float, truth: float, peak: Peak | None = PEAK) -> CaseState:
    """A stopwatch that reads a second."""
    return done(JIT, truth, dispatch=summary(1.0), flops=flops, peak=peak)


def factor(width: float, rounds: int = 8) -> CaseState:
    ready = records.summary(1.4 * MS, width, rounds=rounds)
    return done(JIT, ready=ready, dispatch=records.summary(1e-4, rounds=rounds))


BROKEN = Failure(case=NUMPY, remark=told("Out of memory.", "Smaller."))

CASES = {
    "the first minute of a chip": (done(JIT), done(NUMPY)),
    "more than the chip can do, by a hair": (claims(198e12, 1.1),),
    "at the peak itself": (claims(197e12, 1.1),),
    "without a peak nothing is impossible, but wrong": (claims(1e15, 14.0, None),),
    "without a peak, and right": (claims(1e15, 1.1, None),),
    "wrong below the peak": (claims(1e12, 14.0),),
    "a factor with its interval": (factor(0.1),),
    "a factor that is not known to within a third": (factor(0.4),),
    "a factor of single rounds": (factor(0.0, 1),),
    "of one clock": (
        done(JIT, 80 * MS, flops=2e9, flops_per_second=54e9, pipelined_seconds=37 * MS),
    ),
    "compile never pays off": (done(JIT), done(NUMPY, ready=summary(1e-5))),
    "compile pays off at once": (done(JIT), done(NUMPY, ready=summary(1.0))),
    "compile pays off": (done(JIT), done(NUMPY, ready=summary(0.1))),
    "a wide truth": (done(JIT, ready=wide(MS, 0.65 * MS, 1.63 * MS)),),
    "a single truth": (done(JIT, ready=wide(MS, 0.65 * MS, 1.63 * MS, 1)),),
    "before figures": (CaseState(JIT), CaseState(NUMPY, doing="first_call")),
    "host-bound, and NumPy failed": (
        done(JIT, flops_per_second=None),
        CaseState(NUMPY, status="failed", failure=BROKEN),
    ),
}


@pytest.mark.parametrize("width", [40, 56, 76, 116])
def test_bars_are_to_scale_and_texts_fit_behind_them(width: int) -> None:
    bars = (
        Bar("stopwatch", 0.06 * MS, "host", 2, ("2450 TFLOP/s", "IMPOSSIBLE"), True),
        Bar("truth", 35 * MS, "device", 2, ("169 TFLOP/s", "86 % of peak")),
        Bar("NumPy", 70 * MS, "numpy", 2, ("1.94 TFLOP/s", "float32")),
    )
    lines = stopwatch.lines(bars, width)
    assert all(len(plain(line)) <= width for line in lines)
    spans = [{span.role: span.text for span in line} for line in lines]
    lengths = [len(found[one.role]) for found, one in zip(spans, bars, strict=True)]
    assert lengths[0] == 1
    assert lengths[1] == pytest.approx(lengths[2] / 2, abs=1)
    assert lengths[2] >= (width - 20) // 3
    assert [found["title"].split()[-1] for found in spans] == ["µs", "ms", "ms"]
    assert ["danger" in found for found in spans] == [True, False, False]


@pytest.mark.parametrize("width", [30, 56, 74, 116])
@pytest.mark.parametrize("height", [0, 3, 7, 12, 40])
def test_before_a_run_lanes_and_clocks_end_together(width: int, height: int) -> None:
    lines = [plain(line) for line in stopwatch.sketch(width, height)]
    assert all(len(line) <= width for line in lines)
    names = [line.split()[0] for line in lines if line[0] != " "]
    clocks = ["stopwatch", "truth", "NumPy"]
    if height < 7 or width < 56:
        assert names == clocks
        return
    assert len(lines) <= height
    assert names == ["host", "device", *clocks]
    ends = {line.rindex("█") for line in lines if "█" in line}
    assert len(ends) == 2
    ticks = next(line for line in lines if "╷" in line)
    assert {place for place, char in enumerate(ticks) if char == "╷"} == ends


# The clocks of a case.

CLOCKS: dict[str, tuple[Phases, Summary | None, Summary | None, float | None]] = {
    "all, too far apart for one unit": (PHASES, summary(56e-6), summary(812e-6), 79e-5),
    "digits that the interval does not support": (
        PHASES,
        None,
        wide(812e-6, 700e-6, 900e-6),
        None,
    ),
    "few": (Phases(transfer=1e-3), None, summary(1e-3), None),
    "none": (Phases(), None, None, None),
}


def test_no_row_of_a_clock_is_cut() -> None:
    for clocks in CLOCKS.values():
        for width in range(1, 100, 7):
            assert max(len(plain(line)) for line in bars(*clocks, width)) <= width
