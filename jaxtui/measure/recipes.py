"""What plain Python needs to do what a case does: its texts, and the modules they use.

``jaxtui.scripts`` joins them. The op's function is the function that is timed: its own
source, without the docstring, the annotations and the branches that this case does not
take. A function of a file is imported from there; only its source is read here.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import jax

from jaxtui.measure import ops, own
from jaxtui.measure.errors import RefusedError
from jaxtui.measure.inputs import numpy_dtype
from jaxtui.measure.ops.arguments import FOREIGN, as_dtype, draw_code
from jaxtui.measure.ops.base import Op
from jaxtui.measure.own import WIDE
from jaxtui.model import COMPILED_MODES, Case, Recipe
from jaxtui.model.own import ARGS, MAKE_ARGS, NUMPY

COLUMNS = 88

MODULES = {
    *("functools", "importlib", "jax", "jnp", "lax", "ml_dtypes", "np"),
    *("runpy", "sys", "tf", "tnp", "types"),
}
"""What texts may use beside their own names; ``jaxtui.scripts`` imports them."""

NEEDS_DEVICES = "# {} exists with JAX_NUM_CPU_DEVICES={} in the environment."
INTERPRETED = "# On a CPU Pallas interprets the kernel: the times mean nothing."

TO_NUMPY = (
    "args = jax.tree.map(lambda x: np.array(x) if isinstance(x, jax.Array) else x,"
    " args)"
)
TO_DEVICE = (
    "args = jax.tree.map(lambda x: jax.device_put(x) if isinstance(x, np.ndarray)"
    " else x, args)"
)
"""What a file has made with JAX stays where that has put it."""

FRESH = """\
made = args

class Fresh:
    \"""A call may donate its arguments: each is given copies.\"""
    def __iter__(self):
        copies = jax.tree.map(
            lambda x: x.copy() if isinstance(x, jax.Array) else x, tuple(made)
        )
        return iter(jax.block_until_ready(copies))

args = Fresh()"""


LOOK = """\

def jitted(f):
    \"""What the file has jitted stays as it is.\"""
    return f if hasattr(getattr(f, "func", f), "lower") else jax.jit(f)

def inside(f):
    \"""The function that runs op by op.\"""
    if isinstance(f, types.MethodType):
        return inside(f.__func__).__get__(f.__self__)
    if hasattr(f, "func"):
        return functools.partial(inside(f.func), *f.args, **f.keywords)
    return f.__wrapped__ if hasattr(f, "lower") else f"""
"""Of a function of a file, for the modes jit and eager."""


def recipe(case: Case, seed: int = 0) -> Recipe:
    """How to run a case that can run here."""
    source = own.source(case.op)
    if source is None:
        return _of_op(ops.get(case.op), case, seed)
    return _of_file(source, case, seed)


def _of_op(op: Op, case: Case, seed: int) -> Recipe:
    form = op.forms[case.mode]
    name = op.name if case.mode in ("jit", "eager") else f"{case.mode}_{op.name}"
    options: dict[str, Any] = {}
    if form is op.jax and op.takes_precision:
        options = {"precision": None if case.precision == "default" else case.precision}
    elif case.mode == "pallas":
        options = {"platform": case.platform}
    elif case.mode == "tensorflow":
        options = {"tnp": ast.Name("tnp", ast.Load())}
    made = op.arguments(case.size)
    dtypes = [one.dtype(case.dtype) for one in made]
    codes = [one.code(case.dtype, seed) for one in made]
    if case.on_host:
        dtypes = [numpy_dtype(dtype) for dtype in dtypes]
        codes = [one.numpy_code(case.dtype, seed) for one in made]
    known = [
        SimpleNamespace(shape=one.shape, size=one.elements(), dtype=as_dtype(dtype))
        for one, dtype in zip(made, dtypes, strict=True)
    ]
    names = [one for one in inspect.signature(form).parameters if one not in options]
    lines = _draw(names[: len(codes)], codes, seed, _place(case))
    if case.mode == "tensorflow":
        lines.insert(0, 'tf.config.set_visible_devices([], "GPU")')
    return _recipe(
        case,
        name,
        function=source_of(form, name, options, known),
        arguments=lines,
        wide=case.dtype == "float64",
    )


def _of_file(source: own.Source, case: Case, seed: int) -> Recipe:
    typed = own.specs(case)
    if typed:
        codes = [draw_code(one.shape, one.dtype) for one in typed]
        if case.on_host:
            codes = [
                f"{code}.astype(np.float32)" if one.dtype in FOREIGN else code
                for code, one in zip(codes, typed, strict=True)
            ]
        names = [f"x{number}" for number in range(len(codes))]
        arguments = _draw(names, codes, seed, _place(case))
    else:
        arguments = [_factory(source, case, seed)]
        host = case.on_host or case.inputs == "host"
        arguments.append(TO_NUMPY if host else TO_DEVICE)
    named = not typed and _makes_names(source)
    if named:
        arguments.append("keywords, args = args, ()")
    elif not case.on_host and b"donat" in _text(source):
        arguments.append(FRESH)
    return _recipe(
        case,
        f"own.{source.name}{NUMPY if case.on_host else ''}",
        function=f"{_import(source)}\n{LOOK}",
        arguments=arguments,
        wide=any(one.dtype in WIDE for one in typed),
        tree=True,
        named=named,
    )


