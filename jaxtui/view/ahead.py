"""What an op needs that was compiled ahead of time for a TPU that is not here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jaxtui import format as fmt
from jaxtui.model import (
    Case,
    Device,
    Host,
    Inspected,
    Peak,
    Record,
    Topology,
    WorkFailed,
    explanation,
)
from jaxtui.model.machine import chip_count
from jaxtui.model.own import short_name
from jaxtui.model.programs import Bound, ProgramMemory
from jaxtui.view import chipmap, program
from jaxtui.view.document import SCHEMA
from jaxtui.view.text import wrap

NOT_HERE = "compiled, not run: there is no such TPU here"


class TopologyRow(Record, frozen=True, kw_only=True):
    asked: str
    """As it was typed."""
    name: str
    options: dict[str, int | str | tuple[int, ...]]
    devices: int | None
    chips: int | None
    processes: int | None


class Document(Record, frozen=True, kw_only=True):
    """All that is known of a compile; what is not is ``None``."""

    schema: int = SCHEMA
    case: Case | None
    topology: TopologyRow
    device_kind: str | None
    libtpu: str | None
    jax: str | None
    warm_up_seconds: float | None
    trace_seconds: float | None
    lower_seconds: float | None
    compile_seconds: float | None
    flops: float | None
    bytes: float | None
    xla_flops: float | None
    xla_bytes: float | None
    xla_transcendentals: float | None
    memory: ProgramMemory | None
    peak: Peak | None
    bound_seconds: float | None
    bound_by: Bound | None
    kernels: int | None
    instructions: dict[str, int] | None
    hlo: str | None
    source: str | None
    """Of the peak."""
    failure: WorkFailed | None

    @property
    def label(self) -> str:
        """The case, and the topology as it was typed; empty before there is a case."""
        return f"{self.case.label} of {self.topology.asked}" if self.case else ""


def document(
    asked: str,
    topology: Topology,
    *,
    host: Host | None,
    devices: Sequence[Device],
    case: Case | None,
    inspected: Inspected | None,
    failed: WorkFailed | None,
    hlo: bool,
) -> Document:
    """What is known of a compile.

    Args:
        asked: the topology as it was typed.
        topology: that it is for.
        host: of the engine.
        devices: of the topology, once they are known.
        case: once it is known.
        inspected: what came of it.
        failed: why nothing came of it.
        hlo: with the text of the program.
    """
    row = TopologyRow(
        asked=asked,
        name=topology.name,
        options=topology.options,
        devices=len(devices) or None,
        chips=chip_count(devices) or None,
        processes=len({device.process_index for device in devices}) or None,
    )
    facts: dict[str, Any] = dict.fromkeys(Document.__struct_fields__)
    if inspected is not None:
        for record in (inspected, inspected.program):
            facts |= {n: getattr(record, n) for n in facts if hasattr(record, n)}
        facts["bound_seconds"], facts["bound_by"] = inspected.bound
        facts["source"] = inspected.peak.source if inspected.peak else None
        facts["hlo"] = inspected.hlo if hlo else None
    return Document(
        **facts
        | {
            "schema": SCHEMA,
            "case": inspected.case if inspected else case,
            "topology": row,
            "device_kind": devices[0].device_kind if devices else None,
            "libtpu": host.platform_version if host else None,
            "jax": host.jax if host else None,
            "failure": failed,
        }
    )


def why(document: Document) -> str:
    """Why nothing was compiled, and of what that is said."""
    said = explanation(document.failure)
    known = document.case is None or short_name(document.case.op) in said
    return said if known else f"{document.label}: {said}"


def text(document: Document, devices: Sequence[Device]) -> str:
    """What was compiled, how long that took, and what the program needs.

    Args:
        document: of a compile that has succeeded.
        devices: of the topology.
    """
    return "\n\n".join(filter(None, _parts(document, devices)))


def _parts(document: Document, devices: Sequence[Device]) -> Iterator[str]:
    asked = document.topology
    label = Topology(name=asked.name, options=asked.options).label
    kind = f"{document.device_kind}, {chipmap.summary(devices)}"
    yield wrap(
        document.label,
        f"{label}: {kind}; for one device of them",
        f"{NOT_HERE} · libtpu {document.libtpu} · jax {document.jax}",
        later="  ",
    )
    yield program.stages(
        {
            "trace": document.trace_seconds,
            "lower": document.lower_seconds,
            "compile": document.compile_seconds,
        }
    )
    yield program.counts(
        document.flops, document.bytes, document.xla_flops, document.xla_bytes
    )
    if document.memory:
        yield program.memory(document.memory, document.device_kind or "")
    yield wrap(*_bound(document), later="  ")
    kernels = program.kernels(document.kernels, document.instructions or {})
    hint = "" if document.hlo or document.kernels is None else " (--hlo prints it)"
    yield wrap(f"program: {kernels}{hint}", later="  ")
    if document.hlo is not None:
        yield document.hlo.strip()


def _bound(document: Document) -> Iterator[str]:
    """The lower bound, where it comes from, and what it leaves out."""
    peak, seconds = document.peak, document.bound_seconds
    if document.bytes is None:
        yield "lower bound: none. What your own function must move is not known."
        return
    if peak is None or seconds is None or document.bound_by is None:
        yield f"lower bound: none, no peak of {document.device_kind} is known here."
        return
    by, work = "memory bandwidth", fmt.rate(document.bytes, "B")
    rate = fmt.rate(peak.bytes_per_second, "B/s")
    if document.bound_by == "compute":
        by, work = "compute", fmt.rate(document.flops, "FLOP")
        rate = fmt.rate(peak.flops_per_second)
    yield (
        f"lower bound {fmt.seconds(seconds)} per call, by {by}: {work} at {rate}. It "
        "is a bound, no prediction: no call takes less, how much more only a run tells."
    )
    if document.case and document.flops and peak.flops_per_second is None:
        yield (
            f"The peak rate of {document.case.dtype} arithmetic in such an op is not "
            "known, so that only the memory bounds it."
        )
    yield f"peaks: {peak.source}"
