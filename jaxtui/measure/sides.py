"""Do both sides of a function of a file, ``step`` and ``step_numpy``, do the same?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from jaxtui.measure.accuracy import relative_error
from jaxtui.measure.ops.base import wide
from jaxtui.measure.ops.reductions import CUMSUM_TOLERANCE, SUM_TOLERANCE
from jaxtui.measure.own import is_key
from jaxtui.measure.workload import Workload, for_numpy


class Agreement(NamedTuple):
    """What was compared, and how far it agrees."""

    error: float | None = None
    """Of the array that agrees least, relative to its largest magnitude; ``None`` where
    no values were compared."""
    tolerance: float = 0.0
    """The largest error that passes."""
    shapes: tuple[str, str] | None = None
    """Of the results of JAX and of NumPy, where they differ."""
    finite_differs: bool = False
    """Some numbers are finite on one side only."""
    incomparable: Literal["", "random", "no numbers", "unsteady"] = ""
    """Why values were not compared: the function draws them at random, NumPy's are no
    numbers, or another call gives others."""

    @property
    def ok(self) -> bool:
        agrees = self.shapes is None and not self.finite_differs
        return agrees and (self.error or 0.0) <= self.tolerance


def compare(workload: Workload, numpy_side: Workload) -> Agreement:
    """Call both sides once more on the same arguments, and compare their arrays.

    Args:
        workload: JAX's side, after its turns.
        numpy_side: The same function in NumPy; it gets arguments of its own.
    """
    theirs = _arrays(numpy_side, jax.tree.map(for_numpy, workload.hosts()))
    ours = _arrays(workload)
    shapes = [[array.shape for array in each] for each in (ours, theirs)]
    if shapes[0] != shapes[1]:
        mine, other = (" ".join(map(_shape, each)) for each in shapes)
        return Agreement(shapes=(mine, other))
    if workload.dataflow is not None and workload.dataflow.draws:
        return Agreement(incomparable="random")
    if any(array.dtype.kind in "OSUMm" for array in theirs):
        return Agreement(incomparable="no numbers")
    agreement = _values(workload, ours, theirs)
    if not agreement.ok and not all(map(_same, ours, _arrays(workload))):
        return Agreement(incomparable="unsteady")
    return agreement


def _arrays(workload: Workload, args: tuple[Any, ...] | None = None) -> list[Any]:
    """The arrays and numbers of a result on the host; keys are left out."""
    with workload.scope():
        result = workload.call(*(workload.args if args is None else args))
        workload.wait(result)
        leaves = [leaf for leaf in jax.tree.leaves(result) if not is_key(leaf)]
        return [np.asarray(leaf) for leaf in jax.device_get(leaves)]


def _values(
    workload: Workload, ours: Sequence[Any], theirs: Sequence[Any]
) -> Agreement:
    arguments = (
        str(getattr(leaf, "dtype", "")) for leaf in jax.tree.leaves(workload.args)
    )
    names = {*arguments, *(str(array.dtype) for array in ours)}
    if not workload.on_cpu and "float32" in names:
        # An accelerator rounds the inputs of float32 products.
        names.add("bfloat16")
    worst = Agreement()
    for one, other in zip(map(wide, ours), map(wide, theirs), strict=True):
        # Of one number all terms may have cancelled, of an array not all numbers.
        accepted = SUM_TOLERANCE if one.size == 1 else CUMSUM_TOLERANCE
        tolerance = max(accepted.get(name, 0.0) for name in names)
        finite = np.isfinite(one)
        if not np.array_equal(finite, np.isfinite(other)):
            return Agreement(finite_differs=True)
        error = relative_error(one[finite], other[finite])
        if worst.error is None or error - tolerance > worst.error - worst.tolerance:
            worst = Agreement(error, tolerance)
    return worst


def _same(one: Any, other: Any) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"
