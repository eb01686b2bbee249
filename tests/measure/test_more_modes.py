"""The modes pallas and tensorflow, in whole experiments on a CPU."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxtui.measure import tensorflow_numpy
from jaxtui.model import Failure, Measurement
from tests.measure.running import case, failure, measured, outcomes

pytestmark = pytest.mark.usefixtures("brief")

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


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_a_kernel_on_a_cpu_is_interpreted_and_gets_no_rate(dtype: str) -> None:
    (kernel,) = measured(case("selu", 5000, "pallas", dtype))
    assert kernel.has("interpreted")
    assert not kernel.has("inaccurate")
    assert kernel.flops_per_second is None
    assert kernel.bytes_per_second is None
    assert kernel.xla_flops is None
    assert kernel.output_dtype == dtype
    phases = kernel.phases
    assert None not in (phases.trace, phases.lower, phases.compile, phases.first_call)


def test_jit_beside_a_kernel_is_not_called_interpreted() -> None:
    jit, kernel = measured(case("selu", 5000), case("selu", 5000, "pallas"))
    assert not jit.has("interpreted")
    assert jit.error_vs_float64 == pytest.approx(kernel.error_vs_float64, abs=1e-6)


def test_an_op_without_a_kernel_is_a_named_failure_and_the_rest_runs() -> None:
    failed, measured = outcomes(case("add", 5000, "pallas"), case("add", 5000, "jit"))
    assert isinstance(failed, Failure)
    assert failed.error == "add has no mode pallas."
    assert isinstance(measured, Measurement)


def test_without_tensorflow_its_case_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    failed = failure(case("sigmoid", 5000, "tensorflow"))
    assert (
        failed.error == "TensorFlow is not installed in the environment of the engine."
    )
    assert "pip install 'jaxtui[tensorflow]'" in failed.hint


@pytest.mark.usefixtures("tensorflow")
def test_tensorflow_is_timed_like_numpy_on_the_cpu() -> None:
    numpy, other = measured(
        case("sigmoid", 5000, "numpy"), case("sigmoid", 5000, "tensorflow")
    )
    assert other.dispatch is None
    assert other.ready is not None
    assert other.error_vs_float64 == numpy.error_vs_float64
    import tensorflow

    assert Path(tensorflow.__file__).parent.parent.name != "site-packages"
    assert tensorflow.config.hidden == [([], "GPU")]
    assert set(tensorflow.places) == {"CPU:0"}


@pytest.mark.usefixtures("tensorflow")
def test_tensorflow_has_no_bfloat16_either() -> None:
    (half,) = measured(case("selu", 5000, "tensorflow", "bfloat16"))
    assert half.output_dtype == "float32"
    assert any("TensorFlow's NumPy has no bfloat16" in note.text for note in half.notes)


@pytest.mark.usefixtures("tensorflow")
def test_a_broken_tensorflow_is_a_named_failure() -> None:
    import tensorflow

    (Path(tensorflow.__file__).parent / "experimental/numpy.py").write_text(
        "raise ImportError('libtensorflow.so is broken')"
    )
    sys.modules.pop("tensorflow.experimental.numpy", None)
    failed = failure(case("selu", 5000, "tensorflow"))
    assert "libtensorflow.so is broken" in failed.error
