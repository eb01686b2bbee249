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
from jaxtui.model import COMPILED_MODES, Case
from jaxtui.scripts.allocator import SETTLED
from jaxtui.text import docstring

SECONDS = 2
"""How long a script times calls. In the first milliseconds of a process the system has
not spread its threads over the cores: 50 calls there took twice as long as later ones.
"""

CALLS = 5
"""Timed calls of a script at least."""

IMPORTS: tuple[dict[str, str], ...] = (
    {
        name: f"import {name}"
        for name in ("ctypes", "functools", "statistics", "sys", "time")
    },
    {
        "jax": "import jax",
        "jnp": "import jax.numpy as jnp",
        "ml_dtypes": "import ml_dtypes  # comes with JAX",
        "np": "import numpy as np",
        "lax": "from jax import lax",
        "tf": "import tensorflow as tf",
        "tnp": "import tensorflow.experimental.numpy as tnp",
    },
)
"""Import lines by the name that needs them, the standard library first."""

NUMPY_LOOP = """
for _ in range(3):
    result = f(*args)

ready = []
end = time.perf_counter() + {seconds}
while len(ready) < {calls} or time.perf_counter() < end:
    result = None  # freed before the clock starts
    start = time.perf_counter()
    result = f(*args)
    ready.append(time.perf_counter() - start)
print(f"ready    {{statistics.median(ready):.3e}} s")
"""

SENDING = """\
form = f


def f(*args):
    # NumPy's own operators would do the work on arguments that were not sent.
    return form(*jax.device_put(args, device))
"""
"""``f`` of a case that sends its arguments in every call."""

JAX_LOOP = """
for _ in range(3):
    result = {ready_call}

dispatch, ready = [], []
end = time.perf_counter() + {seconds}
while len(ready) < {calls} or time.perf_counter() < end:
    result = None  # freed before the clock starts
    start = time.perf_counter()
    result = {call}
    returned = time.perf_counter()
    {ready_result}
    ready.append(time.perf_counter() - start)
    dispatch.append(returned - start)
print(f"dispatch {{statistics.median(dispatch):.3e}} s")
print(f"ready    {{statistics.median(ready):.3e}} s")
"""


TENSORFLOW = """\
tf.config.set_visible_devices([], "GPU")
args = [tf.constant(array) for array in args]
f = functools.partial({name}, tnp)
"""


def script(case: Case, seed: int = 0) -> str:
    """Plain JAX (or NumPy) that makes the same data and times the same function.

    Raises:
        ValueError: The case's op is unknown, or it lacks the case's dtype or mode.
    """
    op = _op(case)
    code = _data(op, case, seed) + _preparation(op, case) + loop(case)
    title = docstring(f"{case.label}, timed without jaxtui.")
    return f"{title}\n\n{_assembled(op, case, code)}"


def setup(case: Case, seed: int = 0) -> str:
    """The part of the script before its loop, for loops of other kinds.

    ``f`` and ``args`` are defined in it, such that ``f(*args)`` is one call; ``time``,
    ``statistics``, ``np`` and, but for NumPy, ``jax`` are imported.

    Raises:
        ValueError: As for ``script``.
    """
    op = _op(case)
    code = _data(op, case, seed) + _preparation(op, case)
    if sends(case):
        code += SENDING
    also = ("np",) if case.on_host else ("np", "jax")
    return _assembled(op, case, code, also)


def _op(case: Case) -> Op:
    op = ops.get(case.op)
    if case.dtype not in op.dtypes:
        raise ValueError(f"{op.name} has no dtype {case.dtype!r}.")
    return op


def _assembled(op: Op, case: Case, code: str, also: tuple[str, ...] = ()) -> str:
    """Imports, settings and the op's function above the code that uses it."""
    function = source(_form(op, case), _name(op, case))
    parts = [
        _imports(SETTLED + function + code, also),
        *_settings(case),
        SETTLED.strip(),
    ]
    return "\n\n".join(parts) + f"\n\n\n{function}\n\n\n{code}"


def _form(op: Op, case: Case) -> Callable[..., Any]:
    """The function that a case times.

    Raises:
        ValueError: The op has no such mode.
    """
    forms = {"numpy": op.numpy, "pallas": op.pallas, "tensorflow": op.tensorflow}
    form = forms.get(case.mode, op.jax)
    if form is None:
        raise ValueError(f"{op.name} has no mode {case.mode!r}.")
    return form


