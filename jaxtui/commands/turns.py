"""``jaxtui bench --python A,B``: two Pythons, whose engines take turns."""

from __future__ import annotations

import shlex
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import Any

import msgspec

from jaxtui import selection
from jaxtui.analysis import processes
from jaxtui.analysis.comparison import Side, compare_turns
from jaxtui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.commands.common import Common
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import Cases
from jaxtui.commands.output import Exports, close
from jaxtui.commands.progress import progress
from jaxtui.model import Experiment, SelectionError
from jaxtui.signals import interrupt
from jaxtui.state import State
from jaxtui.stats import MINIMUM_ROUNDS
from jaxtui.view import bench as view
from jaxtui.view.compare import LABELS, CaseComparison, Turns, turns_text
from jaxtui.view.document import Outcome

ORDER = (1, 0, 0, 1)
"""Whose turn it is, over and over. The second begins: its engine is up already."""


def bench(
    common: Common,
    cases: Cases,
    environment: Mapping[str, str | None] | None,
    *,
    sure: bool,
    as_json: bool,
    exports: Exports,
) -> int:
    """Time cases in fresh processes of two Pythons, in turn; one engine at a time.

    Raises:
        SelectionError: one pair tells nothing, and files are those of one Python.
    """
    count = MINIMUM_ROUNDS if cases.processes is None else cases.processes
    if count == 1:
        raise SelectionError(
            "One process of each Python makes one pair, which has no interval: "
            f"--processes {MINIMUM_ROUNDS} gives one of 95 %."
        )
    if exports.paths:
        raise SelectionError(
            "--export writes what one Python has measured: leave it out with two; "
            "--json has both."
        )
    run = _Run(common, environment)
    run.drive(replace(cases, processes=2 * count), sure=sure)
    found = run.results

    def text() -> str:
        jobs = [one.state.run for one in run.drivers]
        return turns_text(found, [view.remarks(job) if job else [] for job in jobs])

    return close(
        document=found,
        text=text if any(one.measurements for one in found.sides) else None,
        as_json=as_json,
        code=CASE_FAILED if any(one.failures for one in found.sides) else FINE,
        lost=run.lost,
    )


class _Run:
    """A driver for each Python, and whose turn it is."""

    def __init__(
        self, common: Common, environment: Mapping[str, str | None] | None
    ) -> None:
        self.pythons = common.pythons
        self.drivers = [
            Driver(
                replace(common, pythons=(python,)),
                environment=environment,
                record=True,
            )
            for python in self.pythons
        ]
        self._current = 0
        self._experiment = Experiment(cases=())
        """What each of them does."""

    def drive(self, cases: Cases, *, sure: bool) -> None:
        """Take turns until the end, or until something breaks it off.

        Args:
            cases: with the processes of both.
            sure: nobody is asked.
        """
        self.drivers[0].drive(
            self._take_turns(cases, sure), lambda at_once: self._stop(at_once)
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
                    raise CannotRun(f"{LABELS[index]}: {error}") from error
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
        """What both of them do together; as the first one knows devices and ops."""
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
            doing=f"{LABELS[self._current]}, {job.doing}",
        )
        return replace(state, jobs={**state.jobs, job.purpose: job})

    # What came of it.

    @property
    def lost(self) -> bool:
        return any(driver.lost for driver in self.drivers)

    @property
    def results(self) -> Turns:
        """What either has measured, and the ratio of what both have."""
        cases = self._experiment.cases
        first, second = (
            view.collect(driver.state.host, cases, driver.state.run)
            for driver in self.drivers
        )
        outcome: Outcome = "incomplete" if self.lost else "complete"
        first_name, second_name = map(shlex.join, self.pythons)
        return Turns(
            pythons=(first_name, second_name),
            sides=(first, second),
            comparisons=tuple(self._comparisons()),
            outcome="cancelled" if interrupt.happened else outcome,
        )

    def _comparisons(self) -> Iterator[CaseComparison]:
        states = [driver.state for driver in self.drivers]
        jobs = [state.run for state in states if state.run is not None]
        if len(jobs) < len(states):
            return
        for both in zip(*(job.cases for job in jobs), strict=True):
            first, second = (
                one.measurement
                and Side(
                    label=label,
                    host=state.host,
                    device=next(
                        (
                            device
                            for device in state.devices
                            if device.name == one.case.device
                        ),
                        None,
                    ),
                    measurement=one.measurement,
                )
                for label, state, one in zip(LABELS, states, both, strict=True)
            )
            if first and second:
                turns = processes.turns(*(one.ended for one in both))
                compared = compare_turns(first, second, turns)
                yield CaseComparison(case=both[0].case, comparison=compared)
