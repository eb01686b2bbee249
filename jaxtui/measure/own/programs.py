"""A function of the user's own as something that XLA can be asked about."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
from jax.sharding import SingleDeviceSharding

from jaxtui.measure.own import arguments
from jaxtui.measure.own.functions import Function, unseen
from jaxtui.measure.own.paths import own_scope
from jaxtui.measure.subjects import Subject
from jaxtui.model import Case
from jaxtui.model.own import Spec

SEED = 0
"""A factory that takes a seed is given this one, as in a run that names none."""


def subject(function: Function, case: Case, device: jax.Device) -> Subject:
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
