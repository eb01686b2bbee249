"""TPU topologies: the recorded lists of devices, the families of TPUs, their slices.

Nineteen lists were recorded with libtpu's topology descriptions
(`jax.experimental.topologies`), which equal those of the machines where JAX's
documentation prints them. They follow from the layout, entry by entry. Any other name
is libtpu's to judge.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from jaxtui.core.model import Device, Topology
from jaxtui.machine.packages import libtpu_version

INSTALL = 'pip install "jaxtui[topology]"'
"""The command that installs libtpu."""

SLICE_IDS = 100_000
"""Devices of slice n have the ids from (n + 1) times this on."""


class Family(msgspec.Struct, frozen=True):
    """The meaning of the number in an accelerator type, and the sizes of its slices."""

    own: str
    """libtpu's name."""
    cloud: str
    """Google Cloud's, in accelerator types."""
    kinds: tuple[str, ...]
    """JAX's names for such a device."""
    per_chip: int
    """The units that the number counts per chip: TensorCores for most, chips for v5e
    and v6e (Cloud TPU's documentation, by version; MaxText's table of accelerator
    types)."""
    dimensions: int
    most_chips: int
    devices_per_chip: int = 1
    """A device for each core, or one for the chip."""
    cores_per_device: int = 1
    """TensorCores that work as one device (megacore)."""


FAMILIES = (
    Family("v2", "v2", ("TPU v2",), 2, 2, 256, devices_per_chip=2),
    Family("v3", "v3", ("TPU v3",), 2, 2, 1024, devices_per_chip=2),
    Family("v4", "v4", ("TPU v4",), 2, 3, 2048, cores_per_device=2),
    Family("v5e", "v5litepod", ("TPU v5 lite", "TPU v5e"), 1, 2, 256),
    Family("v5p", "v5p", ("TPU v5", "TPU v5p"), 2, 3, 2048, cores_per_device=2),
    Family("v6e", "v6e", ("TPU v6 lite", "TPU v6e"), 1, 2, 256),
    Family("tpu7x", "tpu7x", ("TPU7x",), 2, 3, 2048, devices_per_chip=2),
)

_BY_NAME = {name: family for family in FAMILIES for name in (family.own, family.cloud)}

_MEGACORE: dict[str, int | str | tuple[int, ...]] = {"chip_config_name": "megacore"}
"""Machines with a v4 run like that: without it there would be two devices per chip."""

_BOUNDS = "chips_per_host_bounds"

_RECORDED = {
    "v2-8": Topology(name="v2:2x2"),
    "v3-8": Topology(name="v3:2x2"),
    "v3-32": Topology(name="v3:4x4"),
    "v4-8": Topology(name="v4:2x2x1", options=_MEGACORE),
    "v4-16": Topology(name="v4:2x2x2", options=_MEGACORE),
    "v4-32": Topology(name="v4:2x2x4", options=_MEGACORE),
    "v5litepod-1": Topology(name="v5e:1x1", options={_BOUNDS: (1, 1, 1)}),
    "v5litepod-4": Topology(name="v5e:2x2"),
    "v5litepod-8": Topology(name="v5e:2x4", options={_BOUNDS: (2, 4, 1)}),
    "v5litepod-8-2-hosts": Topology(name="v5e:2x4"),
    "v5litepod-16": Topology(name="v5e:4x4"),
    "2x-v5litepod-8": Topology(name="v5e:2x4", options={"num_slices": 2}),
    "v5p-8": Topology(name="v5p:2x2x1"),
    "v5p-16": Topology(name="v5p:2x2x2"),
    "v6e-1": Topology(name="v6e:1x1", options={_BOUNDS: (1, 1, 1)}),
    "v6e-8": Topology(name="v6e:2x4", options={_BOUNDS: (2, 4, 1)}),
    "tpu7x-2": Topology(name="tpu7x:1x1x1", options={_BOUNDS: (1, 1, 1)}),
    "tpu7x-8": Topology(name="tpu7x:2x2x1"),
    "tpu7x-16": Topology(name="tpu7x:2x2x2"),
}
"""Topologies by the name that is typed."""


def names() -> tuple[str, ...]:
    """Every topology that was recorded, as it is typed: ``v5litepod-16``.

    A name that ends in ``-2-hosts`` has its chips on two machines where other machines
    of that name have them on one; ``2x-…`` is two slices.
    """
    return tuple(_RECORDED)


_LAYOUT = re.compile(r"(\w[\w ]*)[:=_](\d+(x\d+)*)(_twisted|_untwisted)?")
"""What libtpu takes for a name: a family and its chips per dimension."""


def may_be(text: str) -> bool:
    """Return whether a name was recorded, or may be libtpu's: a family that jaxtui does
    not know is libtpu's to judge, where that is installed.
    """
    name = text.strip().lower()
    layout = _LAYOUT.fullmatch(name)
    family = layout and (layout[1] in _BY_NAME or libtpu_version())
    return bool(family) or name in _RECORDED


