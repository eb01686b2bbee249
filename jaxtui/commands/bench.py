"""``jaxtui bench``: run an experiment and print what it yielded."""

from __future__ import annotations

from functools import partial

import click

from jaxtui import experiments, scripts, selection
from jaxtui.commands import CASE_FAILED, FINE, turns
from jaxtui.commands.common import (
    Common,
    Whole,
    engine_flags,
    flag,
    no_history,
    valued,
)
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import (
    BUDGET,
    DEVICE_LIST,
    INPUTS_LIST,
    Cases,
    dtypes,
    json_flag,
    modes,
    own_arguments,
    precisions,
    seed,
    sizes,
    sure_flag,
    with_cases,
)
from jaxtui.commands.output import Exports, close, export_flags, plot
from jaxtui.machine import malloc
from jaxtui.model import Case, PlannedCase, SelectionError
from jaxtui.plot import COLORS, Picture
from jaxtui.state import Job
from jaxtui.text import join_painted
from jaxtui.view import bench as view
from jaxtui.view.curves import of_run
from jaxtui.view.document import Results
from jaxtui.view.export import FORMATS, Contents


@click.command("bench")
@click.argument("op", nargs=-1, metavar="OP[:SIZE]...")
@sizes("the op's own")
@dtypes
@valued(
    "--device",
    "DEVICES",
    "cpu:0, tpu:0,tpu:3, tpu or all.  [default: the first]",
    type=DEVICE_LIST,
)
@modes
@valued(
    "--inputs",
    "PLACES",
    "Where arguments live before each call: device or host.",
    "device",
    type=INPUTS_LIST,
)
@precisions
@valued(
    "--budget",
    "SECONDS",
    "For everything, compile included.  [default: 10, or 1 per case and process if"
    " more, for measuring alone]",
    type=BUDGET,
)
@valued(
    "--processes",
    "N",
    "Time the cases in N fresh processes, one after the other: the interval is then "
    "about processes.  [default: 1, or 6 of each of two Pythons]",
    type=Whole(1, experiments.MAXIMUM_PROCESSES),
)
@valued(
    "--target",
    "PERCENT",
    "Stop a case when its interval is this narrow: 10, 3 or 1.",
    "3",
    type=click.Choice(["10", "3", "1"]),
)
@valued(
    "--memory",
    "END",
    "On a CPU, give results fresh memory in every call, or reused.  [default: what a "
    "plain program gets, and both ends beside it]",
    type=click.Choice(["fresh", "reused"]),
)
@seed
@json_flag
@flag("--samples", "Put every sample into the JSON.")
@sure_flag
@own_arguments
@export_flags("the results", tuple(FORMATS))
@no_history
@engine_flags
@click.pass_obj
@with_cases
def command(
    common: Common,
    /,
    *,
    cases: Cases,
    memory: malloc.End | None,
    as_json: bool,
    yes: bool,
    exports: Exports,
) -> int:
    """Time ops: every combination of the lists, taking turns.

    Lists are separated by commas; an op may carry its own size, as in
    matmul:2k selu:1e6. A function of your own is path/to/file.py:name or
    package.module:name.
    """
    if not cases.op:
        raise SelectionError(
            "Name at least one op, as in `jaxtui bench matmul`: `jaxtui ops` lists "
            "them."
        )
    environment = malloc.environment(memory) if memory else None
    if len(common.pythons) > 1:
        return turns.bench(
            common, cases, environment, as_json=as_json, sure=yes, exports=exports
        )
    bench = _Bench(common, environment=environment, record=True)

    async def run() -> None:
        async with bench.started() as session:
            async with bench.progress():
                await session.ready(cases.choices)
                ops, devices = session.state.ops, session.state.devices
                named = cases.device
                chosen = selection.parse_devices(named, devices) if named else None
                choices = cases.choices(ops)
                experiment = cases.experiment(choices, chosen, ops, devices)
            session.refuse(experiment)
            await bench.confirm_start(experiment, sure=yes)
            bench.cases = experiment.cases
            async with bench.progress():
                if exports.wants(".py"):
                    plan = await session.plan(experiment, recipes=True)
                    bench.planned = plan.cases
                await session.run(experiment)

    bench.drive(run())
    results, job = bench.results, bench.begun

    def text(job: Job) -> str:
        return join_painted(
            filter(None, [view.report(job), plot(_picture(job))]), "\n\n"
        )

    def contents(job: Job) -> Contents:
        script = partial(scripts.of_cases, bench.planned)
        return view.files(results, job, _picture(job), script)

    return close(
        document=results,
        text=partial(text, job) if job else None,
        as_json=as_json,
        code=CASE_FAILED if results.failures else FINE,
        lost=bench.lost,
        contents=partial(contents, job) if job else None,
        exports=exports,
    )


class _Bench(Driver):
    cases: tuple[Case, ...] = ()
    planned: tuple[PlannedCase, ...] = ()
    """The cases as the engine planned them, if a script is to be written."""

    @property
    def results(self) -> Results:
        """Every case as a measurement or a failure, whatever has arrived."""
        return view.collect(self.state.host, self.cases, self.state.run)

    @property
    def begun(self) -> Job | None:
        """The run, once something of a case has arrived."""
        run = self.state.run
        statuses = ("running", "done", "failed")
        if run and any(one.failure or one.status in statuses for one in run.cases):
            return run
        return None


def _picture(run: Job) -> Picture | None:
    """The samples of a single case, or curves over size."""
    return of_run(run, run.cases[0] if len(run.cases) == 1 else None, COLORS)
