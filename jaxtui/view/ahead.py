"""What an op needs that was compiled ahead of time for a TPU that is not here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.model import Case, Device, Failure, Peak, Record, explanation
from jaxtui.model.ahead import Stage, Topology
from jaxtui.model.programs import ProgramMemory
from jaxtui.model.roofs import RoofKind
from jaxtui.view import chipmap, program
from jaxtui.view.document import SCHEMA
from jaxtui.view.text import wrap

CLOCKS: dict[Stage, str] = {
    "warm-up": "warm_up_seconds",
    "trace": "trace_seconds",
    "lower": "lower_seconds",
    "compile": "compile_seconds",
}
"""The stages whose seconds are reported, and their fields in the document."""

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
    bound_by: RoofKind | None
    kernels: int | None
    instructions: dict[str, int] | None
    hlo: str | None
    source: str | None
    """Of the peak."""
    failure: Failure | None

    @property
    def compiled(self) -> bool:
        """Whether XLA has come to the end of it."""
        return self.instructions is not None

    @property
    def label(self) -> str:
        """The case, and the topology as it was typed; empty before there is a case."""
        return f"{self.case.label} of {self.topology.asked}" if self.case else ""


def text(document: Document, topology: Topology, devices: Sequence[Device]) -> str:
    """What was compiled, how long that took, and what the program needs.

    Args:
        document: what has arrived.
        topology: that it is for.
        devices: of the topology, once they are known.
    """
    return "\n\n".join(filter(None, _parts(document, topology, devices)))


def _parts(
    document: Document, topology: Topology, devices: Sequence[Device]
) -> Iterator[str]:
    lines = [document.label]
    if devices:
        kind = f"{document.device_kind}, {chipmap.summary(devices)}"
        lines.append(f"{topology.label}: {kind}; for one device of them")
    lines.append(f"{NOT_HERE} · libtpu {document.libtpu} · jax {document.jax}")
    yield wrap(*lines, later="  ")
    if seconds := {
        str(stage): took
        for stage, name in CLOCKS.items()
        if stage != "warm-up" and (took := getattr(document, name)) is not None
    }:
        yield program.stages(seconds)
    if document.compiled:
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
    if failure := document.failure:
        yield wrap(f"failed: {explanation(failure)}", later="  ")


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
