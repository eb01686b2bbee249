"""``jaxtui compile``: an op, compiled ahead of time for a TPU that is not here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    SelectionError,
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
from jaxtui.signals import interrupt
from jaxtui.view import chipmap, program
from jaxtui.view.text import wrap

DEVICE = "tpu:0"
"""What the first device of a topology is called, until it is known better."""

DEFAULT_LIMIT_SECONDS = 600.0

CLOCKS: dict[Stage, str] = {
    "warm-up": "warm_up_seconds",
    "trace": "trace_seconds",
    "lower": "lower_seconds",
    "compile": "compile_seconds",
}
"""The stages whose seconds are reported, and their fields in the document."""

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
    found = _Compilation(topology.strip(), parse(topology))

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
                        one = case(answer.ops)
                        found.update(case=one)
                        request = CompileRequest(
                            topology=found.topology, case=one, hlo=hlo
                        )
                        await process.ask(request)
            except NoAnswer as error:
                if process.stage in ("start", "topology"):
                    raise
                found.fail(f"{found.label}: {error}", error.hint, error.log)

    interrupt.run(compiled())
    if interrupt.happened and not (found.compiled or found.document.failure):
        found.fail("The compile was interrupted.", "Run it again.")
    failure = found.document.failure
    exit_code = close(
        document=found.document,
        text=partial(_report, found) if found.document.case else None,
        as_json=as_json,
        code=CASE_FAILED if failure else FINE,
    )
    if failure and failure.detail and not as_json:
        say(legible(failure.detail))
    return exit_code


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


class _Compilation:
    """What has arrived, as the document; read when it is interrupted."""

    def __init__(self, typed: str, topology: Topology) -> None:
        self.topology = topology
        self.devices: Sequence[Device] = ()
        self.compiled: Compiled | None = None
        row = TopologyRow(
            asked=typed,
            name=topology.name,
            options=topology.options,
            devices=None,
            chips=None,
            processes=None,
        )
        facts: dict[str, Any] = dict.fromkeys(Document.__struct_fields__)
        self.document = Document(**facts | {"schema": SCHEMA, "topology": row})

    def update(self, **facts: Any) -> None:
        self.document = msgspec.structs.replace(self.document, **facts)

    def take(self, answer: AheadAnswer) -> None:
        match answer:
            case AheadHello(libtpu=version):
                self.update(libtpu=version)
            case AheadReady(jax=version):
                self.update(jax=version)
            case AheadDescribed(devices=devices):
                self.devices = devices
                row = msgspec.structs.replace(
                    self.document.topology,
                    devices=len(devices),
                    chips=chip_count(devices),
                    processes=len({device.process_index for device in devices}),
                )
                self.update(topology=row, device_kind=devices[0].device_kind)
            case AheadTook(stage=stage, seconds=seconds) if stage in CLOCKS:
                self.update(**{CLOCKS[stage]: seconds})
            case AheadCompiled(compiled=compiled):
                self.compiled = compiled
                source = compiled.peak.source if compiled.peak else None
                self.update(**msgspec.structs.asdict(compiled), source=source)
            case AheadFailed(failure=failure):
                self.update(failure=failure)
            case _:
                pass

    @property
    def label(self) -> str:
        assert self.document.case is not None
        return f"{self.document.case.label} of {self.document.topology.asked}"

    def fail(self, error: str, hint: str, detail: str = "") -> None:
        """Give up the case; nothing, before it is known which that is."""
        if (case := self.document.case) is not None:
            self.update(
                failure=Failure(case=case, error=error, hint=hint, detail=detail)
            )


# The text.


def _report(found: _Compilation) -> str:
    return "\n\n".join(filter(None, _parts(found)))


def _parts(found: _Compilation) -> Iterator[str]:
    """What was compiled, how long that took, and what the program needs."""
    document = found.document
    lines = [found.label]
    if found.devices:
        kind = f"{document.device_kind}, {chipmap.summary(found.devices)}"
        lines.append(f"{found.topology.label}: {kind}; for one device of them")
    lines.append(f"{NOT_HERE} · libtpu {document.libtpu} · jax {document.jax}")
    yield wrap(*lines, later="  ")
    if seconds := {
        str(stage): took
        for stage, name in CLOCKS.items()
        if stage != "warm-up" and (took := getattr(document, name)) is not None
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
    if failure := document.failure:
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
