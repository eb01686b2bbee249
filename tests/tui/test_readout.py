"""The four lines that matter, and the curves, from records alone."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.model import Case, Failure, Measurement
from jaxtui.tui import readout, results
from jaxtui.tui.against_numpy import times_numpy
from jaxtui.tui.plot_state import METRICS
from jaxtui.tui.plots import live
from jaxtui.tui.plots import sweep as sweeps
from jaxtui.tui.plots.shown import of_run
from jaxtui.tui.run_state import CaseState, RunState
from jaxtui.tui.trace import Trace
from tests.tui.fake_engine import measurement, summary

COLORS = [(0, 0, 0)] * 6
JIT = Case(op="matmul", size=1024, dtype="bfloat16", device="tpu:0", mode="jit")
NUMPY = Case(
    op="matmul", size=1024, dtype="float32", device="host", mode="numpy", inputs="host"
)


def case(asked: Case, **changes: object) -> CaseState:
    measured = msgspec.structs.replace(measurement(asked), **changes)
    return CaseState(asked, status="done", phases=measured.phases, measurement=measured)


def run(*cases: CaseState) -> RunState:
    return RunState(number=1, cases=cases)


def by_label(state: RunState) -> dict[str, readout.Line]:
    return {line.label: line for line in readout.lines(state)}


def with_peak(flops_per_second: float) -> Measurement:
    measured = measurement(JIT)
    assert measured.peak is not None
    peak = msgspec.structs.replace(measured.peak, flops_per_second=flops_per_second)
    return msgspec.structs.replace(measured, peak=peak)


def test_above_the_peak_is_impossible_and_at_the_peak_is_not() -> None:
    measured = measurement(JIT)
    assert measured.dispatch is not None
    assert measured.flops is not None
    apparent = measured.flops / measured.dispatch.median
    assert not readout.impossible(with_peak(apparent))
    assert readout.impossible(with_peak(apparent * 0.99))


def test_without_a_peak_nothing_is_impossible() -> None:
    measured = msgspec.structs.replace(measurement(JIT), peak=None)
    assert not readout.impossible(measured)
    line = by_label(run(case(JIT, peak=None)))["stopwatch says"]
    assert line.bad
    assert "without waiting" in line.rest


def test_an_inline_op_is_not_accused() -> None:
    line = by_label(run(case(JIT, peak=None, dispatch=summary(1e-3))))
    assert not line["stopwatch says"].bad


@pytest.mark.parametrize(
    ("numpy_seconds", "words"),
    [
        (1e-5, "JAX never pays"),
        (1.0, "JAX pays from the first call"),
        (0.1, "JAX pays after"),
    ],
)
def test_numpy_says_when_jax_pays(numpy_seconds: float, words: str) -> None:
    state = run(case(JIT), case(NUMPY, ready=summary(numpy_seconds)))
    assert words in by_label(state)["NumPy float32"].rest


def test_before_anything_arrived_four_lines_wait() -> None:
    state = run(CaseState(JIT), CaseState(NUMPY))
    lines = readout.lines(state)
    assert len(lines) == 4
    assert {line.time for line in lines} == {readout.PENDING}


def test_a_failure_takes_the_place_of_the_figures() -> None:
    failure = Failure(case=JIT, error="Out of memory.", hint="Smaller.")
    state = run(CaseState(JIT, status="failed", failure=failure), case(NUMPY))
    first, second = readout.lines(state)
    assert "Out of memory. Smaller." in first.rest
    assert second.label == "NumPy float32"


def test_a_host_bound_case_has_no_rate_but_says_why() -> None:
    line = by_label(run(case(JIT, flops_per_second=None)))["truth"]
    assert "host-bound" in line.rest


def test_a_sweep_has_a_curve_per_way_of_running() -> None:
    cases = [
        case(msgspec.structs.replace(one, size=size))
        for size in (256, 512, 1024)
        for one in (NUMPY, JIT)
    ]
    picture = of_run(run(*cases), cases[0], COLORS)
    assert picture is not None
    assert [one.label for one in picture.series] == ["numpy float32", "jit bfloat16"]
    assert list(picture.series[0].x) == [256, 512, 1024]


@pytest.mark.parametrize("metric", METRICS)
def test_a_sweep_without_figures_draws_nothing(metric: str) -> None:
    cases = [CaseState(msgspec.structs.replace(JIT, size=size)) for size in (1, 2)]
    assert sweeps.picture(run(*cases), metric, COLORS) is None  # type: ignore[arg-type]


def test_times_numpy_prefers_the_twin_of_the_same_dtype() -> None:
    jit = case(msgspec.structs.replace(JIT, dtype="float32"))
    other = msgspec.structs.replace(NUMPY, dtype="float64")
    state = run(jit, case(other, ready=summary(9.0)), case(NUMPY, ready=summary(1.0)))
    assert jit.measurement is not None
    assert jit.measurement.ready is not None
    expected = 1.0 / jit.measurement.ready.median
    assert times_numpy(jit, state) == pytest.approx(expected)
    assert times_numpy(state.cases[1], state) is None


def test_the_live_axis_moves_in_steps() -> None:
    widths = set()
    for calls in range(1, 300):
        state = replace(CaseState(JIT), ready=Trace((1e-3,) * calls))
        picture = live.picture(state, COLORS)
        assert picture is not None
        assert picture.x.limits is not None
        widths.add(picture.x.limits[1])
    assert widths == {64, 128, 256, 512}


def test_rows_have_every_column() -> None:
    state = run(case(JIT), case(NUMPY), CaseState(JIT))
    for one in state.cases:
        assert set(results.row(one, state)) == set(results.WIDE)
    assert results.row(state.cases[2], state)["ready"] == "waiting"
