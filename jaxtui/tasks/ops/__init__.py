"""The catalogue of ops, in the order in which it is shown.

An op is an entry of the file of its family, and a name here.
"""

from __future__ import annotations

from jaxtui.core.model import OpInfo
from jaxtui.tasks.ops import elementwise as elements
from jaxtui.tasks.ops import linear_algebra as algebra
from jaxtui.tasks.ops import movement, networks, reductions
from jaxtui.tasks.ops.base import Op
from jaxtui.tasks.ops.collectives import COLLECTIVES, Collective

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        algebra.MATMUL,
        algebra.GRAM,
        algebra.SCAN,
        networks.CONV2D,
        networks.ATTENTION,
        algebra.CHOLESKY,
        algebra.FFT,
        reductions.SORT,
        elements.ADD,
        movement.COPY,
        elements.TRIAD,
        movement.TRANSPOSE,
        reductions.SUM,
        reductions.CUMSUM,
        elements.SIGMOID,
        elements.SELU,
        reductions.SOFTMAX,
        elements.SUM_LOGISTIC_GRAD,
        movement.NORMAL,
        movement.GATHER,
        movement.AT_SET,
    )
}


def get(name: str) -> Op:
    """The op of that name.

    Raises:
        ValueError: There is none that runs on one device.
    """
    if name not in OPS:
        raise ValueError(name)
    return OPS[name]


def find(name: str) -> Op | Collective:
    """An op or a collective of that name: both say what of it has which size, and
    where it cannot run.

    Raises:
        ValueError: There is none.
    """
    return COLLECTIVES.get(name) or get(name)


def catalogue() -> tuple[OpInfo, ...]:
    """Describe every op without JAX, in catalogue order."""
    ops = [op.info() for op in OPS.values()]
    return (*ops, *(collective.info() for collective in COLLECTIVES.values()))


__all__ = ["COLLECTIVES", "OPS", "Collective", "Op", "catalogue", "find", "get"]
