"""Functions of a file, timed like ops of the catalogue.

A function is called as its author calls it. One that its file has jitted already is
what the mode ``jit`` times, as it is; the mode ``eager`` times the function inside.

A function ``step`` may have neighbours in its module:

- ``step_args(size)``, or ``make_args(size)`` for every function of the module that has
  none of its own: returns the tuple of its arguments, or a dict of them by name.
  Without a parameter it makes one size only; a parameter ``seed`` is given the seed of
  the run.
- ``step_numpy``: the same in NumPy, which makes the mode ``numpy`` possible.

Only ``workload``, the loops and inspections run their code, in the engine and as phases
of the case, so that what it does there (raise, print, hang, end the process) is the
affair of that case alone. An engine that ran such code runs nothing else afterwards.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import linecache
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from jaxtui.core.model import (
    Case,
    CaseStarted,
    Experiment,
    Inspection,
    Loop,
    PhaseStarted,
    Profiling,
    RunEvent,
    RunStarted,
    SourceCode,
)
from jaxtui.core.model.mesh import mesh_of
from jaxtui.core.model.own import (
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
from jaxtui.core.places import read_whole
from jaxtui.tasks import devices, settings
from jaxtui.tasks.errors import RefusedError, check_fault
from jaxtui.tasks.inputs import misaligned_copy
from jaxtui.tasks.ops.arguments import Array, draw_code
from jaxtui.tasks.waiting import Call

MODES = ("jit", "eager", "numpy")

PREFIX = "own_"
"""The prefix of module names, which shadow no other module."""

DIGITS = 16
"""Characters of a digest: enough for billions of versions."""


@dataclass(frozen=True)
class Source:
    op: str
    name: str
    """The function's name in its module."""
    file: str
    """The file to which a traceback is cut."""


@dataclass(frozen=True)
class Function:
    """A function that was imported, and its neighbours."""

    name: str
    call: Call
    factory: Callable[..., Any] | None
    """Makes its arguments."""
    numpy: Call | None
    """Does the same in NumPy."""
    arguments: Arguments | None = None
    """Arguments from a caller in this process, if not from a file."""


_registered: dict[str, Function] = {}
"""Functions of callers in this process, by op."""


@contextmanager
def registered(op: str, call: Call, args: tuple[Any, ...]) -> Iterator[None]:
    """Have an op be this function with these arguments for the length of the block."""
    arguments = Arguments(args, {}, 0) if args else None
    *_, name = op.rpartition(":")
    _registered[op] = Function(name, call, None, None, arguments)
    try:
        yield
    finally:
        del _registered[op]


def is_in_process(op: str) -> bool:
    """Return whether the function exists in this process alone."""
    return op in _registered


def source(op: str) -> Source | None:
    """Return the source of a case's function; ``None`` for an op of the catalogue."""
    if not is_own(op):
        return None
    path, name = parts(op)
    return Source(op, name, path)


def load(source: Source, device: jax.Device | None) -> Function:
    """Import the module, with the device of the case as JAX's default.

    Raises:
        RefusedError: There is no such function.
    """
    if (function := _registered.get(source.op)) is not None:
        return function
    place = jax.default_device(device) if device is not None else nullcontext()
    *outer, last = source.name.split(".")
    with place:
        module = load_file(source.file)
        holder: Any = module
        for part in outer:
            holder = getattr(holder, part, None)
        call = getattr(holder, last, None)
    if not callable(call):
        raise RefusedError.of(
            "function-missing",
            name=source.name,
            file=str(module.__file__),
            functions=tuple(_function_names(module)),
        )
    return Function(
        name=last,
        call=call,
        factory=_function(holder, last + ARGS) or _function(module, MAKE_ARGS),
        numpy=_function(holder, last + NUMPY),
    )


@dataclass(frozen=True)
class Jitted:
    """A function that is jitted already, and what is bound to it."""

    function: Any
    """The object that ``jax.jit``, ``nnx.jit``, ``eqx.filter_jit`` or ``jax.pmap``
    made."""
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    @property
    def inside(self) -> Call | None:
        """The function that it compiles, to be called op by op, if it shows one.

        Of a plain function with a ``lower``, as of ``jax.pmap``, nobody knows how that
        differs from what is compiled: its arguments may have other shapes.
        """
        mapped = type(self.function).__name__ == "PmapFunction"
        inside = getattr(self.function, "__wrapped__", None)
        if mapped or isinstance(self.function, FunctionType) or inside is None:
            return None
        return partial(inside, *self.args, **self.keywords)


