"""The stages of a case in JAX and XLA: report, documents, and texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import (
    Case,
    Device,
    Inspected,
    Inspection,
    Peak,
    Record,
    Remark,
)
from jaxtui.core.model.document import Document
from jaxtui.core.model.machine import chip_count, members
from jaxtui.core.model.programs import (
    Bound,
    EagerStep,
    Exchanged,
    Program,
    ProgramMemory,
)
from jaxtui.core.model.remark import Fact
from jaxtui.core.state import EMPTY, State
from jaxtui.core.text import visible
from jaxtui.machine.topologies import parse
from jaxtui.ui import chipmap
from jaxtui.ui.documents import ProblemRow, problem
from jaxtui.ui.report import Report, Rows, gather, table

_METADATA = re.compile(
    r", (?:metadata|backend_config)=\{(?:[^{}\"]|\"[^\"]*\"|\{[^{}]*\})*\}"
)

_TABLES = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ [^\n]*\n)*\n*",
    re.MULTILINE,
)


TEXTS = ("jaxpr", "stablehlo", "hlo")
"""The texts that can be printed, whole."""

GROUPS_COLUMNS = 48
"""The columns of a list that may name thousands of devices; the document has
all of it."""


class TopologyRow(Record, frozen=True, kw_only=True):
    """A TPU that is not here."""

    asked: str
    """The name as it was typed."""
    name: str
    options: dict[str, int | str | tuple[int, ...]]
    devices: int | None
    chips: int | None
    processes: int | None


# The report.


def report(
    inspected: Inspected, topology: str | None = None, state: State = EMPTY
) -> Report:
    """Return the report on a program: its parts, the needs of a call, and the time of
    compiling.

    Args:
        inspected: what is known of it.
        topology: of the TPU that it was compiled for, if that is not here.
        state: of the engine that compiled for it.
    """
    label = inspected.case.label + (f" of {topology}" if topology else "")
    return Report(
        title=label,
        verdict=_verdict(inspected, label, here=topology is None),
        tables=[*_tables(inspected)],
        notes=gather((), remarks(inspected, here=topology is None)),
        host=_compiled_for(inspected.case, topology, state) if topology else "",
    )


def _verdict(inspected: Inspected, label: str, *, here: bool) -> Text:
    program, eager = inspected.program, inspected.eager_kernels
    steps = fmt.plural(len(inspected.steps), "program")
    sentences = [f"Compiled{'' if here else ', not run'}: {_made_of(program)}."]
    if inspected.case.mode == "eager":
        sentences = [f"Eager: {steps}, {_kernels(eager)}."]
    elif eager is not None:
        several = f" in {steps}" if len(inspected.steps) > 1 else ""
        sentences.append(f"Eager: {_kernels(eager)}{several}.")
    least, by = inspected.bound
    if least is not None and by is not None:
        sentences.append(f"A call takes at least {fmt.seconds(least)} ({_LIMITS[by]}).")
    return Text.assemble((visible(label), "title"), f". {' '.join(sentences)}")


_LIMITS: dict[Bound, str] = {"compute": "compute", "bandwidth": "memory bandwidth"}


def _made_of(program: Program) -> str:
    """Count the kernels, by kind: ``3 kernels (2 fusion, 1 copy)``."""
    kinds = ", ".join(f"{count} {name}" for name, count in program.instructions.items())
    return f"{_kernels(program.kernels)}{f' ({kinds})' if kinds else ''}"


def _kernels(count: int | None) -> str:
    return "unknown kernels" if count is None else fmt.plural(count, "kernel")


def _tables(inspected: Inspected) -> Iterator[Rows]:
    program = inspected.program
    if program.fusions:
        head = ("fusion", "kind", "operations inside")
        fusions = [
            (fusion.name, fusion.kind, _counted(fusion.operations))
            for fusion in program.fusions
        ]
        yield table(head, fusions, grows=head[2])
    if program.collectives:
        yield _collectives(program.collectives)
    if len(inspected.steps) > 1:
        head = ("eager step", "kernels", "reads and writes")
        steps = [
            (
                step.name,
                _counted(step.program.instructions),
                fmt.figure(step.program.xla_bytes, "memory"),
            )
            for step in inspected.steps
        ]
        yield table(head, steps, right=head[2:])
    yield _counts(inspected)
    if program.memory is not None:
        yield _memory(program.memory)
    stages = [
        ("trace", fmt.figure(inspected.trace_seconds)),
        ("lower", fmt.figure(inspected.lower_seconds)),
        ("compile", fmt.figure(inspected.compile_seconds)),
    ]
    yield table(("stage", "time"), stages, right=("time",))


def _collectives(exchanges: Sequence[Exchanged]) -> Rows:
    """Return the table of exchanges between devices; equal ones share a row."""
    rows = Counter(
        (
            e.kind,
            fmt.figure(e.bytes, "memory"),
            f"{e.groups} × {e.participants}" if e.groups else fmt.ABSENT,
            fmt.shorten(e.replica_groups, GROUPS_COLUMNS),
        )
        for e in exchanges
    )
    head = ("collective", "bytes", "groups", "replica groups")
    cells = [
        (kind if count == 1 else f"{count} {kind}", *rest)
        for (kind, *rest), count in rows.items()
    ]
    return table(head, cells, right=head[1:3], grows=head[3])


def _counted(names: Mapping[str, int]) -> str:
    return ", ".join(
        name if count == 1 else f"{count} {name}" for name, count in names.items()
    )


def _counts(inspected: Inspected) -> Rows:
    """Flops and bytes of one call: the op's formula beside XLA's own count."""
    program = inspected.program
    rows = [
        ("flops", _count(inspected.flops), _count(program.xla_flops)),
        ("bytes", _count(inspected.bytes), _count(program.xla_bytes)),
    ]
    if apart := program.xla_transcendentals:
        rows.insert(1, ("transcendentals", fmt.ABSENT, _count(apart)))
    head = ("per call", "by formula", "XLA counts")
    return table(head, rows, right=head[1:])


def _count(value: float | None) -> str:
    return fmt.ABSENT if value is None else fmt.count(round(value))


def _memory(needed: ProgramMemory) -> Rows:
    """Return the table of memory: the needs of one call, and the device's."""
    sizes = {
        "arguments": needed.arguments_bytes,
        "output": needed.output_bytes,
        "output in the arguments": needed.aliased_bytes or None,
        "temporaries": needed.temporaries_bytes,
        "program": needed.program_bytes,
        "peak": needed.peak_bytes,
        "device": needed.limit_bytes,
    }
    rows = [
        (name, fmt.bytes_text(size)) for name, size in sizes.items() if size is not None
    ]
    return table(("memory", "size"), rows, right=("size",))


