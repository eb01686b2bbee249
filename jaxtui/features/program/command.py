"""``jaxtui hlo``: what JAX and XLA make of an op, stage by stage."""

from __future__ import annotations

from functools import partial

import click

from jaxtui.core import selection
from jaxtui.core.model import HOST_MODES, Case, Inspected, Inspection, WorkFailed
from jaxtui.core.model.programs import LIMIT_SECONDS
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.text import join_painted
from jaxtui.features.program import report as program
from jaxtui.ui import words
from jaxtui.ui.commands import CASE_FAILED, FINE
from jaxtui.ui.commands.common import Common, engine_flags, named, valued
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.options import (
    LIMIT,
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

TEXTS = ("jaxpr", "stablehlo", "hlo")
"""The texts that can be printed, whole."""


@named("hlo", "jaxtui hlo selu --stage stablehlo", "jaxtui hlo train.py:step")
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
    limit: float | None,
    as_json: bool,
) -> int:
    """Show the program XLA compiles: kernels, fusions, flops, memory, HLO.

    Compiles for a device of this machine without running. OP may be your own function,
    file.py:name: jaxtui imports its file and makes its arguments.
    """
    if not cases.op:
        raise SelectionError(
            "Name an op, as in `jaxtui hlo matmul`: `jaxtui ops` lists them."
        )
    (mode,) = cases.mode
    if mode in HOST_MODES:
        choices = "jit, eager or pallas"
        raise SelectionError(
            f"The mode {mode} does not go through XLA: choose {choices}."
        )

    hlo = Inspecting(common)

    async def run() -> None:
        async with hlo.started() as session, hlo.progress():
            await session.ready(cases.choice)
            session.refuse("jax")
            ops, devices = session.state.ops, session.state.devices
            name = cases.device
            if name or not cases.spans(ops):
                name = selection.parse_device(name, devices, groups=True)
            hlo.case = cases.case(name, ops, devices)
            inspection = Inspection(case=hlo.case, limit_seconds=limit or LIMIT_SECONDS)
            await session.run(inspection, "inspection")

    hlo.drive(run())
    inspected, failed = hlo.answer(quiet=as_json)
    texts = TEXTS if stage in (None, "all") else (stage,)
    return close(
        document=program.document(hlo.case, inspected, failed, hlo.state.host, texts),
        text=partial(_text, inspected, stage) if inspected else None,
        as_json=as_json,
        code=FINE if inspected else CASE_FAILED,
        lost=hlo.lost,
    )


class Inspecting(Driver):
    """Compiles a case."""

    case: Case | None = None

    def answer(
        self, *, quiet: bool, where: str = ""
    ) -> tuple[Inspected | None, WorkFailed | None]:
        """Return the result, and the failure, which is printed unless ``quiet``."""
        job = self.state.jobs.get("inspection")
        failed = job.failed if job else None
        if failed is not None and not quiet:
            label = f"{self.case.label}{where}: " if self.case else ""
            say(f"{label}{words.in_full(failed)}")
        inspected = job.result if job else None
        return inspected if isinstance(inspected, Inspected) else None, failed


def _text(inspected: Inspected, stage: str | None) -> str:
    parts = [rendered(program.report(inspected))]
    if stage is None:
        parts.append(folded(program.entry(program.hlo(inspected.hlo))))
    for name in TEXTS:
        if stage in (name, "all"):
            text = folded(str(getattr(inspected, name)).strip())
            parts.append(f"{name}:\n\n{text}" if stage == "all" else text)
    return join_painted(parts, "\n\n")
