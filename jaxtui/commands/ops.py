"""``jaxtui ops``: the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

import click

from jaxtui import format as fmt
from jaxtui.commands import FINE
from jaxtui.commands.common import Common, engine_flags
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import json_flag
from jaxtui.commands.terminal import put, put_bytes
from jaxtui.document import SCHEMA, encode
from jaxtui.model import USUAL_MODES, OpInfo
from jaxtui.selection import DTYPE_ALIASES
from jaxtui.view.text import table


@click.command("ops")
@json_flag
@engine_flags
@click.pass_obj
def command(common: Common, as_json: bool) -> int:
    """List the ops that can be timed."""
    driver = Driver(common)

    async def catalogue() -> None:
        # As soon as the engine process is up: the catalogue needs no device.
        ended = "The engine ended before it had listed its ops."
        async with driver.started() as session, driver.progress():
            await session.until(lambda state: state.ops, ended)

    driver.drive(catalogue())
    ops = driver.state.ops
    if as_json:
        put_bytes(encode({"schema": SCHEMA, "ops": ops}))
    elif ops:
        put(_text(ops))
    return FINE


def _text(catalogue: Sequence[OpInfo]) -> str:
    """A table of the ops, each with a line that says what it does.

    Dtypes are written short, as ``--dtype`` takes them too.
    """
    short = {name: alias for alias, name in DTYPE_ALIASES.items()}
    rows = [
        (
            op.name,
            op.size_means,
            fmt.size(op.default),
            " ".join(short.get(name, name) for name in op.dtypes)
            or "those of its arguments",
        )
        for op in catalogue
    ]
    head, *lines = table(("op", "size is", "default", "dtypes"), rows).split("\n")
    parts = [head]
    for op, line in zip(catalogue, lines, strict=True):
        parts += [line, f"    {op.problem or op.summary}"]
        if more := [mode for mode in op.modes if mode not in USUAL_MODES]:
            parts.append(f"    Modes beyond the usual: {', '.join(more)}.")
        if op.package and not op.problem:
            parts.append(f"    Offered by the package {op.package}.")
    return "\n".join(parts)
