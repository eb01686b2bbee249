"""Chips, cores, devices and processes in words."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.format import plural
from jaxtui.model import Device
from jaxtui.model.machine import chip_count, slice_count

_KINDS: dict[str, tuple[str, bool]] = {
    "TPU v2": ("v2", True),
    "TPU v3": ("v3", True),
    "TPU v4": ("v4", True),
    "TPU v5": ("v5p", True),
    "TPU v5p": ("v5p", True),
    "TPU v5 lite": ("v5litepod", False),
    "TPU v5e": ("v5litepod", False),
    "TPU v6 lite": ("v6e", False),
    "TPU v6e": ("v6e", False),
    "TPU7x": ("tpu7x", True),
}
"""Accelerator type, and whether its number counts cores (or chips)."""


def summary(devices: Sequence[Device]) -> str:
    """The counts in one phrase: ``8 chips, 1 process``."""
    parts = [plural(len(devices), "device")]
    if all(device.coords for device in devices):
        count = chip_count(devices)
        parts = [plural(count, "chip")] + parts * (count != len(devices))
    parts.append(plural(len({d.process_index for d in devices}), "process"))
    return ", ".join(parts)


def where(device: Device) -> str:
    """One device and its place: ``tpu:3 at 1,0,0 core 1, process 0``."""
    text = device.name
    if device.coords:
        text += f" at {','.join(map(str, device.coords))}"
    if device.core_on_chip is not None:
        text += f" core {device.core_on_chip}"
    if device.slice_index is not None:
        text += f", slice {device.slice_index}"
    return f"{text}, process {device.process_index}"


def explain(devices: Sequence[Device]) -> str:
    """One plain sentence on how chips, cores and devices relate here."""
    if not devices:
        return "There are no devices."
    first, count = devices[0], len(devices)
    if first.simulated:
        name = plural(count, f"simulated {first.platform.upper()} device")
        return f"{name} on one CPU: SIMULATED, they share the same cores."
    if first.platform == "cpu":
        return _cpu(count)
    if first.platform == "tpu" and first.coords:
        return _tpu(devices)
    name = plural(count, "chip" if first.platform == "tpu" else first.platform.upper())
    return f"{name} = {plural(count, 'JAX device')}."


def _cpu(count: int) -> str:
    if count == 1:
        return (
            "1 CPU device: XLA's CPU backend uses all cores of this machine as one "
            "device."
        )
    return f"{count} CPU devices: they share the cores of their machine."


def _tpu(devices: Sequence[Device]) -> str:
    slices = slice_count(devices)
    devices = [d for d in devices if d.slice_index == devices[0].slice_index]
    first, count = devices[0], chip_count(devices)
    name, counts_cores = _KINDS.get(first.device_kind, ("", False))
    per_device = first.tensorcores
    cores = len(devices) * per_device
    number = cores if counts_cores else count
    terms = [
        plural(cores, "TensorCore"),
        plural(count, "chip"),
        plural(len(devices), "JAX device"),
    ]
    # A part of a slice, say three chips of eight, has no name of its own.
    if name and number & (number - 1) == 0:
        terms.insert(0, f"{name}-{number}")
    each = f"{slices} slices, each " if slices > 1 else ""
    return f"{each}{' = '.join(terms)}: {_relation(per_device, len(devices), count)}."


def _relation(per_device: int, devices: int, count: int) -> str:
    if devices > count:
        return f"each core is a device of its own, {devices // count} per chip"
    if per_device > 1:
        return f"the {per_device} cores of a chip work as one device (megacore)"
    return "each chip has one core and is one device"
