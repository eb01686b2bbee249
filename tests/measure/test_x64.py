from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import pytest

from jaxtui.measure.experiment import run
from jaxtui.measure.x64 import enable_x64
from jaxtui.model import Case, CaseMeasured, Experiment


def dtype_of_a_float64() -> str:
    return str(
        jnp.asarray(1.0, dtype="float64" if jax.config.jax_enable_x64 else None).dtype
    )


def test_only_float64_widens() -> None:
    for dtype, seen in {"float64": "float64", "int32": "float32"}.items():
        with enable_x64(dtype):
            assert dtype_of_a_float64() == seen
    assert dtype_of_a_float64() == "float32"


def test_an_inner_case_switches_it_off() -> None:
    with enable_x64("float64"):
        with enable_x64("float32"):
            assert dtype_of_a_float64() == "float32"
        assert dtype_of_a_float64() == "float64"


def test_other_threads_are_left_alone() -> None:
    seen: list[str] = []
    with enable_x64("float64"):
        thread = threading.Thread(target=lambda: seen.append(dtype_of_a_float64()))
        thread.start()
        thread.join()
    assert seen == ["float32"]


@pytest.mark.parametrize(("dtype", "said"), [("float64", True), ("float32", False)])
def test_a_case_says_that_x64_was_switched_on_for_it(dtype: str, said: bool) -> None:
    case = Case(op="add", size=4096, dtype=dtype, device="cpu:0", mode="jit")
    experiment = Experiment(cases=(case,), budget_seconds=0.5)
    (measured,) = (one for one in run(experiment) if isinstance(one, CaseMeasured))
    assert measured.measurement.output_dtype == dtype
    assert measured.measurement.has("x64") == said
