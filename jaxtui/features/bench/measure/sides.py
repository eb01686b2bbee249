"""Do both sides of a function of a file, ``step`` and ``step_numpy``, do the same?"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxtui.core.model import Fact, Remark
from jaxtui.tasks.accuracy import relative_error
from jaxtui.tasks.ops.base import wide
from jaxtui.tasks.ops.reductions import CUMSUM_TOLERANCE, SUM_TOLERANCE
from jaxtui.tasks.own import is_key
from jaxtui.tasks.workload import Workload, arrays_of, for_numpy


def compare(workload: Workload, numpy_side: Workload) -> Remark | None:
    """Call both sides once more on the same arguments, and compare their arrays.

    Args:
        workload: JAX's side, after its turns.
        numpy_side: The same function in NumPy; it gets arguments of its own.

    Returns:
        How the arrays differ; ``None`` where they agree.
    """
    numpy_arrays = _arrays(numpy_side, jax.tree.map(for_numpy, workload.hosts()))
    jax_arrays = _arrays(workload, tuple(workload.args))
    shapes = [str([*map(np.shape, arrays)]) for arrays in (jax_arrays, numpy_arrays)]
    if shapes[0] != shapes[1]:
        facts: dict[str, Fact] = {"jax": shapes[0], "numpy": shapes[1]}
        return Remark("wrong-result", {"by": "shapes", **facts}, "error")
    names = {str(leaf.dtype) for leaf in (*arrays_of(workload.hosts()), *jax_arrays)}
    if not workload.on_cpu and "float32" in names:
        # An accelerator rounds the inputs of float32 products.
        names.add("bfloat16")
    for jax_array, numpy_array in zip(
        map(wide, jax_arrays), map(wide, numpy_arrays), strict=True
    ):
        # Of one number all terms may have cancelled, of an array not all numbers.
        accepted = SUM_TOLERANCE if jax_array.size == 1 else CUMSUM_TOLERANCE
        tolerance = max(accepted.get(name, 0.0) for name in names)
        finite = np.isfinite(jax_array)
        same = np.array_equal(finite, np.isfinite(numpy_array))
        error = relative_error(jax_array[finite], numpy_array[finite]) if same else 1.0
        if error > tolerance:
            facts = {"by": "sides", "error": error, "tolerance": tolerance}
            return Remark("inaccurate", facts, "warning")
    return None


def _arrays(workload: Workload, args: tuple[Any, ...]) -> list[Any]:
    """The arrays and numbers of a result on the host; keys are left out."""
    with workload.scope():
        result = workload.call(*args)
        workload.wait(result)
        leaves = [leaf for leaf in jax.tree.leaves(result) if not is_key(leaf)]
        return [np.asarray(leaf) for leaf in jax.device_get(leaves)]