def _recipe(
    case: Case,
    name: str,
    *,
    function: str,
    arguments: Sequence[str],
    wide: bool,
    tree: bool = False,
    named: bool = False,
) -> Recipe:
    call, wait = name, "lambda result: result.block_until_ready()"
    remarks, settings = [], []
    if case.on_host:
        wait = "lambda result: None"
    else:
        device, index = _device(case)
        if device != jax.devices()[0] and (tree or case.inputs == "host"):
            # Neither says by itself where it wants to be computed.
            settings.append(("jax_default_device", _device_code(case)))
        if wide:
            settings.append(("jax_enable_x64", "True"))
        if case.platform == "cpu" and index:
            remarks.append(NEEDS_DEVICES.format(case.device, index + 1))
        if case.mode == "pallas" and case.platform == "cpu":
            remarks.append(INTERPRETED)
        if tree and case.mode == "jit":
            # What its file has jitted is called as it is.
            call = f"jitted({name})"
        elif tree:
            call = f"inside({name})"
        elif case.mode in COMPILED_MODES:
            call = f"jax.jit({name})"
        if case.mode not in COMPILED_MODES and case.inputs == "host":
            # NumPy's own operators would do the work on arguments that were not sent.
            put = f"jax.device_put(args, {_device_code(case)})"
            call = f"lambda *args, f={call}: f(*{put})"
        if tree:
            wait = "jax.block_until_ready"
    if named:
        call = f"functools.partial({call}, **keywords)"
    return Recipe(
        modules=tuple(sorted({"np"} | _modules(function, *arguments, call, wait))),
        remarks=tuple(remarks),
        settings=tuple(settings),
        name="own" if tree else name,
        function=function,
        arguments=tuple(arguments),
        call=call,
        wait=wait,
        tree=tree,
    )


def _device(case: Case) -> tuple[jax.Device | None, int]:
    platform, _, number = case.device.partition(":")
    for index, device in enumerate(jax.devices(platform)):
        if device.id == int(number):
            return device, index
    return None, int(number)


def _device_code(case: Case) -> str:
    return f'jax.devices("{case.platform}")[{_device(case)[1]}]'


def _place(case: Case) -> str:
    """How a list of NumPy arrays becomes the arguments."""
    if case.mode == "tensorflow":
        return "[tf.constant(each) for each in {}]"
    resident = not case.on_host and case.inputs == "device"
    return f"jax.device_put({{}}, {_device_code(case)})" if resident else "{}"


def _draw(
    names: Sequence[str], codes: Sequence[str], seed: int, place: str
) -> list[str]:
    """The lines that draw arguments under their names, and put them in their place."""
    rng = f"np.random.default_rng({seed})"
    lines: list[str] = []
    if len(codes) > 1 and len(set(codes)) == 1:
        lines = [f"{', '.join(names)} = ({codes[0]} for _ in range({len(codes)}))"]
    if not lines or len(lines[0]) > COLUMNS:
        lines = [f"{name} = {code}" for name, code in zip(names, codes, strict=True)]
    if len(lines) == len(codes) == 1 and lines[0].count("rng.") == 1:
        brief = lines[0].replace("rng.", f"{rng}.")
        if len(brief) <= COLUMNS:
            lines = [brief]
    if any("rng." in line for line in lines):
        lines.insert(0, f"rng = {rng}")
    return [*lines, f"args = {place.format('[' + ', '.join(names) + ']')}"]


def _modules(*texts: str) -> set[str]:
    """Those that the texts use."""
    nodes = ast.walk(ast.parse("\n".join(texts)))
    return MODULES & {node.id for node in nodes if isinstance(node, ast.Name)}


def _import(source: own.Source) -> str:
    """The lines that import a file as ``own``."""
    if source.module:
        return f"own = importlib.import_module({source.module!r})"
    if (found := own.member(source.file)) is not None:
        root, module = found
        return (
            f"sys.path.insert(0, {root!r})\nown = importlib.import_module({module!r})"
        )
    # Not by its name, which may be that of another module, or none.
    return (
        f"sys.path.insert(0, {os.path.dirname(source.file)!r})\n"
        f"own = types.SimpleNamespace(**runpy.run_path({source.file!r}))"
    )


def _factory(source: own.Source, case: Case, seed: int) -> str:
    """The line that calls the factory, as far as the file's text tells which it is."""
    defined = _definitions(source)
    last = source.name.rpartition(".")[2]
    makes_all = last + ARGS not in defined and MAKE_ARGS in defined
    factory = MAKE_ARGS if makes_all else source.name + ARGS
    given = [str(case.size)] if case.size else []
    if "seed" in defined.get(factory.rpartition(".")[2], ()):
        given.append(f"seed={seed}")
    return f"args = own.{factory}({', '.join(given)})"


