"""``jaxtui roofline``: what limits a case, and how near it comes to that."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click
import msgspec

from jaxtui import selection
from jaxtui.analysis.roofline import Place, larger, place
from jaxtui.commands import CASE_FAILED, closing
from jaxtui.commands.closing import Report
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.exporting import NO_EXPORTS, Exports
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.options import (
    Common,
    engine_flags,
    export_flags,
    json_flag,
    modes,
    no_history,
    one_device,
    own_arguments,
    precisions,
    seed,
    sure_flag,
    valued,
)
from jaxtui.commands.roofline_request import Request
from jaxtui.commands.terminal import (
    DECLINED,
    is_terminal,
    look,
    may_start,
    narrate,
    progress,
    say,
)
from jaxtui.document import Results, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.export import (
    COLUMNS,
    LINES,
    Contents,
    as_csv,
    as_markdown,
    as_svg,
    text_rows,
)
from jaxtui.model import Case, Experiment, OpInfo, PlannedCase
from jaxtui.model.roofs import RoofsMeasured
from jaxtui.plot import COLORS, printed
from jaxtui.text import painted
from jaxtui.view import roofline as view
from jaxtui.view.bench import collect, endings

ENDINGS = (".json", ".csv", ".md", ".svg", ".txt")
"""What can be exported."""


def run(
    factory: EngineFactory,
    options: EngineOptions,
    request: Request,
    *,
    as_json: bool,
    exports: Exports = NO_EXPORTS,
    record: bool = False,
) -> int:
    """Measures roofs and cases, prints them, and gives the exit code.

    Args:
        factory: makes the engine.
        options: how to start it.
        request: what was asked for.
        as_json: print one JSON document instead of text.
        exports: the files to write, whatever has arrived.
        record: keep what is measured in the history.

    Raises:
        CannotRun: if the engine cannot start, or no roof can be measured; nothing is on
            stdout then.
        SelectionError: if an op or a device does not exist, or if the run is long and
            nobody is there to be asked.
    """
    drawn = _Roofline(factory, options, record=record)
    drawn.drive(_run(request, drawn))
    if drawn.declined:
        say(DECLINED)
        return CASE_FAILED
    return closing.close(drawn, _report(drawn), exports, as_json=as_json)


class _Roofline(Driver):
    """How far a roofline has come."""

    declined: bool = False
    """Somebody was asked whether so long a run is meant, and it is not."""

    @property
    def roofs(self) -> RoofsMeasured | None:
        """What is known of them; ``None`` before the first."""
        job = self.state.jobs.get("roofs")
        found = None if job is None else job.result
        if not isinstance(found, RoofsMeasured):
            return None
        kinds = {one.name: one.device_kind for one in self.state.devices}
        kind = found.device_kind or kinds.get(found.device, "")
        return msgspec.structs.replace(found, device_kind=kind)

    @property
    def results(self) -> Results:
        """Every case as a measurement or a failure, whatever has arrived."""
        run = self.state.run
        if run is None:
            return Results.of(self.state.host, (), ())
        cases = run.work.cases if isinstance(run.work, Experiment) else ()
        return collect(self.state.host, cases, run)

    @property
    def places(self) -> tuple[Place, ...]:
        """The cases that were measured, under their roofs."""
        roofs, run = self.roofs, self.state.run
        if roofs is None or run is None or not isinstance(run.work, Experiment):
            return ()
        measured, _ = endings(run.work.cases, run)
        return tuple(place(one, roofs) for one in measured)

    async def suited(
        self, experiment: Experiment, request: Request, ops: Sequence[OpInfo]
    ) -> Experiment:
        """The experiment at sizes that say something on this device.

        A size that was asked for stays, and so does the last one that fits.
        """
        roofs = self.roofs
        if roofs is None:
            return experiment
        infos = {op.name: op for op in ops}
        free = {name for name in infos if request.may_grow(name, ops)}
        planned = (await self.session.plan(experiment)).cases
        growing = {
            index: one for index, one in enumerate(planned) if one.case.op in free
        }
        cases = list(experiment.cases)
        while bigger := _bigger(growing, infos, roofs):
            tried = msgspec.structs.replace(experiment, cases=tuple(bigger.values()))
            answer = (await self.session.plan(tried)).cases
            found = zip(bigger, answer, strict=True)
            growing = {index: one for index, one in found if one.problem is None}
            for index, one in growing.items():
                cases[index] = one.case
        return msgspec.structs.replace(experiment, cases=tuple(cases))


async def _run(request: Request, drawn: _Roofline) -> None:
    async with drawn.started() as session:
        async with progress(sys.stderr, lambda: drawn.state):
            await session.ready(request.check)
            session.refuse("verdicts")
            ops, devices = session.state.ops, session.state.devices
            experiment = request.experiment(ops, devices)
        extent = selection.extent(experiment)
        if not await may_start(extent, sure=request.cases.sure):
            drawn.declined = True
            return
        drawn.warn()
        async with progress(sys.stderr, lambda: drawn.state):
            work = request.roofs(experiment, request.device(devices), ops)
            began = time.monotonic()
            job = await session.run(work, "roofs")
            if job.failed is not None:
                failed = f"{job.failed.error} {job.failed.hint}".rstrip()
                if not (job.result or drawn.lost):
                    raise CannotRun(failed)
                narrate(failed)
            if drawn.interrupted or drawn.lost:
                return
            spent = time.monotonic() - began
            suited = await drawn.suited(experiment, request, ops)
            budget = request.remaining(suited, spent)
            await session.run(msgspec.structs.replace(suited, budget_seconds=budget))


def _bigger(
    growing: Mapping[int, PlannedCase],
    infos: Mapping[str, OpInfo],
    roofs: RoofsMeasured,
) -> dict[int, Case]:
    """The cases that are too small yet, one step larger."""
    wanted = {
        index: larger(one, infos[one.case.op], roofs) for index, one in growing.items()
    }
    return {
        index: msgspec.structs.replace(one.case, size=wanted[index])
        for index, one in growing.items()
        if wanted[index] != one.case.size
    }


def _report(drawn: _Roofline) -> Report:
    results, roofs = drawn.results, drawn.roofs
    return Report(
        document=lambda: encode(_document(drawn)),
        text=partial(_text, drawn, roofs) if roofs else None,
        contents=partial(_contents, drawn, roofs) if roofs else None,
        fine=not results.failures,
    )


def _text(drawn: _Roofline, roofs: RoofsMeasured) -> str:
    """The report; in a terminal with its plot."""
    plot = ""
    if is_terminal(sys.stdout):
        picture = view.picture(drawn.places, roofs, COLORS)
        plot = printed(picture, **look(sys.stdout))
    parts = (view.head(roofs), plot, _verdicts(drawn, roofs))
    return painted(filter(None, parts), "\n\n")


def _verdicts(drawn: _Roofline, roofs: RoofsMeasured) -> str:
    return view.verdicts(
        roofs,
        drawn.places,
        drawn.results.failures,
        drawn.state.run,
        lost=drawn.lost,
    )


def _document(drawn: _Roofline) -> view.Document:
    return view.document(drawn.results, drawn.roofs, drawn.places, drawn.outcome)


def _contents(drawn: _Roofline, roofs: RoofsMeasured) -> Contents:
    """Every kind of file."""
    results, places = drawn.results, drawn.places

    picture = view.picture(places, roofs, COLORS)

    def text() -> str:
        drawing = picture.draw(COLUMNS, LINES, color=False) if picture else ""
        parts = (view.head(roofs), drawing, _verdicts(drawn, roofs))
        return painted((painted(filter(None, parts), "\n\n"), ""))

    def svg() -> str:
        host = results.host
        where = f" · {host.hostname}, jax {host.jax}" if host else ""
        # With the cases below it, because its letters mean nothing alone.
        shown = text_rows(f"{view.head(roofs)}\n")
        if picture is not None:
            shown += [*picture.rows(COLUMNS, LINES), ()]
        shown += text_rows(f"{_verdicts(drawn, roofs)}\n")
        return as_svg(shown, f"roofline of {roofs.device}{where}")

    return {
        ".json": lambda: encode(_document(drawn)).decode(),
        ".csv": lambda: as_csv(results),
        ".md": lambda: as_markdown(results),
        ".svg": svg,
        ".txt": text,
    }


@click.command("roofline")
@click.argument("op", nargs=-1, metavar="[OP[:SIZE]]...")
@valued(
    "--size",
    "SIZES",
    "4096, 4k (4 × 1024), 1e6, 256..4096 (doubling) or 1000,2000.  "
    "[default: the op's own, or as much as leaves the caches]",
)
@valued("--dtype", "DTYPES", "Those that bench takes.", "float32")
@one_device
@modes
@precisions
@valued(
    "--budget",
    "SECONDS",
    "For roofs and cases together.  [default: 10 for the roofs, and as bench]",
)
@seed
@json_flag
@sure_flag
@own_arguments
@export_flags(
    "Write the results as well, by its ending: .json, .csv, .md, .svg or .txt."
)
@no_history
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    **typed: Any,
) -> int:
    """Say what limits an op: the memory, arithmetic or something else.

    Measures how fast the device moves data and computes at best, and how near each op
    comes to that; without OP all of the catalogue.
    """
    request = Request.typed(**typed)
    exports = Exports.typed(export, force=force, endings=ENDINGS)
    return run(
        *common.engine(),
        request,
        as_json=as_json,
        exports=exports,
        record=common.record,
    )
