"""Functions of the user's own: where they come from, and what stands beside them.

A function ``step`` may have neighbours in its module:

- ``step_args(size)``, or ``make_args(size)`` for every function of the module that has
  none of its own: returns the tuple of its arguments. Without a parameter it makes one
  size only; a parameter ``seed`` is given the seed of the run.
- ``step_numpy``: the same in NumPy, which makes the mode ``numpy`` possible.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax

from jaxtui.measure import settings
from jaxtui.measure.clocks import Call
from jaxtui.measure.ops import OPS, plugins
from jaxtui.measure.own import files
from jaxtui.measure.own.troubles import OwnError
from jaxtui.measure.settings import FileSettings
from jaxtui.model.own import ARGS, MAKE_ARGS, NUMPY, is_own, parts


@dataclass(frozen=True)
class Source:
    """A function that has not been loaded yet."""

    op: str
    """What a case calls it."""
    name: str
    """What its module calls it."""
    file: str
    """The file to which a traceback is cut; empty if it is not known yet."""
    load: Callable[[], ModuleType]
    """Imports the module."""
    module: str = ""
    """The name of the module, for one that an installed package offers."""


@dataclass(frozen=True)
class Function:
    """A function of the user's own, and its neighbours."""

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
        return of_file(op)
    if op in OPS:
        return None
    offered = plugins.offered().functions.get(op)
    return None if offered is None else of_module(op, *offered)


def of_file(op: str) -> Source:
    """The source of ``/path/to/file.py:name``."""
    path, name = parts(op)
    return Source(op=op, name=name, file=path, load=lambda: files.load(path))


def of_module(op: str, module: str, name: str) -> Source:
    """The source of a function that an installed package offers as ``op``."""
    spec = importlib.util.find_spec(module)
    return Source(
        op=op,
        name=name,
        file=(spec and spec.origin) or "",
        load=lambda: importlib.import_module(module),
        module=module,
    )


def find(source: Source) -> Function:
    """Import the module and look the function up.

    Raises:
        OwnError: There is no such function.
        BaseException: Whatever the import raises.
    """
    module = source.load()
    holder, last = _holder(module, source.name)
    call = getattr(holder, last, None)
    if call is None:
        raise _missing(module, source)
    if not callable(call) or isinstance(call, type):
        kind = "a class" if isinstance(call, type) else f"a {type(call).__name__}"
        raise OwnError(f"{source.name} is {kind}, not a function.", _defined(module))
    return Function(
        name=last,
        call=call,
        factory=_function(holder, last + ARGS) or _function(module, MAKE_ARGS),
        numpy=_function(holder, last + NUMPY),
        settings=of_settings(source),
    )


def load(source: Source, device: jax.Device | None) -> Function:
    """Import the file, with the case's device as JAX's default.

    Raises:
        OwnError: There is no such function.
        BaseException: Whatever the import raises.
    """
    place = jax.default_device(device) if device is not None else nullcontext()
    with of_settings(source), place:
        return find(source)


def of_settings(source: Source) -> FileSettings:
    """JAX's configuration as the code of that file or package sets it."""
    return settings.of_file(source.file or source.module)


def unseen(function: Function) -> Call:
    """The same as a function that JAX has not seen, so that nothing of it is cached."""
    call = function.call

    def unseen(*args: Any) -> Any:
        return call(*args)

    unseen.__name__ = unseen.__qualname__ = function.name
    if (takes := parameters(call)) is not None:
        # So that JAX and XLA call the arguments what the user's file calls them.
        unseen.__signature__ = inspect.Signature(takes)  # type: ignore[attr-defined]
    return unseen


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """What a function takes; ``None`` for one that does not say."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _holder(module: ModuleType, name: str) -> tuple[Any, str]:
    """What the last part of a dotted name is an attribute of."""
    *outer, last = name.split(".")
    holder: Any = module
    for part in outer:
        holder = getattr(holder, part, None)
    return holder, last


def _function(holder: Any, name: str) -> Callable[..., Any] | None:
    """A neighbour; ``args`` of a parser and the like are none."""
    found = getattr(holder, name, None)
    return found if callable(found) else None


def _missing(module: ModuleType, source: Source) -> OwnError:
    near = difflib.get_close_matches(source.name, defined(module), n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return OwnError(
        f"{module.__file__} has no {source.name}.", f"{_defined(module)}{hint}"
    )


def _defined(module: ModuleType) -> str:
    names = defined(module)
    return f"It defines {', '.join(names)}." if names else "It defines no function."


def defined(module: ModuleType) -> list[str]:
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