def jitted(call: Any) -> Jitted | None:
    """Return the jitted part of a function; ``None`` if nothing is jitted.

    Bound methods and partial functions are looked through: their own ``lower`` is that
    of the function, which knows nothing of what is bound to it.
    """
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    while True:
        if isinstance(call, MethodType):
            call, args = call.__func__, (call.__self__, *args)
        elif all(hasattr(call, name) for name in ("func", "args", "keywords")):
            # Also equinox has a partial of its own.
            args, keywords = (*call.args, *args), {**call.keywords, **keywords}
            call = call.func
        else:
            break
    compiled = isinstance(call, jax.stages.Compiled)
    if not compiled and not callable(getattr(call, "lower", None)):
        return None
    return Jitted(call, args, keywords)


def fresh(function: Function) -> Call:
    """Return the function as one that JAX has not seen, so that nothing of it is
    cached.

    It is there to be traced, and raises ``RefusedError`` where a compiled program would
    leave out what the function does.
    """
    call, name = function.call, function.name

    def unseen(*args: Any, **keywords: Any) -> Any:
        before = jax.tree.leaves((args, keywords))
        result = call(*args, **keywords)
        after = jax.tree.leaves((args, keywords))
        if [*map(id, before)] != [*map(id, after)]:
            raise RefusedError.of("changes-arguments", name=name)
        return result

    unseen.__name__ = unseen.__qualname__ = function.name
    # So that JAX calls the arguments what the file calls them, and names its lines.
    unseen.__wrapped__ = call  # type: ignore[attr-defined]
    return unseen


def eager(function: Function) -> Call:
    """Return the callable of the mode ``eager``: for a jitted function the one
    inside.

    Raises:
        RefusedError: It shows none.
    """
    compiled = jitted(function.call)
    if compiled is None:
        return function.call
    if (inside := compiled.inside) is None:
        facts = {"name": function.name}
        raise RefusedError.of("no-eager-function", **facts)
    return inside


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """Return a function's parameters; ``None`` if it has no signature."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _function(holder: Any, name: str) -> Callable[..., Any] | None:
    """A neighbour; ``args`` of a parser and the like are none."""
    member = getattr(holder, name, None)
    return member if callable(member) else None


def _function_names(module: ModuleType) -> list[str]:
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
"""By path: the content that was imported, and its module."""

_broken: dict[str, tuple[bytes, BaseException]] = {}
"""By path: the content that was imported before JAX started, and its exception."""


alone = ""
"""The file that has set something for this whole process before JAX started."""


@contextmanager
def undone() -> Iterator[None]:
    """A scope after which this process is as if no file had been imported in it."""
    searched = [*sys.path]
    with settings.restored():
        try:
            yield
        finally:
            sys.path[:] = searched
            for _, module in _loaded.values():
                if module.__name__.startswith(PREFIX):
                    sys.modules.pop(module.__name__, None)
            _loaded.clear()


def imports(work: Experiment | Inspection | Loop | Profiling) -> Iterator[RunEvent]:
    """Import the files of a work before JAX starts, as ``python train.py`` would.

    What a file sets then means what it says: ``XLA_FLAGS``, ``jax_num_cpu_devices``,
    ``jax.distributed.initialize``. What it raises is raised again when its case has its
    turn.
    """
    global alone
    before, many = settings.state(), isinstance(work, Experiment)
    cases = work.cases if isinstance(work, Experiment) else (work.case,)
    budget = 0.0 if isinstance(work, (Inspection, Profiling)) else work.budget
    yield RunStarted(cases=cases if many else (), budget_seconds=budget)
    first = {parts(case.op)[0]: n for n, case in reversed([*enumerate(cases)])}
    for path, index in sorted(first.items(), key=lambda item: item[1]):
        if not is_own(cases[index].op):
            continue
        if many:
            yield CaseStarted(index=index, case=cases[index])
            yield PhaseStarted(index=index, phase="import")
        load_before(path)
        if settings.state().differs(before):
            alone = path
            return


def load_before(path: str) -> None:
    """Import a file before JAX starts; what that raises is kept for ``load_file``."""
    searched = [*sys.path]
    try:
        load_file(path)
    except BaseException as error:
        check_fault(error)
        with suppress(RefusedError):
            _broken[path] = read(path), error
    # JAX itself still looks for packages.
    sys.path += [folder for folder in searched if folder not in sys.path]


def load_file(path: str) -> ModuleType:
    """The module of a file.

    Its folder comes first on ``sys.path``, as with ``python file.py``, so that it finds
    what lies beside it; one of a package is imported as the module of it. Its
    ``__name__`` is not ``__main__``. A file that has changed is imported afresh; what
    it imports itself is as old as this process.

    Raises:
        RefusedError: The file cannot be read.
    """
    content = read(path)
    cached = _loaded.get(path)
    if cached is not None and cached[0] == content:
        return cached[1]
    if path in _broken and _broken[path][0] == content:
        raise _broken[path][1]
    linecache.checkcache(path)
    before = settings.state()
    module = _import_member(path) or _execute(path, content)
    settings.read_variables(before)
    _loaded[path] = content, module
    return module


def member(path: str) -> tuple[str, str] | None:
    """The folder that is searched for the package of a file, and the module's name.

    ``None`` for a file in no package, which is one whose folder has ``__init__.py``.
    """
    folder, file = os.path.split(path)
    names = [file.removesuffix(".py")]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    if len(names) == 1 or not all(map(str.isidentifier, names)):
        return None
    return folder, ".".join(names).removesuffix(".__init__")


def _import_member(path: str) -> ModuleType | None:
    """The module of a file of a package; ``None`` if it is of none.

    Raises:
        ImportError: Another package of that name is in use here.
    """
    value = member(path)
    if value is None:
        return None
    root, name = value
    # What lies beside it is found as well, if nothing else has that name.
    for place, folder in ((0, root), (len(sys.path) + 1, os.path.dirname(path))):
        if folder not in sys.path:
            sys.path.insert(place, folder)
    if path in _loaded:
        sys.modules.pop(name, None)
    module = importlib.import_module(name)
    if os.path.realpath(str(module.__file__)) != os.path.realpath(path):
        raise ImportError(f"{name}: {module.__file__}")
    return module


def _execute(path: str, content: bytes) -> ModuleType:
    code = compile(content, path, "exec")
    stem = os.path.basename(path).removesuffix(".py")
    digest = hashlib.sha256(path.encode(errors="replace") + b"\0" + content)
    # A name that hides no other module, whatever the file is called.
    module = ModuleType(f"{PREFIX}{stem}_{digest.hexdigest()[:8]}")
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
    return module


def file_of(case: Case) -> str:
    """The file of a case's function; empty for an op of the catalogue."""
    return parts(case.op)[0] if is_own(case.op) else ""


