"""``jaxtui bench``: run an experiment and print what it yielded."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from typing import Any

import click
import msgspec

from jaxtui.core import experiments, processes, selection
from jaxtui.core.comparison import Pair, Side, compare, compare_turns
from jaxtui.core.model import Case, Experiment, SelectionError
from jaxtui.core.model.machine import device_of
from jaxtui.core.signals import interrupt
from jaxtui.core.state import Job, State
from jaxtui.core.stats import MINIMUM_ROUNDS
from jaxtui.features.bench import report as view
from jaxtui.features.bench.comparison import LABELS, Turns, turns_report
from jaxtui.features.bench.curves import of_run
from jaxtui.features.bench.messages import Results
from jaxtui.features.bench.scripts import case_script
from jaxtui.machine import malloc
from jaxtui.ui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.ui.commands.common import (
    Common,
    Whole,
    engine_flags,
    flag,
    named,
    no_history,
    valued,
)
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.options import (
    BUDGET,
    DEVICE_LIST,
    INPUTS_LIST,
    LIMIT,
    Cases,
    dtypes,
    json_flag,
    mesh,
    modes,
    own_arguments,
    precisions,
    seed,
    sizes,
    sure_flag,
    with_cases,
)
from jaxtui.ui.commands.output import NOTES, Exports, close, export_flags, rendered
from jaxtui.ui.commands.progress import progress
from jaxtui.ui.commands.terminal import is_terminal
from jaxtui.ui.documents import MACHINE, machine
from jaxtui.ui.export import FORMATS, Contents, ExportError
from jaxtui.ui.plot import COLORS
from jaxtui.ui.report import Report


@named(
    "bench",
    "jaxtui bench matmul selu:1e6 --size 256..4096 --mode jit,numpy",
    "jaxtui bench train.py:step --export step.md",
)
@click.argument("op", nargs=-1, metavar="OP[:SIZE]...")
@sizes("the op's own")
@dtypes
@valued(
    "--device",
    "DEVICES",
    "cpu:0, tpu:0,tpu:3 or tpu; several at once: tpu:0-7, or all.  [default: the "
    "first; all for a collective]",
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
    "Time for measuring; inputs, compile and checks come on top.  [default: 10, or 1 "
    "per case and process if that is more]",
    type=BUDGET,
)
@valued("--limit", "SECONDS", "End everything then; what arrived counts.", type=LIMIT)
@valued(
    "--processes",
    "N",
    "Time the cases in N fresh processes, one after the other; the interval then "
    "covers processes.  [default: 1; 6 per Python with --python A,B]",
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
    "On a CPU: fresh or reused memory for every result, or both and their ratio.  "
    "[default: as in a plain program]",
    type=click.Choice(["fresh", "reused", "fresh,reused"]),
)
@seed
@json_flag
@flag("--samples", "Put every sample into the JSON.")
@NOTES
@sure_flag
@own_arguments
@mesh
@export_flags("the results", FORMATS)
@no_history
@engine_flags
@click.pass_obj
@with_cases
def command(
    common: Common,
    /,
    *,
    cases: Cases,
    limit: float | None,
    memory: str | None,
    as_json: bool,
    notes: bool,
    yes: bool,
    exports: Exports,
) -> int:
    """Time ops: every combination of the lists, in turns.

    Lists are separated by commas; an op may carry its own size, as in
    matmul:2k selu:1e6. A function of your own is path/to/file.py:name or
    package.module:name.
    """
    if not cases.op:
        raise SelectionError(
            "Name an op, as in `jaxtui bench matmul`: `jaxtui ops` lists them."
        )
    ends: list[Any] = memory.split(",") if memory else [None]
    if len(common.pythons) > 1 and len(ends) > 1:
        raise SelectionError("Choose one: two Pythons, or both kinds of memory.")
    if len(common.pythons) > 1 or len(ends) > 1:
        return _two_sides(
            common,
            cases,
            ends,
            limit=limit,
            sure=yes,
            notes=notes,
            as_json=as_json,
            exports=exports,
        )
    bench = _Bench(common, environment=_environment(ends[0]), record=True)

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
                    try:
                        bench.script = case_script(plan.cases)
                    except ExportError as error:
                        raise SelectionError(str(error)) from error
                await session.run(experiment)

    bench.drive(run(), limit=limit)
    results, job = bench.results, bench.begun

    def text(job: Job) -> str:
        shown = is_terminal(sys.stdout)
        room = ROOM if shown else 0
        picture = of_run(job, bench.state.ops, COLORS) if shown else None
        host = machine(results.host, *MACHINE, by=" · ")
        report = view.report(job, host, room=room, picture=picture, full=notes)
        return rendered(report, notes=notes)

    def contents(job: Job) -> Contents:
        picture = of_run(job, bench.state.ops, COLORS)
        files = view.files(results, job, picture)
        return {**files, ".py": lambda: bench.script}

    return close(
        document=results,
        text=partial(text, job) if job else None,
        as_json=as_json,
        code=FINE if results.measurements and not results.failures else CASE_FAILED,
        lost=bench.lost,
        contents=partial(contents, job) if job else None,
        exports=exports,
    )


ROOM = 8
"""Cells of a bar on a terminal."""


class _Bench(Driver):
    cases: tuple[Case, ...] = ()
    script: str = ""
    """The script of the only case, if one is to be written."""

    @property
    def results(self) -> Results:
        """Every case as a measurement or a failure, whatever has arrived."""
        return view.collect(self.state.host, self.cases, self.state.run)

    @property
    def begun(self) -> Job | None:
        """The run, once something of a case has arrived."""
        run = self.state.run
        statuses = ("running", "done", "failed")
        if run and any(case.failure or case.status in statuses for case in run.cases):
            return run
        return None


def _environment(end: malloc.End | None) -> Mapping[str, str | None] | None:
    return malloc.environment(end) if end else None


# Two Pythons or both ends of memory, whose engines take turns.

ORDER = (1, 0, 0, 1)
"""The order of the two sides, repeated. The second begins: its engine is up already."""


def _two_sides(
    common: Common,
    cases: Cases,
    ends: Sequence[malloc.End | None],
    *,
    limit: float | None,
    sure: bool,
    notes: bool,
    as_json: bool,
    exports: Exports,
) -> int:
    """Time cases in fresh processes of two kinds, in turn; one engine at a time.

    Raises:
        SelectionError: one pair tells nothing, and files are those of one Python.
    """
    count = cases.processes or (1 if len(ends) > 1 else MINIMUM_ROUNDS)
    if count == 1 and len(common.pythons) > 1:
        raise SelectionError(
            "With one process per Python there is no confidence interval:"
            f" --processes {MINIMUM_ROUNDS} gives a 95 % interval."
        )
    if exports.paths:
        raise SelectionError(
            "--export writes what one engine has measured: leave it out with two;"
            " --json has both."
        )
    run = _Sides(common, ends)
    run.drive(replace(cases, processes=2 * count), sure=sure, limit=limit)
    turns = run.results

    def text() -> str:
        jobs = [driver.state.run for driver in run.drivers]
        reports = [view.report(job, full=notes) if job else Report("") for job in jobs]
        built = turns_report(turns, run.pairs, reports, run.labels)
        return rendered(built, notes=notes)

    return close(
        document=turns,
        text=text if any(side.measurements for side in turns.sides) else None,
        as_json=as_json,
        code=CASE_FAILED if any(side.failures for side in turns.sides) else FINE,
        lost=run.lost,
    )


class _Sides:
    """A driver for each Python or end of memory, and whose turn it is."""

    def __init__(self, common: Common, ends: Sequence[malloc.End | None]) -> None:
        pythons = common.pythons
        self.names: dict[str, Any] = {"pythons": tuple(map(shlex.join, pythons))}
        self.labels: Sequence[str] = LABELS
        if len(ends) > 1:
            self.names = {"memory": tuple(ends)}
            self.labels = [f"{end} memory" for end in ends]
        self.drivers = [
            Driver(side, environment=_environment(end), record=True)
            for side in [replace(common, pythons=(p,)) for p in pythons] or [common]
            for end in ends
        ]
        self._current = 0
        self._experiment = Experiment(cases=())
        """The experiment of each side."""

    def drive(self, cases: Cases, *, sure: bool, limit: float | None) -> None:
        """Take turns until the end, or until something breaks it off.

        Args:
            cases: with the processes of both.
            sure: nobody is asked.
            limit: seconds for everything.
        """
        self.drivers[0].drive(
            self._take_turns(cases, sure), lambda at_once: self._stop(at_once), limit
        )

    def _stop(self, at_once: bool) -> Coroutine[Any, Any, None] | None:
        return self.drivers[self._current].stop(at_once)

    async def _take_turns(self, cases: Cases, sure: bool) -> None:
        async with AsyncExitStack() as stack:
            for index, driver in enumerate(self.drivers):
                self._current = index
                try:
                    session = await stack.enter_async_context(driver.started())
                    async with driver.progress():
                        await session.ready(cases.choices)
                except CannotRun as error:
                    raise CannotRun(f"{self.labels[index]}: {error}") from error
                if session.state.start.joining is not None:
                    raise SelectionError(
                        "Two engines are compared on one host: name one Python or kind"
                        " of memory, or add --num-processes 1 and start it there."
                    )
                if index == 0:
                    await driver.confirm_start(
                        self._plan(cases, session.state), sure=sure
                    )
                    await session.release("")
                else:
                    driver.warn()
                session.refuse(self._experiment)
            sessions = [driver.session for driver in self.drivers]
            steps = [
                await stack.enter_async_context(
                    aclosing(session.processes(self._experiment))
                )
                for session in sessions
            ]
            await stack.enter_async_context(progress(self._shown))
            for turn in range(2 * self._experiment.processes):
                self._current = ORDER[turn % len(ORDER)]
                job = await anext(steps[self._current])
                await sessions[self._current].release("")
                if interrupt.happened or job.outcome not in (None, "complete"):
                    return

    def _plan(self, cases: Cases, state: State) -> Experiment:
        """Plan the experiment of both sides; the first one knows devices and ops."""
        named = cases.device
        devices = selection.parse_devices(named, state.devices) if named else None
        whole = cases.experiment(
            cases.choices(state.ops), devices, state.ops, state.devices
        )
        budget = whole.budget_seconds
        self._experiment = msgspec.structs.replace(
            whole,
            processes=whole.processes // 2,
            budget_seconds=None if budget is None else budget / 2,
        )
        return whole

    def _shown(self) -> State:
        """The state of the one whose turn it is, with the time of both."""
        state = self.drivers[self._current].state
        job, other = state.job, self.drivers[1 - self._current].state.run
        if job is None:
            return state
        done = other.process if other else 0
        later = (self._experiment.processes - done) * self._experiment.share
        job = replace(
            job,
            remaining_seconds=job.remaining_seconds + later,
            doing=f"{self.labels[self._current]}, {job.doing}",
        )
        return replace(state, jobs={**state.jobs, job.purpose: job})

    # What came of it.

    @property
    def lost(self) -> bool:
        return any(driver.lost for driver in self.drivers)

    @property
    def results(self) -> Turns:
        """The results of either side, and the ratio of those that both have."""
        cases = self._experiment.cases
        first, second = (
            view.collect(driver.state.host, cases, driver.state.run)
            for driver in self.drivers
        )
        return Turns.of(
            (first, second),
            self.pairs,
            complete=not interrupt.happened and not self.lost,
            **self.names,
        )

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The cases that both sides have measured."""
        return tuple(self._pairs())

    def _pairs(self) -> Iterator[Pair]:
        states = [driver.state for driver in self.drivers]
        jobs = [state.run for state in states if state.run is not None]
        if len(jobs) < len(states):
            return
        for cases in zip(*(job.cases for job in jobs), strict=True):
            first, second = (
                case.measurement
                and Side(
                    label=label,
                    host=state.host,
                    device=device_of(state.devices, case.case.device),
                    measurement=case.measurement,
                )
                for label, state, case in zip(self.labels, states, cases, strict=True)
            )
            if first and second:
                compared = compare(first, second)
                if self._experiment.processes > 1:
                    turns = processes.turns(*(case.ended for case in cases))
                    compared = compare_turns(first, second, turns)
                yield Pair(first=first, second=second, comparison=compared)
