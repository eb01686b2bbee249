"""``jaxtui bench``: run an experiment and print what it yielded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from jaxtui import scripts, selection
from jaxtui.commands import CASE_FAILED, closing
from jaxtui.commands.closing import Report
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.exporting import NO_EXPORTS, Exports
from jaxtui.commands.options import (
    Common,
    engine_flags,
    export_flags,
    flag,
    json_flag,
    modes,
    no_history,
    own_arguments,
    precisions,
    seed,
    sure_flag,
    valued,
)
from jaxtui.commands.request import Request
from jaxtui.commands.terminal import (
    DECLINED,
    is_terminal,
    look,
    may_start,
    progress,
    say,
)
from jaxtui.document import Results, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.export import Contents
from jaxtui.machine.malloc import End
from jaxtui.model import Case, PlannedCase
from jaxtui.plot import COLORS, Picture, printed
from jaxtui.state import Job
from jaxtui.text import painted
from jaxtui.view.bench import collect, files, report
from jaxtui.view.curves import of_run


class _Bench(Driver):
    """How far a run has come."""

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
    run = _Bench(factory, options, record=record)
    run.drive(_run(request, run, exports))
    if run.declined:
        say(DECLINED)
        return CASE_FAILED
    return closing.close(run, _report(run), exports, as_json=as_json)


async def _run(request: Request, run: _Bench, exports: Exports) -> None:
    async with run.started() as session:
        async with progress(sys.stderr, lambda: run.state):
            await session.ready(
                lambda ops: selection.parse_ops(request.ops, ops, own=True)
            )
            experiment = request.experiment(run.state.ops, run.state.devices)
        session.refuse(experiment)
        extent = selection.extent(experiment)
        if not await may_start(extent, sure=request.sure):
            run.declined = True
            return
        run.cases = experiment.cases
        run.warn()
        async with progress(sys.stderr, lambda: run.state):
            if exports.wants(".py"):
                run.planned = (await session.plan(experiment, recipes=True)).cases
            await session.run(experiment)


_BEGUN = ("running", "done", "failed")
"""The status of a case of which something has arrived."""


def _report(run: _Bench) -> Report:
    results, state = run.results, run.state.run
    if state and not any(one.failure or one.status in _BEGUN for one in state.cases):
        state = None
    return Report(
        document=lambda: encode(results),
        text=partial(_text, state) if state else None,
        contents=partial(_contents, results, state, run.planned) if state else None,
        fine=not results.failures,
    )


def _text(run: Job) -> str:
    """The report, and in a terminal the plot under it."""
    drawing = ""
    if is_terminal(sys.stdout):
        drawing = printed(_picture(run), **look(sys.stdout))
    return painted(filter(None, [report(run), drawing]), "\n\n")


def _contents(results: Results, run: Job, planned: Sequence[PlannedCase]) -> Contents:
    return files(results, run, _picture(run), lambda: scripts.of_cases(planned))


def _picture(run: Job) -> Picture | None:
    """The samples of a single case, or curves over size."""
    return of_run(run, run.cases[0] if len(run.cases) == 1 else None, COLORS)


@click.command("bench")
@click.argument("op", nargs=-1, metavar="OP[:SIZE]...")
@valued(
    "--size",
    "SIZES",
    "4096, 4k (4 × 1024), 1e6, 256..4096 (doubling) or 1000,2000.  "
    "[default: the op's own]",
)
@valued(
    "--dtype",
    "DTYPES",
    "float64, float32, float16, bfloat16, float8_e4m3fn (f8), int32, int8 or "
    "complex64.",
    "float32",
)
@valued("--device", "DEVICES", "cpu:0, tpu:0,tpu:3, tpu or all.  [default: the first]")
@modes
@valued(
    "--inputs",
    "PLACES",
    "Where arguments live before each call: device or host.",
    "device",
)
@precisions
@valued(
    "--budget",
    "SECONDS",
    "For everything, compile included.  [default: 10, or 1 per case if more]",
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
@export_flags(
    "Write the results as well, by its ending: .json, .csv, .md, .svg, .txt or .py."
)
@no_history
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    op: tuple[str, ...],
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    memory: End | None,
    **typed: Any,
) -> int:
    """Time ops: every combination of the lists, taking turns.

    Lists are separated by commas; an op may carry its own size, as in
    matmul:2k selu:1e6. A function of your own is path/to/file.py:name.
    """
    request = Request.typed(ops=op, **typed)
    exports = Exports.typed(export, force=force)
    return run(
        *common.engine(memory),
        request,
        as_json=as_json,
        exports=exports,
        record=common.record,
    )
