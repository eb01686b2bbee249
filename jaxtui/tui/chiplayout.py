"""Which chip sits where: devices grouped by slice, z and place.

Chips are told apart by their slice and ``coords``; a chip of a TPU v2, v3 or 7x holds
two devices, one per core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jaxtui.model import Device

SLICE_IDS = 100_000
"""Devices of slice n have the ids from (n + 1) times this on."""

PROCESS_ROLES = 8
"""How many processes have a role of their own before the roles repeat."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a health check says of a device, beside its number."""

    text: str
    """One cell."""
    word: str
    """What it means."""
    role: str


Chip = tuple[Device, ...]
"""The devices of one chip, in the order of their cores."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The chips of one slice that have the same z."""

    title: str
    """Which slice and which z, where there are several."""
    columns: tuple[int, ...]
    """The x of each column."""
    rows: tuple[int, ...]
    """The y of each row."""
    chips: dict[tuple[int, int], Chip]
    """By x and y."""


@dataclass(frozen=True, slots=True)
class ChipMap:
    """Where every device sits."""

    devices: tuple[Device, ...]
    panels: tuple[Panel, ...]
    """Empty when the devices have no coords."""
    offsets: dict[int, int]
    """What to add to the drawn ids, by slice; empty when ids are drawn whole."""
    marks: Mapping[str, Mark] = field(default_factory=dict)
    """Of every device by its name, or none at all."""

    @property
    def processes(self) -> tuple[int, ...]:
        """Every ``process_index``, ascending."""
        return tuple(sorted({device.process_index for device in self.devices}))

    def short(self, device: Device) -> str:
        """The id as it is drawn."""
        return str(device.id - self.offsets.get(device.slice_index or 0, 0))

    def drawn(self, device: Device) -> str:
        """The id with its mark, if there are marks."""
        mark = self.marks.get(device.name)
        return self.short(device) + (mark.text if mark else "")

    def role(self, device: Device, selected: str | None) -> str:
        """How a device is drawn."""
        if (mark := self.marks.get(device.name)) is not None:
            return f"{mark.role}{'-selected' * (device.name == selected)}"
        if device.name == selected:
            return "selected"
        if len(self.processes) == 1:
            return "chip"
        return process_role(self.processes.index(device.process_index))


def layout(devices: Sequence[Device]) -> ChipMap:
    """Find out where every device sits."""
    ordered = tuple(sorted(devices, key=lambda device: device.id))
    slices = sorted({device.slice_index or 0 for device in ordered})
    if not ordered or any(not device.coords for device in ordered):
        return ChipMap(ordered, (), {})
    offsets = {
        index: min(d.id for d in ordered if (d.slice_index or 0) == index)
        // SLICE_IDS
        * SLICE_IDS
        for index in slices
        if len(slices) > 1
    }
    panels = [
        _panel(ordered, index, z, len(slices) > 1)
        for index in slices
        for z in sorted(
            {_place(d)[2] for d in ordered if (d.slice_index or 0) == index}
        )
    ]
    return ChipMap(ordered, tuple(panels), offsets)


def _place(device: Device) -> tuple[int, int, int]:
    x, y, z = (*(device.coords or ()), 0, 0, 0)[:3]
    return x, y, z


def _panel(devices: Sequence[Device], index: int, z: int, several: bool) -> Panel:
    members = [d for d in devices if (d.slice_index or 0) == index]
    depth = {_place(d)[2] for d in members}
    chips: dict[tuple[int, int], Chip] = {}
    for device in sorted(members, key=lambda d: (d.core_on_chip or 0, d.id)):
        x, y, at = _place(device)
        if at == z:
            chips[x, y] = (*chips.get((x, y), ()), device)
    title = [f"slice {index}"] * several + [f"z={z}"] * (len(depth) > 1)
    columns = tuple(sorted({_place(d)[0] for d in members}))
    rows = tuple(sorted({_place(d)[1] for d in members}))
    return Panel(" ".join(title), columns, rows, chips)


def process_role(place: int) -> str:
    """The role of a process, by its place among all."""
    return f"process-{place % PROCESS_ROLES}"