def _name(op: Op, case: Case) -> str:
    """What a script calls the form, such that no two forms of an op share a name."""
    own = case.mode in ("numpy", "pallas", "tensorflow")
    return f"{case.mode}_{op.name}" if own else op.name


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
    made = [
        argument.numpy_code(case.dtype, seed)
        if case.on_host
        else argument.code(case.dtype, seed)
        for argument in op.arguments(case.size)
    ]
    lines = ["args = [", *(f"    {each}," for each in made), "]"]
    if any("rng." in each for each in made):
        lines.insert(0, f"rng = np.random.default_rng({seed})")
    return "\n".join(lines) + "\n"


def _preparation(op: Op, case: Case) -> str:
    """The lines that define ``f`` and put ``args`` where they belong."""
    name = _name(op, case)
    if case.mode == "numpy":
        return f"f = {name}\n"
    if case.mode == "tensorflow":
        return TENSORFLOW.format(name=name)
    lines = [device_line(case)]
    if case.inputs == "device":
        lines.append("args = jax.device_put(args, device)")
    function = name
    if op.takes_precision and case.precision != "default":
        function = f'functools.partial({name}, precision="{case.precision}")'
    if case.mode == "pallas":
        platform = case.device.partition(":")[0]
        function = f'functools.partial({name}, platform="{platform}")'
    lines += call_lines(case, function)
    return "\n".join(lines) + "\n"


def device_line(case: Case) -> str:
    """The line that finds the case's device."""
    platform, _, number = case.device.partition(":")
    return f'device = next(d for d in jax.devices("{platform}") if d.id == {number})'


def call_lines(case: Case, function: str) -> list[str]:
    """The lines that define ``f`` of a case of JAX.

    Args:
        case: what is timed.
        function: the expression that a case calls.
    """
    if case.mode not in COMPILED_MODES:
        return [f"f = {function}"]
    sent = "args" if case.inputs == "device" else "jax.device_put(args, device)"
    return [
        f"jitted = jax.jit({function})",
        f"f = jitted.lower(*{sent}).compile()  # no call compiles",
    ]


def loop(case: Case, ready: str = "{}.block_until_ready()") -> str:
    """The loop that times ``f`` of a case.

    Args:
        case: what is timed.
        ready: how a result is waited for; a tree of arrays has no method for it.
    """
    if case.on_host:
        return NUMPY_LOOP.format(calls=CALLS, seconds=SECONDS)
    call = "f(*jax.device_put(args, device))" if sends(case) else "f(*args)"
    return JAX_LOOP.format(
        call=call,
        ready_call=ready.format(call),
        ready_result=ready.format("result"),
        calls=CALLS,
        seconds=SECONDS,
    )


def sends(case: Case) -> bool:
    """Whether each call sends its arguments explicitly.

    NumPy's own operators would do the work on arguments that were not sent.
    """
    return case.mode == "eager" and case.inputs == "host"


def _imports(text: str, also: tuple[str, ...] = ()) -> str:
    """The import lines that ``text`` needs, and those of the names in ``also``."""
    used = {*re.findall(r"\b(\w+)\.", text), "statistics", "time", *also}
    blocks = [
        [line for name, line in block.items() if name in used] for block in IMPORTS
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def simulated_device(case: Case) -> list[str]:
    """What must be said of a device that JAX has only if it is told so."""
    platform, _, number = case.device.partition(":")
    if platform != "cpu" or int(number) == 0:
        return []
    needed = f"JAX_NUM_CPU_DEVICES={int(number) + 1}"
    return [f"# {case.device} exists with {needed} in the environment."]


def _settings(case: Case) -> list[str]:
    """What must be said or set before anything runs."""
    if case.on_host:
        return []
    lines = simulated_device(case)
    if case.mode == "pallas" and case.device.startswith("cpu:"):
        lines.append("# On a CPU Pallas interprets the kernel: the times mean nothing.")
    if case.dtype == "float64":
        lines.append('jax.config.update("jax_enable_x64", True)')
    return lines
