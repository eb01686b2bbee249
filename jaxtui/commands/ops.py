"""``jaxtui ops``: the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from jaxtui import format as fmt
from jaxtui.commands import FINE
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.options import (
    Common,
    engine_flags,
    json_flag,
)
from jaxtui.commands.terminal import progress, put, put_bytes
from jaxtui.document import SCHEMA, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.model import USUAL_MODES, OpInfo
from jaxtui.selection import DTYPE_ALIASES
from jaxtui.view.text import table


def run(factory: EngineFactory, options: EngineOptions, *, as_json: bool) -> int:
    """Prints the ops and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start.
    """
    driver = Driver(factory, options)
    driver.drive(_catalogue(driver))
    catalogue = driver.state.ops
    if as_json:
        put_bytes(encode({"schema": SCHEMA, "ops": catalogue}))
    elif catalogue:
        put(text(catalogue))
    return FINE


def text(catalogue: Sequence[OpInfo]) -> str:
    """A table of the ops, each with a line that says what it does.

    Dtypes are written short, as ``--dtype`` takes them too.
    """
    head = ("op", "size is", "default", "dtypes")
    rows = [
        (op.name, op.size_means, fmt.size(op.default), _dtypes(op.dtypes))
        for op in catalogue
    ]
    first, *lines = table(head, rows).split("\n")
    pairs = zip(catalogue, lines, strict=True)
    described = (
        f"{line}\n    {op.problem or op.summary}{_more_modes(op)}{_package(op)}"
        for op, line in pairs
    )
    return "\n".join([first, *described])


def _more_modes(op: OpInfo) -> str:
    more = [mode for mode in op.modes if mode not in USUAL_MODES]
    return f"\n    Modes beyond the usual: {', '.join(more)}." if more else ""


def _package(op: OpInfo) -> str:
    offered = op.package and not op.problem
    return f"\n    Offered by the package {op.package}." if offered else ""


def _dtypes(names: Sequence[str]) -> str:
    if not names:
        return "those of its arguments"
    short = {name: alias for alias, name in DTYPE_ALIASES.items()}
    return " ".join(short.get(name, name) for name in names)


async def _catalogue(driver: Driver) -> None:
    """As soon as the engine process is up: the catalogue needs no device."""
    ended = "The engine ended before it had listed its ops."
    async with (
        driver.started() as session,
        progress(sys.stderr, lambda: driver.state),
    ):
        await session.until(lambda state: state.ops, ended)


@click.command("ops")
@json_flag
@engine_flags
@click.pass_obj
def command(common: Common, as_json: bool) -> int:
    """List the ops that can be timed."""
    return run(*common.engine(), as_json=as_json)
