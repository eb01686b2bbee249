"""A TPU that is not here: its devices as libtpu describes them, to compile for."""

from __future__ import annotations

import resource
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, cast

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, SingleDeviceSharding

from jaxtui.core.model import Case, Device, Remark, Topology
from jaxtui.core.model.own import short_name
from jaxtui.core.model.remark import Fact
from jaxtui.tasks import devices, programs
from jaxtui.tasks.errors import RefusedError, full_text
from jaxtui.tasks.own import Jitted
from jaxtui.tasks.workload import Workload, spread


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
        facts: dict[str, Fact] = {"topology": topology.name}
        remark = Remark("topology-refused", facts, "error", full_text(error))
        raise RefusedError(remark) from error
    devices.described = tuple(described)
    return devices.describe()


def warm_up(device: Any) -> float:
    """Compile a small program; returns the seconds.

    The first compile sets up MLIR and libtpu for the whole process.
    """
    small = programs.array_shape((8,), "float32", device)
    start = perf_counter()
    jax.jit(lambda x: x + 1).trace(small).lower().compile()
    return perf_counter() - start


def place(workload: Workload, device: Any) -> None:
    """Have the arguments be shapes on a device of a topology, where they are arrays.

    Raises:
        RefusedError: The file spreads them over devices.
    """
    if (count := spread((workload.args, workload.keywords))) > 1:
        raise RefusedError.of(
            "arguments-spread", name=short_name(workload.case.op), count=count
        )
    sharding = SingleDeviceSharding(device)

    def shape(leaf: Any) -> Any:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            return leaf
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    jitted = workload.as_is
    if jitted is not None and type(jitted.function).__module__.startswith("equinox"):
        _trace_arrays(workload, jitted)
    args, workload.keywords = jax.tree.map(
        shape, (tuple(workload.args), workload.keywords)
    )
    workload.args, workload.resident = args, lambda: args


def _trace_arrays(workload: Workload, jitted: Jitted) -> None:
    """Have ``jax.jit`` trace the arrays among the arguments, and nothing else.

    ``eqx.filter_jit`` takes a shape for a static argument, and a tracer for an array.
    """
    arguments = (*jitted.args, *workload.args), {**jitted.keywords, **workload.keywords}
    leaves, structure = jax.tree.flatten(arguments)
    places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]

    def function(*arrays: Any) -> list[Any]:
        whole = [*leaves]
        for at, array in zip(places, arrays, strict=True):
            whole[at] = array
        args, keywords = jax.tree.unflatten(structure, whole)
        results = jax.tree.leaves(jitted.function(*args, **keywords))
        return [result for result in results if isinstance(result, jax.Array)]

    function.__name__ = short_name(workload.case.op)
    workload.as_is = Jitted(jax.jit(function))
    workload.args, workload.keywords = tuple(leaves[at] for at in places), {}


def as_if_on(device: Any, case: Case) -> AbstractContextManager[Any]:
    """A Pallas kernel is lowered for the device of the mesh that is set, not for that
    of its arguments; jax older than 0.8 knows no such mesh.
    """
    scope = getattr(jax.sharding, "use_abstract_mesh", None)
    if case.mode != "pallas" or scope is None:
        return nullcontext()
    mesh = Mesh(np.array([device]), ("device",))
    return cast("AbstractContextManager[Any]", scope(mesh.abstract_mesh))
