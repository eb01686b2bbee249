"""The curves over size: clocks, metrics, crossings, what is read off."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import msgspec
import pytest

from jaxtui.model import Case, Failure, Mode
from jaxtui.plot import Picture
from jaxtui.state import CaseState, Job
from jaxtui.text import PLAIN
from jaxtui.tui.bench_plot import plot, why_not_plot
from jaxtui.tui.state import State, next_view, view_of
from jaxtui.view import curves
from jaxtui.view.curves import (
    METRICS,
    MOST,
    Metric,
    case_at,
    clock_of,
    crossing_marks,
    next_clock,
    of_run,
    title_of,
    value_of,
)
from tests.tui.fake_engine import measurement, summary
from tests.view.making import (
    COLORS,
    JIT,
    NUMPY,
    SIZES,
    at_size,
    done,
    over_sizes,
    run_of,
)


def picture_of(run: Job, **options: object) -> Picture:
    options = {"metric": "time", **options}
    drawn = curves.picture(run, colors=COLORS, **options)  # type: ignore[arg-type]
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
    state = State(jobs={"bench": run}, metric=metric)  # type: ignore[arg-type]
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
        cases.append(done(numpy, ready=summary(2.5e-3)))
        cases.append(done(jit, ready=summary(seconds), pipelined_seconds=1e-5))
    marks = picture_of(run_of(*cases), clock=clock).marks
    assert bool(marks) == (clock == "ready")


# Views.


def test_views_go_round_and_curves_need_several_sizes() -> None:
    state = State(jobs={"bench": over_sizes(JIT)})
    seen = []
    for _ in range(4):
        seen.append(view_of(state))
        state = replace(state, view=next_view(state))
    assert seen == ["sweep", "histogram", "roofline", "live"]
    assert view_of(state) == "sweep"
    one = State(jobs={"bench": run_of(done(JIT))}, view="sweep")
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
    found = plot(State(jobs={"bench": run_of(*waiting)}, view=view), COLORS)  # type: ignore[arg-type]
    assert found[1] is None
    assert found[2].endswith(".")


def test_a_failed_case_says_why_instead() -> None:
    failure = Failure(case=JIT, error="Out of memory.", hint="Smaller.")
    state = State(
        jobs={"bench": run_of(CaseState(JIT, status="failed", failure=failure))}
    )
    assert plot(state, COLORS)[2] == "Out of memory. Smaller."


@pytest.mark.parametrize(
    ("metric", "words"), [("numpy", "without NumPy"), ("peak", "No published peak")]
)
def test_a_metric_without_figures_says_why(metric: str, words: str) -> None:
    run = over_sizes(JIT, peak=None)
    found = plot(State(jobs={"bench": run}, metric=metric), COLORS)  # type: ignore[arg-type]
    assert found[1] is None
    assert words in found[2]


# Reading off.


def test_a_size_is_read_off_with_intervals() -> None:
    drawn = picture_of(over_sizes(NUMPY, JIT), selected=done(JIT))
    assert drawn.places[drawn.begin] == 1024
    top = drawn.draw(100, 9, color=False, cursor=0).split("\n")[0]
    assert re.match(
        r"256 ready:  • numpy (\S+ (.s)) \S+–\S+ \2  ◆ jit \S+ \2 \S+–\S+ \2", top
    )


def test_intervals_go_first_then_the_last_values_and_no_number_is_cut() -> None:
    ways = (NUMPY, JIT, msgspec.structs.replace(JIT, mode="eager"))
    drawn = picture_of(over_sizes(*ways))
    seen = set()
    for width in range(1, 120):
        top = drawn.draw(width, 7, color=False, cursor=1).split("\n")[0].rstrip()
        shape = re.sub(r"[\d.]+(–[\d.]+)? (ms|µs|%)", "N", top)
        seen.add(re.sub(r" +", " ", shape))
    assert seen == {
        "",
        "512 ready:",
        "512 ready: +3",
        "512 ready: • numpy N +2",
        "512 ready: • numpy N ◆ jit N +1",
        "512 ready: • numpy N ◆ jit N ▪ eager N",
        "512 ready: • numpy N N ◆ jit N N ▪ eager N N",
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
            index = case_at(run, size, selected)
            assert index is not None
            found = run.cases[index].case
            assert (found.size, found.mode) == (size, selected.case.mode)


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
    eager = [done(at_size(JIT, size, "eager"), 9.0) for size in SIZES]
    eager = [_slower(one) for one in eager]
    drawn = picture_of(run_of(*over_sizes(NUMPY, JIT).cases, *eager), metric=metric)
    for color in (True, False):
        text = re.sub(r"\x1b\[[0-9;]*m", "", drawn.draw(120, 20, color=color))
        if only_ascii:
            text = text.encode("ascii", PLAIN).decode()
        legend = re.findall(r"  (\S) (numpy|jit|eager)", text.split("\n")[0])
        assert len({glyph for glyph, _ in legend}) == len(legend) >= 2
        for glyph, _ in legend:
            assert text.count(glyph) >= 1 + len(SIZES)


def test_a_sweep_has_a_curve_per_way_of_running() -> None:
    run = over_sizes(NUMPY, msgspec.structs.replace(JIT, dtype="bfloat16"))
    picture = of_run(run, run.cases[0], COLORS)
    assert picture is not None
    assert [one.label for one in picture.series] == ["numpy float32", "jit bfloat16"]
    assert list(picture.series[0].x) == [256, 512, 1024]


@pytest.mark.parametrize("metric", METRICS)
def test_a_sweep_without_figures_draws_nothing(metric: str) -> None:
    cases = [CaseState(msgspec.structs.replace(JIT, size=size)) for size in (1, 2)]
    assert curves.picture(run_of(*cases), metric, COLORS) is None  # type: ignore[arg-type]


# Where JAX overtakes NumPy.


GRID = (16, 64, 256, 1024, 4096)


def timed(mode: Mode, size: int, seconds: float, dtype: str = "float32") -> CaseState:
    host = mode == "numpy"
    asked = Case(
        op="matmul",
        size=size,
        dtype=dtype,
        device="host" if host else "cpu:0",
        mode=mode,
        inputs="host" if host else "device",
    )
    return done(asked, seconds)


def sweep(at: float, *more: CaseState, mode: Mode = "jit", slope: float = 0.5):
    """A run in which a mode is as fast as NumPy at that size."""
    cases = [timed("numpy", n, 1e-6 * n) for n in GRID]
    cases += [timed(mode, n, 1e-6 * n * (at / n) ** slope) for n in GRID]
    return Job(number=1, cases=(*cases, *more))


def marks(run: Job) -> list[tuple[float, str]]:
    found = crossing_marks(run)
    return [(mark.at, mark.label) for mark in found]


@pytest.mark.parametrize("at", [20.0, 100.0, 384.0, 3000.0])
def test_the_place_is_read_off_between_neighbouring_sizes(at: float) -> None:
    ((place, label),) = marks(sweep(at))
    assert place == pytest.approx(at)
    assert label == f"jit beats numpy from ~{float(f'{at:.1e}'):.0f}"


def test_where_jax_falls_behind_it_is_numpy_that_wins() -> None:
    ((place, label),) = marks(sweep(384.0, slope=-0.5))
    assert place == pytest.approx(384)
    assert label == "numpy beats jit from ~380"


@pytest.mark.parametrize("at", [5.0, 100_000.0])
def test_nothing_is_marked_outside_of_the_sizes(at: float) -> None:
    assert marks(sweep(at)) == []


def test_nothing_is_marked_where_an_engine_died() -> None:
    assert marks(replace(sweep(384.0), outcome="complete"))
    assert marks(replace(sweep(384.0), outcome="crashed")) == []


def test_each_mode_has_its_mark_and_only_the_last_one() -> None:
    eager = [
        timed("eager", n, 1e-6 * n * (0.5 if n in (64, 4096) else 2.0)) for n in GRID
    ]
    (_, jit), (place, label) = marks(sweep(100.0, *eager))
    assert jit.startswith("jit beats numpy")
    assert label.startswith("eager beats numpy from")
    assert place == pytest.approx(2048)


def test_a_lead_within_the_uncertainty_is_none() -> None:
    # At the last two sizes eager is 0.5 % ahead and 0.5 % behind; each is ± 0.4 %.
    close = {GRID[-2]: 0.995, GRID[-1]: 1.005}
    eager = [timed("eager", n, 1e-6 * n * close.get(n, 0.5)) for n in GRID]
    assert len(marks(sweep(384.0))) == len(marks(sweep(384.0, *eager))) == 1


def test_there_are_not_too_many() -> None:
    more = [
        timed("jit", n, 1e-6 * n * math.sqrt(at / n), dtype)
        for at, dtype in ((90, "bfloat16"), (300, "float16"), (500, "float64"))
        for n in GRID
    ]
    eager = [timed("eager", n, 1e-6 * n * (100 / n)) for n in GRID]
    assert len(marks(sweep(384.0, *more, *eager))) == MOST


def test_before_the_sweep_is_over_nothing_is_marked() -> None:
    run = sweep(384.0)
    *most, last = run.cases
    assert marks(replace(run, cases=(*most, replace(last, status="running")))) == []
    failure = Failure(case=last.case, error="No room.", hint="")
    failed = CaseState(last.case, status="failed", failure=failure)
    assert len(marks(replace(run, cases=(*most, failed)))) == 1


def test_without_numpy_there_is_nothing_to_cross() -> None:
    run = sweep(384.0)
    jit = tuple(one for one in run.cases if one.case.mode == "jit")
    assert marks(replace(run, cases=jit)) == []


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        ("time", ["jit beats numpy from ~380"]),
        ("numpy", ["as fast", "jit beats numpy from ~380"]),
        ("flops", []),
    ],
)
def test_the_curves_have_the_mark_where_it_means_something(
    metric: Metric, labels: list[str]
) -> None:
    drawn = curves.picture(sweep(384.0), metric, COLORS)
    assert drawn is not None
    assert [mark.label for mark in drawn.marks] == labels
    if labels:
        assert labels[-1] in drawn.draw(100, 20, color=False)
