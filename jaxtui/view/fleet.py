"""Many devices, level by level: slices, the hosts of one, the devices of one.

A slice or a host is shown as if it were a device: ``process:12`` has the lowest coords
of its chips and the memory of all of them. So tables and maps draw it as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from jaxtui.model import Device

MOST = 64
"""So many devices are shown one by one."""

NOUNS = {"slice": "slice", "process": "host"}
"""What stands for several devices, by what takes the place of its platform."""

_COUNT = "devices"
"""The attribute that says how many."""


class Level(msgspec.Struct, frozen=True):
    """What is shown of some devices."""

    tiles: tuple[Device, ...]
    """The devices, or what stands for several of them."""
    members: Mapping[str, tuple[Device, ...]]
    """By the name of a tile; empty where the tiles are the devices."""
    inside: tuple[str, ...]
    """The names of the tiles that were opened to come here."""

    def tile_of(self, device: Device) -> Device:
        """What stands for a device; the first tile if it is elsewhere."""
        for tile in self.tiles:
            if tile.name == device.name or device in self.members.get(tile.name, ()):
                return tile
        return self.tiles[0]

    def first(self, name: str) -> str:
        """The device that a tile stands for, or the first of several."""
        return self.members[name][0].name if name in self.members else name


def level(devices: Sequence[Device], inside: Sequence[str] = ()) -> Level:
    """What to show.

    Args:
        devices: all of them.
        inside: the names of the tiles that were opened, as far as they are there.
    """
    here, opened = tuple(devices), list[str]()
    wanted = list(inside)
    while True:
        kind = _kind(here)
        if kind is None:
            return Level(here, {}, tuple(opened))
        groups: dict[int, list[Device]] = {}
        key = _KEYS[kind]
        for device in here:
            groups.setdefault(key(device), []).append(device)
        members = {f"{kind}:{index}": tuple(found) for index, found in groups.items()}
        if not wanted or wanted[0] not in members:
            tiles = tuple(
                _tile(kind, index, found) for index, found in sorted(groups.items())
            )
            return Level(tiles, members, tuple(opened))
        opened.append(wanted.pop(0))
        here = members[opened[-1]]


_Kind = Literal["slice", "process"]

_KEYS: dict[_Kind, Callable[[Device], int]] = {
    "slice": lambda device: device.slice_index or 0,
    "process": lambda device: device.process_index,
}


def _kind(devices: Sequence[Device]) -> _Kind | None:
    """What stands for several of these; ``None`` where each is shown."""
    if len(devices) <= MOST:
        return None
    for kind, key in _KEYS.items():
        if len({key(device) for device in devices}) > 1:
            return kind
    return None


def _tile(kind: str, index: int, devices: Sequence[Device]) -> Device:
    first = devices[0]
    corner = tuple(map(min, zip(*(device.place for device in devices), strict=True)))
    # Slices have no place among each other.
    placed = kind == "process" and all(device.coords for device in devices)
    return Device(
        id=index,
        platform=kind,
        device_kind=first.device_kind,
        process_index=0,
        coords=corner if placed else None,
        slice_index=first.slice_index if kind == "process" else None,
        memory=_memory(devices),
        simulated=first.simulated,
        attributes={_COUNT: str(len(devices))},
    )


def _memory(devices: Iterable[Device]) -> dict[str, int] | None:
    """Of all of them together; ``None`` if one does not say it."""
    total: dict[str, int] = {}
    for device in devices:
        if device.memory is None:
            return None
        for name, value in device.memory.items():
            total[name] = total.get(name, 0) + value
    return total


def size(tile: Device) -> int:
    """How many devices a tile stands for."""
    return int(tile.attributes.get(_COUNT, 1))
