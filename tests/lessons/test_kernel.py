from __future__ import annotations

from msgspec.structs import replace

from jaxtui.lessons.base import Setting
from jaxtui.lessons.kernel import LESSON
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.measure.snippets import run_snippet
from jaxtui.model import Case, CaseMeasured, Note, Snippet
from tests.lessons.figures import (
    TPU,
    after,
    asked,
    conclude,
    here,
    measured,
    shown,
    works,
    yours,
)

ON_TPU = here(LESSON, devices=TPU)


def selu(case: Case, seconds: float, error: float, *found: Note) -> CaseMeasured:
    event = measured(case, seconds)
    figure = replace(event.measurement, error_vs_float64=error, notes=found)
    return replace(event, measurement=figure)


def three(setting: Setting, error: float, seconds: float = 1e-3) -> Outcome:
    eager, jit, kernel = asked(LESSON, 0, setting)
    interpreted = () if setting.accelerated else (Note(flag="interpreted", text=""),)
    return after(
        selu(eager, 5e-3, 8e-8),
        selu(jit, 1e-3, 8e-8),
        selu(kernel, seconds, error, *interpreted),
    )


def test_on_a_cpu_the_kernel_has_an_error_and_no_time() -> None:
    found = conclude(LESSON, 0, three(here(LESSON), 9e-8))
    assert found.holds is True
    assert yours(found)["your kernel"] == "—"
    assert yours(found)["JAX, jit"] == "1.00 ms"
    assert "interpret mode" in found.rows[2].remark
    assert "this machine cannot tell" in found.takeaway


def test_on_an_accelerator_it_is_compared() -> None:
    slower = conclude(LESSON, 0, three(ON_TPU, 8e-8, 2e-3), ON_TPU)
    assert slower.holds is True
    assert yours(slower)["your kernel"] == "2.00 ms"
    assert "hard to beat" in slower.takeaway
    equal = conclude(LESSON, 0, three(ON_TPU, 8e-8, 1e-3), ON_TPU)
    assert "or faster" in equal.takeaway


def test_a_kernel_that_computes_something_else_refutes_it() -> None:
    found = conclude(LESSON, 0, three(here(LESSON), 0.3))
    assert found.holds is False
    assert "do not agree" in found.takeaway


def test_blocks_and_grid_of_this_machine() -> None:
    outcome = NOTHING
    for work in works(LESSON, 1):
        assert isinstance(work, Snippet)
        for event in run_snippet(work):
            outcome = collect(outcome, event)
    found = conclude(LESSON, 1, outcome)
    assert found.holds is True
    assert found.answer == 1
    assert yours(found)["programs in the grid"] == "4"
    assert yours(found)["pl.program_id(0) of each block"] == "[0. 1. 2. 3.]"
    assert "refused it on this CPU" in found.takeaway


def grid(compiled: str) -> Outcome:
    outcome = shown(NOTHING, "compiled for this device", compiled)
    outcome = shown(outcome, "blocks", "4", (4.0,))
    return shown(outcome, "same as jit", "True", (1.0,))


def test_on_an_accelerator_it_is_compiled() -> None:
    found = conclude(LESSON, 1, grid("(4096,)"), ON_TPU)
    assert found.holds is True
    assert found.answer == 0
    assert "compiled for tpu:0" in found.takeaway


def test_a_cpu_that_compiles_kernels_refutes_it() -> None:
    found = conclude(LESSON, 1, grid("(4096,)"))
    assert found.holds is False
