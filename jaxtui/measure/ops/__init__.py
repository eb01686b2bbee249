"""The catalogue of ops, in the order in which it is shown.

An op is an entry of the file of its family, and a name here.
"""

from __future__ import annotations

import difflib

from jaxtui.measure.ops import elementwise as elements
from jaxtui.measure.ops import linear_algebra as algebra
from jaxtui.measure.ops import movement, networks, reductions
from jaxtui.measure.ops.base import Op
from jaxtui.measure.ops.collectives import COLLECTIVES, Collective
from jaxtui.measure.ops.plugins import offers
from jaxtui.model import OpInfo
from jaxtui.model.own import is_own, short_name

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
        ValueError: There is none; the sentence names the nearest ones.
    """
    if name in OPS:
        return OPS[name]
    if is_own(name):
        raise ValueError(f"{short_name(name)} is no op: this is for those alone.")
    if name in COLLECTIVES:
        raise ValueError(f"{name} is a collective: this is for ops of one device.")
    others = offers()
    if name in others.ops:
        return others.ops[name]
    if name in others.functions or others.problem(name):
        raise ValueError(f"{name} is no op that can be run: this is for those alone.")
    known = [*OPS, *others.ops]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}?" if near else "it is none of these:"
    rest = "" if near else f" {', '.join(known)}."
    raise ValueError(f"There is no op {name!r}; {meant}{rest}")


def catalogue() -> tuple[OpInfo, ...]:
    """Every op described without JAX, in catalogue order, then those of packages."""
    infos = [op.info() for op in OPS.values()]
    infos += [collective.info() for collective in COLLECTIVES.values()]
    return (*infos, *offers().infos)


__all__ = ["COLLECTIVES", "OPS", "Collective", "Op", "catalogue", "get"]
