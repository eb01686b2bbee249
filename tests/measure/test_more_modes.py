"""The modes pallas and tensorflow, in whole experiments on a CPU."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxtui.measure import tensorflow_numpy
from jaxtui.measure.experiment import run
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Experiment,
    Failure,
    Measurement,
    Mode,
)

FAKE = {
    "__init__": """
import contextlib
import numpy
places = []
constant = numpy.asarray

@contextlib.contextmanager
def device(name):
    places.append(name)
    yield

class config:
    hidden = []
    @staticmethod
    def set_visible_devices(devices, kind):
        config.hidden.append((devices, kind))
""",
    "experimental/__init__": "",
    "experimental/numpy": "from numpy import *",
}
"""A TensorFlow that is NumPy and notes what it was asked."""


@pytest.fixture
def tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Puts the fake package where it is found, for one test."""
    for name, text in FAKE.items():
        file = tmp_path / "tensorflow" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorflow"]:
        monkeypatch.delitem(sys.modules, name)
    tensorflow_numpy.load.cache_clear()
    yield
    tensorflow_numpy.load.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorflow"]:
        del sys.modules[name]


def case(op: str, mode: Mode, size: int = 5000, dtype: str = "float32") -> Case:
    if mode in ("numpy", "tensorflow"):
        place = {"device": "host", "inputs": "host"}
    else:
        place = {"device": "cpu:0", "inputs": "device"}
    return Case(op=op, size=size, dtype=dtype, mode=mode, **place)  # type: ignore[arg-type]


def outcomes(*cases: Case) -> list[Measurement | Failure]:
    ended: dict[int, Measurement | Failure] = {}
    for event in run(Experiment(cases=cases, budget_seconds=1.0)):
        if isinstance(event, CaseMeasured):
            ended[event.index] = event.measurement
        elif isinstance(event, CaseFailed):
            ended[event.index] = event.failure
    return [ended[index] for index in range(len(cases))]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_a_kernel_on_a_cpu_is_interpreted_and_gets_no_rate(dtype: str) -> None:
    (kernel,) = outcomes(case("selu", "pallas", dtype=dtype))
    assert isinstance(kernel, Measurement), kernel
    assert kernel.has("interpreted")
    assert not kernel.has("inaccurate")
    assert kernel.flops_per_second is None
    assert kernel.bytes_per_second is None
    assert kernel.xla_flops is None
    assert kernel.output_dtype == dtype
    phases = kernel.phases
    assert None not in (phases.trace, phases.lower, phases.compile, phases.first_call)


def test_jit_beside_a_kernel_is_not_called_interpreted() -> None:
    jit, kernel = outcomes(case("selu", "jit"), case("selu", "pallas"))
    assert isinstance(jit, Measurement)
    assert isinstance(kernel, Measurement)
    assert not jit.has("interpreted")
    assert jit.error_vs_float64 == pytest.approx(kernel.error_vs_float64, abs=1e-6)


def test_an_op_without_a_kernel_is_a_named_failure_and_the_rest_runs() -> None:
    failed, measured = outcomes(case("add", "pallas"), case("add", "jit"))
    assert isinstance(failed, Failure)
    assert failed.error == "add has no mode pallas."
    assert isinstance(measured, Measurement)


def test_without_tensorflow_its_case_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    (failed,) = outcomes(case("sigmoid", "tensorflow"))
    assert isinstance(failed, Failure)
    assert (
        failed.error == "TensorFlow is not installed in the environment of the engine."
    )
    assert "pip install 'jaxtui[tensorflow]'" in failed.hint


@pytest.mark.usefixtures("tensorflow")
def test_tensorflow_is_timed_like_numpy_on_the_cpu() -> None:
    numpy, other = outcomes(case("sigmoid", "numpy"), case("sigmoid", "tensorflow"))
    assert isinstance(numpy, Measurement)
    assert isinstance(other, Measurement), other
    assert other.dispatch is None
    assert other.ready is not None
    assert other.error_vs_float64 == numpy.error_vs_float64
    import tensorflow

    assert Path(tensorflow.__file__).parent.parent.name != "site-packages"
    assert tensorflow.config.hidden == [([], "GPU")]
    assert set(tensorflow.places) == {"CPU:0"}


@pytest.mark.usefixtures("tensorflow")
def test_tensorflow_has_no_bfloat16_either() -> None:
    (half,) = outcomes(case("selu", "tensorflow", dtype="bfloat16"))
    assert isinstance(half, Measurement), half
    assert half.output_dtype == "float32"
    assert any("TensorFlow's NumPy has no bfloat16" in note.text for note in half.notes)


@pytest.mark.usefixtures("tensorflow")
def test_a_broken_tensorflow_is_a_named_failure() -> None:
    import tensorflow

    (Path(tensorflow.__file__).parent / "experimental/numpy.py").write_text(
        "raise ImportError('libtensorflow.so is broken')"
    )
    sys.modules.pop("tensorflow.experimental.numpy", None)
    (failed,) = outcomes(case("selu", "tensorflow"))
    assert isinstance(failed, Failure)
    assert "libtensorflow.so is broken" in failed.error