def _makes_names(source: own.Source) -> bool:
    """Whether the factory, by its text, returns a dict of arguments by name."""
    try:
        tree = ast.parse(_text(source))
    except (SyntaxError, ValueError):
        return False
    last = source.name.rpartition(".")[2]
    found = {x.name: x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef)}
    factory = found.get(last + ARGS) or found.get(MAKE_ARGS)
    return factory is not None and any(
        isinstance(node, ast.Return) and isinstance(node.value, ast.Dict)
        for node in ast.walk(factory)
    )


def _text(source: own.Source) -> bytes:
    """The text of a file; empty if it cannot be read."""
    try:
        return own.read(source.file) if source.file else b""
    except RefusedError:
        return b""


def _definitions(source: own.Source) -> dict[str, tuple[str, ...]]:
    """The functions of a file with the names of their parameters, as it is written."""
    try:
        tree = ast.parse(_text(source))
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            taken = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            found[node.name] = tuple(one.arg for one in taken)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {one.asname or one.name: () for one in node.names}
        elif isinstance(node, ast.Assign):
            names = (one.id for one in node.targets if isinstance(one, ast.Name))
            found |= dict.fromkeys(names, ())
    return found


def source_of(
    function: Callable[..., Any],
    name: str,
    options: Mapping[str, Any] | None = None,
    args: Sequence[Any] = (),
) -> str:
    """The source of a function under another name.

    It is bare of docstring and annotations. It is what ``inspect`` finds, so that the
    printed function cannot differ from the one that runs.

    Args:
        function: a plain function.
        name: what it shall be called.
        options: parameters that are left out, and what stands in their places: a
            constant or an expression.
        args: its first arguments, or what has their shape and dtype. What is known of
            them decides tests, and branches that are not taken are left out.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    outer = _Stripper().visit(tree).body[0]
    if not isinstance(outer, ast.FunctionDef):
        raise TypeError(f"{function!r} is not a plain function")
    outer.name = name
    if args:
        known = dict(zip(inspect.signature(function).parameters, args, strict=False))
        _Specializer(function.__globals__, known, options or {}).settle(outer)
    return ast.unparse(ast.fix_missing_locations(tree)).replace(":\n\n", ":\n")


class _Stripper(ast.NodeTransformer):
    """Drops docstrings and annotations."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return ast.Assign(targets=[node.target], value=node.value)


class _Specializer(ast.NodeTransformer):
    """Decides tests of what is known, and puts constants in the places of names."""

    def __init__(
        self,
        scope: Mapping[str, Any],
        known: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> None:
        self._scope, self._known = dict(scope), dict(known)
        self._values: dict[str, ast.expr] = {
            name: value if isinstance(value, ast.expr) else ast.Constant(value)
            for name, value in options.items()
        }

    def settle(self, function: ast.FunctionDef) -> None:
        """Rewrite a function; those inside of it keep their tests."""
        taken = function.args
        least = len(taken.args) - len(taken.defaults)
        kept = [n for n, one in enumerate(taken.args) if one.arg not in self._values]
        taken.defaults = [taken.defaults[n - least] for n in kept if n >= least]
        taken.args = [taken.args[n] for n in kept]
        function.body = self._all(function.body)
        match function.body:
            case [
                *before,
                ast.Assign(targets=[ast.Name(id=name)], value=value),
                ast.Return(value=ast.Name(id=returned)),
            ] if name == returned:
                function.body = [*before, ast.Return(value)]

    def _all(self, nodes: Sequence[ast.stmt]) -> list[Any]:
        made: list[Any] = []
        for node in nodes:
            found = self.visit(node)
            made += found if isinstance(found, list) else [found] if found else []
        return made

    def _truth(self, node: ast.expr) -> bool | None:
        """What a test comes to; ``None`` if that is not known."""
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval")
        try:
            value = eval(code, self._scope, self._known)
        except Exception:
            return None
        return bool(value) if type(value).__name__ in ("bool", "bool_") else None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._values.get(node.id, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        truth = self._truth(node)
        return node if truth is None else ast.Constant(truth)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        known = ast.unparse(node.func).endswith("np.issubdtype")
        truth = self._truth(node) if known else None
        return node if truth is None else ast.Constant(truth)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        truth = self._truth(node.test)
        return node if truth is None else node.body if truth else node.orelse

    def visit_If(self, node: ast.If) -> Any:
        truth = self._truth(self.visit(node.test))
        if truth is None:
            return self.generic_visit(node)
        return self._all(node.body if truth else node.orelse)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        node.value = self.visit(node.value)
        (target,) = node.targets
        if not isinstance(target, ast.Name):
            return node
        self._known.pop(target.id, None)
        if isinstance(node.value, (ast.Constant, ast.Attribute)):
            self._values[target.id] = node.value
            return None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        known, self._known = self._known, {}
        self.generic_visit(node)
        self._known = known
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        self.generic_visit(node)
        default = isinstance(node.value, ast.Constant) and node.value.value is None
        return None if default else node

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        needless = ast.unparse(node.items[0]) == "jax.default_matmul_precision(None)"
        return node.body if needless else node
