"""``jaxtui bench``: run an experiment and print what it yielded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from jaxtui import scripts, selection
from jaxtui.commands import CASE_FAILED, asking, closing
from jaxtui.commands.closing import Report
from jaxtui.commands.driving import Driver
from jaxtui.commands.exporting import NO_EXPORTS, Exports
from jaxtui.commands.progress import progress
from jaxtui.commands.request import Request
from jaxtui.commands.session import EngineFactory
from jaxtui.commands.terminal import is_terminal, look, say
from jaxtui.document import Results, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.export import Contents
from jaxtui.model import Case, Experiment, PlannedCase
from jaxtui.plot import COLORS, Picture, printed
from jaxtui.text import painted
from jaxtui.tui.run_state import RunState
from jaxtui.view.bench import collect, files, report
from jaxtui.view.curves import of_run

__all__ = ["Request", "run"]


@dataclass
class Progressed(Driver):
    """How far a run has come; read when it is interrupted."""

    cases: tuple[Case, ...] = ()
    planned: tuple[PlannedCase, ...] = ()
    """The cases as the engine planned them, if a script is to be written."""
    declined: bool = False
    """Somebody was asked whether so long a run is meant, and it is not."""

    @property
    def results(self) -> Results:
        """Every case as a measurement or a failure, whatever has arrived."""
        return collect(self.state.host, self.cases, self.state.run)


def run(
    factory: EngineFactory,
    options: EngineOptions,
    request: Request,
    *,
    as_json: bool,
    exports: Exports = NO_EXPORTS,
    record: bool = False,
) -> int:
    """Runs what was asked for, prints it, and gives the exit code.

    Args:
        factory: makes the engine.
        options: how to start it.
        request: what was asked for.
        as_json: print one JSON document instead of text.
        exports: the files to write, whatever has arrived.
        record: keep what is measured in the history.

    Raises:
        CannotRun: if the engine cannot start; nothing is on stdout then.
        SelectionError: if an op or a device does not exist, or if the run is long and
            nobody is there to be asked.
    """
    run = Progressed()
    run.drive(_run(factory, options, request, run, exports, record))
    if run.declined:
        say(asking.DECLINED)
        return CASE_FAILED
    return closing.close(run, _report(run), exports, as_json=as_json)


async def _run(
    factory: EngineFactory,
    options: EngineOptions,
    request: Request,
    run: Progressed,
    exports: Exports,
    record: bool,
) -> None:
    async with run.started(factory, options, record=record) as engine:
        async with progress(sys.stderr, lambda: run.state):
            experiment = await _experiment(request, run)
        run.refuse(experiment)
        extent = selection.extent(experiment)
        if not await asking.may_start(extent, sure=request.sure):
            run.declined = True
            return
        run.cases = experiment.cases
        engine.warn()
        async with progress(sys.stderr, lambda: run.state):
            if exports.wants(".py"):
                run.planned = (await run.engine.plan(experiment, recipes=True)).cases
            async for _ in run.follow(await run.engine.run(experiment)):
                pass  # the snapshot has taken it in


async def _experiment(request: Request, run: Progressed) -> Experiment:
    """The cases, as soon as the devices are known."""
    ready = await run.ready(lambda ops: selection.parse_ops(request.ops, ops, own=True))
    return request.experiment(ready.ops, ready.devices)


def _report(run: Progressed) -> Report:
    results, state = run.results, run.state.run
    return Report(
        document=lambda: encode(results),
        text=partial(_text, state) if state else None,
        contents=partial(_contents, results, state, run.planned) if state else None,
        fine=not results.failures,
    )


def _text(run: RunState) -> str:
    """The report, and in a terminal the plot under it."""
    drawing = ""
    if is_terminal(sys.stdout):
        drawing = printed(_picture(run), **look(sys.stdout))
    return painted(filter(None, [report(run), drawing]), "\n\n")


def _contents(
    results: Results, run: RunState, planned: Sequence[PlannedCase]
) -> Contents:
    return files(results, run, _picture(run), lambda: scripts.of_cases(planned))


def _picture(run: RunState) -> Picture | None:
    """The samples of a single case, or curves over size."""
    return of_run(run, run.cases[0] if len(run.cases) == 1 else None, COLORS)
