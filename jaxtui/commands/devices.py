"""``jaxtui devices``: what JAX sees on this machine."""

from __future__ import annotations

import sys

import click

from jaxtui.commands import FINE
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.options import (
    Common,
    engine_flags,
    json_flag,
    valued,
)
from jaxtui.commands.terminal import progress, put, put_bytes, say
from jaxtui.document import devices_document, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.view.devices import finding_text, overview


def run(factory: EngineFactory, options: EngineOptions, *, as_json: bool) -> int:
    """Prints the devices and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start.
    """
    driver = Driver(factory, options)
    driver.drive(_ready(driver))
    state = driver.state
    if as_json:
        put_bytes(encode(devices_document(state.host, state.devices)))
        for finding in state.findings:
            say(finding_text(finding))
    elif state.devices:
        put(overview(state.host, state.devices, state.findings))
    return FINE


async def _ready(driver: Driver) -> None:
    """Wait for the devices, and for the last words of the engine."""
    async with (
        driver.started() as session,
        progress(sys.stderr, lambda: driver.state),
    ):
        await session.ready()
        # JAX's reasons come by the log, which may be a little later.
        await session.engine.close()
        await session.until(lambda _: session.ended)


@click.command("devices")
@valued(
    "--topology",
    "NAME",
    "A TPU instead of this machine: v5litepod-16, or v5e:4x8 with libtpu.",
)
@json_flag
@engine_flags
@click.pass_obj
def command(common: Common, topology: str | None, as_json: bool) -> int:
    """List the JAX devices and draw where the chips sit."""
    if topology is not None:
        from jaxtui.commands import topology as described

        return described.run(common.python, topology, as_json=as_json)
    return run(*common.engine(), as_json=as_json)
