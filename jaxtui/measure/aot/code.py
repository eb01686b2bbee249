"""Plain JAX that compiles a case for a TPU that is not here."""

from __future__ import annotations

import re

from jaxtui.measure import ops
from jaxtui.measure.aot.entry import DEFAULTS
from jaxtui.measure.ops.arguments import Argument
from jaxtui.measure.ops.base import JaxForm, Op
from jaxtui.measure.script import source
from jaxtui.model import Case
from jaxtui.model.ahead import Topology
from jaxtui.text import docstring, literal

_HEAD = """\
{title}

{imports}

# libtpu and JAX read these when they are imported.
{variables}
os.environ["JAX_PLATFORMS"] = "cpu"  # the machine's own TPU is left alone

{jax_imports}
"""

_BODY = """\
{function}


topology = topologies.get_topology_desc({arguments})
device = topology.devices[0]
sharding = SingleDeviceSharding(device)
args = [
{args}
]
{compiling}

print(compiled.cost_analysis())
print(compiled.memory_analysis())
print(compiled.as_text())
"""

_COMPILING = """\
lowered = jax.jit({function}).trace(*args).lower()
compiled = lowered.compile()"""

_PALLAS = """\
# A kernel is lowered for the device of the mesh, not for that of its arguments.
mesh = Mesh(np.array([device]), ("device",))
with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
    lowered = jax.jit({function}).trace(*args).lower()
    compiled = lowered.compile()"""

_OPTIONAL = {
    "np": "import numpy as np",
    "lax": "from jax import lax",
}
"""Imports that not every script needs."""


def code(case: Case, topology: Topology) -> str:
    """The script; it prints what XLA says of the program, and its optimised HLO.

    Raises:
        ValueError: The op is unknown, or lacks the case's mode.
    """
    op = ops.get(case.op)
    function = source(_form(op, case), op.name)
    compiling = _compiling(op, case)
    body = _BODY.format(
        function=function,
        arguments=_topology(topology),
        args="\n".join(f"    {_shape(one, case)}," for one in op.arguments(case.size)),
        compiling=compiling,
    )
    if case.dtype == "float64":
        body = 'jax.config.update("jax_enable_x64", True)\n\n\n' + body
    head = _HEAD.format(
        title=docstring(
            f"{case.op} {case.size} {case.dtype} {case.mode},"
            f" compiled for one device of {topology.name} without jaxtui."
        ),
        imports="\n".join(
            ["import functools"] * ("functools." in body) + ["import os"]
        ),
        variables="\n".join(
            f'os.environ.setdefault("{name}", "{value}")'
            for name, value in DEFAULTS.items()
        ),
        jax_imports=_jax_imports(body),
    )
    return head + ("\n" if case.dtype == "float64" else "\n\n") + body


def _form(op: Op, case: Case) -> JaxForm:
    if case.mode != "pallas":
        return op.jax
    if op.pallas is None:
        raise ValueError(f"{op.name} has no mode pallas.")
    return op.pallas


def _topology(topology: Topology) -> str:
    """The arguments of ``get_topology_desc``, one per line."""
    words = ['platform="tpu"', f"topology_name={literal(topology.name)}"]
    for key, value in topology.options.items():
        text = literal(value) if isinstance(value, str) else repr(value)
        words.append(f"{key}={text}")
    return "".join(f"\n    {word}," for word in words) + "\n"


def _shape(argument: Argument, case: Case) -> str:
    dtype = argument.dtype(case.dtype)
    return f"jax.ShapeDtypeStruct({argument.shape}, jnp.{dtype}, sharding=sharding)"


def _compiling(op: Op, case: Case) -> str:
    function = op.name
    if op.takes_precision and case.precision != "default":
        function = f'functools.partial({op.name}, precision="{case.precision}")'
    if case.mode == "pallas":
        function = f'functools.partial({op.name}, platform="tpu")'
        return _PALLAS.format(function=function)
    return _COMPILING.format(function=function)


def _jax_imports(body: str) -> str:
    used = {*re.findall(r"\b(\w+)\.", body)}
    sharding = ["Mesh"] * ("Mesh(" in body) + ["SingleDeviceSharding"]
    numpy = [_OPTIONAL["np"]] * ("np" in used)
    return "\n".join(
        [
            "import jax",
            "import jax.numpy as jnp",
            *numpy,
            *[_OPTIONAL["lax"]] * ("lax" in used),
            "from jax.experimental import topologies",
            f"from jax.sharding import {', '.join(sharding)}",
        ]
    )
