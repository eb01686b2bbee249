"""The arguments of a function of a file: made by its factory, or drawn.

They are pytrees: tuples, lists, dicts, named tuples and registered classes whose leaves
are arrays or numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from jaxtui.measure.inputs import misaligned_copy
from jaxtui.measure.ops.arguments import PERIOD, SMALL_INTEGER, Array
from jaxtui.measure.own import Function, OwnError, parameters, specs
from jaxtui.model import Case
from jaxtui.model.own import ARGS, MAKE_ARGS, Spec

NUMBERS = (bool, int, float, complex, np.generic)
"""Leaves that are no arrays; JAX takes them as arrays without a shape."""

NO_NUMBERS = "OSUMm"
"""Kinds of NumPy arrays that JAX does not take: objects, texts, dates."""

WIDE = ("float64", "complex128", "int64", "uint64")
"""What JAX narrows unless 64-bit types are on."""


@dataclass(frozen=True)
class Made:
    """The arguments of a case."""

    hosts: tuple[Any, ...]
    """With NumPy arrays for leaves, of which a transfer really copies; keys of
    ``jax.random`` stay what they are."""
    size: int
    """The size that the factory was given, 0 if it takes none."""

    @property
    def copies(self) -> Any:
        """The same with fresh arrays."""
        return jax.tree.map(
            lambda leaf: (
                misaligned_copy(leaf) if isinstance(leaf, np.ndarray) else leaf
            ),
            self.hosts,
        )


def make(function: Function, case: Case, seed: int) -> Made:
    """Call the factory, or draw what was typed.

    Raises:
        OwnError: There are no arguments, or they are no pytrees of arrays.
        BaseException: Whatever the factory raises.
    """
    typed = specs(case)
    if typed:
        made: Any = drawn(typed, seed)
        size = case.size
    else:
        made, size = _from_factory(function, case.size, seed)
    for path, leaf in jax.tree_util.tree_flatten_with_path(made)[0]:
        _require_array(function, jax.tree_util.keystr(path), leaf)
    return Made(hosts=jax.tree.map(_hosted, made), size=size)


def drawn(typed: Sequence[Spec], seed: int) -> tuple[Array, ...]:
    """Seeded random arrays, by the very lines that a script shows."""
    names = {"np": np, "ml_dtypes": ml_dtypes, "rng": np.random.default_rng(seed)}
    return tuple(np.asarray(eval(draw_code(spec), names)) for spec in typed)


def draw_code(spec: Spec) -> str:
    """The expression that draws an argument from ``rng``.

    Floating-point numbers are standard normal, integers small, and beyond ``PERIOD``
    numbers they repeat, because drawing a gigabyte takes many seconds.
    """
    if spec.elements > PERIOD:
        period = draw_code(Spec(spec.dtype, (PERIOD,)))
        return f"np.resize({period}, {spec.shape})"
    dtype, shape = spec.dtype, spec.shape
    if dtype == "bool":
        return f"rng.integers(0, 2, {shape}).astype(bool)"
    if "int" in dtype:
        low = 0 if dtype.startswith("u") else -SMALL_INTEGER
        return f"rng.integers({low}, {SMALL_INTEGER + 1}, {shape}, dtype=np.{dtype})"
    if dtype.startswith("complex"):
        part = "np.float32" if dtype == "complex64" else "np.float64"
        pairs = f"rng.standard_normal({(*shape, 2)}, dtype={part})"
        return f"{pairs}.view(np.{dtype})[..., 0]"
    if dtype in ("float32", "float64"):
        return f"np.asarray(rng.standard_normal({shape}, dtype=np.{dtype}))"
    module = "np" if dtype == "float16" else "ml_dtypes"
    normal = f"rng.standard_normal({shape}, dtype=np.float32)"
    return f"np.asarray({normal}).astype({module}.{dtype})"


def dtype_of(leaves: Sequence[Any]) -> str:
    """The dtype of the first floating-point leaf, or else of the first array."""
    dtypes = [leaf.dtype for leaf in leaves if hasattr(leaf, "dtype")]
    floating = [dtype for dtype in dtypes if jnp.issubdtype(dtype, np.floating)]
    return str((floating or dtypes or [""])[0])


def is_key(leaf: Any) -> bool:
    """Whether a leaf is a typed key of ``jax.random``, which NumPy cannot hold."""
    return isinstance(leaf, jax.Array) and bool(
        jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    )


def takes_size(factory: Callable[..., Any]) -> inspect.Parameter | None:
    """The parameter of a factory that is its size: the first, unless it is ``seed``."""
    for parameter in parameters(factory) or ():
        positional = parameter.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        if positional and parameter.name != "seed":
            return parameter
    return None


def _from_factory(
    function: Function, size: int, seed: int
) -> tuple[tuple[Any, ...], int]:
    factory = function.factory
    if factory is None:
        return _without_factory(function), size
    name = getattr(factory, "__name__", function.name + ARGS)
    sized, given = takes_size(factory), {}
    positional: tuple[int, ...] = (size,) if size else ()
    if sized is None and size:
        raise OwnError(
            f"{name} takes no size.", "Leave --size out, or let it take one."
        )
    if sized is not None and not size:
        if sized.default is inspect.Parameter.empty:
            raise OwnError(f"{name} needs a size.", "Give one, as in --size 1024.")
        size = sized.default if isinstance(sized.default, int) else 0
    if any(one.name == "seed" for one in parameters(factory) or ()):
        given["seed"] = seed
    made = factory(*positional, **given)
    if not isinstance(made, tuple):
        raise OwnError(
            f"{name} returned a {type(made).__name__}.",
            "Let it return the tuple of all arguments: for one argument `return (x,)`.",
        )
    return made, size


def _without_factory(function: Function) -> tuple[Any, ...]:
    takes = [
        one.name
        for one in parameters(function.call) or ()
        if one.default is inspect.Parameter.empty
        and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if not takes:
        raise OwnError(
            f"{function.name} takes no arguments, so XLA could compute its result once"
            " and for all while compiling it.",
            "Let it take its data as arguments.",
        )
    name = function.name
    raise OwnError(
        f"{name} takes {', '.join(takes)}, and nothing says what to give it.",
        f"Define {name}{ARGS}(size) or {MAKE_ARGS}(size) beside it, which returns the"
        " tuple of its arguments, or give one --arg such as f32[1024,1024] for each.",
    )


def _require_array(function: Function, path: str, leaf: Any) -> None:
    what = type(leaf).__name__
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in NO_NUMBERS:
        what = f"NumPy array of {leaf.dtype}"
    elif isinstance(leaf, (np.ndarray, jax.Array, *NUMBERS)):
        return
    raise OwnError(
        f"The argument{path} of {function.name} is a {what}.",
        "Arguments are arrays, numbers, and dicts, lists, tuples or registered"
        " classes of them; bind everything else with functools.partial.",
    )


def _hosted(leaf: Any) -> Any:
    if isinstance(leaf, NUMBERS) or is_key(leaf):
        return leaf
    return misaligned_copy(np.asarray(leaf))
