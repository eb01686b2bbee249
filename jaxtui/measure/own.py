"""Functions of a file or of an installed package, timed like ops of the catalogue.

A function ``step`` may have neighbours in its module:

- ``step_args(size)``, or ``make_args(size)`` for every function of the module that has
  none of its own: returns the tuple of its arguments. Without a parameter it makes one
  size only; a parameter ``seed`` is given the seed of the run.
- ``step_numpy``: the same in NumPy, which makes the mode ``numpy`` possible.

Only ``workload``, the loops and inspections run their code, in the engine and as phases
of the case, so that what it does there (raise, print, hang, end the process) is the
affair of that case alone. An engine that ran such code runs nothing else afterwards.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import linecache
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from jaxtui.measure import settings
from jaxtui.measure.clocks import Call
from jaxtui.measure.errors import RefusedError
from jaxtui.measure.inputs import misaligned_copy
from jaxtui.measure.ops import OPS, plugins
from jaxtui.measure.ops.arguments import Array, draw_code
from jaxtui.measure.settings import FileSettings
from jaxtui.model import Case
from jaxtui.model.own import (
    ARGS,
    ARGUMENTS,
    MAKE_ARGS,
    NUMPY,
    Spec,
    is_own,
    parse_specs,
    parts,
    short_name,
)
from jaxtui.places import read_whole
from jaxtui.text import did_you_mean

MODES = ("jit", "eager", "numpy")


@dataclass(frozen=True)
class Source:
    name: str
    """What its module calls it."""
    file: str
    """The file to which a traceback is cut; empty if it is not known yet."""
    module: str = ""
    """The name of the module, for one that an installed package offers."""


@dataclass(frozen=True)
class Function:
    """A function that was imported, and its neighbours."""

    name: str
    call: Call
    factory: Callable[..., Any] | None
    """Makes its arguments."""
    numpy: Call | None
    """Does the same in NumPy."""
    settings: FileSettings
    """JAX's configuration as its file sets it."""


def source(op: str) -> Source | None:
    """Where a case's function comes from; ``None`` if it is an op of the catalogue."""
    if is_own(op):
        path, name = parts(op)
        return Source(name, path)
    offered = None if op in OPS else plugins.offers().functions.get(op)
    if offered is None:
        return None
    module, name = offered
    spec = importlib.util.find_spec(module)
    return Source(name, (spec and spec.origin) or "", module)


def load(source: Source, device: jax.Device | None) -> Function:
    """Import the module, with the device of the case as JAX's default.

    Raises:
        RefusedError: There is no such function.
    """
    own_settings = settings.of_file(source.file or source.module)
    place = jax.default_device(device) if device is not None else nullcontext()
    *outer, last = source.name.split(".")
    with own_settings, place:
        if source.module:
            module = importlib.import_module(source.module)
        else:
            module = load_file(source.file)
        holder: Any = module
        for part in outer:
            holder = getattr(holder, part, None)
        call = getattr(holder, last, None)
    names = function_names(module)
    there = f"It defines {', '.join(names)}." if names else "It defines no function."
    if call is None:
        there += did_you_mean(source.name, names)
        raise RefusedError(f"{module.__file__} has no {source.name}.", there)
    if not callable(call) or isinstance(call, type):
        kind = "a class" if isinstance(call, type) else f"a {type(call).__name__}"
        raise RefusedError(f"{source.name} is {kind}, not a function.", there)
    return Function(
        name=last,
        call=call,
        factory=_function(holder, last + ARGS) or _function(module, MAKE_ARGS),
        numpy=_function(holder, last + NUMPY),
        settings=own_settings,
    )


