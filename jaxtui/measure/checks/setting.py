"""What the sizes of a test depend on: the device, its memory, and its neighbours."""

from __future__ import annotations

import os
from dataclasses import dataclass

import jax

from jaxtui.measure import devices
from jaxtui.measure.checks.base import Context, shares_silicon
from jaxtui.measure.host import available_host_bytes
from jaxtui.measure.planning import Supply
from jaxtui.model import Device


@dataclass(frozen=True)
class Setting:
    """A device and what else there is."""

    device: Device
    free_bytes: int | None = None
    """Free memory where it computes; ``None`` where nobody says."""
    sharing: int = 1
    """How many of the devices share its silicon; they share the time, too."""
    cores: int = 1
    """Of the host."""


def setting(context: Context, device: jax.Device) -> Setting:
    """The setting of an addressable device in a test."""
    together = context.devices
    return of_device(device, len(together) if shares_silicon(together) else 1)


def of_device(device: jax.Device, sharing: int = 1) -> Setting:
    """The setting of an addressable device that computes beside others, or alone."""
    own = device.client.process_index()
    described = devices.describe_device(device, process_index=own)
    return Setting(
        device=described,
        free_bytes=Supply(host_bytes=available_host_bytes()).free_bytes(described),
        sharing=sharing,
        cores=os.cpu_count() or 1,
    )
