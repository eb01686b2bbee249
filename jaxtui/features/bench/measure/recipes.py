"""The parts of a script that does what a case does: its texts, and what they import.

``features.bench.scripts`` joins them. The op's function is the function that is timed:
its own source, without docstrings and annotations. A function of a file is imported
from there; only its source is read here.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxtui.core.model import Case, Recipe
from jaxtui.core.model.own import ARGS, MAKE_ARGS, NUMPY
from jaxtui.tasks import devices, ops, own
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.ops.arguments import FOREIGN, draw_code
from jaxtui.tasks.ops.base import Op
from jaxtui.tasks.own import WIDE

COLUMNS = 88

MODES = ("jit", "eager", "numpy")

MODULES = {
    *("functools", "importlib", "jax", "jnp", "lax", "ml_dtypes", "np"),
    *("runpy", "sys", "types"),
}
"""Modules that the texts may use; ``jaxtui.features.bench.scripts`` imports them."""

TO_NUMPY = (
    "args = jax.tree.map(lambda x: np.array(x) if isinstance(x, jax.Array) else x,"
    " args)"
)
TO_DEVICE = (
    "args = jax.tree.map(lambda x: jax.device_put(x) if isinstance(x, np.ndarray)"
    " else x, args)"
)
"""Code that sends NumPy arrays; arrays made by JAX stay on their device."""


def recipe(case: Case, seed: int = 0) -> Recipe | None:
    """Return the code that runs a case here; ``None`` where no template fits it."""
    alone = case.on_host or (
        case.device == devices.name(jax.devices()[0])
        and not case.on_mesh
        and jax.process_count() == 1
    )
    if case.mode not in MODES or not alone:
        return None
    source = own.source(case.op)
    if source is None:
        return _of_op(ops.get(case.op), case, seed)
    return _of_file(source, case, seed)


def _of_op(op: Op, case: Case, seed: int) -> Recipe:
    form = op.forms[case.mode]
    name = f"numpy_{op.name}" if case.on_host else op.name
    call = name
    if form is op.jax and op.takes_precision and case.precision != "default":
        call = f'functools.partial({name}, precision="{case.precision}")'
    inputs = op.arguments(case.size)
    codes = [
        argument.numpy_code(case.dtype, seed)
        if case.on_host
        else argument.code(case.dtype, seed)
        for argument in inputs
    ]
    names = [*inspect.signature(op.numpy).parameters][: len(codes)]
    return _recipe(
        case,
        f"jax.jit({call})" if case.mode == "jit" else call,
        function=source_of(form, name),
        arguments=_draw(names, codes, seed, case),
        wide=case.dtype == "float64",
    )


def _of_file(source: own.Source, case: Case, seed: int) -> Recipe | None:
    typed, text = own.specs(case), _text(source)
    if not case.on_host and b"donat" in text:
        return None
    if typed:
        codes = [draw_code(spec.shape, spec.dtype) for spec in typed]
        if case.on_host:
            codes = [
                f"{code}.astype(np.float32)" if spec.dtype in FOREIGN else code
                for code, spec in zip(codes, typed, strict=True)
            ]
        names = [f"x{number}" for number in range(len(codes))]
        arguments = _draw(names, codes, seed, case)
    elif (factory := _factory(source, text, case, seed)) is not None:
        host = case.on_host or case.inputs == "host"
        arguments = [factory, TO_NUMPY if host else TO_DEVICE]
    else:
        return None
    name = f"own.{source.name}"
    # What its file has jitted is called as it is, or else the function inside.
    jitted = f'if hasattr({name}, "lower") else'
    calls = {
        "numpy": f"{name}{NUMPY}",
        "eager": f"({name}.__wrapped__ {jitted} {name})",
        "jit": f"({name} {jitted} jax.jit({name}))",
    }
    return _recipe(
        case,
        calls[case.mode],
        function=_import(source),
        arguments=arguments,
        wide=any(spec.dtype in WIDE for spec in typed),
        tree=True,
    )


def _recipe(
    case: Case,
    call: str,
    *,
    function: str,
    arguments: Sequence[str],
    wide: bool,
    tree: bool = False,
) -> Recipe:
    wait = "lambda result: result.block_until_ready()"
    if case.on_host:
        wait = "lambda result: None"
    elif tree:
        wait = "jax.block_until_ready"
    if case.mode == "eager" and case.inputs == "host":
        # NumPy's own operators would do the work on arguments that were not sent.
        call = f"lambda *args, f={call}: f(*jax.device_put(args))"
    x64 = wide and not case.on_host
    texts = (function, *arguments, call, wait)
    return Recipe(
        modules=tuple(sorted({"np"} | ({"jax"} if x64 else set()) | _modules(*texts))),
        x64=x64,
        function=function,
        arguments=tuple(arguments),
        call=call,
        wait=wait,
        tree=tree,
    )


def _draw(
    names: Sequence[str], codes: Sequence[str], seed: int, case: Case
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
    args = f"[{', '.join(names)}]"
    if not case.on_host and case.inputs == "device":
        args = f"jax.device_put({args})"
    return [*lines, f"args = {args}"]


def _modules(*texts: str) -> set[str]:
    """Return the modules that the texts use."""
    nodes = ast.walk(ast.parse("\n".join(texts)))
    return MODULES & {node.id for node in nodes if isinstance(node, ast.Name)}


def _import(source: own.Source) -> str:
    """The lines that import a file as ``own``."""
    if (member := own.member(source.file)) is not None:
        root, module = member
        return (
            f"sys.path.insert(0, {root!r})\nown = importlib.import_module({module!r})"
        )
    # Not by its name, which may be that of another module, or none.
    return (
        f"sys.path.insert(0, {os.path.dirname(source.file)!r})\n"
        f"own = types.SimpleNamespace(**runpy.run_path({source.file!r}))"
    )


def _factory(source: own.Source, text: bytes, case: Case, seed: int) -> str | None:
    """The line that calls the factory, as far as the file's text tells which it is;
    ``None`` where it returns arguments by name.
    """
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError):  # its import says so
        nodes = []
    defined = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    last = source.name.rpartition(".")[2]
    makes_all = last + ARGS not in defined and MAKE_ARGS in defined
    factory = MAKE_ARGS if makes_all else source.name + ARGS
    texts = [str(case.size)] if case.size else []
    if (node := defined.get(factory.rpartition(".")[2])) is not None:
        parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if any(inner.arg == "seed" for inner in parameters):
            texts.append(f"seed={seed}")
        returns = [
            inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)
        ]
        if any(isinstance(value, ast.Dict) for value in returns):
            return None
    return f"args = own.{factory}({', '.join(texts)})"


def _text(source: own.Source) -> bytes:
    """The text of a file; empty if it cannot be read."""
    try:
        return own.read(source.file)
    except RefusedError:
        return b""


def source_of(function: Callable[..., Any], name: str) -> str:
    """The source of a plain function under another name.

    It is what ``inspect`` finds, without docstrings and annotations, so that the
    printed function cannot differ from the one that runs.
    """
    tree = _Stripper().visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    (outer,) = tree.body
    outer.name = name
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