def fresh(function: Function) -> Call:
    """The same as a function that JAX has not seen, so that nothing of it is cached."""
    call = function.call

    def unseen(*args: Any) -> Any:
        return call(*args)

    unseen.__name__ = unseen.__qualname__ = function.name
    # So that JAX calls the arguments what the file calls them, and names its lines.
    unseen.__wrapped__ = call  # type: ignore[attr-defined]
    return unseen


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """What a function takes; ``None`` for one that does not say."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _function(holder: Any, name: str) -> Callable[..., Any] | None:
    """A neighbour; ``args`` of a parser and the like are none."""
    found = getattr(holder, name, None)
    return found if callable(found) else None


def function_names(module: ModuleType) -> list[str]:
    """The functions that can be timed: those that a module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("_")
        and not name.endswith((ARGS, NUMPY))
        and name != MAKE_ARGS
        and getattr(value, "__module__", None) == module.__name__
    ]


_loaded: dict[str, tuple[bytes, ModuleType]] = {}
"""By path: the content that was imported, and what came of it."""


def load_file(path: str) -> ModuleType:
    """The module of a file.

    Its folder comes first on ``sys.path``, as with ``python file.py``, so that it finds
    what lies beside it. Its ``__name__`` is not ``__main__``. A file that has changed
    is imported afresh; what it imports itself is as old as this process.

    Raises:
        RefusedError: The file cannot be read.
    """
    content = read(path)
    known = _loaded.get(path)
    if known is not None and known[0] == content:
        return known[1]
    linecache.checkcache(path)
    code = compile(content, path, "exec")
    stem = os.path.basename(path).removesuffix(".py")
    digest = hashlib.sha256(path.encode(errors="replace") + b"\0" + content)
    # A name that hides no other module, whatever the file is called.
    module = ModuleType(f"own_{stem}_{digest.hexdigest()[:8]}")
    module.__file__ = path
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # Where dataclasses and others look for the module of a class.
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    _loaded[path] = content, module
    return module


def module_of(source: Source) -> ModuleType | None:
    """The module of a function that was loaded."""
    if source.module:
        return sys.modules.get(source.module)
    return _loaded[source.file][1] if source.file in _loaded else None


def content_of(path: str) -> bytes:
    """What a file held when it was loaded; empty if it was not loaded as such."""
    return _loaded[path][0] if path in _loaded else b""


def read(path: str) -> bytes:
    """The content of a file.

    Raises:
        RefusedError: It is not there, or cannot be read as in ``places.read_whole``.
    """
    try:
        return read_whole(path)
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}."
        if isinstance(error, FileNotFoundError):
            text = f"There is no file {path}."
        hint = "Name a Python file and a function of it, as in train.py:step."
        raise RefusedError(text, hint) from error


def specs(case: Case) -> tuple[Spec, ...]:
    """The arguments of a case that were typed, if any.

    Raises:
        ValueError: They make no sense.
    """
    return parse_specs(str((case.params or {}).get(ARGUMENTS, "")))


def check(case: Case) -> None:
    """Refuse a case of which something is wrong before any code has run.

    The file is not imported: that is left to the run, which can be stopped.
    """
    name = short_name(case.op)
    if is_own(case.op):
        read(parts(case.op)[0])
    if case.mode not in MODES:
        has = f"It has {', '.join(MODES)}."
        raise RefusedError(f"{name} has no mode {case.mode}.", has)
    if case.precision != "default":
        raise RefusedError(
            f"{name} takes no precision.",
            "Set it in the function itself, as with jax.default_matmul_precision.",
        )
    try:
        typed = specs(case)
    except ValueError as error:
        how = "Arguments are typed as --arg f32[1024,1024]."
        raise RefusedError(str(error), how) from None
    if typed and case.size:
        raise RefusedError(
            f"{name} has no size: its arguments were typed.",
            "Leave --size out, or the --arg.",
        )


def input_bytes(case: Case) -> int:
    """Bytes of the arguments, as far as they are known before any code has run."""
    return sum(spec.nbytes for spec in specs(case))


# The arguments: pytrees (tuples, lists, dicts, named tuples and registered classes)
# whose leaves are arrays or numbers.

