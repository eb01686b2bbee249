"""``jaxtui crossover``: from which size on is one way of running an op faster?"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

import click

from jaxtui.analysis.crossover import Search, begin, shown_sizes
from jaxtui.commands import closing
from jaxtui.commands.closing import Report
from jaxtui.commands.crossover_request import Request
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.exporting import NO_EXPORTS, Exports
from jaxtui.commands.options import (
    Common,
    engine_flags,
    export_flags,
    json_flag,
    no_history,
    seed,
    valued,
)
from jaxtui.commands.terminal import (
    bar,
    is_terminal,
    live_line,
    look,
    narrate,
    progress_line,
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
from jaxtui.plot import printed
from jaxtui.view import crossover as view

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
    """Searches, prints what was found, and gives the exit code.

    That there is no crossover is an answer; an error is only that there is no size at
    which both were measured.

    Args:
        factory: makes the engine.
        options: how to start it.
        request: what was asked for.
        as_json: print one JSON document instead of text.
        exports: the files to write, whatever has arrived.
        record: keep what is measured in the history.

    Raises:
        CannotRun: if the engine cannot start; nothing is on stdout then.
        SelectionError: if the op, a mode of it or a device does not exist.
    """
    searched = _Searched(factory, options, record=record)
    searched.drive(_run(request, searched))
    return closing.close(searched, _report(searched), exports, as_json=as_json)


class _Searched(Driver):
    """How far a search has come."""

    began = 0.0

    @property
    def search(self) -> Search | None:
        """``None`` until the devices are known."""
        search = self.state.series.get("crossover")
        return search if isinstance(search, Search) else None


async def _run(request: Request, searched: _Searched) -> None:
    told: set[int] = set()
    searched.began = time.monotonic()

    def ended(search: Search) -> None:
        for size in shown_sizes(search):
            if size not in told:
                told.add(size)
                narrate(view.size_line(search, size))

    def draw(width: int, ascii_only: bool) -> str:
        return _progress(searched, width, ascii_only=ascii_only)

    async with searched.started() as session, live_line(sys.stderr, draw):
        await session.ready(lambda ops: request.sizes(request.info(ops)))
        session.refuse("jax")
        state = session.state
        first, second = request.cases(state.ops, state.devices)
        sizes = request.sizes(request.info(state.ops))
        searched.warn()
        search = begin(first, second, sizes, request.budget, request.seed)
        await session.play(search, "crossover", ended)


def _progress(searched: _Searched, width: int, *, ascii_only: bool) -> str:
    """The line about the search, never wider than ``width``."""
    search, elapsed = searched.search, time.monotonic() - searched.began
    if search is None:
        return progress_line(searched.state, elapsed, width, ascii_only=ascii_only)
    size = search.size or search.next_size
    share = min(1.0, search.spent_seconds / search.budget_seconds)
    drawn = bar(share, ascii_only=ascii_only)
    left = f", at most {search.left_seconds:.0f} s left"
    job = searched.state.job
    doing = job.doing if job else ""
    return f"{drawn} {elapsed:.0f} s{left}  {doing or f'size {size}'}"[:width].rstrip()


def _report(searched: _Searched) -> Report:
    search = searched.search
    found = search is not None and bool(search.points)
    return Report(
        document=lambda: encode(view.document(searched.state.host, search)),
        text=partial(_text, search, searched) if search else None,
        contents=partial(_contents, search, searched) if search and found else None,
        fine=found,
    )


def _text(search: Search, searched: _Searched) -> str:
    """The report; in a terminal with its plot."""
    plot = ""
    if is_terminal(sys.stdout):
        plot = printed(view.picture(search), **look(sys.stdout))
    return view.text(search, _size_means(search, searched), plot)


def _size_means(search: Search, searched: _Searched) -> str:
    ops = {op.name: op.size_means for op in searched.state.ops}
    return ops.get(search.first.op, "size")


def _contents(search: Search, searched: _Searched) -> Contents:
    """Every kind of file."""
    host = searched.state.host
    results = Results.of(host, view.measurements(search), search.failures)

    picture = view.picture(search)

    def text() -> str:
        drawing = picture.draw(COLUMNS, LINES, color=False) if picture else ""
        return view.text(search, _size_means(search, searched), drawing) + "\n"

    def svg() -> str:
        where = f" · {host.hostname}, jax {host.jax}" if host else ""
        shown = picture.rows(COLUMNS, LINES) if picture else text_rows(text())
        return as_svg(shown, f"{search.first.op}{where}")

    return {
        ".json": lambda: encode(view.document(host, search)).decode(),
        ".csv": lambda: as_csv(results),
        ".md": lambda: as_markdown(results),
        ".svg": svg,
        ".txt": text,
    }


@click.command("crossover")
@click.argument("op", required=False)
@valued(
    "--between",
    "A,B",
    "The two: numpy,jit or float32,bfloat16 or jit/cpu:0,jit/tpu:0.",
    "numpy,jit",
)
@valued(
    "--sizes",
    "SIZES",
    "The coarse grid: 16..1M (× 4), 16..1Mx10 or 100,1000.  "
    "[default: 16 to 8 × the op's own]",
)
@valued("--dtype", "DTYPE", "Of a side that names none.", "float32")
@valued(
    "--device",
    "DEVICE",
    "Of a side that names none: cpu:0 or tpu:3.  [default: the first]",
)
@valued("--budget", "SECONDS", "For the whole search, compile included.  [default: 60]")
@seed
@json_flag
@export_flags(
    "Write the answer as well, by its ending: .json, .csv, .md, .svg or .txt."
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
    """Find the size from which on one way of running an op is faster.

    Per call and for a single one, with and without transfers, compile counted or not.
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
