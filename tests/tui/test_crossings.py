"""Where JAX overtakes NumPy in a sweep, from records alone."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import pytest

from jaxtui.model import Case, Failure, Mode
from jaxtui.tui.crossings import MOST, crossing_marks
from jaxtui.tui.plot_state import Metric
from jaxtui.tui.plots import sweep as sweeps
from jaxtui.tui.run_state import CaseState, RunState
from tests.tui.fake_engine import measurement, summary

COLORS = [(0, 0, 0)] * 6
SIZES = (16, 64, 256, 1024, 4096)


def case(mode: Mode, size: int, seconds: float, dtype: str = "float32") -> CaseState:
    host = mode == "numpy"
    asked = Case(
        op="matmul",
        size=size,
        dtype=dtype,
        device="host" if host else "cpu:0",
        mode=mode,
        inputs="host" if host else "device",
    )
    measured = msgspec.structs.replace(measurement(asked), ready=summary(seconds))
    return CaseState(asked, status="done", measurement=measured)


def sweep(at: float, *more: CaseState, mode: Mode = "jit", slope: float = 0.5):
    """A run in which a mode is as fast as NumPy at that size."""
    cases = [case("numpy", n, 1e-6 * n) for n in SIZES]
    cases += [case(mode, n, 1e-6 * n * (at / n) ** slope) for n in SIZES]
    return RunState(number=1, cases=(*cases, *more))


def marks(run: RunState) -> list[tuple[float, str]]:
    found = crossing_marks(run, lambda one: one.case.mode)
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
        case("eager", n, 1e-6 * n * (0.5 if n in (64, 4096) else 2.0)) for n in SIZES
    ]
    (_, jit), (place, label) = marks(sweep(100.0, *eager))
    assert jit.startswith("jit beats numpy")
    assert label.startswith("eager beats numpy from")
    assert place == pytest.approx(2048)


def test_a_lead_within_the_uncertainty_is_none() -> None:
    # At the last two sizes eager is 0.5 % ahead and 0.5 % behind; each is ± 0.4 %.
    close = {SIZES[-2]: 0.995, SIZES[-1]: 1.005}
    eager = [case("eager", n, 1e-6 * n * close.get(n, 0.5)) for n in SIZES]
    assert len(marks(sweep(384.0))) == len(marks(sweep(384.0, *eager))) == 1


def test_there_are_not_too_many() -> None:
    more = [
        case("jit", n, 1e-6 * n * math.sqrt(at / n), dtype)
        for at, dtype in ((90, "bfloat16"), (300, "float16"), (500, "float64"))
        for n in SIZES
    ]
    eager = [case("eager", n, 1e-6 * n * (100 / n)) for n in SIZES]
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
    drawn = sweeps.picture(sweep(384.0), metric, COLORS)
    assert drawn is not None
    assert [mark.label for mark in drawn.marks] == labels
    if labels:
        assert labels[-1] in drawn.draw(100, 20, color=False)
