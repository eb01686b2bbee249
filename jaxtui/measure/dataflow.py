"""What of a traced function reaches its result, as its jaxpr says.

XLA leaves out what no output needs and computes once, while compiling, what depends on
no argument; and a function may give back what it was given, or an array that it keeps.
The time of such a call is not that of the work which its lines describe.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from jaxtui.measure import peaks
from jaxtui.model import Peak, Precision

_INLINED = frozenset({"pjit", "jit", "checkpoint", "remat", "remat2"})
"""Primitives that run the function in their parameters once, as it is; so do those
whose name ends in ``_call``, but for the kernels of Pallas."""

_ARRANGING = frozenset(
    {"broadcast_in_dim", "copy", "copy_p", "expand_dims", "iota", "reshape", "squeeze"}
)
"""Primitives that make or rearrange values without computing any."""

_PRECISIONS: dict[str, Precision] = {"high": "high", "highest": "highest"}
"""By the names of ``jax.lax.Precision``."""

_EFFECTS = ("DebugEffect", "IOEffect")
"""How JAX calls the effects of a host callback, ordered or not."""


class Product(NamedTuple):
    """A product of matrices, or a convolution."""

    work: float
    """Operations of all of its runs in a call."""
    dtype: str
    """Of its first operand."""
    precision: Precision


class Dataflow(NamedTuple):
    """Shares are of the work, in operations as far as a shape tells them."""

    callbacks: tuple[str, ...]
    """The primitives that call back into Python, each once."""
    work: float
    """Of one call; 0 where nothing is computed."""
    dead: float
    """The share that no output needs."""
    constant: float
    """The share that depends on no argument."""
    returns_given: bool
    """Every output was there before the call: an argument or a constant."""
    draws: bool
    """Random numbers."""
    repeats: bool
    """Something is computed, and not by drawing numbers, that no argument changes."""
    kept_share: float
    """Of the bytes of the outputs, those of arrays that were there before the call."""
    product: Product | None
    """The largest; ``None`` where nothing is multiplied."""

    def peak(self, device_kind: str) -> Peak | None:
        """Of one device of a kind, for what is multiplied."""
        if self.product is None:
            return peaks.peak(device_kind, "", matrix=False)
        return peaks.peak(device_kind, self.product.dtype, self.product.precision)


class _Step(NamedTuple):
    inputs: Sequence[int | None]
    outputs: Sequence[int]
    work: float
    pinned: bool
    """It has an effect, so it stays whatever needs it."""


def dataflow(closed: Any) -> Dataflow:
    """Of a ``jax.core.ClosedJaxpr``."""
    numbers = itertools.count()
    arguments = [next(numbers) for _ in closed.jaxpr.invars]
    steps: list[_Step] = []
    results = _inline(closed.jaxpr, arguments, steps, lambda: next(numbers))
    varying, needed = set(arguments), {one for one in results if one is not None}
    for step in steps:
        if varying.intersection(step.inputs):
            varying.update(step.outputs)
    dead = constant = 0.0
    for step in reversed(steps):
        if not step.pinned and not needed.intersection(step.outputs):
            dead += step.work
            continue
        needed.update(one for one in step.inputs if one is not None)
        if not varying.intersection(step.inputs):
            constant += step.work
    total = sum(step.work for step in steps)
    sizes = [_bytes(variable.aval) for variable in closed.jaxpr.outvars]
    kept = sum(
        size for size, one in zip(sizes, results, strict=True) if one is None and size
    )
    draws = any(
        kind in name
        for name in _names(closed.jaxpr)
        for kind in ("random", "rng", "threefry")
    )
    return Dataflow(
        callbacks=tuple(dict.fromkeys(_callbacks(closed.jaxpr))),
        work=total,
        dead=dead / total if total else 0.0,
        constant=constant / total if total else 0.0,
        returns_given=bool(results) and {*results} <= {None, *arguments},
        draws=draws,
        repeats=total > dead and not varying.intersection(results) and not draws,
        kept_share=kept / sum(sizes) if sum(sizes) else 0.0,
        product=max(_products(closed.jaxpr), default=None),
    )


def _inline(
    jaxpr: Any,
    inputs: Sequence[int | None],
    steps: list[_Step],
    number: Callable[[], int],
) -> list[int | None]:
    """Append the steps of a jaxpr; the numbers of its results, ``None`` of constants.

    A value has a number; constants, and what was there before, have none.
    """
    places: dict[Any, int | None] = dict(zip(jaxpr.invars, inputs, strict=True))

    def place(variable: Any) -> int | None:
        # A literal has a value, and cannot be hashed in every version.
        return None if hasattr(variable, "val") else places.get(variable)

    for equation in jaxpr.eqns:
        given = [place(variable) for variable in equation.invars]
        inner = _called(equation)
        if inner is not None and len(inner.invars) == len(given):
            made = _inline(inner, given, steps, number)
        elif equation.primitive.name == "device_put":
            made = given
        else:
            made = [number() for _ in equation.outvars]
            outputs = [one for one in made if one is not None]
            pinned = bool(equation.effects)
            steps.append(_Step(given, outputs, _work(equation), pinned))
        places.update(zip(equation.outvars, made, strict=True))
    return [place(variable) for variable in jaxpr.outvars]


def _called(equation: Any) -> Any:
    """The jaxpr of what only calls a function; ``None`` for everything else."""
    name = equation.primitive.name
    calls = name in _INLINED or name.endswith(("_call", "_call_jaxpr"))
    inner = [*_inner(equation)] if calls and name != "pallas_call" else []
    if len(inner) == 1 and len(inner[0].outvars) == len(equation.outvars):
        return inner[0]
    return None


def _inner(equation: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation: bodies, branches, conditions."""
    for value in equation.params.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(each, "jaxpr", each)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


