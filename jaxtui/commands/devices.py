"""``jaxtui devices``: what JAX sees on this machine, or on a TPU that is not here."""

from __future__ import annotations

from functools import partial

import click

from jaxtui.commands import CannotRun
from jaxtui.commands.common import Common, engine_flags, valued
from jaxtui.commands.compile import refused_topology
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import Parsed, json_flag
from jaxtui.commands.output import close, rendered
from jaxtui.commands.terminal import say
from jaxtui.machine import topologies
from jaxtui.model import Device
from jaxtui.view.devices import finding_text, report
from jaxtui.view.document import Devices


@click.command("devices")
@valued(
    "--topology",
    "NAME",
    "A TPU instead of this machine: v5litepod-16, or v5e:4x8 with libtpu.",
    type=Parsed("topology", str, topologies.names()),
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

    A recorded name needs nothing. libtpu describes every other one, and what happens to
    be recorded is shown where libtpu is missing.

    Raises:
        CannotRun: if libtpu cannot be used.
        TopologyError: if there is no topology of this name.
    """
    shown: tuple[str, tuple[Device, ...]] | None = None
    recorded: str | None = name
    if name not in topologies.names():
        topology = topologies.parse(name)
        driver = Driver(common, topology=topology)

        async def ready() -> None:
            async with driver.started() as session, driver.progress():
                await session.ready()

        try:
            driver.drive(ready())
            recorded, state = None, driver.state
            if state.host is not None:
                libtpu = state.host.platform_version
                source = f"{topology.label}, from libtpu {libtpu}; not this machine."
                shown = source, state.devices
        except CannotRun as error:
            refused_topology(driver, error)
            failed = driver.state.failed
            if failed is None or failed.remark.code != "libtpu-missing":
                raise
            recorded = topologies.recorded_as(topology)
            if recorded is None:
                names = ", ".join(topologies.names())
                raise CannotRun(
                    f'{error} Without it "{name}" is not known, only {names}.'
                ) from None
    if recorded is not None:
        source = f"RECORDED: {recorded}, not this machine."
        shown = source, topologies.devices(recorded)
    source, devices = shown or ("", ())
    built = report(None, devices, source=f"{source} ") if source else None
    if as_json and source:
        say(source)
    return close(
        document=Devices.of(None, devices),
        text=partial(rendered, built) if built else None,
        as_json=as_json,
    )
