"""``jaxtui devices``: what JAX sees on this machine, or on a TPU that is not here."""

from __future__ import annotations

from functools import partial

import click

from jaxtui.features.devices.messages import Devices
from jaxtui.features.devices.report import report
from jaxtui.machine import topologies
from jaxtui.ui.commands import CannotRun
from jaxtui.ui.commands.common import Common, engine_flags, named, valued
from jaxtui.ui.commands.engine import Driver, refused_topology
from jaxtui.ui.commands.options import TOPOLOGY, json_flag
from jaxtui.ui.commands.output import close, rendered
from jaxtui.ui.commands.terminal import say
from jaxtui.ui.findings import finding_text


@named("devices", "jaxtui devices --json", "jaxtui devices --topology v5litepod-16")
@valued(
    "--topology",
    "NAME",
    "A TPU instead of this machine: v5litepod-16 or v5e:4x8.",
    type=TOPOLOGY,
)
@json_flag
@engine_flags
@click.pass_obj
def command(common: Common, topology: str | None, as_json: bool) -> int:
    """List the JAX devices and draw where the chips sit."""
    if topology is not None:
        return _describe(common, topology, as_json=as_json)
    driver = Driver(common)

    async def ready() -> None:
        async with driver.started() as session, driver.progress():
            await session.ready()
            # JAX's reasons come by the log, which may be a little later.
            await session.engine.close()
            await session.until(lambda _: session.ended)

    driver.drive(ready())
    state = driver.state
    if as_json:
        for finding in state.findings:
            say(finding_text(finding))
    built = (
        report(state.host, state.devices, state.findings, hosts=state.hosts)
        if state.devices
        else None
    )
    return close(
        document=Devices.of(state.host, state.devices, state.hosts),
        text=partial(rendered, built) if built else None,
        as_json=as_json,
    )


def _describe(common: Common, name: str, *, as_json: bool) -> int:
    """Print the devices of a topology, and return the exit code.

    A recorded name needs nothing; libtpu describes every other one.

    Raises:
        CannotRun: if libtpu cannot be used.
        UsageError: if libtpu has no topology of this name.
    """
    if (recorded := name.strip().lower()) in topologies.names():
        devices = topologies.devices(recorded)
        source = f"RECORDED: {recorded}, not this machine."
    else:
        driver = Driver(common, topology=name)

        async def ready() -> None:
            async with driver.started() as session, driver.progress():
                await session.ready()

        try:
            driver.drive(ready())
        except CannotRun as error:
            refused_topology(driver, error)
            raise
        devices, host = driver.state.devices, driver.state.host
        libtpu = host.platform_version if host else ""
        source = f"{name}, from libtpu {libtpu}; not this machine."
    if as_json and devices:
        say(source)
    built = report(None, devices, source=f"{source} ") if devices else None
    return close(
        document=Devices.of(None, devices),
        text=partial(rendered, built) if built else None,
        as_json=as_json,
    )