def parse(text: str) -> Topology:
    """The topology of a recorded name, or of any other, which libtpu has to know."""
    name = text.strip().lower()
    if name in _RECORDED:
        return _RECORDED[name]
    return Topology(name=name, options=_MEGACORE if name.startswith("v4:") else {})


def devices(name: str) -> tuple[Device, ...]:
    """The devices of a recorded topology, in the order of ``jax.devices()``."""
    return compute(_RECORDED[name])


def compute(topology: Topology) -> tuple[Device, ...]:
    """List the devices of a slice as libtpu does, by its layout.

    Ids count the cores of the chips, x first; hosts are boxes of chips, numbered like
    them, and the list goes through them host by host.
    """
    name, _, layout = topology.name.partition(":")
    family = _BY_NAME[name]
    extents = _box(tuple(map(int, layout.split("x"))))
    bounds = topology.options.get(_BOUNDS)
    host = _box(bounds if isinstance(bounds, tuple) else (2, 2))
    hosts = [extent // size for extent, size in zip(extents, host, strict=True)]
    slices = int(str(topology.options.get("num_slices", 1)))
    listed = []
    for index in range(slices):
        first = (index + 1) * SLICE_IDS if slices > 1 else 0
        for number, corner in enumerate(_places(hosts)):
            for inside in _places(host):
                x, y, z = (
                    at * size + within
                    for at, size, within in zip(corner, host, inside, strict=True)
                )
                chip = x + extents[0] * (y + extents[1] * z)
                process = index * math.prod(hosts) + number
                listed += [
                    Device(
                        id=first + chip * family.devices_per_chip + core,
                        platform="tpu",
                        device_kind=family.kinds[0],
                        process_index=process,
                        coords=(x, y, z),
                        core_on_chip=core,
                        slice_index=index if slices > 1 else None,
                        addressable=process == 0,
                        attributes={"num_cores": str(family.cores_per_device)},
                    )
                    for core in range(family.devices_per_chip)
                ]
    return tuple(listed)


def _box(sizes: Sequence[int]) -> tuple[int, int, int]:
    """Chips along each of three axes."""
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _places(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every place in a box, x first."""
    for place in itertools.product(*map(range, reversed(sizes))):
        yield place[::-1]


# Links.

CUBE = 4
"""Chips along an axis of the smallest slice whose axes are rings, where links cross
racks by optical switches (Cloud TPU's documentation of v4 and v5p: slices of 4x4x4 and
larger are tori). TPU7x is built of the same cubes."""


def rings(device_kind: str, extents: Sequence[int]) -> tuple[bool, ...]:
    """Return which axes of a slice close to a ring, by its family and its layout.

    JAX does not say it. In three dimensions all of them do if each is a multiple of
    four; in two an axis does if it is as long as the side of the pod (16 chips; 32 of
    v3), because there the cables are fixed.

    Args:
        device_kind: of its devices.
        extents: chips along each axis.
    """
    family = next(
        (candidate for candidate in FAMILIES if device_kind in candidate.kinds),
        None,
    )
    if family is None:
        return (False,) * len(extents)
    if family.dimensions > 2:
        return (all(extent % CUBE == 0 for extent in extents),) * len(extents)
    side = math.isqrt(family.most_chips)
    return tuple(extent == side for extent in extents)


# Slices of several hosts.


def chips_of(accelerator_type: str) -> int | None:
    """Return the chips of an accelerator type: 4 for ``v4-8``, 16 for
    ``v5litepod-16``.

    Returns:
        ``None`` for a type that is not known.
    """
    match = re.fullmatch(r"([a-z0-9]+)-(\d+)", accelerator_type.strip().lower())
    family = _BY_NAME.get(match[1]) if match else None
    if match is None or family is None:
        return None
    chips, rest = divmod(int(match[2]), family.per_chip)
    return chips if chips and not rest else None


def workers(environment: Mapping[str, str]) -> int:
    """Return the number of hosts of the slice; 1 if the environment does not tell."""
    hosts = environment.get("TPU_WORKER_HOSTNAMES", "").split(",")
    return max(1, len([host for host in hosts if host.strip()]))


_HOST_BOUNDS = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1", 8: "2,4,1"}
"""The layout of one host's chips, by their number (the host bounds of libtpu's own
topology descriptions)."""


def alone(chips: int) -> dict[str, str]:
    """Variables with which JAX starts on one host of a slice, documented for libtpu.

    Args:
        chips: of this host; 0 stands for an unknown number.
    """
    settings = {
        "TPU_PROCESS_BOUNDS": "1,1,1",
        "TPU_WORKER_ID": "0",
        "TPU_WORKER_HOSTNAMES": "localhost",
    }
    if bounds := _HOST_BOUNDS.get(chips):
        settings["TPU_CHIPS_PER_PROCESS_BOUNDS"] = bounds
        settings["TPU_VISIBLE_CHIPS"] = ",".join(map(str, range(chips)))
    return settings
