"""``jaxtui ops``: the catalogue."""

from __future__ import annotations

import click

from jaxtui.commands import FINE
from jaxtui.commands.common import Common, engine_flags
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import json_flag
from jaxtui.commands.terminal import put, put_bytes
from jaxtui.document import SCHEMA, encode
from jaxtui.view.bench import catalogue


@click.command("ops")
@json_flag
@engine_flags
@click.pass_obj
def command(common: Common, as_json: bool) -> int:
    """List the ops that can be timed."""
    driver = Driver(common)

    async def listed() -> None:
        # As soon as the engine process is up: the catalogue needs no device.
        ended = "The engine ended before it had listed its ops."
        async with driver.started() as session, driver.progress():
            await session.until(lambda state: state.ops, ended)

    driver.drive(listed())
    ops = driver.state.ops
    if as_json:
        put_bytes(encode({"schema": SCHEMA, "ops": ops}))
    elif ops:
        put(catalogue(ops))
    return FINE
