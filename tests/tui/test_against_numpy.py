"""How much faster than NumPy: by rounds that were taken next to each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxtui.model import Case, Mode
from jaxtui.tui.against_numpy import against_numpy
from jaxtui.tui.run_state import CaseState, RunState
from tests.tui.fake_engine import measurement


def timed(mode: Mode, rounds: tuple[float, ...]) -> CaseState:
    """A case whose figures, apart from its rounds, are the fake engine's."""
    host = mode == "numpy"
    case = Case(
        op="selu",
        size=1000,
        dtype="float32",
        device="host" if host else "cpu:0",
        mode=mode,
        inputs="host" if host else "device",
    )
    return CaseState(case, status="done", measurement=measurement(case), rounds=rounds)


def run(*cases: CaseState) -> RunState:
    return RunState(number=1, cases=cases)


def test_a_load_that_comes_half_way_does_not_move_the_ratio() -> None:
    # Each is twice as slow in the second half; NumPy always takes three times as long.
    jit = timed("jit", (1.0,) * 5 + (2.0,) * 6)
    numpy = timed("numpy", (3.0,) * 5 + (6.0,) * 6)
    found = against_numpy(jit, run(numpy, jit))
    assert found is not None
    assert (found.low, found.median, found.high) == (3.0, 3.0, 3.0)


def test_one_that_ended_earlier_is_compared_over_the_rounds_of_both() -> None:
    jit = timed("jit", (1.0,) * 6)
    numpy = timed("numpy", (4.0,) * 6 + (100.0,) * 50)
    found = against_numpy(jit, run(numpy, jit))
    assert found is not None
    assert found.median == 4.0


def test_of_few_rounds_it_is_the_ratio_of_the_figures() -> None:
    jit, numpy = timed("jit", (1.0,) * 5), timed("numpy", (9.0,) * 5)
    found = against_numpy(jit, run(numpy, jit))
    assert found is not None
    assert jit.measurement is not None
    assert numpy.measurement is not None
    assert jit.measurement.ready is not None
    assert numpy.measurement.ready is not None
    figures = numpy.measurement.ready.median / jit.measurement.ready.median
    assert found.median == pytest.approx(figures)
    assert found.low < figures < found.high


def test_numpy_has_no_ratio_with_itself_and_jax_none_alone() -> None:
    jit, numpy = timed("jit", (1.0,) * 6), timed("numpy", (2.0,) * 6)
    assert against_numpy(numpy, run(numpy, jit)) is None
    assert against_numpy(jit, run(jit)) is None
    assert against_numpy(replace(jit, measurement=None), run(numpy, jit)) is None
