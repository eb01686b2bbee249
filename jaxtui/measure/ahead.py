"""Topologies of libtpu, and a case that is compiled for a device of one."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, NamedTuple, cast

import jax
import msgspec
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh

from jaxtui.measure import inspection, ops, own, peaks, programs, recipes, settings
from jaxtui.measure.devices import describe_device, name
from jaxtui.measure.errors import RefusedError, full_text
from jaxtui.measure.failures import explain
from jaxtui.measure.planning import check_op, check_platform
from jaxtui.measure.settings import enable_x64
from jaxtui.measure.workload import Scope, compiled_form, spread
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
            if own.source(request.case.op) is None:
                check_op(request.case)
            else:
                own.check(request.case)
                if isinstance(request, CodeRequest):
                    raise RefusedError(
                        "--code prints ops of the catalogue, not your own function.",
                        "`jax.jit(f).lower(*shapes).compile()` compiles it.",
                    )
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
    source = own.source(case.op)
    took: dict[Stage, float] = {}
    stage: Stage = "inputs"
    try:
        if source is not None:
            yield AheadDoing(stage=stage)
            made = _of_function(case, source, device)
        else:
            made = _of_op(case, device)
        case, stage = made.case, "warm-up"
        yield AheadDoing(stage=stage)
        start, small = perf_counter(), programs.array_shape((8,), "float32", device)
        jax.jit(lambda x: x + 1).trace(small).lower().compile()
        took[stage] = perf_counter() - start
        yield AheadTook(stage=stage, seconds=took[stage])
        program: Any = None
        for stage in STAGES:
            yield AheadDoing(stage=stage)
            with made.scope(), _as_if_on(device, case):
                start = perf_counter()
                if stage == "compile":
                    program = program.compile()
                elif stage == "lower" and program is not None:
                    program = program.lower()
                elif stage == "lower" or hasattr(made.jitted, "trace"):
                    program = getattr(made.jitted, stage)(*made.args, **made.keywords)
                took[stage] = perf_counter() - start
            yield AheadTook(stage=stage, seconds=took[stage])
    except Exception as error:  # whatever JAX, XLA, libtpu or a file raises
        yield AheadFailed(failure=explain(error, case, stage))
        return
    compiled = programs.inner(program)
    found = programs.read(compiled, device.device_kind)
    peak = peaks.of_case(case, device.device_kind, matrix=made.matrix)
    seconds, by = bound(made.flops, made.bytes, peak)
    yield AheadCompiled(
        compiled=Compiled(
            case=case,
            device_kind=device.device_kind,
            warm_up_seconds=took["warm-up"],
            trace_seconds=took["trace"],
            lower_seconds=took["lower"],
            compile_seconds=took["compile"],
            flops=made.flops,
            bytes=made.bytes,
            xla_flops=found.xla_flops,
            xla_bytes=found.xla_bytes,
            xla_transcendentals=found.xla_transcendentals,
            memory=found.memory,
            peak=peak,
            bound_seconds=seconds,
            bound_by=by,
            kernels=found.kernels,
            instructions=found.instructions,
            hlo=programs.text_of(compiled) if keep_hlo else None,
        )
    )


class _Entry(NamedTuple):
    """What is compiled, and the work that is known of it."""

    case: Case
    jitted: Any
    args: tuple[Any, ...]
    """Shapes on the device of the topology, where they are arrays."""
    keywords: dict[str, Any]
    scope: Scope
    flops: float | None
    bytes: float | None
    """By the op's formulas; those of a function are XLA's affair."""
    matrix: bool


def _of_op(case: Case, device: Any) -> _Entry:
    op = ops.get(case.op)
    return _Entry(
        case,
        jax.jit(compiled_form(op, case, device)),
        (*programs.shapes(op, case, device),),
        {},
        lambda: enable_x64(case.dtype),
        op.flops(case.size, case.dtype),
        op.bytes(case.size, case.dtype),
        op.takes_precision,
    )


def _of_function(case: Case, source: own.Source, device: Any) -> _Entry:
    """A function of a file, whose arguments are made on the host, if they are made.

    Raises:
        RefusedError: It has no arguments, or its file spreads them over devices.
    """
    (host, *_) = jax.devices()
    made = inspection.of_function(own.load(source, host), case, host)
    jitted, args, keywords = inspection.entry(made)
    if (devices := spread((args, keywords))) > 1:
        raise RefusedError(
            f"{source.name} spreads its arguments over {devices} devices.",
            "What is compiled here is for one device: let its file place them on one.",
        )
    place = jax.sharding.SingleDeviceSharding(device)

    def shape(leaf: Any) -> Any:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            return leaf
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place)

    args, keywords = jax.tree.map(shape, (args, keywords))
    settled = msgspec.structs.replace(made.case, device=case.device)
    return _Entry(settled, jitted, args, keywords, made.scope, None, None, True)


def bound(
    flops: float | None, traffic: float | None, peak: Peak | None
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
    if traffic and peak.bytes_per_second:
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
