"""``jaxtui hlo``: what JAX and XLA make of an op, stage by stage."""

from __future__ import annotations

import click

from jaxtui.core import selection
from jaxtui.core.model import COMPILED_MODES, HOST_MODES, Inspected, Inspection
from jaxtui.core.model.programs import LIMIT_SECONDS
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.text import join_painted
from jaxtui.features.program import report as program
from jaxtui.ui import words
from jaxtui.ui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.ui.commands.common import Common, engine_flags, named, valued
from jaxtui.ui.commands.engine import Driver, refused_topology
from jaxtui.ui.commands.options import (
    LIMIT,
    TOPOLOGY,
    Cases,
    json_flag,
    mesh,
    one_device,
    one_dtype,
    one_mode,
    one_of,
    one_op,
    one_precision,
    one_size,
    own_arguments,
    with_cases,
)
from jaxtui.ui.commands.output import close, folded, rendered
from jaxtui.ui.commands.terminal import say


@named(
    "hlo",
    "jaxtui hlo selu --stage stablehlo",
    "jaxtui hlo train.py:step",
    "jaxtui hlo matmul:8k --dtype bf16 --topology v5e:2x4",
)
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
    type=one_of("stage", (*program.TEXTS, "all")),
)
@valued(
    "--topology",
    "NAME",
    "Compile for a TPU that is not here: v5e:2x4, v4:2x2x1, v6e-8.",
    type=TOPOLOGY,
)
@own_arguments
@mesh
@valued(
    "--limit",
    "SECONDS",
    "Give up after this time without a result.  [default: 600]",
    type=LIMIT,
)
@json_flag
@engine_flags
@click.pass_obj
@with_cases
def command(
    common: Common,
    /,
    *,
    cases: Cases,
    stage: str | None,
    topology: str | None,
    limit: float | None,
    as_json: bool,
) -> int:
    """Show the program that XLA compiles for a case.

    Prints kernels, fusions, flops, memory and HLO. Compiles without running, for a
    device of this machine or of a TPU that you don't have: that needs libtpu, but no
    TPU: pip install "jaxtui[topology]".
    OP may be your own function, file.py:name: jaxtui imports its file and makes its
    arguments.
    """
    if not cases.op:
        raise SelectionError(
            "Name an op, as in `jaxtui hlo matmul`: `jaxtui ops` lists them."
        )
    (mode,) = cases.mode
    if mode in HOST_MODES or (topology and mode not in COMPILED_MODES):
        choices = " or ".join(COMPILED_MODES) if topology else "jit, eager or pallas"
        raise SelectionError(
            f"The mode {mode} does not go through XLA: choose {choices}."
        )
    if topology and cases.device:
        raise SelectionError("With a topology jaxtui chooses the device: leave it out.")

    driver = Driver(common, topology=topology)

    async def run() -> None:
        async with driver.started() as session, driver.progress():
            await session.ready(cases.choice)
            session.refuse("jax")
            ops, devices = session.state.ops, session.state.devices
            name = cases.device
            if name or not cases.spans(ops):
                name = selection.parse_device(name, devices, groups=True)
            case = cases.case(name, ops, devices)
            inspection = Inspection(case=case, limit_seconds=limit or LIMIT_SECONDS)
            await session.run(inspection, "inspection")

    try:
        driver.drive(run())
    except CannotRun as error:
        refused_topology(driver, error)
        raise
    state = driver.state
    job = state.jobs.get("inspection")
    inspected = job.result if job else None
    if job is not None and job.failed is not None and not as_json:
        assert isinstance(job.work, Inspection)
        where = f" of {topology}" if topology else ""
        say(f"{job.work.case.label}{where}: {words.in_full(job.failed)}")

    def text() -> str:
        assert isinstance(inspected, Inspected)
        parts = [rendered(program.report(inspected, topology, state))]
        if stage is None:
            parts.append(folded(program.entry(program.hlo(inspected.hlo))))
        for name in program.TEXTS:
            if stage in (name, "all"):
                whole = folded(str(getattr(inspected, name)).strip())
                parts.append(f"{name}:\n\n{whole}" if stage == "all" else whole)
        return join_painted(parts, "\n\n")

    texts = program.TEXTS if stage in (None, "all") else (stage,)
    return close(
        document=program.document(state, topology, texts),
        text=text if inspected else None,
        as_json=as_json,
        code=FINE if inspected else CASE_FAILED,
        lost=driver.lost,
    )