def remarks(inspected: Inspected, *, here: bool) -> Iterator[Remark]:
    """Qualify the figures.

    Args:
        inspected: what is known of the program.
        here: it is compiled for a device of this machine.
    """
    program, peak = inspected.program, inspected.peak
    count = len(members(inspected.case.device))
    if count > 1:
        yield Remark("per-device", {"devices": count})
    least, by = inspected.bound
    if least is not None and peak is not None and by is not None:
        facts: dict[str, Fact] = {
            "by": by,
            "seconds": least,
            "work": inspected.flops if by == "compute" else inspected.bytes,
            "rate": peak.flops_per_second if by == "compute" else peak.bytes_per_second,
            "source": peak.source,
        }
        yield Remark("lower-bound", facts)
        if inspected.flops and peak.flops_per_second is None:
            yield Remark("compute-peak-unknown", {"dtype": inspected.case.dtype})
    elif not here and count == 1:
        own = inspected.bytes is None
        kind = {"device_kind": inspected.device_kind}
        yield Remark("traffic-unknown") if own else Remark("peaks-unknown", {**kind})
    if program.kernels is None:
        yield Remark("program-hidden")
    if program.xla_transcendentals and inspected.flops is not None:
        yield Remark("transcendentals-apart")
    if inspected.case.mode == "pallas" and inspected.device_kind == "cpu":
        yield Remark("kernel-interpreted", severity="warning")
    if "while" in program.instructions:
        yield Remark("loop-counted-once")
    if "custom-call" in program.instructions:
        yield Remark("custom-call-uncounted")
    limited = program.memory is None or program.memory.limit_bytes is not None
    if not here and not limited:
        yield Remark("memory-unknown", {"device_kind": inspected.device_kind})


