"""``jaxtui compile``: an op, compiled ahead of time for a TPU that is not here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click
import msgspec

from jaxtui import format as fmt
from jaxtui import scripts
from jaxtui.commands import CASE_FAILED, FINE
from jaxtui.commands.common import Common, flag, python_flag, valued
from jaxtui.commands.compile_process import NoAnswer, ahead_process, legible
from jaxtui.commands.options import (
    LIMIT,
    Cases,
    json_flag,
    one_dtype,
    one_mode,
    one_op,
    one_precision,
    one_size,
    refuse_json_beside_code,
    with_cases,
)
from jaxtui.commands.output import close
from jaxtui.commands.progress import live_line
from jaxtui.commands.terminal import put, say
from jaxtui.document import SCHEMA
from jaxtui.machine.topologies import parse
from jaxtui.model import (
    COMPILED_MODES,
    Case,
    Device,
    Failure,
    Peak,
    Record,
    explanation,
)
from jaxtui.model.ahead import (
    AheadAnswer,
    AheadCode,
    AheadCompiled,
    AheadDescribed,
    AheadFailed,
    AheadHello,
    AheadReady,
    AheadTook,
    CodeRequest,
    Compiled,
    CompileRequest,
    Stage,
    Topology,
)
from jaxtui.model.machine import chip_count
from jaxtui.model.programs import ProgramMemory
from jaxtui.model.roofs import RoofKind
from jaxtui.selection import SelectionError
from jaxtui.signals import interrupt
from jaxtui.view import chipmap, program
from jaxtui.view.text import wrap

DEVICE = "tpu:0"
"""What the first device of a topology is called, until it is known better."""

DEFAULT_LIMIT_SECONDS = 600.0

CLOCKS: tuple[Stage, ...] = ("warm-up", "trace", "lower", "compile")
"""The stages whose seconds are reported."""

NOT_HERE = "compiled, not run: there is no such TPU here"


@click.command("compile")
@one_op
@valued(
    "--topology",
    "NAME",
    "The TPU to compile for: v5e:2x4, v4:2x2x1, v6e-8, tpu7x-8.",
)
@one_size
@one_dtype("bfloat16")
@one_precision
@one_mode("jit, or pallas where the op has it.")
@valued("--limit", "SECONDS", "Give it up after this time.  [default: 600]", type=LIMIT)
@flag("--hlo", "Print the whole optimised HLO, too.")
@flag("--code", "Print plain Python instead of compiling.")
@json_flag
@python_flag("Python to compile with; it needs jax, msgspec and libtpu.")
@click.pass_obj
@with_cases
def command(
    common: Common,
    /,
    *,
    cases: Cases,
    topology: str | None,
    limit: float | None,
    hlo: bool,
    code: bool,
    as_json: bool,
) -> int:
    """Compile an op for a TPU that is not here, and say what it would need.

    Needs libtpu, and no TPU: pip install "jaxtui[topology]".
    """
    refuse_json_beside_code(code, as_json)
    if not cases.op or topology is None:
        what = "a topology" if cases.op else "an op"
        raise SelectionError(
            f"Name {what}, as in `jaxtui compile matmul --topology v5e:2x4`."
        )
    (mode,) = cases.mode
    if mode not in COMPILED_MODES:
        raise SelectionError(
            f"The mode {mode} compiles nothing: there is "
            f"{' and '.join(COMPILED_MODES)}."
        )
    seconds = limit or DEFAULT_LIMIT_SECONDS
    case = partial(cases.case, DEVICE)
    found = _Compilation(typed=topology.strip(), topology=parse(topology))

    async def script() -> str:
        running = ahead_process(common.python, seconds, needs_libtpu=False)
        async with running as process:
            ready = await process.answer(AheadReady)
            request = CodeRequest(topology=found.topology, case=case(ready.ops))
            await process.ask(request)
            answer = await process.answer(AheadCode)
            return scripts.ahead_script(answer.case, found.topology, answer.recipe)

    if code:
        if (text := interrupt.run(script())) is not None:
            put(text.rstrip())
        return FINE

    async def compiled() -> None:
        running = ahead_process(common.python, seconds)
        async with running as process, live_line(process.line):
            try:
                async for answer in process.answers(AheadCompiled, AheadFailed):
                    found.take(answer)
                    if isinstance(answer, AheadReady):
                        found.case = case(answer.ops)
                        request = CompileRequest(
                            topology=found.topology, case=found.case, hlo=hlo
                        )
                        await process.ask(request)
            except NoAnswer as error:
                if process.stage in ("start", "topology"):
                    raise
                found.fail(f"{found.label}: {error}", error.hint, error.log)

    interrupt.run(compiled())
    if interrupt.happened and not (found.compiled or found.failure):
        found.fail("The compile was interrupted.", "Run it again.")
    failure = found.failure
    exit_code = close(
        document=_document(found),
        text=partial(_report, found) if found.case else None,
        as_json=as_json,
        code=CASE_FAILED if failure else FINE,
    )
    if failure and failure.detail and not as_json:
        say(legible(failure.detail))
    return exit_code


@dataclass(kw_only=True)
class _Compilation:
    """What has arrived; read when it is interrupted."""

    typed: str
    """The topology as it was typed."""
    topology: Topology
    case: Case | None = None
    """``None`` before the catalogue is known."""
    libtpu: str | None = None
    jax: str | None = None
    devices: Sequence[Device] = ()
    took: dict[Stage, float] = field(default_factory=dict)
    compiled: Compiled | None = None
    failure: Failure | None = None

    def take(self, answer: AheadAnswer) -> None:
        match answer:
            case AheadHello(libtpu=version):
                self.libtpu = version
            case AheadReady(jax=version):
                self.jax = version
            case AheadDescribed(devices=devices):
                self.devices = devices
            case AheadTook(stage=stage, seconds=seconds):
                self.took[stage] = seconds
            case AheadCompiled(compiled=compiled):
                self.compiled, self.case = compiled, compiled.case
            case AheadFailed(failure=failure):
                self.failure = failure
            case _:
                pass

    @property
    def device_kind(self) -> str | None:
        return self.devices[0].device_kind if self.devices else None

    @property
    def label(self) -> str:
        assert self.case is not None
        return f"{self.case.label} of {self.typed}"

    def fail(self, error: str, hint: str, detail: str = "") -> None:
        """Give up the case; nothing, before it is known which that is."""
        if self.case is not None:
            self.failure = Failure(
                case=self.case, error=error, hint=hint, detail=detail
            )


# The document.


class TopologyRow(Record, frozen=True, kw_only=True):
    asked: str
    """As it was typed."""
    name: str
    options: dict[str, int | str | tuple[int, ...]]
    devices: int | None
    chips: int | None
    processes: int | None


class Document(Record, frozen=True, kw_only=True):
    """What is not known is ``None``."""

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


def _document(found: _Compilation) -> Document:
    compiled, devices = found.compiled, found.devices
    facts: dict[str, Any] = dict.fromkeys(Compiled.__struct_fields__)
    if compiled:
        facts = msgspec.structs.asdict(compiled)
    # These are known before all is compiled.
    facts |= {"case": found.case, "device_kind": found.device_kind}
    for stage in CLOCKS:
        facts[f"{stage.replace('-', '_')}_seconds"] = found.took.get(stage)
    return Document(
        topology=TopologyRow(
            asked=found.typed,
            name=found.topology.name,
            options=found.topology.options,
            devices=len(devices) or None,
            chips=chip_count(devices) or None,
            processes=len({device.process_index for device in devices}) or None,
        ),
        libtpu=found.libtpu,
        jax=found.jax,
        **facts,
        source=compiled.peak.source if compiled and compiled.peak else None,
        failure=found.failure,
    )


# The text.


def _report(found: _Compilation) -> str:
    return "\n\n".join(filter(None, _parts(found)))


def _parts(found: _Compilation) -> Iterator[str]:
    """What was compiled, how long that took, and what the program needs."""
    lines = [found.label]
    if found.devices:
        kind = f"{found.device_kind}, {chipmap.summary(found.devices)}"
        lines.append(f"{found.topology.label}: {kind}; for one device of them")
    lines.append(f"{NOT_HERE} · libtpu {found.libtpu} · jax {found.jax}")
    yield wrap(*lines, later="  ")
    took = found.took
    if seconds := {
        str(stage): took.get(stage) for stage in CLOCKS[1:] if stage in took
    }:
        yield program.stages(seconds)
    if compiled := found.compiled:
        yield program.counts(
            compiled.flops, compiled.bytes, compiled.xla_flops, compiled.xla_bytes
        )
        if compiled.memory:
            yield program.memory(compiled.memory, compiled.device_kind)
        yield wrap(*_bound(compiled), later="  ")
        kernels = program.kernels(compiled.kernels, compiled.instructions)
        hint = "" if compiled.hlo or compiled.kernels is None else " (--hlo prints it)"
        yield wrap(f"program: {kernels}{hint}", later="  ")
        if compiled.hlo is not None:
            yield compiled.hlo.strip()
    if failure := found.failure:
        yield wrap(f"failed: {explanation(failure)}", later="  ")


def _bound(compiled: Compiled) -> Iterator[str]:
    """The lower bound, where it comes from, and what it leaves out."""
    peak, seconds = compiled.peak, compiled.bound_seconds
    if peak is None or seconds is None or compiled.bound_by is None:
        yield f"lower bound: none, no peak of {compiled.device_kind} is known here."
        return
    by, work = "memory bandwidth", fmt.rate(compiled.bytes, "B")
    rate = fmt.rate(peak.bytes_per_second, "B/s")
    if compiled.bound_by == "compute":
        by, work = "compute", fmt.rate(compiled.flops, "FLOP")
        rate = fmt.rate(peak.flops_per_second)
    yield (
        f"lower bound {fmt.seconds(seconds)} per call, by {by}: {work} at {rate}. It "
        "is a bound, no prediction: no call takes less, how much more only a run tells."
    )
    if compiled.flops and peak.flops_per_second is None:
        yield (
            f"The peak rate of {compiled.case.dtype} arithmetic in such an op is not "
            "known, so that only the memory bounds it."
        )
    yield f"peaks: {peak.source}"
