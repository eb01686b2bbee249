"""``jaxtui hlo``: what JAX and XLA make of an op, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from jaxtui import selection
from jaxtui.commands import CASE_FAILED, FINE
from jaxtui.commands.common import Common, engine_flags, valued
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import (
    check_ops,
    json_flag,
    one_case,
    one_device,
    one_dtype,
    one_mode,
    one_of,
    one_op,
    one_precision,
    one_size,
    only,
    own_arguments,
)
from jaxtui.commands.terminal import put, put_bytes, say
from jaxtui.document import SCHEMA, encode
from jaxtui.model import (
    HOST_MODES,
    Case,
    Inspected,
    Inspection,
    Mode,
    Precision,
)
from jaxtui.model.own import short_name
from jaxtui.selection import SelectionError
from jaxtui.view import program

TEXTS = ("jaxpr", "stablehlo", "hlo")
"""What can be printed, whole."""


@click.command("hlo")
@one_op
@one_size
@one_dtype("float32")
@one_precision
@one_device
@one_mode("jit, eager, or pallas where the op has it.")
@valued(
    "--stage",
    "STAGE",
    "Print jaxpr, stablehlo, hlo or all of them, whole.  "
    "[default: the entry of the HLO]",
    type=one_of("stage", (*TEXTS, "all")),
)
@own_arguments
@json_flag
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    op: str | None,
    size: int | None,
    dtype: str,
    precision: Precision,
    device: str | None,
    mode: Mode,
    stage: str | None,
    arg: str,
    as_json: bool,
) -> int:
    """Show what XLA makes of an op: kernels, fusions, flops, memory, HLO.

    The op is compiled for a device of this machine and not run. It may be a function
    of your own, file.py:name, which is imported and given its arguments.
    """
    if op is None:
        raise SelectionError("Name an op, as in `jaxtui hlo selu`.")
    sizes: Sequence[int] | None = None
    if selection.looks_own(op):
        _, sizes = selection.parse_own(op)
    elif ":" in op:
        sizes = selection.parse_sizes(op.partition(":")[2])
    only(sizes or (0,), "size")
    check_ops((op,), arg)
    if mode in HOST_MODES:
        raise SelectionError(
            f"The mode {mode} does not go through XLA: there is jit, eager and pallas."
        )

    hlo = _Hlo(common)

    async def run() -> None:
        async with hlo.started() as session, hlo.progress():
            await session.ready(
                lambda ops: only(selection.parse_ops([op], ops, own=True), "op")
            )
            session.refuse("jax")
            ops, devices = session.state.ops, session.state.devices
            named = selection.parse_device(device, devices)
            hlo.case = one_case(
                op,
                size,
                dtype,
                named,
                mode,
                precision,
                ops,
                devices,
                own=True,
                arguments=arg,
            )
            await session.run(Inspection(case=hlo.case), "inspection")

    hlo.drive(run())
    job, case = hlo.state.jobs.get("inspection"), hlo.case
    inspected = job.result if job and isinstance(job.result, Inspected) else None
    failed = job.failed if job else None
    if as_json:
        facts: dict[str, Any] = dict.fromkeys(Inspected.__struct_fields__)
        if inspected is not None:
            facts = msgspec.structs.asdict(inspected)
            facts["eager_kernels"] = inspected.eager_kernels
        else:
            facts |= {"case": case, "eager_kernels": None}
        if stage not in (None, "all"):
            facts |= dict.fromkeys(name for name in TEXTS if name != stage)
        document = {"schema": SCHEMA, "host": hlo.state.host, **facts}
        put_bytes(encode({**document, "failure": failed}))
    elif inspected is not None:
        put("\n\n".join(_report(inspected, stage)))
    if failed is not None and not as_json:
        sentence = f"{failed.error} {failed.hint}".rstrip()
        # Of an engine that died only that is known.
        if case is not None and short_name(case.op) not in failed.error:
            sentence = f"{case.label}: {sentence}"
        say(sentence)
        if failed.detail:
            say(failed.detail)
    if hlo.interrupted:
        say("Interrupted.")
    return FINE if inspected is not None else CASE_FAILED


class _Hlo(Driver):
    case: Case | None = None


def _report(inspected: Inspected, stage: str | None) -> Iterator[str]:
    yield program.summary(inspected)
    if stage is None:
        yield program.entry(program.hlo(inspected.hlo))
    for name in TEXTS:
        if stage in (name, "all"):
            text = str(getattr(inspected, name)).strip()
            yield f"{name}:\n\n{text}" if stage == "all" else text
