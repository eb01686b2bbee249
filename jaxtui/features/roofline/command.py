"""``jaxtui roofline``: what limits a case, and how near it comes to that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import click
import msgspec

from jaxtui import selection
from jaxtui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.commands.common import Common, engine_flags, named, no_history, valued
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import (
    BUDGET,
    Cases,
    dtypes,
    json_flag,
    modes,
    one_device,
    own_arguments,
    precisions,
    seed,
    sizes,
    sure_flag,
    with_cases,
)
from jaxtui.commands.output import Exports, close, export_flags, rendered
from jaxtui.commands.terminal import say
from jaxtui.features.roofline import report as view
from jaxtui.features.roofline.judge import Place, larger, needed, place
from jaxtui.model import Experiment, OpInfo
from jaxtui.model.remark import SelectionError
from jaxtui.model.roofs import Roofs, RoofsMeasured
from jaxtui.view import words
from jaxtui.view.bench import collect, endings
from jaxtui.view.document import Results
from jaxtui.view.export import PICTURES, Contents, of_report
from jaxtui.view.report import Report

ROOF_SECONDS = 10.0
"""Seconds for the roofs; with a typed budget it is a third of that."""


@named(
    "roofline",
    "jaxtui roofline matmul selu:1e7",
    "jaxtui roofline matmul --dtype f32,bf16",
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
@json_flag
@sure_flag
@own_arguments
@export_flags("the results", PICTURES)
@no_history
@engine_flags
@click.pass_obj
@with_cases
def command(
    common: Common,
    /,
    *,
    cases: Cases,
    as_json: bool,
    yes: bool,
    exports: Exports,
) -> int:
    """Measure the roofline and where each case sits.

    The roofs are the highest bandwidth and FLOP/s of the device; each case is limited
    by memory, by arithmetic or by something else. Without OP: the whole catalogue.
    """
    roofline, budget = _Roofline(common, record=True), cases.budget

    async def run() -> None:
        async with roofline.started() as session:
            async with roofline.progress():
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
            await roofline.confirm_start(experiment, sure=yes)
            async with roofline.progress():
                work = Roofs(
                    device=chosen,
                    dtypes=needed(experiment.cases, chosen, ops),
                    budget_seconds=ROOF_SECONDS if budget is None else budget / 3,
                    seed=cases.seed,
                )
                job = await session.run(work, "roofs")
                if job.failed is not None:
                    failed = words.why(job.failed)
                    if not (job.result or roofline.lost):
                        raise CannotRun(failed)
                    say(failed)
                if roofline.interrupted or roofline.lost:
                    return
                sized = {c.name for c in choices if cases.size or c.sizes}
                suited = await roofline.suited(experiment, sized, ops)
                rest = suited.budget if budget is None else 2 * budget / 3
                suited = msgspec.structs.replace(suited, budget_seconds=rest)
                await session.run(suited)
                # What a function of a file multiplies is known when it has run.
                more = view.work_for(session.state, chosen).dtypes
                new = {*more} - {*work.dtypes}
                if new and not (roofline.interrupted or roofline.lost):
                    work = msgspec.structs.replace(work, dtypes=more)
                    await session.run(work, "roofs")

    roofline.drive(run())
    results, places = roofline.results, roofline.places
    roofs = roofline.roofs

    document = view.document(results, roofs, places, roofline.outcome)

    def report(roofs: RoofsMeasured) -> Report:
        under = view.Roofline.under(roofs, roofline.state.run, roofs.device)
        return under.report(host=results.host, lost=roofline.lost)

    def contents(roofs: RoofsMeasured) -> Contents:
        return of_report(document, results, report(roofs))

    return close(
        document=document,
        text=(lambda: rendered(report(roofs))) if roofs else None,
        as_json=as_json,
        code=CASE_FAILED if results.failures else FINE,
        lost=roofline.lost,
        contents=partial(contents, roofs) if roofs else None,
        exports=exports,
    )


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
    return msgspec.structs.replace(experiment, cases=cases)


class _Roofline(Driver):
    @property
    def roofs(self) -> RoofsMeasured | None:
        """The roofs so far; ``None`` before the first."""
        job = self.state.jobs.get("roofs")
        if job is None or not isinstance(job.work, Roofs):
            return None
        # An engine that died leaves what it had measured in its job alone.
        roofs = view.roofs_of(self.state, job.work.device)
        result = roofs or job.result
        if not isinstance(result, RoofsMeasured):
            return None
        kinds = {device.name: device.device_kind for device in self.state.devices}
        kind = result.device_kind or kinds.get(result.device, "")
        return msgspec.structs.replace(result, device_kind=kind)

    @property
    def results(self) -> Results:
        """Every case as a measurement or a failure, whatever has arrived."""
        run = self.state.run
        cases = run.work.cases if run and isinstance(run.work, Experiment) else ()
        return collect(self.state.host, cases, run)

    @property
    def places(self) -> tuple[Place, ...]:
        roofs, run = self.roofs, self.state.run
        if roofs is None or run is None or not isinstance(run.work, Experiment):
            return ()
        measured, _ = endings(run.work.cases, run)
        return tuple(place(measurement, roofs) for measurement in measured)

    async def suited(
        self, experiment: Experiment, sized: Collection[str], ops: Sequence[OpInfo]
    ) -> Experiment:
        """The experiment at sizes that say something on this device.

        The sizes of some ops were asked for, and stay; so does the last one that fits.
        """
        roofs = self.roofs
        assert roofs is not None
        infos = {op.name: op for op in ops}
        planned = (await self.session.plan(experiment)).cases
        growing = {
            index: plan
            for index, plan in enumerate(planned)
            if plan.case.op in infos
            and plan.case.op not in sized
            and not infos[plan.case.op].collective
        }
        cases = list(experiment.cases)
        while bigger := {
            index: msgspec.structs.replace(plan.case, size=size)
            for index, plan in growing.items()
            if (size := larger(plan, infos[plan.case.op], roofs)) != plan.case.size
        }:
            tried = msgspec.structs.replace(experiment, cases=tuple(bigger.values()))
            answer = (await self.session.plan(tried)).cases
            answers = zip(bigger, answer, strict=True)
            growing = {index: plan for index, plan in answers if plan.problem is None}
            for index, plan in growing.items():
                cases[index] = plan.case
        return msgspec.structs.replace(experiment, cases=tuple(cases))
