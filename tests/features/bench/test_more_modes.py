"""The modes pallas and tensorflow, in whole experiments on a CPU."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from jaxtui.tasks import tensorflow_numpy
from tests.tasks.running import case, facts, failure, measured, refusal

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A TensorFlow that is NumPy, and notes what it was asked."""
    asked: list[Any] = []

    @contextmanager
    def device(name: str) -> Iterator[None]:
        asked.append(name)
        yield

    config = SimpleNamespace(set_visible_devices=lambda *what: asked.append(what))
    fake = SimpleNamespace(
        asked=asked, constant=numpy.asarray, device=device, config=config
    )
    monkeypatch.setitem(sys.modules, "tensorflow", fake)
    monkeypatch.setitem(sys.modules, "tensorflow.experimental.numpy", numpy)
    tensorflow_numpy.load.cache_clear()
    yield fake
    tensorflow_numpy.load.cache_clear()


def test_a_kernel_on_a_cpu_is_interpreted_and_gets_no_rate() -> None:
    dtypes = ("float32", "bfloat16", "float64")
    jit, *kernels = measured(
        case("selu", 5000), *(case("selu", 5000, "pallas", dtype) for dtype in dtypes)
    )
    assert not jit.has("interpreted")
    for dtype, kernel in zip(dtypes, kernels, strict=True):
        assert kernel.has("interpreted")
        assert not kernel.has("inaccurate")
        assert kernel.flops_per_second is kernel.bytes_per_second is None
        assert kernel.xla_flops is None
        assert kernel.output_dtype == dtype
        phases = ("trace", "lower", "compile", "first_call")
        assert None not in [getattr(kernel.phases, name) for name in phases]


def test_without_tensorflow_its_case_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert refusal(case("sigmoid", 5000, "tensorflow")).code == "tensorflow-missing"


def test_tensorflow_is_timed_like_numpy_on_the_cpu(tensorflow: Any) -> None:
    ours, other, half = measured(
        case("sigmoid", 5000, "numpy"),
        case("sigmoid", 5000, "tensorflow"),
        case("selu", 5000, "tensorflow", "bfloat16"),
    )
    assert other.dispatch is None
    assert other.ready is not None
    assert other.error_vs_float64 == ours.error_vs_float64
    assert half.output_dtype == "float32"
    assert facts(half.notes)["numpy-dtype"]["mode"] == "tensorflow"
    hidden, *places = tensorflow.asked
    assert hidden == ([], "GPU")
    assert set(places) == {"CPU:0"}


def test_a_broken_tensorflow_is_a_named_failure(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow.experimental.numpy", None)
    failed = failure(case("selu", 5000, "tensorflow"))
    assert "tensorflow.experimental.numpy" in failed.remark.detail