def _work(equation: Any) -> float:
    """Operations of a step: of a product exactly, else one per element in or out."""
    name, params = equation.primitive.name, equation.params
    if name in _ARRANGING:
        return 0.0
    inner = [sum(_work(each) for each in jaxpr.eqns) for jaxpr in _inner(equation)]
    if inner:
        return _repeats(equation) * sum(inner)
    sizes = [
        math.prod(getattr(variable.aval, "shape", ()))
        for variable in (*equation.invars, *equation.outvars)
    ]
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return float(2 * sizes[-1] * math.prod(shape[axis] for axis in contracted))
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        features = kernel[params["dimension_numbers"].rhs_spec[0]]
        return float(2 * sizes[-1] * math.prod(kernel) / max(1, features))
    return float(max(sizes, default=0))


def _repeats(equation: Any) -> float:
    return float(equation.params.get("length", 1))


def _products(jaxpr: Any) -> Iterator[Product]:
    for equation in jaxpr.eqns:
        for inner in _inner(equation):
            for each in _products(inner):
                yield each._replace(work=_repeats(equation) * each.work)
        if equation.primitive.name in ("dot_general", "conv_general_dilated"):
            dtype = str(equation.invars[0].aval.dtype)
            wanted = equation.params["precision"]
            first = wanted[0] if isinstance(wanted, tuple) else wanted
            name = str(getattr(first, "name", "")).lower()
            yield Product(_work(equation), dtype, _PRECISIONS.get(name, "default"))


def _names(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for each in _inner(equation):
            yield from _names(each)


def _callbacks(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        inner = [*_inner(equation)]
        kinds = [type(effect).__name__ for effect in equation.effects]
        effect = not inner and any(kind.endswith(_EFFECTS) for kind in kinds)
        if effect or "callback" in name:
            yield name
        for each in inner:
            yield from _callbacks(each)


def _bytes(aval: Any) -> int:
    itemsize = getattr(getattr(aval, "dtype", None), "itemsize", 0)
    return int(math.prod(getattr(aval, "shape", ())) * itemsize)
