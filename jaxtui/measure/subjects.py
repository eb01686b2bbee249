"""What is compiled when somebody looks into a case: a function and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
from jax.sharding import SingleDeviceSharding

from jaxtui.measure import ops, programs
from jaxtui.measure.own import arguments
from jaxtui.measure.own.functions import Function, unseen
from jaxtui.measure.workload import compiled_form, op_scope, own_scope
from jaxtui.model import Case
from jaxtui.model.own import Spec

SEED = 0
"""A factory that takes a seed is given this one, as in a run that names none."""


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
        return op_scope(case, device)

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


def of_function(function: Function, case: Case, device: jax.Device) -> Subject:
    """The function with its arguments; those that were typed are shapes alone.

    Args:
        function: As ``find`` gives it.
        case: Its mode is ``jit`` or ``eager``.
        device: Where it would run.

    Raises:
        OwnError: There are no arguments, or they are no pytrees of arrays.
        BaseException: Whatever its factory raises.
    """

    def scope() -> ExitStack:
        return own_scope(case, device)

    size = case.size
    with scope():
        typed = arguments.specs(case)
        args: tuple[Any, ...] = tuple(_shape(spec, device) for spec in typed)
        if not typed:
            made = arguments.make(function, case, SEED)
            args, size = jax.device_put(made.hosts, device), made.size
    dtype = arguments.dtype_of(jax.tree.leaves(args))
    settled = msgspec.structs.replace(case, size=size, dtype=dtype)
    # What the function has jitted itself must be as cold as the function.
    jax.clear_caches()
    return Subject(settled, unseen(function), args, scope)


def _shape(spec: Spec, device: jax.Device) -> jax.ShapeDtypeStruct:
    place = SingleDeviceSharding(device)
    return jax.ShapeDtypeStruct(spec.shape, jnp.dtype(spec.dtype), sharding=place)
