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

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import linecache
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax

from jaxtui.measure import settings
from jaxtui.measure.clocks import Call
from jaxtui.measure.ops import OPS, plugins
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

MODES = ("jit", "eager", "numpy")

Wrong = tuple[str, str]
"""What is wrong, and what to do about it."""


class OwnError(Exception):
    """A function of a file cannot be timed; says why."""

    def __init__(self, error: str, hint: str = "") -> None:
        """Take the two sentences of a failure."""
        super().__init__(error)
        self.error = error
        self.hint = hint


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
        return Source(op=op, name=name, file=path, load=lambda: load_file(path))
    offered = None if op in OPS else plugins.offered().functions.get(op)
    if offered is None:
        return None
    module, name = offered
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
    *outer, last = source.name.split(".")
    holder: Any = module
    for part in outer:
        holder = getattr(holder, part, None)
    call = getattr(holder, last, None)
    names = defined(module)
    there = f"It defines {', '.join(names)}." if names else "It defines no function."
    if call is None:
        near = difflib.get_close_matches(source.name, names, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise OwnError(f"{module.__file__} has no {source.name}.", there + hint)
    if not callable(call) or isinstance(call, type):
        kind = "a class" if isinstance(call, type) else f"a {type(call).__name__}"
        raise OwnError(f"{source.name} is {kind}, not a function.", there)
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


def _function(holder: Any, name: str) -> Callable[..., Any] | None:
    """A neighbour; ``args`` of a parser and the like are none."""
    found = getattr(holder, name, None)
    return found if callable(found) else None


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


_loaded: dict[str, tuple[bytes, ModuleType]] = {}
"""By path: the content that was imported, and what came of it."""


def load_file(path: str) -> ModuleType:
    """The module of a file.

    Its folder comes first on ``sys.path``, as with ``python file.py``, so that it finds
    what lies beside it. Its ``__name__`` is not ``__main__``. A file that has changed
    is imported afresh; what it imports itself is as old as this process.

    Raises:
        OwnError: The file cannot be read.
        BaseException: Whatever the file raises.
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


def read(path: str) -> bytes:
    """The content of a file.

    Raises:
        OwnError: It is not there, no file, or may not be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise OwnError(
            f"{path} cannot be read: {error.strerror}.",
            "Name a Python file, as in train.py:step.",
        ) from error


def specs(case: Case) -> tuple[Spec, ...]:
    """The arguments of a case that were typed, if any.

    Raises:
        ValueError: They make no sense.
    """
    return parse_specs(str((case.params or {}).get(ARGUMENTS, "")))


def check(case: Case) -> Wrong | None:
    """What is wrong with a case before any code has run, or ``None``.

    The file is not imported: that is left to the run, which can be stopped.
    """
    name = short_name(case.op)
    if is_own(case.op) and not os.path.isfile(parts(case.op)[0]):
        return (
            f"There is no file {parts(case.op)[0]}.",
            "Name a Python file and a function of it, as in train.py:step.",
        )
    if case.mode not in MODES:
        return f"{name} has no mode {case.mode}.", f"It has {', '.join(MODES)}."
    if case.precision != "default":
        return (
            f"{name} takes no precision.",
            "Set it in the function itself, as with jax.default_matmul_precision.",
        )
    try:
        typed = specs(case)
    except ValueError as error:
        return str(error), "Arguments are typed as --arg f32[1024,1024]."
    if typed and case.size:
        return (
            f"{name} has no size: its arguments were typed.",
            "Leave --size out, or the --arg.",
        )
    return None


def input_bytes(case: Case) -> int:
    """Bytes of the arguments, as far as they are known before any code has run."""
    return sum(spec.nbytes for spec in specs(case))
