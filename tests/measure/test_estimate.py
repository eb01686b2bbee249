"""Slow calls are told beforehand, from smaller ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jaxtui.measure import estimate, ops


def asked(name: str, size: int, dtype: str, where: str = "cpu") -> list[int]:
    """The sizes at which a call is tried before one of ``size``."""
    tried: list[int] = []

    def trial(smaller: int) -> Callable[[], object]:
        tried.append(smaller)
        return lambda: None

    estimate.call_seconds(ops.get(name), size, dtype, where, trial)
    return tried


def test_small_work_is_not_asked_about() -> None:
    assert asked("matmul", 512, "float32") == []
    assert asked("sort", 1 << 18, "float32") == []
    assert asked("softmax", 1024, "float32") == []


@pytest.mark.parametrize(
    ("name", "size", "dtype", "where"),
    [
        ("matmul", 8192, "float32", "cpu"),
        # A second and more in XLA's sort on a CPU, though its bytes are few.
        ("sort", 1 << 24, "float32", "cpu"),
        # XLA converts float8 in software there: a softmax of this size takes 13 s.
        ("softmax", 16384, "float8_e4m3fn", "cpu"),
        ("conv2d", 56, "float16", "numpy"),
        ("scan", 512, "int8", "numpy"),
    ],
)
def test_slow_work_is_tried_at_a_smaller_size(
    name: str, size: int, dtype: str, where: str
) -> None:
    tried = asked(name, size, dtype, where)
    assert tried
    assert tried[0] < size


def test_float8_is_slow_on_a_cpu_only() -> None:
    assert asked("selu", 1 << 26, "float8_e4m3fn", "cpu")
    assert not asked("selu", 1 << 26, "float8_e4m3fn", "accelerator")
    assert not asked("selu", 1 << 26, "float32", "cpu")
