from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.tasks import accuracy, inputs, ops

MATMUL = ops.get("matmul")


def product(size: int, dtype: str = "float32") -> Any:
    """Arguments, and their product."""
    args = inputs.host_inputs(MATMUL, size, dtype, seed=0)
    return args, MATMUL.numpy(*args)


def test_error_is_relative_to_the_largest_magnitude() -> None:
    assert accuracy.relative_error(
        np.array([1.0, 99.0]), np.array([2.0, 100.0])
    ) == pytest.approx(0.01)
    assert accuracy.relative_error(np.zeros(3), np.zeros(3)) == 0.0
    assert accuracy.relative_error(np.ones(3), np.zeros(3)) == math.inf


@given(st.floats(0.2, 10.0), st.sampled_from([1, -1]))
def test_a_wrong_element_fails(relative: float, sign: int) -> None:
    args, right = product(32)
    found = accuracy.check(MATMUL, "float32", 32, args, right)
    assert (found.ok, found.rows_sampled) == (True, None)
    assert 0 < (found.error or 0) < 1e-6
    wrong = right.copy()
    wrong[3, 4] += sign * relative * np.abs(right).max()
    found = accuracy.check(MATMUL, "float32", 32, args, wrong)
    assert not found.ok
    assert found.error == pytest.approx(relative, rel=1e-3)


def test_integers_must_be_exact() -> None:
    args, result = product(16, "int8")
    assert accuracy.check(MATMUL, "int8", 16, args, result).error == 0.0
    result[0, 0] += 1
    assert not accuracy.check(MATMUL, "int8", 16, args, result).ok


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
def test_what_is_not_finite_or_of_a_wrong_shape_has_no_error(bad: float | None) -> None:
    args, result = product(16)
    if bad is None:
        result = result[:8]
    else:
        result[0, 0] = bad
    found = accuracy.check(MATMUL, "float32", 16, args, result)
    assert (found.ok, found.error) == (False, None)


def test_long_vectors_are_sampled_and_scalars_never() -> None:
    size = accuracy.MAX_ELEMENTS + 1
    assert accuracy.samples_rows(ops.get("add"), "float32", size) == 65536
    assert accuracy.samples_rows(ops.get("add"), "float32", size - 1) is None
    assert accuracy.samples_rows(ops.get("sum"), "float32", size) is None


def test_random_numbers_are_judged_by_their_moments() -> None:
    op = ops.get("normal")
    args = inputs.numpy_inputs(op, 10_000, "float32", seed=0)
    drawn = op.numpy(*args)
    found = accuracy.check(op, "float32", 10_000, args, drawn)
    assert found == accuracy.Accuracy(
        error=None, tolerance=None, rows_sampled=None, ok=True
    )
    for wrong in (drawn + 0.2, drawn * 1.2, np.zeros_like(drawn), drawn[:5]):
        assert not accuracy.check(op, "float32", 10_000, args, wrong).ok
