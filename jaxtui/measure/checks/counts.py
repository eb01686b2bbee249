"""How many chips, cores, devices, processes and slices there are."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.model import Device

TENSORCORES = {"TPU v4": 2, "TPU v5": 2, "TPU v5p": 2}
"""Per JAX device, where the device does not say; one on every other kind of TPU."""


def chips(devices: Sequence[Device]) -> int:
    """The places that the devices sit at: some chips are two devices.

    A device without coords, such as a GPU, counts as one.
    """
    places = {
        (one.slice_index, one.coords) if one.coords else one.name for one in devices
    }
    return len(places)


def slices(devices: Sequence[Device]) -> int:
    """How many slices the devices belong to."""
    return len({one.slice_index for one in devices})


def in_words(devices: Sequence[Device]) -> str:
    """The counts of one platform, e.g. ``8 TensorCores = 4 chips = 4 JAX devices …``.

    Args:
        devices: All of the same platform; at least one.
    """
    first, count = devices[0], len(devices)
    if first.platform == "cpu":
        return _of_cpu(devices)
    terms = [plural(count, "JAX device")]
    if first.platform == "tpu":
        cores = sum(map(_cores, devices))
        terms = [
            plural(cores, "TensorCore"),
            plural(
                chips(devices),
                f"chip {first.device_kind}",
                f"chips {first.device_kind}",
            ),
            *terms,
        ]
    else:
        terms = [f"{plural(count, 'GPU')} {first.device_kind}", *terms]
    processes = len({one.process_index for one in devices})
    placed = f"{' = '.join(terms)} in {plural(processes, 'process', 'processes')}"
    several = slices(devices)
    return f"{placed} and {several} slices" if several > 1 else placed


def plural(count: int, noun: str, many: str = "") -> str:
    """``1 chip``, ``2 chips``."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def _of_cpu(devices: Sequence[Device]) -> str:
    count = plural(len(devices), "CPU device")
    if devices[0].simulated:
        return f"{count}, SIMULATED: they share the cores of this machine"
    if len(devices) == 1:
        return f"{count}: it uses all cores of this machine"
    return f"{count}: they share the cores of their machine"


def _cores(device: Device) -> int:
    text = device.attributes.get("num_cores", "")
    if text.isdigit() and int(text):
        return int(text)
    return TENSORCORES.get(device.device_kind, 1)
