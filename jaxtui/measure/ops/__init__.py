"""The catalogue of ops, in the order in which it is shown.

An op is one file with an ``OP`` and one line here.
"""

from __future__ import annotations

import difflib

from jaxtui.measure.ops import (
    add,
    at_set,
    copy,
    gather,
    gram,
    matmul,
    normal,
    selu,
    sigmoid,
    softmax,
    sum,  # noqa: A004  (the op is called what NumPy calls it)
    sum_logistic_grad,
    triad,
)
from jaxtui.measure.ops.base import Op
from jaxtui.model import OpInfo

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        matmul.OP,
        gram.OP,
        add.OP,
        copy.OP,
        triad.OP,
        sum.OP,
        sigmoid.OP,
        selu.OP,
        softmax.OP,
        sum_logistic_grad.OP,
        normal.OP,
        gather.OP,
        at_set.OP,
    )
}
"""Every op by name."""


def get(name: str) -> Op:
    """The op of that name.

    Raises:
        ValueError: There is none; the sentence names the nearest ones.
    """
    try:
        return OPS[name]
    except KeyError:
        near = difflib.get_close_matches(name, OPS, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(near)}?" if near else "it is none of these:"
        rest = "" if near else f" {', '.join(OPS)}."
        raise ValueError(f"There is no op {name!r}; {meant}{rest}") from None


def catalogue() -> tuple[OpInfo, ...]:
    """Every op described without JAX, in catalogue order."""
    return tuple(op.info() for op in OPS.values())


__all__ = ["OPS", "Op", "catalogue", "get"]
