"""``jaxtui ops``: the catalogue."""

from __future__ import annotations

import click

from jaxtui.core.model import Host, OpInfo
from jaxtui.core.model.document import Document
from jaxtui.features.bench.listing import report
from jaxtui.ui.commands.common import Common, engine_flags, named
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.options import json_flag
from jaxtui.ui.commands.output import close, rendered


class Ops(Document, frozen=True, kw_only=True):
    command: str = "ops"
    host: Host | None = None
    ops: tuple[OpInfo, ...]


@named("ops", "jaxtui ops", "jaxtui ops --json")
@json_flag
@engine_flags
@click.pass_obj
def command(common: Common, as_json: bool) -> int:
    """List the ops that can be timed."""
    driver = Driver(common)

    async def listed() -> None:
        # As soon as the engine process is up: the catalogue needs no device.
        async with driver.started() as session, driver.progress():
            await session.until(lambda state: state.ops)

    driver.drive(listed())
    ops = driver.state.ops
    return close(
        document=Ops(ops=ops, complete=bool(ops)),
        text=(lambda: rendered(report(ops))) if ops else None,
        as_json=as_json,
    )
