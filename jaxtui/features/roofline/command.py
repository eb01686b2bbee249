"""``jaxtui roofline``: what limits a case, and how near it comes to that."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click
from msgspec.structs import replace

from jaxtui.core import selection
from jaxtui.core.model import Experiment, OpInfo
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.model.roofs import Roofs, RoofsMeasured
from jaxtui.features.roofline.judge import larger, needed, roofs_of, work_for
from jaxtui.features.roofline.report import OUTCOME
from jaxtui.ui import words
from jaxtui.ui.commands import CannotRun
from jaxtui.ui.commands.common import valued
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.measures import measures
from jaxtui.ui.commands.options import (
    BUDGET,
    Cases,
    dtypes,
    modes,
    one_device,
    own_arguments,
    precisions,
    seed,
    sizes,
    sure_flag,
    with_cases,
)
from jaxtui.ui.commands.terminal import say

ROOF_SECONDS = 10.0
"""Seconds for the roofs; with a typed budget it is a third of that."""


@measures(
    "roofline",
    OUTCOME,
    "jaxtui roofline matmul selu:1e7",
    "jaxtui roofline matmul --dtype f32,bf16",
    record=True,
)
@click.argument("op", nargs=-1, metavar="[OP[:SIZE]]...")
@sizes("the op's own, or larger than the caches")
@dtypes
@one_device
@modes
@precisions
@valued(
    "--budget",
    "SECONDS",
    "Time for measuring, a third for the roofs.  [default: 10 for the roofs, and as "
    "bench]",
    type=BUDGET,
)
@seed
@sure_flag
@own_arguments
@with_cases
async def command(driver: Driver, *, cases: Cases, yes: bool) -> None:
    """Measure the roofline and where each case sits.

    The roofs are the highest bandwidth and FLOP/s of the device; each case is limited
    by memory, by arithmetic or by something else. Without OP: the whole catalogue.
    """
    session, budget = driver.session, cases.budget
    async with driver.progress():
        await session.ready(lambda ops: _choices(cases, ops))
        session.refuse("verdicts")
    ops, devices = session.state.ops, session.state.devices
    choices = _choices(cases, ops)
    chosen = selection.parse_device(cases.device, devices)
    # Without a typed device a collective has all of them.
    named = (chosen,) if cases.device else None
    experiment = cases.experiment(choices, named, ops, devices)
    if not cases.op:
        experiment = _possible(experiment, ops)
    await driver.confirm_start(experiment, sure=yes)
    async with driver.progress():
        work = Roofs(
            device=chosen,
            dtypes=needed(experiment.cases, chosen, ops),
            budget_seconds=ROOF_SECONDS if budget is None else budget / 3,
            seed=cases.seed,
        )
        job = await session.run(work, "roofs")
        if job.failed is not None:
            failed = words.why(job.failed)
            if not (job.result or driver.lost):
                raise CannotRun(failed)
            say(failed)
        roofs = roofs_of(session.state, chosen)
        if driver.interrupted or driver.lost or roofs is None:
            return
        sized = {choice.name for choice in choices if cases.size or choice.sizes}
        suited = await _suited(driver, roofs, experiment, sized)
        rest = suited.budget if budget is None else 2 * budget / 3
        await session.run(replace(suited, budget_seconds=rest))
        # What a function of a file multiplies is known when it has run.
        more = work_for(session.state, chosen).dtypes
        if {*more} - {*work.dtypes} and not (driver.interrupted or driver.lost):
            await session.run(replace(work, dtypes=more), "roofs")


def _choices(cases: Cases, catalogue: Sequence[OpInfo]) -> Sequence[selection.SizedOp]:
    """The ops that were named, or all that take one of the dtypes.

    Raises:
        SelectionError: if one does not exist, or none takes a dtype.
    """
    if cases.op:
        return cases.choices(catalogue)
    sized = [
        selection.SizedOp(op.name)
        for op in catalogue
        if not (op.own or op.collective) and set(op.dtypes) & set(cases.dtype)
    ]
    if not sized:
        raise SelectionError(f"No op takes {' or '.join(cases.dtype)}.")
    return sized


def _possible(experiment: Experiment, catalogue: Sequence[OpInfo]) -> Experiment:
    """Without the cases whose op does not have the dtype or the mode."""
    ops = {op.name: op for op in catalogue}
    cases = tuple(
        case
        for case in experiment.cases
        if case.dtype in ops[case.op].dtypes and case.mode in ops[case.op].modes
    )
    return replace(experiment, cases=cases)


async def _suited(
    driver: Driver,
    roofs: RoofsMeasured,
    experiment: Experiment,
    sized: Collection[str],
) -> Experiment:
    """The experiment at sizes that say something on this device.

    The sizes of some ops were asked for, and stay; so does the last one that fits.
    """
    infos = {op.name: op for op in driver.state.ops}
    planned = (await driver.session.plan(experiment)).cases
    growing = {
        index: plan
        for index, plan in enumerate(planned)
        if plan.case.op in infos
        and plan.case.op not in sized
        and not infos[plan.case.op].collective
    }
    cases = list(experiment.cases)
    while bigger := {
        index: replace(plan.case, size=size)
        for index, plan in growing.items()
        if (size := larger(plan, infos[plan.case.op], roofs)) != plan.case.size
    }:
        tried = replace(experiment, cases=tuple(bigger.values()))
        answer = (await driver.session.plan(tried)).cases
        answers = zip(bigger, answer, strict=True)
        growing = {index: plan for index, plan in answers if plan.problem is None}
        for index, plan in growing.items():
            cases[index] = plan.case
    return replace(experiment, cases=tuple(cases))
