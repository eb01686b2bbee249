"""``jaxtui compile``: an op, compiled ahead of time for a TPU that is not here."""

from __future__ import annotations

import click

from jaxtui.core.model import COMPILED_MODES, Inspection
from jaxtui.core.model.programs import LIMIT_SECONDS
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.text import join_painted
from jaxtui.features.program import report as program
from jaxtui.features.program.command import Inspecting
from jaxtui.machine.topologies import parse
from jaxtui.ui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.ui.commands.common import Common, flag, named, python_flag, valued
from jaxtui.ui.commands.engine import refused_topology
from jaxtui.ui.commands.options import (
    LIMIT,
    Cases,
    json_flag,
    mesh,
    one_dtype,
    one_mode,
    one_op,
    one_precision,
    one_size,
    own_arguments,
    with_cases,
)
from jaxtui.ui.commands.output import close, folded, rendered


@named(
    "compile",
    "jaxtui compile matmul:8k --dtype bf16 --topology v5e:2x4",
    "jaxtui compile train.py:step --topology v5litepod-16",
)
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
@mesh
@valued("--limit", "SECONDS", "Give up after this time.  [default: 600]", type=LIMIT)
@flag("--hlo", "Print the whole optimised HLO, too.")
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
    as_json: bool,
) -> int:
    """Cross-compile an op for a TPU you don't have.

    OP may be your own function, file.py:name, compiled for one device or for a --mesh,
    or a collective such as all_reduce, compiled for all devices.
    Needs libtpu, but no TPU: pip install "jaxtui[topology]".
    """
    if not cases.op or topology is None:
        what = "a topology" if cases.op else "an op"
        raise SelectionError(
            f"Name {what}, as in `jaxtui compile matmul --topology v5e:2x4`."
        )
    (mode,) = cases.mode
    if mode not in COMPILED_MODES:
        choices = " or ".join(COMPILED_MODES)
        raise SelectionError(
            f"The mode {mode} does not go through XLA: choose {choices}."
        )
    compiling = Inspecting(common, topology=topology)

    async def run() -> None:
        async with compiling.started() as session, compiling.progress():
            await session.ready(cases.choice)
            state = session.state
            first = None if cases.spans(state.ops) else state.devices[0].name
            compiling.case = cases.case(first, state.ops, state.devices)
            seconds = limit or LIMIT_SECONDS
            inspection = Inspection(case=compiling.case, limit_seconds=seconds)
            await session.run(inspection, "inspection")

    try:
        compiling.drive(run())
    except CannotRun as error:
        refused_topology(compiling, error)
        raise
    state = compiling.state
    row = program.row_of(topology.strip(), parse(topology), state.devices)
    inspected, failed = compiling.answer(quiet=as_json, where=f" of {row.asked}")

    def text() -> str:
        assert inspected is not None
        report = program.report(
            inspected, topology=row, host=state.host, devices=state.devices
        )
        return join_painted(
            [rendered(report), *([folded(inspected.hlo)] if hlo else [])], "\n\n"
        )

    return close(
        document=program.compiled(
            row,
            compiling.case,
            inspected,
            failed,
            state.host,
            state.devices,
            with_hlo=hlo,
        ),
        text=text if inspected else None,
        as_json=as_json,
        code=FINE if inspected else CASE_FAILED,
        lost=compiling.lost,
    )
