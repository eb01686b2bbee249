"""The views of a run as pictures, from records alone."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.model import Case, Failure
from jaxtui.plot import Picture
from jaxtui.stats import bin_edge, bin_of
from jaxtui.tui.plot_commands import why_not_plot
from jaxtui.tui.plot_state import METRICS, clock_of, next_clock, next_view, view_of
from jaxtui.tui.plots import histogram, live, sweep
from jaxtui.tui.plots.shown import shown
from jaxtui.tui.plots.values import title_of, value_of
from jaxtui.tui.run_state import CaseState, RunState
from jaxtui.tui.state import State
from jaxtui.tui.trace import Trace
from tests.tui.fake_engine import measurement, sampled, summary

COLORS = [(index, 0, 0) for index in range(1, 7)]
SIZES = (256, 512, 1024)
JIT = Case(op="matmul", size=1024, dtype="float32", device="tpu:0", mode="jit")
NUMPY = Case(
    op="matmul", size=1024, dtype="float32", device="host", mode="numpy", inputs="host"
)


def case(asked: Case, **changes: object) -> CaseState:
    measured = msgspec.structs.replace(measurement(asked), **changes)
    return CaseState(asked, status="done", phases=measured.phases, measurement=measured)


def timed(asked: Case = JIT, turns: int = 3) -> CaseState:
    state = case(asked)
    for turn in range(turns):
        event = sampled(0, asked, turn)
        state = replace(
            state,
            dispatch=state.dispatch.extended(event.dispatch, event.dispatch_bins),
            ready=state.ready.extended(event.ready, event.ready_bins),
        )
    return state


def run_of(*cases: CaseState) -> RunState:
    return RunState(number=1, cases=cases)


def over_sizes(*asked: Case, **changes: object) -> RunState:
    return run_of(
        *(
            case(msgspec.structs.replace(one, size=size), **changes)
            for size in SIZES
            for one in asked
        )
    )


def picture_of(run: RunState, **options: object) -> Picture:
    options = {"metric": "time", **options}
    drawn = sweep.picture(run, colors=COLORS, **options)  # type: ignore[arg-type]
    assert drawn is not None
    return drawn


# Clocks.


def test_each_clock_has_its_own_curve() -> None:
    run = over_sizes(
        JIT, dispatch=summary(1e-5), ready=summary(1e-3), pipelined_seconds=5e-4
    )
    found = {
        clock: picture_of(run, clock=clock).series[0].y[0]
        for clock in ("ready", "dispatch", "pipelined")
    }
    assert found == {"ready": 1e-3, "dispatch": 1e-5, "pipelined": 5e-4}


def test_numpy_has_no_dispatch_and_is_ready_when_pipelined() -> None:
    run = over_sizes(NUMPY, JIT)
    numpy = run.cases[0]
    assert numpy.measurement is not None
    assert numpy.measurement.ready is not None
    assert value_of(numpy, "time", "dispatch", run) is None
    ready = numpy.measurement.ready.median
    assert value_of(numpy, "time", "pipelined", run) == ready
    assert "numpy: ready" in title_of("time", "pipelined", run.cases)
    legend = picture_of(run, clock="dispatch").draw(100, 9, color=False)
    assert "numpy" not in legend
    assert "jit" in legend


def test_a_clock_without_a_curve_leaves_the_others_their_looks() -> None:
    run = over_sizes(NUMPY, JIT)
    one, other = (picture_of(run, clock=clock) for clock in ("ready", "dispatch"))
    assert one.series[1].color == other.series[1].color
    assert "◆ jit" in one.draw(100, 9, color=False)
    assert "◆ jit" in other.draw(100, 9, color=False)


def test_times_numpy_divides_by_the_clock_of_the_title() -> None:
    run = over_sizes(NUMPY, JIT, ready=summary(1e-3), pipelined_seconds=1e-4)
    drawn = picture_of(run, metric="numpy", clock="pipelined")
    assert drawn.series[1].y[0] == pytest.approx(10)
    assert "pipelined" in drawn.title
    assert picture_of(run, metric="numpy").series[1].y[0] == pytest.approx(1)


def test_dispatch_is_not_compared_with_numpy() -> None:
    assert clock_of("numpy", "dispatch") == "ready"
    run = over_sizes(NUMPY, JIT)
    assert "ready" in picture_of(run, metric="numpy", clock="dispatch").title
    assert {next_clock("numpy", one) for one in ("ready", "pipelined")} == {
        "ready",
        "pipelined",
    }


@pytest.mark.parametrize("metric", ["flops", "bytes", "peak"])
def test_rates_say_their_clock_and_have_no_other(metric: str) -> None:
    run = over_sizes(NUMPY, JIT)
    title = picture_of(run, metric=metric, clock="dispatch").title
    assert "pipelined" in title or metric == "peak"
    assert "dispatch" not in title
    state = State(run=run, metric=metric)  # type: ignore[arg-type]
    assert "one clock" in (why_not_plot("clock", state) or "")


def test_rates_of_the_host_alone_stand_on_ready() -> None:
    assert title_of("flops", "ready", over_sizes(NUMPY).cases).endswith("· ready")
    inline = over_sizes(JIT, notes=(measurement(JIT).notes[0],))
    assert title_of("flops", "ready", inline.cases).endswith("· pipelined")


@pytest.mark.parametrize("clock", ["ready", "pipelined"])
def test_crossings_are_those_of_the_clock(clock: str) -> None:
    cases = []
    for size, seconds in zip(SIZES, (4e-3, 2e-3, 1e-3), strict=True):
        numpy = msgspec.structs.replace(NUMPY, size=size)
        jit = msgspec.structs.replace(JIT, size=size)
        cases.append(case(numpy, ready=summary(2.5e-3)))
        cases.append(case(jit, ready=summary(seconds), pipelined_seconds=1e-5))
    marks = picture_of(run_of(*cases), clock=clock).marks
    assert bool(marks) == (clock == "ready")


# Views.


def test_views_go_round_and_curves_need_several_sizes() -> None:
    state = State(run=over_sizes(JIT))
    seen = []
    for _ in range(4):
        seen.append(view_of(state))
        state = replace(state, view=next_view(state))
    assert seen == ["sweep", "histogram", "roofline", "live"]
    assert view_of(state) == "sweep"
    one = State(run=run_of(case(JIT)), view="sweep")
    assert view_of(one) == "live"
    assert next_view(replace(one, view="live")) == "histogram"
    assert "only one size" in (why_not_plot("metric", one) or "")


def test_before_a_run_nothing_can_be_changed() -> None:
    for action in ("view", "metric", "clock"):
        assert "run something first" in (why_not_plot(action, State()) or "")
    assert why_not_plot("run", State()) is None


@pytest.mark.parametrize("view", ["live", "histogram", "sweep", "roofline"])
def test_where_there_is_no_picture_there_are_words(view: str) -> None:
    waiting = [CaseState(one.case) for one in over_sizes(JIT).cases]
    found = shown(State(run=run_of(*waiting), view=view), COLORS)  # type: ignore[arg-type]
    assert found.picture is None
    assert found.text.endswith(".")


def test_a_failed_case_says_why_instead() -> None:
    failure = Failure(case=JIT, error="Out of memory.", hint="Smaller.")
    state = State(run=run_of(CaseState(JIT, status="failed", failure=failure)))
    assert shown(state, COLORS).text == "Out of memory. Smaller."


@pytest.mark.parametrize(
    ("metric", "words"), [("numpy", "without NumPy"), ("peak", "No peak")]
)
def test_a_metric_without_figures_says_why(metric: str, words: str) -> None:
    run = over_sizes(JIT, peak=None)
    found = shown(State(run=run, metric=metric), COLORS)  # type: ignore[arg-type]
    assert found.picture is None
    assert words in found.text


# Reading off.


def test_a_size_is_read_off_with_intervals() -> None:
    drawn = picture_of(over_sizes(NUMPY, JIT), selected=case(JIT))
    assert drawn.places[drawn.begin] == 1024
    top = drawn.draw(100, 9, color=False, cursor=0).split("\n")[0]
    assert re.match(r"256 ready:  • numpy \d+ µs ± 0\.4 %  ◆ jit \d+ µs ± 0\.4 %", top)


def test_intervals_go_first_then_the_last_values_and_no_number_is_cut() -> None:
    ways = (NUMPY, JIT, msgspec.structs.replace(JIT, mode="eager"))
    drawn = picture_of(over_sizes(*ways))
    seen = set()
    for width in range(1, 120):
        top = drawn.draw(width, 7, color=False, cursor=1).split("\n")[0].rstrip()
        shape = re.sub(r"[\d.]+ (ms|µs|%)", "N", top)
        seen.add(re.sub(r" +", " ", shape))
    assert seen == {
        "",
        "512 ready:",
        "512 ready: +3",
        "512 ready: • numpy N +2",
        "512 ready: • numpy N ◆ jit N +1",
        "512 ready: • numpy N ◆ jit N ▪ eager N",
        "512 ready: • numpy N ± N ◆ jit N ± N ▪ eager N ± N",
    }


def test_a_case_that_failed_is_said_to_have() -> None:
    cases = list(over_sizes(JIT).cases)
    failure = Failure(case=cases[1].case, error="No room.", hint="")
    cases[1] = CaseState(cases[1].case, status="failed", failure=failure)
    top = picture_of(run_of(*cases)).draw(80, 9, color=False, cursor=1)
    assert "512 ready:  • jit failed" in top


def test_the_case_of_a_size_is_the_one_like_the_selected() -> None:
    run = over_sizes(NUMPY, JIT)
    for selected in run.cases:
        for size in SIZES:
            index = sweep.case_at(run, size, selected)
            assert index is not None
            found = run.cases[index].case
            assert (found.size, found.mode) == (size, selected.case.mode)


def test_calls_are_read_off_one_by_one_or_nearly() -> None:
    drawn = live.picture(timed(turns=2), COLORS)
    assert drawn is not None
    assert drawn.count == 200
    top = drawn.draw(80, 9, color=False, cursor=16).split("\n")[0]
    assert re.match(r"call 17:  ⠤⠤ ready [\d.]+ ms  ▄▄ dispatch [\d.]+ µs", top)
    many = timed(turns=2)
    thinned = replace(many, ready=replace(many.ready, counts={bin_of(1e-3): 2000}))
    drawn = live.picture(thinned, COLORS)
    assert drawn is not None
    assert drawn.read(100).name == "near call 1,005"


def test_the_curves_of_calls_are_named_where_they_end() -> None:
    for status in ("running", "done"):
        drawn = live.picture(replace(timed(), status=status), COLORS)  # type: ignore[arg-type]
        assert drawn is not None
        for options in ({}, {"color": False}, {"ascii": True}):
            _, *body = drawn.draw(80, 14, **options).split("\n")  # type: ignore[arg-type]
            for name in ("ready", "dispatch"):
                assert sum(f"{name}" in line for line in body) == 1


# Histograms.


def spread(case: CaseState) -> list[Picture]:
    drawn = histogram.picture(case, COLORS)
    assert drawn is not None
    return [one for one in (drawn.left, drawn) if one is not None]


def test_both_clocks_stand_side_by_side_with_median_and_p99() -> None:
    for width, height in ((80, 9), (120, 20)):
        drawn = histogram.picture(timed(turns=12), COLORS)
        assert drawn is not None
        text = drawn.draw(width, height, color=False)
        assert text.count("1,200 calls") == 2
        assert text.count("median") == 2
        assert text.count("p99") == 2
        assert {len(line) for line in text.split("\n")} == {width}


def test_numpy_has_one_histogram() -> None:
    assert len(spread(timed(NUMPY))) == 1
    assert len(spread(timed(JIT))) == 2


def test_every_call_is_in_a_bin_or_counted_as_slower() -> None:
    state = timed(turns=12)
    points = state.ready.points
    slow = Trace().extended([*points, 1.0, 2.0])
    (drawn,) = spread(replace(state, ready=slow, dispatch=Trace()))
    assert "2 slower, to 2.0 s" in drawn.title
    assert sum(drawn.series[0].y) >= 0.99 * len(points)


def test_calls_that_the_engine_left_out_are_in_the_bins() -> None:
    everything = {bin_of(1e-5): 100, bin_of(1.2e-5): 4_800, bin_of(2e-5): 100}
    fast = Trace().extended([1e-5, 2e-5] * 100, everything)
    (drawn,) = spread(replace(timed(), ready=fast, dispatch=Trace()))
    assert "5,000 calls" in drawn.draw(80, 9, color=False)
    assert max(drawn.series[0].y) >= 4_800


def test_a_bin_is_read_off() -> None:
    drawn = histogram.picture(timed(turns=12), COLORS)
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
    state = replace(timed(), ready=trace, dispatch=trace)
    for one in spread(state):
        assert sum(one.series[0].y) <= len(points)
        assert all(low < high for low, high in pairwise(one.places))
    drawn = histogram.picture(state, COLORS)
    assert drawn is not None
    for cursor in (None, 0, drawn.count - 1):
        lines = drawn.draw(width, height, color=False, cursor=cursor).split("\n")
        assert [len(line) for line in lines] == [width] * height


@given(st.floats(1e-9, 1e3))
def test_a_time_lies_in_its_bin(seconds: float) -> None:
    index = bin_of(seconds)
    assert bin_edge(index) <= seconds * (1 + 1e-12)
    assert seconds <= bin_edge(index + 1) * (1 + 1e-12)


def _slower(case: CaseState) -> CaseState:
    measured = case.measurement
    assert measured is not None
    assert measured.flops_per_second is not None
    assert measured.bytes_per_second is not None
    slower = msgspec.structs.replace(
        measured,
        flops_per_second=measured.flops_per_second / 99,
        bytes_per_second=measured.bytes_per_second / 99,
    )
    return replace(case, measurement=slower)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("only_ascii", [False, True])
def test_points_tell_curves_apart_in_every_look(metric: str, only_ascii: bool) -> None:
    eager = [
        case(msgspec.structs.replace(JIT, mode="eager", size=size), ready=summary(9.0))
        for size in SIZES
    ]
    eager = [_slower(one) for one in eager]
    drawn = picture_of(run_of(*over_sizes(NUMPY, JIT).cases, *eager), metric=metric)
    for color in (True, False):
        text = re.sub(
            r"\x1b\[[0-9;]*m", "", drawn.draw(120, 20, color=color, ascii=only_ascii)
        )
        legend = re.findall(r"  (\S) (numpy|jit|eager)", text.split("\n")[0])
        assert len({glyph for glyph, _ in legend}) == len(legend) >= 2
        for glyph, _ in legend:
            assert text.count(glyph) >= 1 + len(SIZES)
