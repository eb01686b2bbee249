"""Do both sides of a function of a file, ``step`` and ``step_numpy``, do the same?"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxtui.measure.accuracy import relative_error
from jaxtui.measure.ops.base import wide
from jaxtui.measure.ops.reductions import CUMSUM_TOLERANCE, SUM_TOLERANCE
from jaxtui.measure.own import is_key
from jaxtui.measure.workload import Workload, arrays_of, for_numpy
from jaxtui.model import Fact, Remark


def compare(workload: Workload, numpy_side: Workload) -> Remark | None:
    """Call both sides once more on the same arguments, and compare their arrays.

    Args:
        workload: JAX's side, after its turns.
        numpy_side: The same function in NumPy; it gets arguments of its own.

    Returns:
        How the arrays differ; ``None`` where they agree.
    """
    theirs = _arrays(numpy_side, jax.tree.map(for_numpy, workload.hosts()))
    ours = _arrays(workload, tuple(workload.args))
    shapes = [str([*map(np.shape, arrays)]) for arrays in (ours, theirs)]
    if shapes[0] != shapes[1]:
        facts: dict[str, Fact] = {"jax": shapes[0], "numpy": shapes[1]}
        return Remark("wrong-result", {"by": "shapes", **facts}, "error")
    names = {str(leaf.dtype) for leaf in (*arrays_of(workload.hosts()), *ours)}
    if not workload.on_cpu and "float32" in names:
        # An accelerator rounds the inputs of float32 products.
        names.add("bfloat16")
    for one, other in zip(map(wide, ours), map(wide, theirs), strict=True):
        # Of one number all terms may have cancelled, of an array not all numbers.
        accepted = SUM_TOLERANCE if one.size == 1 else CUMSUM_TOLERANCE
        tolerance = max(accepted.get(name, 0.0) for name in names)
        finite = np.isfinite(one)
        same = np.array_equal(finite, np.isfinite(other))
        error = relative_error(one[finite], other[finite]) if same else 1.0
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
