"""Every fact about a device and its host, as pairs of a name and a text."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.model import Device, Host

_BYTES = ("bytes", "size", "limit", "reserved")


def device_facts(device: Device) -> list[tuple[str, str]]:
    """What the device says of itself; what it does not have is left out."""
    pairs: list[tuple[str, object]] = [
        ("device", device.name),
        ("kind", device.device_kind),
        ("process_index", device.process_index),
        ("local_hardware_id", device.local_hardware_id),
        ("coords", device.coords),
        ("core_on_chip", device.core_on_chip),
        ("slice_index", device.slice_index),
        ("addressable", None if device.addressable else "no: another process's"),
        ("simulated", "yes" if device.simulated else None),
    ]
    facts = [(name, str(value)) for name, value in pairs if value is not None]
    facts += device.attributes.items()
    return facts


def memory_facts(device: Device) -> list[tuple[str, str]]:
    """The device's ``memory_stats()``, bytes as bytes and counts as counts."""
    if not device.memory:
        return [("memory_stats()", "— (this device has none)")]
    return [
        (name, fmt.bytes_text(value) if _is_bytes(name) else str(value))
        for name, value in device.memory.items()
    ]


def host_facts(host: Host) -> list[tuple[str, str]]:
    """The machine and the versions that a measurement depends on."""
    memory = host.memory_bytes
    pairs: list[tuple[str, object]] = [
        ("host", host.hostname),
        ("cpu", host.cpu_model),
        ("cpu count", host.cpu_count),
        ("memory", None if memory is None else fmt.bytes_text(memory)),
        ("python", host.python),
        ("jax", host.jax),
        ("jaxlib", host.jaxlib),
        ("numpy", host.numpy),
        ("platform", host.platform_version),
        *{**host.environment, **host.settings}.items(),
    ]
    return [(name, str(value)) for name, value in pairs if value is not None]


def _is_bytes(name: str) -> bool:
    return any(part in name for part in _BYTES) and "num" not in name
