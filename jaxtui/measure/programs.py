"""Reads what JAX and XLA say of a compiled program; shared by all that compile one."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from jaxtui.measure import hlo, peaks
from jaxtui.measure.ops.arguments import as_dtype
from jaxtui.measure.ops.base import Op
from jaxtui.measure.probe import probe
from jaxtui.model import Case
from jaxtui.model.programs import Program, ProgramMemory


def shapes(op: Op, case: Case, device: Any) -> list[jax.ShapeDtypeStruct]:
    """The arguments of a case as shapes and dtypes on the device, without any data."""
    place = SingleDeviceSharding(device)
    return [
        jax.ShapeDtypeStruct(
            argument.shape, as_dtype(argument.dtype(case.dtype)), sharding=place
        )
        for argument in op.arguments(case.size)
    ]


def text_of(stage: Any) -> str | None:
    """The text of a lowered or compiled program; ``None`` where there is none."""
    text = probe(stage.as_text)
    return text if isinstance(text, str) else None


def costs(stage: Any) -> dict[str, Any] | None:
    """XLA's ``cost_analysis`` of a lowered or compiled program.

    It may be missing, raise, or be a list of one, by platform and version: ``None``
    where nothing is known.
    """
    found = probe(stage.cost_analysis)
    if isinstance(found, list) and len(found) == 1:
        (found,) = found
    return found if isinstance(found, dict) else None


def counted_flops(compiled: Any) -> float | None:
    """XLA's count of flops plus transcendentals, 0 where it counts none."""
    if (known := costs(compiled)) is None:
        return None
    return float(known.get("flops", 0.0) + known.get("transcendentals", 0.0))


def read(compiled: Any, device_kind: str) -> Program:
    """Kernels, XLA's own counts, and memory.

    Args:
        compiled: ``jax.stages.Compiled``.
        device_kind: of the device that it was compiled for, to know its memory.
    """
    text = text_of(compiled)
    counted = None if text is None else hlo.instructions(text)
    known = costs(compiled) or {}
    return Program(
        kernels=None if counted is None else sum(counted.values()),
        instructions=counted or {},
        fusions=() if text is None else hlo.fusions(text),
        xla_flops=_number(known, "flops"),
        xla_bytes=_number(known, "bytes accessed"),
        xla_transcendentals=_number(known, "transcendentals"),
        memory=_memory(compiled, device_kind),
    )


def _number(known: dict[str, Any], name: str) -> float | None:
    value = known.get(name)
    # XLA says -1 where it cannot count, as it does for a kernel of Pallas.
    return None if value is None or value < 0 else float(value)


def _memory(compiled: Any, device_kind: str) -> ProgramMemory | None:
    stats = probe(compiled.memory_analysis)
    if stats is None:
        return None
    limit = peaks.memory(device_kind)
    # jax older than 0.7 does not say.
    peak = getattr(stats, "peak_memory_in_bytes", None)
    return ProgramMemory(
        arguments_bytes=stats.argument_size_in_bytes,
        output_bytes=stats.output_size_in_bytes,
        temporaries_bytes=stats.temp_size_in_bytes,
        aliased_bytes=stats.alias_size_in_bytes,
        program_bytes=stats.generated_code_size_in_bytes,
        peak_bytes=peak,
        limit_bytes=limit[0] if limit else None,
        limit_source=limit[1] if limit else "",
    )
