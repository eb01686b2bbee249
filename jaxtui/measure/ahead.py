"""Topologies of libtpu, and a case that is compiled for a device of one."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, cast

import jax
import msgspec
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh

from jaxtui.measure import ops, peaks, programs, recipes, settings
from jaxtui.measure.devices import describe_device, name
from jaxtui.measure.errors import RefusedError, full_text
from jaxtui.measure.failures import translate
from jaxtui.measure.planning import check_op, check_platform
from jaxtui.measure.settings import enable_x64
from jaxtui.measure.workload import compiled_form
from jaxtui.model import Case, Peak, RoofKind, explanation
from jaxtui.model.ahead import (
    AheadAnswer,
    AheadCode,
    AheadCompiled,
    AheadDescribed,
    AheadDoing,
    AheadFailed,
    AheadReady,
    AheadRefused,
    AheadRequest,
    AheadTook,
    CodeRequest,
    Compiled,
    CompileRequest,
    DescribeRequest,
    Stage,
    Topology,
)

STAGES: tuple[Stage, ...] = ("trace", "lower", "compile")


def ready() -> AheadReady:
    """JAX is imported, and what it can compile."""
    return AheadReady(
        jax=jax.__version__,
        jaxlib=importlib.metadata.version("jaxlib"),
        ops=ops.catalogue(),
    )


def answers(request: AheadRequest) -> Iterator[AheadAnswer]:
    """Everything that there is to say to a request, in order."""
    if not isinstance(request, DescribeRequest):
        try:
            if isinstance(request, CompileRequest):
                settings.check()
            check_op(request.case)
            check_platform(request.case, "tpu")
        except RefusedError as refused:
            yield AheadRefused(error=explanation(refused.failed))
            return
    if isinstance(request, CodeRequest):
        yield AheadCode(case=request.case, recipe=recipes.ahead(request.case))
        return
    yield AheadDoing(stage="topology")
    start, topology = perf_counter(), request.topology
    try:
        # Nothing can be run on its devices.
        devices = topologies.get_topology_desc(
            platform="tpu", topology_name=topology.name, **topology.options
        ).devices
    except Exception as error:  # whatever libtpu raises
        yield refusal(error, topology)
        return
    yield AheadTook(stage="topology", seconds=perf_counter() - start)
    # Process 0 stands for the own one.
    found = tuple(describe_device(device, 0) for device in devices)
    yield AheadDescribed(devices=found)
    if isinstance(request, CompileRequest):
        yield from compile_ahead(request.case, devices[0], keep_hlo=request.hlo)


def refusal(error: Exception, topology: Topology) -> AheadRefused:
    """Why libtpu refuses a topology, in a sentence; the original text is kept."""
    text = full_text(error)
    said = f'libtpu refuses the topology "{topology.label}".'
    for pattern, sentence in _RULES.items():
        if found := re.search(pattern, text):
            said = sentence.format(found[0], *found.groups(), name=topology.name)
            break
    return AheadRefused(error=said, detail=text)


def compile_ahead(
    case: Case, device: Any, *, keep_hlo: bool = False
) -> Iterator[AheadAnswer]:
    """Every stage as it begins and ends, then what came out of it.

    The stages are cold: the function is a fresh one. A small program is compiled first,
    because the first one sets up MLIR and libtpu for the whole process.
    """
    case = msgspec.structs.replace(case, device=name(device))
    op = ops.get(case.op)
    took: dict[Stage, float] = {}
    stage: Stage = "warm-up"
    try:
        yield AheadDoing(stage=stage)
        start, small = perf_counter(), programs.array_shape((8,), "float32", device)
        jax.jit(lambda x: x + 1).trace(small).lower().compile()
        took[stage] = perf_counter() - start
        yield AheadTook(stage=stage, seconds=took[stage])
        made: Any = None
        for stage in STAGES:
            yield AheadDoing(stage=stage)
            with enable_x64(case.dtype), _as_if_on(device, case):
                start = perf_counter()
                if stage == "trace":
                    form = compiled_form(op, case, device)
                    made = jax.jit(form).trace(*programs.shapes(op, case, device))
                else:
                    made = made.lower() if stage == "lower" else made.compile()
                took[stage] = perf_counter() - start
            yield AheadTook(stage=stage, seconds=took[stage])
    except Exception as error:  # whatever JAX, XLA or libtpu raises
        yield AheadFailed(failure=translate(error, case, stage))
        return
    flops, traffic = op.flops(case.size, case.dtype), op.bytes(case.size, case.dtype)
    peak = peaks.of_case(case, device.device_kind, matrix=op.takes_precision)
    seconds, by = bound(flops, traffic, peak)
    program = programs.read(made, device.device_kind)
    compiled = Compiled(
        case=case,
        device_kind=device.device_kind,
        warm_up_seconds=took["warm-up"],
        trace_seconds=took["trace"],
        lower_seconds=took["lower"],
        compile_seconds=took["compile"],
        flops=flops,
        bytes=traffic,
        xla_flops=program.xla_flops,
        xla_bytes=program.xla_bytes,
        xla_transcendentals=program.xla_transcendentals,
        memory=program.memory,
        peak=peak,
        bound_seconds=seconds,
        bound_by=by,
        kernels=program.kernels,
        instructions=program.instructions,
        hlo=programs.text_of(made) if keep_hlo else None,
    )
    yield AheadCompiled(compiled=compiled)


def bound(
    flops: float | None, traffic: float, peak: Peak | None
) -> tuple[float | None, RoofKind | None]:
    """Seconds that no call can beat, and what forbids it; ``None`` without peaks.

    The roofline (Williams, Waterman and Patterson, 2009): a call takes at least its
    flops over the peak rate, and at least its ideal traffic over the bandwidth, because
    its arguments and its result live in device memory.
    """
    if peak is None:
        return None, None
    times: list[tuple[float, RoofKind]] = []
    if flops and peak.flops_per_second:
        times.append((flops / peak.flops_per_second, "compute"))
    if peak.bytes_per_second:
        times.append((traffic / peak.bytes_per_second, "bandwidth"))
    return max(times, default=(None, None))


def _as_if_on(device: Any, case: Case) -> AbstractContextManager[Any]:
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