NUMBERS = (bool, int, float, complex, np.generic)
"""Leaves that are no arrays; JAX takes them as arrays without a shape."""

NO_NUMBERS = "OSUMm"
"""Kinds of NumPy arrays that JAX does not take: objects, texts, dates."""

WIDE = ("float64", "complex128", "int64", "uint64")
"""What JAX narrows unless 64-bit types are on."""


@dataclass(frozen=True)
class Arguments:
    hosts: tuple[Any, ...]
    """With NumPy arrays for leaves, of which a transfer really copies; keys of
    ``jax.random`` stay what they are."""
    size: int
    """The size that the factory was given, 0 if it takes none."""

    @property
    def copies(self) -> Any:
        return jax.tree.map(
            lambda leaf: (
                misaligned_copy(leaf) if isinstance(leaf, np.ndarray) else leaf
            ),
            self.hosts,
        )


def make(function: Function, case: Case, seed: int) -> Arguments:
    """Call the factory, or draw what was typed.

    Raises:
        RefusedError: There are no arguments, or they are no pytrees of arrays.
    """
    typed = specs(case)
    if typed:
        made: Any = draw(typed, seed)
        size = case.size
    else:
        made, size = _from_factory(function, case.size, seed)
    for path, leaf in jax.tree_util.tree_flatten_with_path(made)[0]:
        if _is_array(leaf):
            continue
        what = type(leaf).__name__
        if isinstance(leaf, np.ndarray):
            what = f"NumPy array of {leaf.dtype}"
        raise RefusedError(
            f"The argument{jax.tree_util.keystr(path)} of {function.name} is a {what}.",
            "Arguments are arrays, numbers, and dicts, lists, tuples or registered"
            " classes of them; bind everything else with functools.partial.",
        )
    return Arguments(hosts=jax.tree.map(_to_host, made), size=size)


def draw(typed: Sequence[Spec], seed: int) -> tuple[Array, ...]:
    """Seeded random arrays, by the very lines that a script shows."""
    names = {"np": np, "ml_dtypes": ml_dtypes, "rng": np.random.default_rng(seed)}
    return tuple(eval(draw_code(spec.shape, spec.dtype), names) for spec in typed)


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


def _from_factory(
    function: Function, size: int, seed: int
) -> tuple[tuple[Any, ...], int]:
    factory = function.factory
    if factory is None:
        return _without_factory(function), size
    name = getattr(factory, "__name__", function.name + ARGS)
    takes = {one.name: one for one in parameters(factory) or ()}
    given = {"seed": seed} if takes.pop("seed", None) else {}
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    sized = next((one for one in takes.values() if one.kind in kinds), None)
    positional: tuple[int, ...] = (size,) if size else ()
    if sized is None and size:
        raise RefusedError(
            f"{name} takes no size.", "Leave --size out, or let it take one."
        )
    if sized is not None and not size:
        if sized.default is inspect.Parameter.empty:
            raise RefusedError(f"{name} needs a size.", "Give one, as in --size 1024.")
        size = sized.default if isinstance(sized.default, int) else 0
    made = factory(*positional, **given)
    if not isinstance(made, tuple):
        raise RefusedError(
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
        raise RefusedError(
            f"{function.name} takes no arguments, so XLA could compute its result once"
            " and for all while compiling it.",
            "Let it take its data as arguments.",
        )
    name = function.name
    raise RefusedError(
        f"{name} takes {', '.join(takes)}, and nothing says what to give it.",
        f"Define {name}{ARGS}(size) or {MAKE_ARGS}(size) beside it, which returns the"
        " tuple of its arguments, or give one --arg such as f32[1024,1024] for each.",
    )


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind not in NO_NUMBERS
    return isinstance(leaf, (jax.Array, *NUMBERS))


def _to_host(leaf: Any) -> Any:
    if isinstance(leaf, NUMBERS) or is_key(leaf):
        return leaf
    return misaligned_copy(np.asarray(leaf))
