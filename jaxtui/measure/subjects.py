"""What is compiled when somebody looks into a case: a function and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import jax

from jaxtui.measure import ops, programs
from jaxtui.measure.executable import compiled_form, jax_scope
from jaxtui.model import Case


@dataclass(frozen=True)
class Subject:
    """A case that can be traced, and what its formulas say of it."""

    case: Case
    """With the size and the dtype that its arguments turned out to have."""
    form: Callable[..., Any]
    """A function that JAX has not seen."""
    args: tuple[Any, ...]
    """Pytrees of shapes, so that a size costs no memory, or of arrays."""
    scope: Callable[[], ExitStack]
    """The contexts in which it is traced and compiled."""
    flops: float | None = None
    bytes: float | None = None
    """By the op's own formulas; ``None`` where there are none."""


def of_op(case: Case, device: jax.Device) -> Subject:
    """An op of the catalogue."""
    op = ops.get(case.op)

    def scope() -> ExitStack:
        return jax_scope(case.dtype, device)

    with scope():
        shapes = programs.shapes(op, case, device)
    return Subject(
        case=case,
        form=compiled_form(op, case, device),
        args=tuple(shapes),
        scope=scope,
        flops=op.flops(case.size, case.dtype),
        bytes=op.bytes(case.size, case.dtype),
    )
