"""``jaxtui compile``: an op, compiled ahead of time for a TPU that is not here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click
import msgspec

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
    own_arguments,
    refuse_json_beside_code,
    with_cases,
)
from jaxtui.commands.output import close
from jaxtui.commands.progress import live_line
from jaxtui.commands.terminal import put, say
from jaxtui.machine.topologies import parse
from jaxtui.model import (
    COMPILED_MODES,
    Device,
    Failure,
    SelectionError,
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
    CompileRequest,
    Topology,
)
from jaxtui.model.machine import chip_count
from jaxtui.model.programs import LIMIT_SECONDS
from jaxtui.signals import interrupt
from jaxtui.view import ahead
from jaxtui.view.ahead import CLOCKS, Document, TopologyRow
from jaxtui.view.document import SCHEMA

DEVICE = "tpu:0"
"""What the first device of a topology is called, until it is known better."""


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
@own_arguments
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

    It may be a function of your own, file.py:name, which is compiled for one device.
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
    seconds = limit or LIMIT_SECONDS
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
                found.fail(f"{found.document.label}: {error}", error.hint, error.log)

    interrupt.run(compiled())
    if interrupt.happened and not (found.document.compiled or found.document.failure):
        found.fail("The compile was interrupted.", "Run it again.")
    failure = found.document.failure
    exit_code = close(
        document=found.document,
        text=found.text if found.document.case else None,
        as_json=as_json,
        code=CASE_FAILED if failure else FINE,
    )
    if failure and failure.detail and not as_json:
        say(legible(failure.detail))
    return exit_code


class _Compilation:
    """What has arrived, as the document; read when it is interrupted."""

    def __init__(self, typed: str, topology: Topology) -> None:
        self.topology = topology
        self.devices: Sequence[Device] = ()
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
                source = compiled.peak.source if compiled.peak else None
                self.update(**msgspec.structs.asdict(compiled), source=source)
            case AheadFailed(failure=failure):
                self.update(failure=failure)
            case _:
                pass

    def text(self) -> str:
        return ahead.text(self.document, self.topology, self.devices)

    def fail(self, error: str, hint: str, detail: str = "") -> None:
        """Give up the case; nothing, before it is known which that is."""
        if (case := self.document.case) is not None:
            self.update(
                failure=Failure(case=case, error=error, hint=hint, detail=detail)
            )