def source_code(op: str) -> SourceCode | None:
    """A digest of the file of a function as it was loaded; ``None`` for other ops."""
    path = parts(op)[0] if is_own(op) else ""
    if op in _registered or path not in _loaded:
        return None
    return SourceCode(digest=hashlib.sha256(_loaded[path][0]).hexdigest()[:DIGITS])


def read(path: str) -> bytes:
    """The content of a file.

    Raises:
        RefusedError: It is not there, or cannot be read as in ``places.read_whole``.
    """
    try:
        return read_whole(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise RefusedError.of("file-missing", file=path) from None
        raise RefusedError.of(
            "file-unreadable", file=path, why=error.strerror
        ) from error


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
    if is_own(case.op) and not is_in_process(case.op):
        read(parts(case.op)[0])
    if case.mode not in MODES:
        raise RefusedError.of("mode-missing", op=name, mode=case.mode, modes=MODES)
    if case.precision != "default":
        raise RefusedError.of("own-precision", op=name)
    try:
        typed = specs(case)
    except ValueError:
        raise RefusedError.of(
            "arguments-invalid", arguments=str((case.params or {}).get(ARGUMENTS, ""))
        ) from None
    if typed and case.size:
        raise RefusedError.of("size-beside-arguments", op=name)


def input_bytes(case: Case) -> int:
    """Bytes of the arguments on each device, as far as they are known before any code
    has run.
    """
    sizes = mesh_of(case.params, 1).sizes if case.on_mesh else {}
    return sum(
        spec.nbytes // math.prod(sizes.get(axis, 1) for axis in spec.axes)
        for spec in specs(case)
    )


# The arguments: whatever a function takes. Arrays of NumPy among them are put on the
# device, and all else is left as its file has made it.

NUMBERS = (bool, int, float, complex, np.generic)
"""Leaves that are no arrays; JAX takes them as arrays without a shape."""

NO_NUMBERS = "OSUMm"
"""Kinds of NumPy arrays that JAX does not take: objects, texts, dates."""

WIDE = ("float64", "complex128", "int64", "uint64")
"""The dtypes that JAX narrows unless 64-bit types are on."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call."""

    args: tuple[Any, ...]
    keywords: dict[str, Any]
    size: int
    """The size that the factory was given, 0 if it takes none."""

    @property
    def leaves(self) -> list[Any]:
        return jax.tree.leaves((self.args, self.keywords))

    @property
    def arrays(self) -> list[Any]:
        """The leaves that NumPy can hold too."""
        return [leaf for leaf in self.leaves if is_array(leaf) and not is_key(leaf)]

    def map(self, change: Callable[[Any], Any]) -> Arguments:
        """Return the arguments with other leaves; an argument of which none changes is
        kept.

        A copy of a module is not the module that an optimizer knows.
        """

        def changed(arg: Any) -> Any:
            leaves, structure = jax.tree.flatten(arg)
            new = [change(leaf) for leaf in leaves]
            same = all(
                before is after for before, after in zip(leaves, new, strict=True)
            )
            return arg if same else jax.tree.unflatten(structure, new)

        keywords = {name: changed(arg) for name, arg in self.keywords.items()}
        return Arguments(tuple(map(changed, self.args)), keywords, self.size)


class CopiedArguments(Sequence[Any]):
    """Arguments of calls that use some of them up, as a donation does.

    Whoever takes all of them (``f(*args)``) is given fresh copies of those, which are
    ready; the others are the same each time.

    Args:
        args: the originals, which no call is given.
        used: the indices of those that a call uses up.
    """

    def __init__(self, args: tuple[Any, ...], used: tuple[int, ...]) -> None:
        self.used = used
        self._args = args

    @property
    def nbytes(self) -> int:
        """Bytes that are copied for one call."""
        used = [self._args[index] for index in self.used]
        return sum(leaf.nbytes for leaf in jax.tree.leaves(used) if is_array(leaf))

    def __len__(self) -> int:
        return len(self._args)

    def __getitem__(self, index: Any) -> Any:
        return self._args[index]

    def __iter__(self) -> Iterator[Any]:
        fresh_args = list(self._args)
        for index in self.used:
            fresh_args[index] = jax.tree.map(
                lambda x: _copy(x) if is_jax(x) else x, fresh_args[index]
            )
        jax.block_until_ready([fresh_args[index] for index in self.used])
        return iter(fresh_args)


def _copy(array: jax.Array) -> jax.Array:
    """A copy where the array is, and as committed to that place.

    XLA makes it, as it makes what a loop gives to its next call: with copies that the
    host made, flax and equinox steps took 6 % longer.
    """
    copy: jax.Array = array.copy()
    if copy.sharding == array.sharding:
        return copy
    # A mesh of the file draws what it computes to its devices.
    placed: jax.Array = jax.device_put(array, may_alias=False)
    return placed


def used_up(args: Sequence[Any]) -> tuple[int, ...]:
    """The indices of the arguments that a call has used up."""
    return tuple(
        index
        for index, arg in enumerate(args)
        if any(leaf.is_deleted() for leaf in jax.tree.leaves(arg) if is_jax(leaf))
    )


def make(function: Function, case: Case, seed: int) -> Arguments:
    """Call the factory, or draw what was typed.

    Raises:
        RefusedError: There are none.
    """
    if typed := specs(case):
        return Arguments(draw(typed, seed), {}, case.size)
    if function.arguments is not None:
        # A donation must not take what the caller goes on with.
        return function.arguments.map(
            lambda x: jax.device_put(x, may_alias=False) if is_jax(x) else x
        )
    return _from_factory(function, case.size, seed)


def settle(
    function: Function, case: Case, arguments: Arguments, device: jax.Device
) -> Arguments:
    """The arguments where calls of a case find them."""
    if case.inputs == "host":
        return arguments.map(lambda leaf: to_host(leaf) if is_array(leaf) else leaf)
    wrapped = case.mode == "jit" and jitted(function.call) is None

    def placed(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and is_array(leaf):
            # Not committed: a function may bring a mesh of its own.
            return jax.device_put(misaligned_copy(leaf))
        if wrapped and isinstance(leaf, NUMBERS):
            return jax.device_put(leaf)
        there = leaf.sharding.device_set if is_jax(leaf) else ()
        # What its file has spread over devices stays there.
        if len(there) == 1 and device not in there:
            return jax.device_put(leaf, device)
        return leaf

    return arguments.map(placed)


def static(arguments: Arguments) -> dict[str, Any]:
    """The options of ``jax.jit`` under which it takes these arguments."""
    options: dict[str, Any] = {}
    numbers = [n for n, arg in enumerate(arguments.args) if _is_static(arg)]
    names = [name for name, arg in arguments.keywords.items() if _is_static(arg)]
    if numbers:
        options["static_argnums"] = numbers
    if names:
        options["static_argnames"] = names
    return options


def _is_static(arg: Any) -> bool:
    leaves, structure = jax.tree.flatten(arg)
    return jax.tree_util.treedef_is_leaf(structure) and not takes(leaves[0])


def takes(leaf: Any) -> bool:
    """Return whether ``jax.jit`` takes a leaf: an array, a number, or a ``Ref``."""
    if isinstance(leaf, (jax.Array, np.ndarray, *NUMBERS)):
        return is_array(leaf) or isinstance(leaf, NUMBERS)
    # Without ``typeof`` there are no refs either.
    read = getattr(jax, "typeof", None)
    return read is not None and devices.probe(lambda: read(leaf)) is not None


def draw(typed: Sequence[Spec], seed: int) -> tuple[Array, ...]:
    """Seeded random arrays, by the very lines that a script shows."""
    names = {"np": np, "ml_dtypes": ml_dtypes, "rng": np.random.default_rng(seed)}
    return tuple(eval(draw_code(spec.shape, spec.dtype), names) for spec in typed)


def dtype_of(leaves: Sequence[Any]) -> str:
    """The dtype of the first floating-point leaf, or else of the first array."""
    dtypes = [x.dtype for x in leaves if is_array(x) or isinstance(x, np.generic)]
    floating = [dtype for dtype in dtypes if jnp.issubdtype(dtype, np.floating)]
    return str((floating or dtypes or [""])[0])


def is_key(leaf: Any) -> bool:
    """Return whether a leaf is a typed key, which NumPy cannot hold."""
    return isinstance(leaf, jax.Array) and bool(
        jnp.issubdtype(leaf.dtype, jax.dtypes.extended)
    )


def _from_factory(function: Function, size: int, seed: int) -> Arguments:
    factory = function.factory
    if factory is None:
        return _without_factory(function)
    named = {param.name: param for param in parameters(factory) or ()}
    seeding = {"seed": seed} if named.pop("seed", None) or seed else {}
    result = factory(*([size] if size else ()), **seeding)
    first = next(iter(named.values()), None)
    if first and first.kind != first.KEYWORD_ONLY and isinstance(first.default, int):
        size = size or first.default
    if isinstance(result, dict) and all(isinstance(name, str) for name in result):
        args, keywords = by_name(function, result)
        return Arguments(args, keywords, size)
    return Arguments(result if isinstance(result, tuple) else (result,), {}, size)


def by_name(
    function: Function, arguments: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by name as a call has them: by position as far as that goes."""
    args: list[Any] = []
    unused = dict(arguments)
    for param in parameters(function.call) or ():
        positional = param.kind in (param.POSITIONAL_ONLY, param.POSITIONAL_OR_KEYWORD)
        if not positional or param.name not in unused:
            break
        args.append(unused.pop(param.name))
    return tuple(args), unused


def _without_factory(function: Function) -> Arguments:
    required = [
        param.name
        for param in parameters(function.call) or ()
        if param.default is inspect.Parameter.empty
        and param.kind not in (param.VAR_POSITIONAL, param.VAR_KEYWORD)
    ]
    if not required:
        return Arguments((), {}, 0)
    raise RefusedError.of(
        "arguments-missing", name=function.name, required=tuple(required)
    )


def is_jax(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array)


def is_array(leaf: Any) -> bool:
    """Return whether a leaf is an array of NumPy or JAX that holds numbers."""
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind not in NO_NUMBERS
    return is_jax(leaf)


def to_host(leaf: Any) -> Any:
    """An array as NumPy's, of which a transfer really copies; a key stays as it is."""
    return leaf if is_key(leaf) else misaligned_copy(np.asarray(leaf))
