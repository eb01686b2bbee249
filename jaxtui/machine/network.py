"""The distance of devices: hops between chips, as far as their coords tell."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from jaxtui.core.model import Device
from jaxtui.machine.topologies import rings


class _Slice(msgspec.Struct, frozen=True):
    extents: tuple[int, ...]
    """Chips along each axis, from the lowest to the highest of the coords."""
    rings: tuple[bool, ...]
    """By axis, true if the last chip is linked with the first."""
    missing: int
    """Chips of that box that are not there."""


class Network:
    """The links of some devices, those of other processes among them.

    The distance of two chips is the number of links on the shortest way along the axes.
    An axis is a ring where the family of TPUs makes one of a slice of that layout (see
    ``topologies.rings``) and no chip of the box is missing; else it is a line. Devices
    of different slices, and those without coords, have no distance.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = {device.name: device for device in devices}
        members: dict[int | None, list[Device]] = {}
        for device in devices:
            if device.coords:
                members.setdefault(device.slice_index, []).append(device)
        self._slices = {index: _measure(group) for index, group in members.items()}

    @property
    def missing(self) -> int:
        """The number of chips that are missing in the boxes that the coords span."""
        return sum(slice_.missing for slice_ in self._slices.values())

    @property
    def has_rings(self) -> bool:
        return any(any(slice_.rings) for slice_ in self._slices.values())

    def steps(self, source: str, target: str) -> tuple[int, ...] | None:
        """Links along each axis on the shortest way, below 0 towards lower coords.

        Half-way round a ring both ways are as long, and it counts as upwards.
        """
        first, second = self._devices[source], self._devices[target]
        if (
            not first.coords
            or not second.coords
            or first.slice_index != second.slice_index
        ):
            return None
        slice_ = self._slices[first.slice_index]
        steps = []
        for axis, (begin, end) in enumerate(
            zip(first.place, second.place, strict=True)
        ):
            step, extent = end - begin, slice_.extents[axis]
            if slice_.rings[axis]:
                step = (step + (extent - 1) // 2) % extent - (extent - 1) // 2
            steps.append(step)
        return tuple(steps)

    def hops(self, source: str, target: str) -> int | None:
        """Return the number of links between two devices; 0 for two cores of a chip."""
        steps = self.steps(source, target)
        return None if steps is None else sum(map(abs, steps))


def _measure(devices: Sequence[Device]) -> _Slice:
    places = {device.place for device in devices}
    axes = list(zip(*places, strict=True))
    extents = tuple(max(axis) - min(axis) + 1 for axis in axes)
    missing = math.prod(extents) - len(places)
    whole = rings(devices[0].device_kind, extents)
    lines = (False,) * len(extents)
    return _Slice(extents, lines if missing else whole, missing)
