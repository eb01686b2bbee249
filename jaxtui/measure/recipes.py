"""What plain Python needs to do what a case does: its texts, and the modules they use.

``jaxtui.view.scripts`` joins them. The op's function is the function that is timed: its
own source, without docstrings and annotations. A function of a file is imported from
there; only its source is read here.
"""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxtui.measure import devices, ops, own
from jaxtui.measure.errors import RefusedError
from jaxtui.measure.ops.arguments import FOREIGN, draw_code
from jaxtui.measure.ops.base import Op
from jaxtui.measure.ops.collectives import Exchange
from jaxtui.measure.own import WIDE
from jaxtui.model import COMPILED_MODES, Case, Recipe
from jaxtui.model.machine import members
from jaxtui.model.mesh import mesh_of
from jaxtui.model.own import ARGS, MAKE_ARGS, NUMPY, WHOLE
from jaxtui.model.remark import Fact, Remark

COLUMNS = 88

MODULES = {
    *("functools", "importlib", "jax", "jnp", "lax", "ml_dtypes", "np"),
    *("runpy", "sys", "tf", "tnp", "types"),
}
"""What texts may use beside their own names; ``jaxtui.view.scripts`` imports them."""

TO_NUMPY = (
    "args = jax.tree.map(lambda x: np.array(x) if isinstance(x, jax.Array) else x,"
    " args)"
)
TO_DEVICE = (
    "args = jax.tree.map(lambda x: jax.device_put(x) if isinstance(x, np.ndarray)"
    " else x, args)"
)
"""What a file has made with JAX stays where that has put it."""

ON_EACH = "lambda *each, f=FUNCTION: [f(*args) for args in each]"
"""Calls a function on each device of a group."""

ON_MESH = (
    "[jax.device_put(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("
    "*axes))) for x, axes in zip(ARRAYS, AXES)]"
)
"""Divides arrays over the axes of a mesh."""


def recipe(case: Case, seed: int = 0) -> Recipe:
    """How to run a case that can run here."""
    source = own.source(case.op)
    if (collective := ops.COLLECTIVES.get(case.op)) is not None:
        return _of_collective(collective, case, seed)
    if source is None:
        return _of_op(ops.get(case.op), case, seed)
    return _of_file(source, case, seed)


def _of_op(op: Op, case: Case, seed: int) -> Recipe:
    form = op.forms[case.mode]
    name = op.name if case.mode in ("jit", "eager") else f"{case.mode}_{op.name}"
    call = name
    if form is op.jax and op.takes_precision and case.precision != "default":
        call = f'functools.partial({name}, precision="{case.precision}")'
    elif case.mode == "pallas" and case.platform != "cpu":
        call = f'functools.partial({name}, platform="{case.platform}")'
    elif case.mode == "tensorflow":
        call = f"lambda *args: {name}(tnp, *args)"
    inputs = op.arguments(case.size)
    codes = [
        argument.numpy_code(case.dtype, seed)
        if case.on_host
        else argument.code(case.dtype, seed)
        for argument in inputs
    ]
    names = [*inspect.signature(op.numpy).parameters][: len(codes)]
    lines = _draw(names, codes, seed, _place(case))
    if len(members(case.device)) > 1:
        lines.insert(0, f"devices = {_devices_code(case)}")
    if case.mode == "tensorflow":
        lines.insert(0, 'tf.config.set_visible_devices([], "GPU")')
    return _recipe(
        case,
        name,
        call,
        function=source_of(form, name),
        arguments=lines,
        wide=case.dtype == "float64",
    )


def _of_collective(op: ops.Collective, case: Case, seed: int) -> Recipe:
    exchange = Exchange(op, case, devices.find_all(case.device), seed)
    axes = mesh_of(case.params, len(members(case.device))).over
    elements = f"rng.integers(-8, 9, {exchange.shape.size}).astype(jnp.{case.dtype})"
    sharding = "jax.sharding.NamedSharding(mesh, spread)"
    lines = [
        *_mesh_code(case),
        "spread = jax.sharding.PartitionSpec(mesh.axis_names)",
        *_draw(["x"], [elements], seed, f"jax.device_put({{}}, {sharding})"),
    ]
    mapped = f"functools.partial({op.name}, axes={axes!r}), mesh=mesh"
    return _recipe(
        case,
        op.name,
        f"jax.shard_map({mapped}, in_specs=spread, out_specs=spread)",
        function=source_of(op.form, op.name),
        arguments=lines,
        wide=False,
    )


def _mesh_code(case: Case) -> list[str]:
    """The lines that make ``mesh``; it is ``device_mesh``."""
    mesh = mesh_of(case.params, len(members(case.device)))
    made = f"jax.make_mesh({mesh.shape}, {mesh.names}, devices=devices)"
    return [
        f"devices = {_devices_code(case)}",
        f"mesh = jax.sharding.Mesh({made}.devices, {mesh.names})",
    ]


