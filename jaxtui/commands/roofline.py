"""``jaxtui roofline``: what limits a case, and how near it comes to that."""

from __future__ import annotations

import sys
from functools import partial

import msgspec

from jaxtui import selection
from jaxtui.commands import CASE_FAILED, asking, closing
from jaxtui.commands.closing import Report
from jaxtui.commands.exporting import NO_EXPORTS, Exports
from jaxtui.commands.progress import progress
from jaxtui.commands.roofline_request import Request
from jaxtui.commands.roofline_run import Drawn
from jaxtui.commands.session import EngineFactory
from jaxtui.commands.terminal import is_terminal, look, say
from jaxtui.document import encode
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
from jaxtui.model.roofs import RoofsMeasured
from jaxtui.plot import COLORS, printed
from jaxtui.text import painted
from jaxtui.view import roofline as view

__all__ = ["ENDINGS", "Request", "run"]

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
    drawn = Drawn()
    drawn.drive(_run(factory, options, request, drawn, record))
    if drawn.declined:
        say(asking.DECLINED)
        return CASE_FAILED
    return closing.close(drawn, _report(drawn), exports, as_json=as_json)


async def _run(
    factory: EngineFactory,
    options: EngineOptions,
    request: Request,
    drawn: Drawn,
    record: bool,
) -> None:
    async with drawn.started(factory, options, record=record) as engine:
        async with progress(sys.stderr, lambda: drawn.state):
            ready = await drawn.ready(request.check)
            drawn.refuse("verdicts")
            experiment = request.experiment(ready.ops, ready.devices)
        if not await asking.may_start(
            selection.extent(experiment), sure=request.cases.sure
        ):
            drawn.declined = True
            return
        engine.warn()
        drawn.device = request.device(ready.devices)
        async with progress(sys.stderr, lambda: drawn.state):
            work = request.roofs(experiment, drawn.device, ready.ops)
            spent = await drawn.measure_roofs(work)
            if drawn.interrupt.happened or drawn.lost:
                return
            suited = await drawn.suited(experiment, request, ready)
            budget = request.remaining(suited, spent)
            await drawn.measure_cases(
                msgspec.structs.replace(suited, budget_seconds=budget)
            )


def _report(drawn: Drawn) -> Report:
    results, roofs = drawn.results, drawn.roofs
    return Report(
        document=lambda: encode(_document(drawn)),
        text=partial(_text, drawn, roofs) if roofs else None,
        contents=partial(_contents, drawn, roofs) if roofs else None,
        fine=not results.failures,
    )


def _text(drawn: Drawn, roofs: RoofsMeasured) -> str:
    """The report; in a terminal with its plot."""
    plot = ""
    if is_terminal(sys.stdout):
        picture = view.picture(drawn.places, roofs, COLORS)
        plot = printed(picture, **look(sys.stdout))
    parts = (view.head(roofs), plot, _verdicts(drawn, roofs))
    return painted(filter(None, parts), "\n\n")


def _verdicts(drawn: Drawn, roofs: RoofsMeasured) -> str:
    return view.verdicts(
        roofs,
        drawn.places,
        drawn.results.failures,
        drawn.state.run,
        lost=drawn.lost,
    )


def _document(drawn: Drawn) -> view.Document:
    return view.document(drawn.results, drawn.roofs, drawn.places, drawn.outcome)


def _contents(drawn: Drawn, roofs: RoofsMeasured) -> Contents:
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
