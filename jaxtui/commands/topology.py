"""``jaxtui devices --topology``: the devices of a TPU that is not here."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from jaxtui.commands import FINE
from jaxtui.commands.compile import ending, refused
from jaxtui.commands.compile_process import AheadProcess, LibtpuMissing, ahead_process
from jaxtui.commands.compile_request import parsed
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.terminal import live_line, put, put_bytes, say
from jaxtui.document import devices_document, encode
from jaxtui.machine import topologies
from jaxtui.model import Device
from jaxtui.model.ahead import (
    AheadDescribed,
    AheadHello,
    AheadRefused,
    DescribeRequest,
    Topology,
)
from jaxtui.selection import SelectionError
from jaxtui.signals import interrupt
from jaxtui.view.devices import overview

LIMIT_SECONDS = 120.0
"""libtpu describes the largest topology in seconds."""

_RECORDED = "RECORDED: {name}, as JAX lists it there; not this machine."
_DESCRIBED = "{name}, from libtpu {libtpu}; not this machine."


def run(python: str | None, name: str, *, as_json: bool) -> int:
    """Prints the devices of a topology and gives the exit code.

    A recorded name needs nothing. libtpu describes every other one, and what happens to
    be recorded is shown where libtpu is missing.

    Args:
        python: the interpreter that has libtpu; ``None`` is this one.
        name: as it was typed.
        as_json: print one JSON document.

    Raises:
        CannotRun: if libtpu cannot be used.
        SelectionError: if there is no topology of this name.
    """
    if name in topologies.names():
        return _print(
            _RECORDED.format(name=name), topologies.devices(name), as_json=as_json
        )
    topology = parsed(name)
    try:
        described = interrupt.run(_described(python, topology))
    except LibtpuMissing as missing:
        recorded = topologies.recorded_as(topology)
        if recorded is None:
            raise _missing(missing, name) from None
        return _print(
            _RECORDED.format(name=recorded),
            topologies.devices(recorded),
            as_json=as_json,
        )
    if described is None:
        return _print("Interrupted.", (), as_json=as_json)
    libtpu, devices = described
    said = _DESCRIBED.format(name=topology.label, libtpu=libtpu)
    return _print(said, devices, as_json=as_json)


def _missing(missing: LibtpuMissing, name: str) -> CannotRun:
    recorded = ", ".join(topologies.names())
    return CannotRun(f'{missing} Without it "{name}" is not known, only {recorded}.')


def _print(said: str, devices: Sequence[Device], *, as_json: bool) -> int:
    if as_json:
        put_bytes(encode(devices_document(None, devices)))
        say(said)
    else:
        put(said + "\n" + overview(None, devices))
    return FINE


async def _described(
    python: str | None, topology: Topology
) -> tuple[str, tuple[Device, ...]]:
    """The version of libtpu, and the devices that it makes of the topology."""
    async with (
        ahead_process(python) as process,
        live_line(sys.stderr, process.line),
    ):
        try:
            return await asyncio.wait_for(_ask(process, topology), LIMIT_SECONDS)
        except asyncio.TimeoutError:
            raise CannotRun(
                f'libtpu has not described "{topology.label}" within '
                f"{LIMIT_SECONDS:g} s."
            ) from None


async def _ask(
    process: AheadProcess, topology: Topology
) -> tuple[str, tuple[Device, ...]]:
    libtpu = ""
    async for answer in process.answers():
        match answer:
            case AheadHello(libtpu=version):
                libtpu = version or ""
                await process.ask(DescribeRequest(topology=topology))
            case AheadDescribed(devices=devices):
                return libtpu, devices
            case AheadRefused():
                raise SelectionError(refused(answer))
            case _:
                pass
    raise CannotRun(await ending(process))
