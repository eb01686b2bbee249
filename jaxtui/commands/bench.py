"""``jaxtui bench``: run an experiment and print what it yielded."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from jaxtui import selection
from jaxtui.commands.exporting import NO_EXPORTS, Exports
from jaxtui.commands.interrupt import Interrupt, ctrl_c
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.plots import plot
from jaxtui.commands.progress import progress
from jaxtui.commands.report import report
from jaxtui.commands.request import Request
from jaxtui.commands.session import EngineFactory, Session, session
from jaxtui.commands.terminal import (
    in_colour,
    is_ascii,
    is_terminal,
    put,
    put_bytes,
    say,
)
from jaxtui.document import Results, collect, encode
from jaxtui.engine.client import EngineOptions, EngineUnavailableError
from jaxtui.model import Case, Hello, PlannedCase, Ready, RunFinished
from jaxtui.tui.state import EMPTY, RunState, State

__all__ = ["Request", "run"]

FINE, CASE_FAILED, CANNOT_WRITE, INTERRUPTED = 0, 1, 3, 130


@dataclass
class Progressed:
    """How far a run has come; read when it is interrupted."""

    session: Session | None = None
    cases: tuple[Case, ...] = ()
    planned: tuple[PlannedCase, ...] = ()
    """The cases as the engine planned them, if a script is to be written."""
    number: int | None = None
    """The run's number once it was started."""
    interrupt: Interrupt = field(default_factory=Interrupt)

    @property
    def state(self) -> State:
        """The newest snapshot."""
        return self.session.state if self.session else EMPTY

    @property
    def results(self) -> Results:
        """Every case as a measurement or a failure, whatever has arrived."""
        return collect(self.state.host, self.cases, self.state.run)

    def stop(self) -> Coroutine[Any, Any, None] | None:
        """Ends the run once there is one."""
        if self.number is None or self.session is None:
            return None
        return self.session.engine.stop()


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
        SelectionError: if an op or a device does not exist.
    """
    run = Progressed()
    try:
        asyncio.run(_run(factory, options, request, run, exports, record))
    except EngineUnavailableError as error:
        raise CannotRun(str(error)) from error
    except (asyncio.CancelledError, KeyboardInterrupt):
        run.interrupt.happened = True
    results = run.results
    if as_json:
        put_bytes(encode(results))
    else:
        _print(run.state.run)
    written = _export(exports, results, run)
    if run.interrupt.happened:
        say("Interrupted: this is what had arrived.")
        return INTERRUPTED
    if not written:
        return CANNOT_WRITE
    return CASE_FAILED if results.failures else FINE


async def _run(
    factory: EngineFactory,
    options: EngineOptions,
    request: Request,
    run: Progressed,
    exports: Exports,
    record: bool,
) -> None:
    async with session(factory, options, record=record) as engine:
        run.session = engine
        with ctrl_c(run.interrupt, run.stop):
            async with progress(sys.stderr, lambda: run.state):
                await _follow(engine, request, run, exports)


async def _follow(
    engine: Session, request: Request, run: Progressed, exports: Exports
) -> None:
    """Starts the experiment as soon as the devices are known, until it is finished."""
    async for envelope in engine.events():
        match envelope.event:
            case Hello(ops=ops):
                # Before the backend is up, which on a TPU takes seconds.
                selection.parse_ops(request.ops, ops, own=True)
            case Ready(ops=ops, devices=devices) if run.number is None:
                experiment = request.experiment(ops, devices)
                run.cases = experiment.cases
                engine.warn()
                if exports.wants(".py"):
                    run.planned = (await engine.engine.plan(experiment)).cases
                run.number = await engine.engine.run(experiment)
            case RunFinished() if envelope.run == run.number:
                return


def _export(exports: Exports, results: Results, run: Progressed) -> bool:
    """The files; whether they are there, if anything has arrived for them."""
    if not exports.paths:
        return True
    if run.state.run is None:
        say("Nothing had arrived: no file was written.")
        return True
    from jaxtui.commands import bench_files

    return exports.write(bench_files.contents(results, run.state.run, run.planned))


def _print(run: RunState | None) -> None:
    """The report on stdout, and in a terminal the plot under it."""
    if run is None:
        return
    put(report(run))
    if not is_terminal(sys.stdout):
        return
    drawing = plot(
        run,
        width=shutil.get_terminal_size().columns,
        colour=in_colour(sys.stdout),
        ascii_only=is_ascii(sys.stdout),
    )
    if drawing:
        put("\n" + drawing)
