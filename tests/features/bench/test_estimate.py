"""Slow calls are told beforehand, from smaller ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jaxtui.features.bench.measure import estimate
from jaxtui.tasks import ops

FLOAT8 = "float8_e4m3fn"


@pytest.mark.parametrize(
    ("name", "size", "dtype", "where", "slow"),
    [
        ("matmul", 512, "float32", "cpu", False),
        ("sort", 1 << 18, "float32", "cpu", False),
        ("softmax", 1024, "float32", "cpu", False),
        ("matmul", 8192, "float32", "cpu", True),
        # A second and more in XLA's sort on a CPU, though its bytes are few.
        ("sort", 1 << 24, "float32", "cpu", True),
        # XLA converts float8 in software there: a softmax of this size takes 13 s.
        ("softmax", 16384, FLOAT8, "cpu", True),
        ("selu", 1 << 26, FLOAT8, "cpu", True),
        ("selu", 1 << 26, FLOAT8, "accelerator", False),
        ("selu", 1 << 26, "float32", "cpu", False),
        ("conv2d", 56, "float16", "numpy", True),
        ("scan", 512, "int8", "numpy", True),
    ],
)
def test_slow_work_is_tried_at_a_smaller_size(
    name: str, size: int, dtype: str, where: str, slow: bool
) -> None:
    tried: list[int] = []

    def trial(smaller: int) -> Callable[[], object]:
        tried.append(smaller)
        return lambda: None

    found = estimate.call_seconds(ops.get(name), size, dtype, where, trial)
    assert (found is not None) == bool(tried) == slow
    assert all(smaller < size for smaller in tried)
