"""How many chips, cores, devices, processes and slices there are, in words."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.format import plural
from jaxtui.model import Device
from jaxtui.model.machine import chip_count, slice_count


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
        cores = sum(one.tensorcores for one in devices)
        terms = [
            plural(cores, "TensorCore"),
            f"{plural(chip_count(devices), 'chip')} {first.device_kind}",
            *terms,
        ]
    else:
        terms = [f"{plural(count, 'GPU')} {first.device_kind}", *terms]
    processes = len({one.process_index for one in devices})
    placed = f"{' = '.join(terms)} in {plural(processes, 'process')}"
    several = slice_count(devices)
    return f"{placed} and {several} slices" if several > 1 else placed


def _of_cpu(devices: Sequence[Device]) -> str:
    count = plural(len(devices), "CPU device")
    if devices[0].simulated:
        return f"{count}, SIMULATED: they share the cores of this machine"
    if len(devices) == 1:
        return f"{count}: it uses all cores of this machine"
    return f"{count}: they share the cores of their machine"