def _compiled_for(case: Case, topology: str, state: State) -> str:
    parts, devices, host = [parse(topology).label], state.devices, state.host
    if devices:
        parts[0] += f": {devices[0].device_kind}, {chipmap.summary(devices)}"
    count = len(members(case.device))
    parts.append(f"compiled for {'one device' if count == 1 else f'{count} devices'}")
    if host is not None:
        parts += [f"libtpu {host.platform_version}", f"jax {host.jax}"]
    return " · ".join(parts)


# Texts of programs.


def hlo(text: str) -> str:
    """HLO without what only tools read: metadata and the backend's settings.

    A newer XLA lists the files and lines of the source in tables of their own.
    """
    return _METADATA.sub("", _TABLES.sub("", text))


def entry(text: str) -> str:
    """The entry computations of an HLO text: what a call runs, line by line."""
    parts = re.findall(r"(?:^// step [^\n]*\n)|(?:^ENTRY .*?^\})", text, re.M | re.S)
    return "\n".join(part.rstrip("\n") for part in parts)


# Documents.


class Stages(Document, frozen=True, kw_only=True):
    """The document of ``hlo``. An unknown or unrequested fact is ``None``."""

    case: Case | None = None
    topology: TopologyRow | None = None
    """The TPU that it was compiled for, if that is not here."""
    device_kind: str | None = None
    warm_up_seconds: float | None = None
    trace_seconds: float | None = None
    lower_seconds: float | None = None
    compile_seconds: float | None = None
    flops: float | None = None
    bytes: float | None = None
    program: Program | None = None
    peak: Peak | None = None
    bound_seconds: float | None = None
    bound_by: Bound | None = None
    steps: tuple[EagerStep, ...] | None = None
    jaxpr: str | None = None
    stablehlo: str | None = None
    hlo: str | None = None
    eager_kernels: int | None = None
    failure: ProblemRow | None = None


def document(state: State, topology: str | None, texts: Collection[str]) -> Stages:
    """Return the document of the inspected program.

    Args:
        state: of the engine that compiled it.
        topology: as it was typed.
        texts: those of jaxpr, stablehlo and hlo that were asked for.
    """
    job = state.jobs.get("inspection")
    inspected = job.result if job else None
    facts: dict[str, Any] = {}
    if isinstance(inspected, Inspected):
        facts = {
            name: getattr(inspected, name)
            for name in Stages.__struct_fields__
            if hasattr(inspected, name)
        }
        facts["bound_seconds"], facts["bound_by"] = inspected.bound
        facts |= {name: None for name in TEXTS if name not in texts}
    elif job is not None and isinstance(job.work, Inspection):
        facts["case"] = job.work.case
    return Stages(
        **facts,
        command="hlo",
        host=state.host,
        complete=isinstance(inspected, Inspected),
        topology=_row(topology, state.devices) if topology else None,
        failure=problem(job.failed if job else None),
    )


def _row(asked: str, devices: Sequence[Device]) -> TopologyRow:
    """The row of a topology as it was typed, with its devices once they are known."""
    topology = parse(asked)
    return TopologyRow(
        asked=asked.strip(),
        name=topology.name,
        options=topology.options,
        devices=len(devices) or None,
        chips=chip_count(devices) or None,
        processes=len({device.process_index for device in devices}) or None,
    )
