"""Is the result right? Compared with NumPy in float64 on the same rounded inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxtui.core.model import Precision
from jaxtui.tasks.ops.arguments import Array
from jaxtui.tasks.ops.base import Op, wide

MATRIX_ROWS = 16
"""Rows of a matrix that are checked where checking all would be slow."""

VECTOR_ROWS = 1 << 16
"""Elements of a vector that are checked where checking all would be slow."""

MAX_ELEMENTS = 1 << 22
REFERENCE_FLOPS = 2e9
"""Results with more elements, or of more work, are sampled."""

STANDARD_ERRORS = 6.0
"""Standard errors that the mean and deviation of random numbers may be off."""

COARSE_DRAWS = {"float8_e4m3fn": 0.2, "bfloat16": 0.03, "float16": 0.01}
"""Extra room where JAX draws few different values: 8 in float8_e4m3fn (mean −0.144,
deviation 0.926), 128 in bfloat16 (mean −0.012), 1024 in float16; measured on CPU over a
million and more."""


@dataclass(frozen=True)
class Accuracy:
    """The error of a result against its float64 reference."""

    error: float | None
    """Largest absolute error relative to the largest reference magnitude; ``None``
    where there is no reference, or the result is not finite or has a wrong shape."""
    tolerance: float | None
    """The largest error that passes; ``None`` where there is no reference."""
    rows_sampled: int | None
    """The number of rows (of a vector: elements) compared; ``None`` for all."""
    ok: bool


def check(
    op: Op,
    case_dtype: str,
    size: int,
    inputs: tuple[Any, ...],
    result: Array,
    *,
    precision: Precision = "default",
) -> Accuracy:
    """Compare a result with the float64 reference.

    Args:
        op: The op.
        case_dtype: The case's dtype, which decides the tolerance.
        size: The op's size.
        inputs: What the op was given, already rounded to its dtype.
        result: The result, fetched to the host.
        precision: The case's precision.

    Returns:
        The normwise relative error; see ``Accuracy``.
    """
    tolerance = None
    if op.reference is not None:
        tolerance = op.accepted_error(case_dtype, precision)
    if result.shape != op.result_shape(size) or not np.isfinite(result).all():
        return Accuracy(error=None, tolerance=tolerance, rows_sampled=None, ok=False)
    if op.reference is None or tolerance is None:
        return _check_random(result, case_dtype)
    rows = _choose_rows(op, case_dtype, size)
    every = slice(None) if rows is None else rows
    reference = wide(op.reference(every, *inputs))
    compared = result
    if op.checked is not None:
        compared = op.checked(every, result)
    elif result.ndim:
        compared = np.asarray(result[(slice(None),) * op.rows_axis + (every,)])
    error = relative_error(compared, reference)
    return Accuracy(
        error=error,
        tolerance=tolerance,
        rows_sampled=None if rows is None else len(rows),
        ok=error <= tolerance,
    )


def relative_error(result: Array, reference: Array) -> float:
    worst = float(np.max(np.abs(wide(result) - reference), initial=0.0))
    largest = float(np.max(np.abs(reference), initial=0.0))
    if worst == 0.0:
        return 0.0
    return worst / largest if largest else math.inf


def samples_rows(op: Op, dtype: str, size: int) -> int | None:
    """Return the rows that a check compares along ``rows_axis``; ``None``: all."""
    shape = op.result_shape(size)
    if not shape:
        return None
    heavy = (op.flops(size, dtype) or 0.0) > REFERENCE_FLOPS
    if not heavy and math.prod(shape) <= MAX_ELEMENTS:
        return None
    return min(shape[op.rows_axis], MATRIX_ROWS if len(shape) > 1 else VECTOR_ROWS)


def _choose_rows(op: Op, dtype: str, size: int) -> Array | None:
    """Seeded."""
    count = samples_rows(op, dtype, size)
    if count is None:
        return None
    length = op.result_shape(size)[op.rows_axis]
    if count == length:
        return np.arange(length)
    # Repetitions are harmless, and choosing without them would permute the whole range.
    return np.sort(np.random.default_rng(size).integers(0, length, count))


def _check_random(result: Array, dtype: str) -> Accuracy:
    """Shape and finiteness are known; mean and deviation must be those of N(0, 1)."""
    head = wide(result[:MAX_ELEMENTS])
    n = head.size
    coarse = COARSE_DRAWS.get(dtype, 0.0)
    mean_ok = abs(float(head.mean())) <= STANDARD_ERRORS / math.sqrt(n) + coarse
    deviation = abs(math.sqrt(float(np.mean(head * head))) - 1.0)
    deviation_ok = deviation <= STANDARD_ERRORS / math.sqrt(2 * n) + coarse
    return Accuracy(
        error=None,
        tolerance=None,
        rows_sampled=n if n < result.size else None,
        ok=mean_ok and deviation_ok,
    )
