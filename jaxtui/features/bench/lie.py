"""``jaxtui lie``: the first minute as text, for scripts, notebooks, dumb terminals."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial

import click
from msgspec.structs import replace

from jaxtui.core import experiments, selection
from jaxtui.core.model import Case, Experiment
from jaxtui.core.selection import SizedOp
from jaxtui.core.state import Job, State
from jaxtui.features.bench import report as bench
from jaxtui.features.bench import stopwatch
from jaxtui.ui.commands import CASE_FAILED, FINE
from jaxtui.ui.commands.common import Common, engine_flags, named, no_history
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.options import json_flag, only
from jaxtui.ui.commands.output import close
from jaxtui.ui.commands.terminal import in_colour, width_of
from jaxtui.ui.report import PROSE, Fitted, written


@named("lie", "jaxtui lie", "jaxtui lie matmul:4k --json")
@click.argument("op", required=False, metavar="[OP[:SIZE]]")
@json_flag
@no_history
@engine_flags
@click.pass_obj
def command(common: Common, /, *, op: str | None, as_json: bool) -> int:
    """Show why a stopwatch around a call lies.

    The four lines of the first minute: the stopwatch, the truth, NumPy, the first
    call. Without an op it is the matrix product that the app begins with.
    """
    driver = Driver(common, record=True)
    cases: tuple[Case, ...] = ()

    async def run() -> None:
        nonlocal cases
        async with driver.started() as session:
            async with driver.progress():
                await session.ready(
                    lambda ops: op and selection.parse_ops((op,), ops, own=True)
                )
            experiment = _experiment(op, session.state)
            session.refuse(experiment)
            driver.warn()
            cases = experiment.cases
            async with driver.progress():
                job = await session.run(experiment)
                first = job.cases[0]
                size = experiments.larger_size(first.measurement)
                if op is None and size is not None and job.outcome == "complete":
                    experiment = _experiment(
                        op, session.state, {first.case.device: size}
                    )
                    cases = experiment.cases
                    await session.run(experiment)

    driver.drive(run())
    job = driver.state.run
    results = bench.collect(driver.state.host, cases, job)

    def text(job: Job) -> str:
        lines = Fitted(partial(stopwatch.first_minute, job))
        return written(lines, width_of(sys.stdout) or PROSE, colour=in_colour())

    return close(
        document=stopwatch.Stopwatch.of_run(results, job),
        text=(lambda: text(job)) if job else None,
        as_json=as_json,
        code=CASE_FAILED if results.failures else FINE,
        lost=driver.lost,
    )


def _experiment(
    op: str | None, state: State, sizes: Mapping[str, int] = {}
) -> Experiment:
    """The one that the app begins with, or the same of another op."""
    assert state.host is not None
    offer = experiments.default_experiment(state.devices, state.ops, state.host, sizes)
    if op is None:
        return offer
    choice = only(selection.parse_ops((op,), state.ops, own=True), "op")
    info = experiments.op_info(choice.name, state.ops)
    assert info is not None
    size = only(choice.sizes or (info.default,), "size")
    cases: list[Case] = []
    for case in offer.cases:
        if case.mode in info.modes and not (info.own and case.on_host):
            dtype = case.dtype if case.dtype in info.dtypes else "float32"
            built = experiments.build(
                (SizedOp(choice.name, (size,)),),
                dtypes=None if info.own else (dtype,),
                devices=None if case.on_host else (case.device,),
                modes=(case.mode,),
                catalogue=state.ops,
                known_devices=state.devices,
            )
            cases += built.cases
    return replace(offer, cases=tuple(cases))
