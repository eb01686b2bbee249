"""What a loop does with what its calls return: wait for it, look at it, pass it on."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.measure.clocks import wait_for_array
from jaxtui.measure.loops.refusals import RefusedError
from jaxtui.measure.workload import Workload
from jaxtui.model import Loop, LoopStyle
from jaxtui.model.own import short_name

Wait = Callable[[Any], object]
"""Waits for a result, in the way of a style."""

block = methodcaller("block_until_ready")


@dataclass(frozen=True)
class Results:
    """How results of one kind are treated. The defaults are those of an array."""

    ready: Wait = block
    """Until the result is ready, and nothing else."""
    fetch: Wait = np.asarray
    """Brings it to the host as NumPy's."""
    pick: Callable[[Any], object] = lambda result: result.ravel()[0]
    """A number of it, to be printed."""
    first: bool = False
    """Of several results the next call of a chain takes the first."""

    def wait(self, style: LoopStyle) -> Wait | None:
        """What a style does with each result; ``None`` if it just goes on."""
        if style == "each":
            return self.ready
        if style == "asarray":
            return self.fetch
        if style == "print":
            # Into memory: the engine's own output would show every line as a log.
            sink, pick = io.StringIO(), self.pick
            return lambda result: print(pick(result), file=sink)
        return None


ARRAY = Results()
"""One array, which fits where a chain needs it."""


def of_own(loop: Loop, workload: Workload, result: Any) -> Results:
    """How to treat the results of a function of the user's own: trees of arrays.

    What is printed is a number of the smallest array, as the loss of a training step.

    Args:
        loop: says what will be done with them.
        workload: the function with its arguments.
        result: what a call of it has returned.

    Raises:
        RefusedError: Its calls cannot be chained.
    """
    single = workload.wait is wait_for_array
    return Results(
        ready=block if single else jax.block_until_ready,
        fetch=jax.device_get,
        pick=lambda tree: min(_arrays(tree), key=np.size).ravel()[0],
        first=loop.chained and _takes_first(loop, workload.args, result),
    )


def _arrays(result: Any) -> list[jax.Array]:
    return [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)]


def result_bytes(result: Any) -> int:
    """Bytes of all arrays of a result."""
    return sum(array.nbytes for array in _arrays(result))


def _takes_first(loop: Loop, args: tuple[Any, ...], result: Any) -> bool:
    """Whether the next call takes the first of several results, or the result itself.

    Raises:
        RefusedError: Neither fits.
    """
    wanted, found = (_kind(args[0]) if args else None), _kind(result)
    if found == wanted:
        return False
    whole = wanted is not None and found.structure == wanted.structure
    several = isinstance(result, (tuple, list)) and result and not whole
    if several and _kind(result[0]) == wanted:
        return True
    name = short_name(loop.case.op)
    raise RefusedError(
        f"Calls of {name} cannot be chained: what it returns is not like its first"
        " argument.",
        "Choose independent calls, or let it return first what its next call takes"
        " first, as a step that takes params and a batch returns params and a loss.",
    )


class _Kind(NamedTuple):
    """What a compiled function insists on."""

    structure: Any
    leaves: list[tuple[tuple[int, ...], Any]]
    """Shapes and dtypes."""


def _kind(tree: Any) -> _Kind:
    leaves, structure = jax.tree.flatten(tree)
    return _Kind(structure, [(np.shape(leaf), _dtype(leaf)) for leaf in leaves])


def _dtype(leaf: Any) -> object:
    return leaf.dtype if hasattr(leaf, "dtype") else jnp.result_type(leaf)
