"""From a function of the user's own to its cold path, in two steps of their code."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import jax
import msgspec

from jaxtui.measure import settings
from jaxtui.measure.executable import InputPool
from jaxtui.measure.own import arguments, functions
from jaxtui.measure.own.arguments import Made
from jaxtui.measure.own.functions import Function, Source
from jaxtui.measure.own.paths import OwnNumpyPath, OwnPath, own_scope, resident
from jaxtui.measure.own.troubles import OwnError
from jaxtui.measure.peaks import peak
from jaxtui.model import COMPILED_MODES, Case, Peak


def load(source: Source, device: jax.Device | None) -> Function:
    """Import the file, with the case's device as JAX's default.

    Raises:
        OwnError: There is no such function.
        BaseException: Whatever the import raises.
    """
    with ExitStack() as stack:
        if device is not None:
            stack.enter_context(jax.default_device(device))
        return functions.find(source)


def cold_path(
    function: Function,
    case: Case,
    device: jax.Device | None,
    pool: InputPool,
    seed: int,
) -> OwnPath | OwnNumpyPath:
    """Make the arguments. The path's case has the size and dtype that they turn out
    to have.

    Args:
        function: as ``load`` gives it.
        case: its size may be 0, its dtype empty.
        device: ``None`` for NumPy.
        pool: where cases share their arguments.
        seed: given to a factory that takes one.

    Raises:
        OwnError: There are no arguments, or they are no pytrees of arrays.
        BaseException: Whatever the factory raises.
    """
    if case.mode in COMPILED_MODES and (refused := settings.refusal()):
        raise OwnError(*refused)

    def make() -> Made:
        with _scope(case, device):
            return arguments.make(function, case, seed)

    key = (case.op, case.size, str(case.params), device is None)
    made = pool.once(("own", *key), make)
    settled = _settled(case, made, device, pool)
    if device is None:
        return OwnNumpyPath(settled, function, made)
    return OwnPath(settled, function, made, device, pool)


def peak_of(case: Case, device: jax.Device | None) -> Peak | None:
    """Of matrix products: XLA's count does not say what kind of flops they are."""
    if device is None:
        return None
    return peak(device.device_kind, case.dtype, settings.precision(case), matrix=True)


def _settled(
    case: Case, made: Made, device: jax.Device | None, pool: InputPool
) -> Case:
    args: Any = made.hosts
    if device is not None:
        with own_scope(case, device):
            args = resident(case, made, device, pool)
    leaves = jax.tree.leaves(args)
    if not leaves and case.mode == "jit":
        raise OwnError(
            "Without arguments XLA could compute the result while compiling.",
            "Let the function take its data as arguments.",
        )
    dtype = arguments.dtype_of(leaves)
    return msgspec.structs.replace(case, size=made.size, dtype=dtype)


def _scope(case: Case, device: jax.Device | None) -> ExitStack:
    return own_scope(case, device) if device else ExitStack()