def _of_file(source: own.Source, case: Case, seed: int) -> Recipe:
    typed = own.specs(case)
    text = _text(source)
    named = False
    if typed:
        codes = [draw_code(spec.shape, spec.dtype) for spec in typed]
        if case.on_host:
            codes = [
                f"{code}.astype(np.float32)" if spec.dtype in FOREIGN else code
                for code, spec in zip(codes, typed, strict=True)
            ]
        names = [f"x{number}" for number in range(len(codes))]
        place = _place(case)
        if case.on_mesh:
            axes = [
                tuple(None if axis == WHOLE else axis for axis in spec.axes)
                for spec in typed
            ]
            place = ON_MESH.replace("ARRAYS", "{}").replace("AXES", str(axes))
        arguments = _draw(names, codes, seed, place)
        if case.on_mesh:
            arguments = [*_mesh_code(case), *arguments]
    else:
        factory, named = _factory(source, text, case, seed)
        host = case.on_host or case.inputs == "host"
        arguments = [factory, TO_NUMPY if host else TO_DEVICE]
    if named:
        arguments.append("keywords, args = args, ()")
    name = f"own.{source.name}"
    call = f"{name}{NUMPY}"
    if not case.on_host:
        # What its file has jitted is called as it is, or else the function inside.
        jitted = f'if hasattr({name}, "lower") else'
        call = f"{name} {jitted} jax.jit({name})"
        if case.mode == "eager":
            call = f"{name}.__wrapped__ {jitted} {name}"
    return _recipe(
        case,
        name,
        f"({call})",
        function=_import(source),
        arguments=arguments,
        wide=any(spec.dtype in WIDE for spec in typed),
        tree=True,
        named=named,
        donates=not named and not case.on_host and b"donat" in text,
    )


def _recipe(
    case: Case,
    name: str,
    call: str,
    *,
    function: str,
    arguments: Sequence[str],
    wide: bool,
    tree: bool = False,
    named: bool = False,
    donates: bool = False,
) -> Recipe:
    wait = "lambda result: result.block_until_ready()"
    remarks, settings = [], []
    if case.on_host:
        wait = "lambda result: None"
    else:
        indices = _indices(case)
        group = len(indices) > 1
        elsewhere = devices.find_all(case.device)[0] != jax.devices()[0]
        if elsewhere and not group and (tree or case.inputs == "host"):
            # Neither says by itself where it wants to be computed.
            settings.append(("jax_default_device", _device_code(case)))
        if wide:
            settings.append(("jax_enable_x64", "True"))
        if case.platform == "cpu" and max(indices):
            facts: dict[str, Fact] = {"device": case.device, "count": max(indices) + 1}
            remarks.append(Remark("simulated-devices-needed", facts))
        if case.mode == "pallas" and case.platform == "cpu":
            remarks.append(Remark("kernel-interpreted", severity="warning"))
        if not tree and case.mode in COMPILED_MODES:
            call = f"jax.jit({call})"
        if case.mode not in COMPILED_MODES and case.inputs == "host":
            # NumPy's own operators would do the work on arguments that were not sent.
            put = f"jax.device_put(args, {_device_code(case)})"
            call = f"lambda *args, f={call}: f(*{put})"
        if tree:
            wait = "jax.block_until_ready"
        elif group and case.op not in ops.COLLECTIVES:
            call = ON_EACH.replace("FUNCTION", call)
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
        donates=donates,
    )


def _indices(case: Case) -> list[int]:
    """The places of its devices among those of their platform."""
    places = {name: index for index, name in enumerate(_names(case.platform))}
    return [places[name] for name in members(case.device)]


def _names(platform: str) -> list[str]:
    return [devices.name(device) for device in jax.devices(platform)]


def _device_code(case: Case) -> str:
    return f'jax.devices("{case.platform}")[{_indices(case)[0]}]'


def _devices_code(case: Case) -> str:
    indices = _indices(case)
    every = f'jax.devices("{case.platform}")'
    if indices == [*range(indices[0], indices[-1] + 1)]:
        return f"{every}[{indices[0]}:{indices[-1] + 1}]"
    return f"[{every}[i] for i in {indices}]"


def _place(case: Case) -> str:
    """How a list of NumPy arrays becomes the arguments."""
    if case.mode == "tensorflow":
        return "[tf.constant(each) for each in {}]"
    if len(members(case.device)) > 1:
        return "[jax.device_put({}, device) for device in devices]"
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


def _factory(
    source: own.Source, text: bytes, case: Case, seed: int
) -> tuple[str, bool]:
    """The line that calls the factory, as far as the file's text tells which it is.

    Returns:
        The line, and whether the factory returns a dict of arguments by name.
    """
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError):  # its import says so
        nodes = []
    defined = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    last = source.name.rpartition(".")[2]
    makes_all = last + ARGS not in defined and MAKE_ARGS in defined
    factory = MAKE_ARGS if makes_all else source.name + ARGS
    given = [str(case.size)] if case.size else []
    node = defined.get(factory.rpartition(".")[2])
    if node is None:
        return f"args = own.{factory}({', '.join(given)})", False
    parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    if any(each.arg == "seed" for each in parameters):
        given.append(f"seed={seed}")
    returns = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    named = any(isinstance(value, ast.Dict) for value in returns)
    return f"args = own.{factory}({', '.join(given)})", named


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
