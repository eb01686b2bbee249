"""One case, traced, lowered and compiled for a device that is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, cast

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jax.sharding import Mesh, SingleDeviceSharding

from jaxtui.measure import ops, peaks, programs, settings
from jaxtui.measure.errors import translate
from jaxtui.measure.ops.base import Op
from jaxtui.measure.x64 import enable_x64
from jaxtui.model import Case, Peak
from jaxtui.model.ahead import (
    AheadAnswer,
    AheadCompiled,
    AheadDoing,
    AheadFailed,
    AheadTook,
    Bound,
    Compiled,
    Stage,
)

STAGES: tuple[Stage, ...] = ("trace", "lower", "compile")


def compile_ahead(
    case: Case, device: Any, *, keep_hlo: bool = False
) -> Iterator[AheadAnswer]:
    """Every stage as it begins and ends, then what came out of it.

    The stages are cold: the function is a fresh one. A small program is compiled first,
    because the first one sets up MLIR and libtpu for the whole process.

    Args:
        case: what to compile; its device is replaced by the real one.
        device: a device of a topology.
        keep_hlo: whether the answer carries the text of the program.
    """
    case = _on(case, device)
    op = ops.get(case.op)
    took: dict[Stage, float] = {}
    stage: Stage = "warm-up"
    try:
        yield AheadDoing(stage=stage)
        took[stage] = _warm_up(device)
        yield AheadTook(stage=stage, seconds=took[stage])
        made: Any = None
        for stage in STAGES:
            yield AheadDoing(stage=stage)
            with enable_x64(case.dtype), _as_if_on(device, case):
                start = perf_counter()
                made = _step(stage, op, case, device, made)
                took[stage] = perf_counter() - start
            yield AheadTook(stage=stage, seconds=took[stage])
    except Exception as error:  # whatever JAX, XLA or libtpu raises
        yield AheadFailed(failure=translate(error, case, stage))
        return
    yield AheadCompiled(compiled=_report(op, case, device, made, took, keep_hlo))


def bound(
    flops: float | None, traffic: float, peak: Peak | None
) -> tuple[float | None, Bound | None]:
    """Seconds that no call can beat, and what forbids it; ``None`` without peaks.

    The roofline (Williams, Waterman and Patterson, 2009): a call takes at least its
    flops over the peak rate, and at least its ideal traffic over the bandwidth, because
    its arguments and its result live in device memory.
    """
    if peak is None:
        return None, None
    times: list[tuple[float, Bound]] = []
    if flops and peak.flops_per_second:
        times.append((flops / peak.flops_per_second, "compute"))
    if peak.bytes_per_second:
        times.append((traffic / peak.bytes_per_second, "bandwidth"))
    return max(times, default=(None, None))


def _on(case: Case, device: Any) -> Case:
    name = f"{device.platform}:{device.id}"
    return msgspec.structs.replace(case, device=name)


def _warm_up(device: Any) -> float:
    start = perf_counter()
    one = jax.ShapeDtypeStruct((8,), jnp.float32, sharding=SingleDeviceSharding(device))
    jax.jit(lambda x: x + 1).trace(one).lower().compile()
    return perf_counter() - start


def _step(stage: Stage, op: Op, case: Case, device: Any, made: Any) -> Any:
    if stage == "trace":
        form = (
            op.bind_kernel(device.platform)
            if case.mode == "pallas"
            else op.bind(case.precision)
        )
        return jax.jit(form).trace(*programs.shapes(op, case, device))
    return made.lower() if stage == "lower" else made.compile()


def _as_if_on(device: Any, case: Case) -> AbstractContextManager[Any]:
    """A Pallas kernel is lowered for the device of the mesh that is set, not for that
    of its arguments; jax older than 0.8 knows no such mesh.
    """
    scope = getattr(jax.sharding, "use_abstract_mesh", None)
    if case.mode != "pallas" or scope is None:
        return nullcontext()
    mesh = Mesh(np.array([device]), ("device",))
    return cast("AbstractContextManager[Any]", scope(mesh.abstract_mesh))


def _report(
    op: Op,
    case: Case,
    device: Any,
    compiled: Any,
    took: dict[Stage, float],
    keep_hlo: bool,
) -> Compiled:
    flops = op.flops(case.size, case.dtype)
    traffic = op.bytes(case.size, case.dtype)
    peak = peaks.peak(
        device.device_kind,
        case.dtype,
        settings.precision(case),
        matrix=op.takes_precision,
    )
    seconds, by = bound(flops, traffic, peak)
    program = programs.read(compiled, device.device_kind)
    return Compiled(
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
        hlo=programs.text_of(compiled) if keep_hlo else None,
    )
