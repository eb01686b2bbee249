"""A TPU that is not here: its devices as libtpu describes them, to compile for."""

from __future__ import annotations

import re
import resource
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, cast

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, SingleDeviceSharding

from jaxtui.measure import devices, programs
from jaxtui.measure.errors import RefusedError, full_text
from jaxtui.measure.workload import Workload, spread
from jaxtui.model import Case, Device, Topology
from jaxtui.model.own import short_name


def describe(topology: Topology) -> tuple[Device, ...]:
    """The devices of a topology, which from now on are those of this process.

    Nothing can be run on them.

    Raises:
        RefusedError: libtpu has no such topology.
    """
    # libtpu may abort: no core file is left behind.
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    try:
        described = topologies.get_topology_desc(
            platform="tpu", topology_name=topology.name, **topology.options
        ).devices
    except Exception as error:  # whatever libtpu raises
        raise refusal(error, topology) from error
    devices.described = tuple(described)
    return devices.describe()


def refusal(error: Exception, topology: Topology) -> RefusedError:
    """Why libtpu refuses a topology, in a sentence; the original text is kept."""
    text = full_text(error)
    said = f'libtpu refuses the topology "{topology.label}".'
    for pattern, sentence in _RULES.items():
        if found := re.search(pattern, text):
            said = sentence.format(found[0], *found.groups(), name=topology.name)
            break
    return RefusedError(said, "", text)


def warm_up(device: Any) -> float:
    """Compile a small program; returns the seconds.

    The first compile sets up MLIR and libtpu for the whole process.
    """
    small = programs.array_shape((8,), "float32", device)
    start = perf_counter()
    jax.jit(lambda x: x + 1).trace(small).lower().compile()
    return perf_counter() - start


def place(made: Workload, device: Any) -> None:
    """Have the arguments be shapes on a device of a topology, where they are arrays.

    Raises:
        RefusedError: The file spreads them over devices.
    """
    if (count := spread((made.args, made.keywords))) > 1:
        raise RefusedError(
            f"{short_name(made.case.op)} spreads its arguments over {count} devices.",
            "What is compiled here is for one device: let its file place them on one.",
        )
    sharding = SingleDeviceSharding(device)

    def shape(leaf: Any) -> Any:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            return leaf
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    args, made.keywords = jax.tree.map(shape, (tuple(made.args), made.keywords))
    made.args, made.resident = args, lambda: args


def as_if_on(device: Any, case: Case) -> AbstractContextManager[Any]:
    """A Pallas kernel is lowered for the device of the mesh that is set, not for that
    of its arguments; jax older than 0.8 knows no such mesh.
    """
    scope = getattr(jax.sharding, "use_abstract_mesh", None)
    if case.mode != "pallas" or scope is None:
        return nullcontext()
    mesh = Mesh(np.array([device]), ("device",))
    return cast("AbstractContextManager[Any]", scope(mesh.abstract_mesh))


_RULES = {
    r"Invalid TPU external name: TPU (\S+)": 'libtpu knows no TPU "{1}": it knows'
    " v2, v3, v4, v5e, v5p, v6e and tpu7x.",  # libtpu 0.0.50
    r'not divisible by .*chips_per_host_bounds "([^"]+)"': 'The chips of "{name}"'
    " cannot be shared out among hosts of {1}: say how many a host has, as in"
    " {name},chips_per_host_bounds=1x1x1.",
    r"Invalid topology layout for a single slice: (\S+)": 'The layout "{1}" has too few'
    " dimensions or too many: v2, v3, v5e and v6e have two, as in v5e:2x4, the others"
    " three, as in v4:2x2x1.",
    r"Twisted-torus requires wrapping": 'The torus of "{name}" can only be twisted if'
    " it wraps in every dimension: add ,wrap=1x1x1.",
    r'Failed to obtain chip config "([^"]+)"': 'The chips of "{name}" have no'
    ' configuration "{1}": leave chip_config_name out.',
    r"Unexpected arguments?: (\S+)": 'A topology of libtpu has no option "{1}": it has'
    " chips_per_host_bounds, num_slices, chip_config_name and wrap.",
}
"""What libtpu says of a topology, and what that means."""
