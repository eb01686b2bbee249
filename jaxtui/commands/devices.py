"""``jaxtui devices``: what JAX sees on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.commands import FINE
from jaxtui.commands.findings import finding_text
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.progress import progress
from jaxtui.commands.session import EngineFactory, session
from jaxtui.commands.terminal import put, put_bytes, say
from jaxtui.document import devices_document, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.model import Device, Finding, Host, Ready
from jaxtui.signals import interrupt
from jaxtui.tui import chiplayout, chipmap
from jaxtui.tui.state import EMPTY, State
from jaxtui.view.text import plain, table

ABSENT = "—"

MAP_COLUMNS, MAP_LINES = 80, 60
"""Room for the chip map: stdout scrolls, so only its width matters."""


def run(factory: EngineFactory, options: EngineOptions, *, as_json: bool) -> int:
    """Prints the devices and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start.
    """
    state = interrupt.run(_ready(factory, options)) or EMPTY
    if as_json:
        put_bytes(encode(devices_document(state.host, state.devices)))
        for finding in state.findings:
            say(finding_text(finding))
    elif state.devices:
        put(text(state.host, state.devices, state.findings))
    return FINE


def text(
    host: Host | None, devices: Sequence[Device], findings: Sequence[Finding] = ()
) -> str:
    """The machine in one line, a table of devices, what they are together, and what
    else is to be known of the machine.
    """
    parts = [_headline(host, devices)]
    head = ("id", "kind", "process", "coords", "core", "slice", "memory")
    parts.append(table(head, [_row(device) for device in devices]))
    if any(device.coords for device in devices):
        lines = chipmap.render(chiplayout.layout(devices), MAP_COLUMNS, MAP_LINES)
        parts.append("\n".join(plain(line).rstrip() for line in lines))
    parts.append(chipmap.explain(devices))
    parts += map(finding_text, findings)
    return "\n\n".join(part for part in parts if part)


def _headline(host: Host | None, devices: Sequence[Device]) -> str:
    facts = []
    if host:
        facts = [host.hostname, host.cpu_model or "", f"jax {host.jax}"]
    if any(device.simulated for device in devices):
        facts.append("SIMULATED devices")
    return " · ".join(fact for fact in facts if fact)


def _row(device: Device) -> tuple[str, ...]:
    coords = None if device.coords is None else ",".join(map(str, device.coords))
    marks = "" if device.addressable else " (another process's)"
    simulated = " SIMULATED" if device.simulated else ""
    return (
        device.name,
        device.device_kind + simulated + marks,
        str(device.process_index),
        _or_absent(coords),
        _or_absent(device.core_on_chip),
        _or_absent(device.slice_index),
        fmt.bytes_used(device.memory_used_bytes, device.memory_limit_bytes),
    )


def _or_absent(value: object) -> str:
    return ABSENT if value is None else str(value)


async def _ready(factory: EngineFactory, options: EngineOptions) -> State:
    """The snapshot once the engine has listed its devices, its last words included."""
    async with session(factory, options) as engine:
        async with progress(sys.stderr, lambda: engine.state):
            async for envelope in engine.events():
                if isinstance(envelope.event, Ready):
                    # JAX's reasons come by the log, which may be a little later.
                    await engine.engine.close()
        if engine.state.devices:
            return engine.state
    raise CannotRun("The engine ended before it had listed its devices.")
