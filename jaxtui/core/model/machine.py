"""The host, its devices, and the processes that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from jaxtui.core.model.base import Record

_TENSORCORES = {"TPU v4": 2, "TPU v5": 2, "TPU v5p": 2}
"""Per JAX device, where the device does not say; one on every other kind of TPU."""


class Host(Record, frozen=True, kw_only=True):
    """The facts about a machine that a measurement depends on.

    Versions are ``None`` only in an audit: of a program whose Python did not tell them.
    """

    hostname: str
    python: str | None
    jax: str | None
    jaxlib: str | None
    numpy: str | None
    platform_version: str | None
    """``client.platform_version`` of the default backend, its first line; the version
    of libtpu in an engine that compiles for a topology."""
    cpu_model: str | None = None
    cpu_count: int | None = None
    usable_cores: float | None = None
    """Cores that the process may use, by affinity and the quota of its cgroups."""
    plugins: dict[str, str] = msgspec.field(default_factory=dict)
    """The versions of libtpu and of JAX's other plugins, by package."""
    memory_bytes: int | None = None
    """Physical memory of the host."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """The JAX_*, XLA_*, TPU_* and thread-count variables that are set."""
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    """The settings of malloc and those of JAX that change a number, if not at defaults:
    ``JAX_DEBUG_NANS`` for one of the environment, ``jax_debug_nans`` for one that the
    process has made; with the value that JAX holds."""

    @property
    def cores(self) -> str:
        """``16``, or ``1 of 16`` if the process may not use all; empty if unknown."""
        usable = self.usable_cores
        if usable is None or usable == self.cpu_count:
            return "" if self.cpu_count is None else str(self.cpu_count)
        return f"{usable:.3g} of {self.cpu_count}"


class Device(Record, frozen=True, kw_only=True):
    """A ``jax.Device``; attributes that it does not have are ``None``."""

    id: int
    platform: str
    device_kind: str
    process_index: int
    local_hardware_id: int | None = None
    coords: tuple[int, ...] | None = None
    core_on_chip: int | None = None
    slice_index: int | None = None
    memory: dict[str, int] | None = None
    """``Device.memory_stats()`` as it came, in bytes and counts."""
    simulated: bool = False
    """True for a CPU device made by ``--cpu-devices N``."""
    addressable: bool = True
    """False for a device of another process that the engine cannot ask for work."""
    hostname: str | msgspec.UnsetType = msgspec.UNSET
    """The name of its host, where there are several processes."""
    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    """Every other public attribute that the device really has, as text."""

    @property
    def name(self) -> str:
        """The device as people write it: ``tpu:3``."""
        return f"{self.platform}:{self.id}"

    @property
    def label(self) -> str:
        """The device and where it sits: ``tpu:5 at 1,2,0``, ``tpu:1 at 0,0,0 core 1``.

        Core 0 is also that of a chip that is one device, which needs no mention.
        """
        if not self.coords:
            return self.name
        core = f" core {self.core_on_chip}" if self.core_on_chip else ""
        return f"{self.name} at {','.join(map(str, self.coords))}{core}"

    @property
    def place(self) -> tuple[int, int, int]:
        """The first three of ``coords``, 0 where there is none."""
        x, y, z = (*(self.coords or ()), 0, 0, 0)[:3]
        return x, y, z

    @property
    def memory_used_bytes(self) -> int | None:
        """Bytes in use plus bytes reserved (a TPU keeps temporaries in the latter)."""
        if not self.memory or "bytes_in_use" not in self.memory:
            return None
        return self.memory["bytes_in_use"] + self.memory.get("bytes_reserved", 0)

    @property
    def memory_limit_bytes(self) -> int | None:
        """Bytes that the runtime may use; on a GPU this is the pool, not the card."""
        return self.memory.get("bytes_limit") if self.memory else None

    @property
    def tensorcores(self) -> int:
        """The number of cores of a TPU chip that work as this one device."""
        text = self.attributes.get("num_cores", "")
        if text.isdigit() and int(text):
            return int(text)
        return _TENSORCORES.get(self.device_kind, 1)


_GROUP = re.compile(
    r"([a-z]+):(\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*)", re.ASCII
)


def group_name(names: Iterable[str]) -> str:
    """Devices of one platform under one name: ``cpu:0-7``, ``tpu:0-3,8-11``; of a
    single device its own.
    """
    parts = [name.partition(":") for name in names]
    runs: list[list[int]] = []
    for number in sorted({int(part[2]) for part in parts}):
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    ids = ",".join("-".join(map(str, run)) for run in runs)
    return f"{parts[0][0]}:{ids}"


def id_ranges(name: str) -> tuple[range, ...]:
    """The ids in the name of a device or a group, as they are written; none of what is
    neither.
    """
    match = _GROUP.fullmatch(name)
    if match is None:
        return ()
    ends = (part.partition("-") for part in match[2].split(","))
    return tuple(range(int(low), int(high or low) + 1) for low, _, high in ends)


def hostnames(devices: Iterable[Device]) -> tuple[str, ...]:
    """The host of each device; none where all are on one host."""
    names = tuple(device.hostname or "" for device in devices)
    return names if len({*names}) > 1 else ()


def members(name: str) -> tuple[str, ...]:
    """The devices that the device of a case names: eight of ``cpu:0-7``, one of
    ``tpu:3``; ``host`` is itself.
    """
    ids = [number for run in id_ranges(name) for number in run]
    platform = name.partition(":")[0]
    return tuple(f"{platform}:{number}" for number in ids) or (name,)


def device_of(devices: Iterable[Device], name: str) -> Device | None:
    """The device of a case: the first of a group, which are all of one kind."""
    first = members(name)[0]
    return next((device for device in devices if device.name == first), None)


def chip_count(devices: Sequence[Device]) -> int:
    """Return the number of chips of the devices: some chips are two devices.

    A device without coords, such as a GPU, counts as one.
    """
    places = {
        (device.slice_index, device.coords) if device.coords else device.name
        for device in devices
    }
    return len(places)


def slice_count(devices: Sequence[Device]) -> int:
    """Return the number of slices that the devices belong to."""
    return len({device.slice_index for device in devices})


class Topology(Record, frozen=True, kw_only=True):
    """A TPU topology, in the words of ``jax.experimental.topologies``."""

    name: str
    """The name that libtpu takes: ``v5e:2x4``, chips per dimension."""
    options: dict[str, int | str | tuple[int, ...]] = msgspec.field(
        default_factory=dict
    )
    """More arguments of ``get_topology_desc``, e.g. ``chip_config_name``."""

    @property
    def label(self) -> str:
        """Name and options in one text: ``v5e:2x4,num_slices=2``."""
        pairs = (f",{key}={_typed(value)}" for key, value in self.options.items())
        return self.name + "".join(pairs)


def _typed(value: int | str | tuple[int, ...]) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


class Holder(Record, frozen=True, kw_only=True):
    """A process that holds an accelerator."""

    pid: int
    user: str | None
    command: str
    paths: tuple[str, ...]
    """The device files that it has open, e.g. ``/dev/accel0``."""
    age_seconds: float | None = None
    """Seconds since it began."""
