"""The short script that reproduces a case with nothing but JAX and NumPy.

The op's function in it is the function that was timed: its own source, without the
docstring and the annotations.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

from jaxtui.measure import ops
from jaxtui.measure.ops.base import Op
from jaxtui.model import Case

CALLS = 50
"""Timed calls of a script."""

IMPORTS: tuple[dict[str, str], ...] = (
    {name: f"import {name}" for name in ("functools", "statistics", "time")},
    {
        "jax": "import jax",
        "jnp": "import jax.numpy as jnp",
        "ml_dtypes": "import ml_dtypes  # comes with JAX",
        "np": "import numpy as np",
        "lax": "from jax import lax",
    },
)
"""Import lines by the name that needs them, the standard library first."""

NUMPY_LOOP = """
for _ in range(3):
    result = f(*args)

ready = []
for _ in range({calls}):
    result = None  # freed before the clock starts
    start = time.perf_counter()
    result = f(*args)
    ready.append(time.perf_counter() - start)
print(f"ready    {{statistics.median(ready):.3e}} s")
"""

JAX_LOOP = """
for _ in range(3):
    result = {call}.block_until_ready()

dispatch, ready = [], []
for _ in range({calls}):
    result = None  # freed before the clock starts
    start = time.perf_counter()
    result = {call}
    returned = time.perf_counter()
    result.block_until_ready()
    ready.append(time.perf_counter() - start)
    dispatch.append(returned - start)
print(f"dispatch {{statistics.median(dispatch):.3e}} s")
print(f"ready    {{statistics.median(ready):.3e}} s")
"""


def script(case: Case, seed: int = 0) -> str:
    """Plain JAX (or NumPy) that makes the same data and times the same function.

    Raises:
        ValueError: The case's op is unknown, or its dtype is not one of the op's.
    """
    op = ops.get(case.op)
    if case.dtype not in op.dtypes:
        raise ValueError(f"{op.name} has no dtype {case.dtype!r}.")
    numpy = case.mode == "numpy"
    function = source(op.numpy if numpy else op.jax, op.name)
    code = _data(op, case, seed) + (_numpy_body(op) if numpy else _jax_body(op, case))
    parts = [
        f'"""{case.label}, timed without jaxtui."""',
        _imports(function + code),
        *_settings(case),
    ]
    return "\n\n".join(parts) + f"\n\n\n{function}\n\n\n{code}"


@functools.cache
def source(function: Callable[..., Any], name: str) -> str:
    """The source of a function under another name, bare of docstring and annotations.

    Works on what ``inspect`` finds, so that the printed function cannot differ from the
    one that runs.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    outer = _Bare().visit(tree).body[0]
    if not isinstance(outer, ast.FunctionDef):
        raise TypeError(f"{function!r} is not a plain function")
    outer.name = name
    return ast.unparse(ast.fix_missing_locations(tree)).replace(":\n\n", ":\n")


class _Bare(ast.NodeTransformer):
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


def _data(op: Op, case: Case, seed: int) -> str:
    numpy = case.mode == "numpy"
    made = [
        argument.numpy_code(case.dtype, seed)
        if numpy
        else argument.code(case.dtype, seed)
        for argument in op.arguments(case.size)
    ]
    lines = ["args = [", *(f"    {each}," for each in made), "]"]
    if any("rng." in each for each in made):
        lines.insert(0, f"rng = np.random.default_rng({seed})")
    return "\n".join(lines) + "\n"


def _numpy_body(op: Op) -> str:
    return f"f = {op.name}\n" + NUMPY_LOOP.format(calls=CALLS)


def _jax_body(op: Op, case: Case) -> str:
    platform, _, number = case.device.partition(":")
    lines = [f'device = next(d for d in jax.devices("{platform}") if d.id == {number})']
    function = op.name
    if op.takes_precision and case.precision != "default":
        function = f'functools.partial({op.name}, precision="{case.precision}")'
    timed = f"jax.jit({function})" if case.mode == "jit" else function
    lines.append(f"f = {timed}")
    call = "f(*args)"
    if case.inputs == "device":
        lines.append("args = jax.device_put(args, device)")
    elif case.mode == "jit":
        lines.append('jax.config.update("jax_default_device", device)')
    else:
        # NumPy's own operators would do the work on arguments that were not sent.
        call = "f(*jax.device_put(args, device))"
    return "\n".join(lines) + "\n" + JAX_LOOP.format(call=call, calls=CALLS)


def _imports(text: str) -> str:
    """The import lines that ``text`` needs."""
    used = set(re.findall(r"\b(\w+)\.", text)) | {"statistics", "time"}
    blocks = [
        [line for name, line in block.items() if name in used] for block in IMPORTS
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _settings(case: Case) -> list[str]:
    """What must be said or set before anything runs."""
    if case.mode == "numpy":
        return []
    lines = []
    platform, _, number = case.device.partition(":")
    if platform == "cpu" and int(number) > 0:
        needed = f"JAX_NUM_CPU_DEVICES={int(number) + 1}"
        lines.append(f"# {case.device} exists with {needed} in the environment.")
    if case.dtype == "float64":
        lines.append('jax.config.update("jax_enable_x64", True)')
    return lines
