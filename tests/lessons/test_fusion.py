from __future__ import annotations

import pytest

from jaxtui.lessons.fusion import LESSON
from jaxtui.lessons.outcome import Outcome
from jaxtui.measure.snippets import run_snippet
from jaxtui.model import Snippet, SnippetShown
from tests.lessons.figures import (
    TPU,
    after,
    asked,
    conclude,
    failed,
    here,
    measured,
    shown,
    timed,
    works,
    yours,
)


def three(numpy: float, eager: float, jit: float) -> Outcome:
    seconds = {"numpy": numpy, "eager": eager, "jit": jit}
    cases = asked(LESSON, 0)
    return after(*(measured(case, seconds[case.mode]) for case in cases))


def test_the_published_figures_stand_beside_the_learners_own() -> None:
    found = conclude(LESSON, 0, three(8e-3, 4e-3, 400e-6))
    assert found.holds is True
    assert found.answer == 2
    assert yours(found)["JAX, jit"] == "400 µs"
    assert [row.published for row in found.rows] == [
        "7.6 ms",
        "4.8 ms, CPU",
        "130 µs, GPU",
    ]
    assert "10 times as fast" in found.takeaway


def test_on_an_accelerator_eager_has_the_figure_of_the_gpu() -> None:
    setting = here(LESSON, devices=TPU)
    found = conclude(LESSON, 0, after(), setting)
    assert found.rows[1].published == "1.21 ms, GPU"


@pytest.mark.parametrize(
    ("eager", "holds", "answer"), [(1.5e-3, False, 0), (3e-3, True, 1)]
)
def test_a_small_gain_refutes_it(eager: float, holds: bool, answer: int) -> None:
    found = conclude(LESSON, 0, three(8e-3, eager, 1e-3))
    assert (found.holds, found.answer) == (holds, answer)
    assert "1.00 ms" in found.takeaway


def test_a_case_that_failed_concludes_nothing_and_says_why() -> None:
    numpy, eager, jit = asked(LESSON, 0)
    found = conclude(
        LESSON, 0, after(measured(numpy, 1e-3), failed(eager), measured(jit, 1e-4))
    )
    assert found.holds is None
    assert "too long" in found.takeaway
    assert yours(found)["JAX, eager"] == "—"


def counted(steps: float, kernels: float, apart: float, fused: float) -> Outcome:
    outcome = timed({"eager": 4e-3, "jit": 5e-4})
    for name, number in {
        "steps": steps,
        "kernels": kernels,
        "bytes, step by step": apart,
        "bytes, fused": fused,
    }.items():
        outcome = shown(outcome, name, str(number), (number,))
    return shown(outcome, "what is left", "fusion")


def test_one_kernel_and_less_traffic_confirm_it() -> None:
    found = conclude(LESSON, 1, counted(6, 1, 50e6, 8e6))
    assert found.holds is True
    assert found.answer == 2
    assert "6.2 times less" in found.takeaway
    assert "4.00 ms to 500 µs" in found.takeaway


def test_without_a_fusion_it_says_so() -> None:
    found = conclude(LESSON, 1, counted(6, 6, 50e6, 50e6))
    assert found.holds is False
    assert found.answer == 0
    assert "fused less" in found.takeaway


def test_what_runs_here_counts_steps_and_kernels() -> None:
    (snippet,) = works(LESSON, 1, here(LESSON, 2000))
    assert isinstance(snippet, Snippet)
    values = {
        event.value.name: event.value
        for event in run_snippet(snippet)
        if isinstance(event, SnippetShown)
    }
    assert values["steps"].numbers == (6.0,)
    assert values["kernels"].numbers[0] < 6
    assert values["bytes, fused"].numbers == (2 * 4 * 2000,)
    # Four steps read and write an array, one writes bools, one reads them and two.
    moved = 2000 * (4 + 1 + 1 + 4 + 4 + 4 + 4 * (4 + 4))
    assert values["bytes, step by step"].numbers[0] == pytest.approx(moved, abs=50)
