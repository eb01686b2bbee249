"""TPU topologies: the names that people type, the recorded device lists, slices.

Accelerator types are Google Cloud's (``v5litepod-8``), the other names libtpu's
(``v5e:2x4``). Lists of devices are worked out from the layout: nineteen of them were
recorded with libtpu's own topology descriptions (`jax.experimental.topologies`), which
equal those of the machines where JAX's documentation prints them, and what is worked
out equals the record entry by entry.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from jaxtui.model import Device, Topology
from jaxtui.model.remark import Fact, Remark, rejection

MOST_CHIPS = 16_384
"""No slice has more (TPU7x: 9216); a larger layout is a slip of the hand."""

INSTALL = 'pip install "jaxtui[topology]"'
"""What brings libtpu."""

SLICE_IDS = 100_000
"""Devices of slice n have the ids from (n + 1) times this on."""

HOST_BOUNDS = (2, 2, 1)
"""Chips of a host along each axis, unless a topology says otherwise."""

LARGE = ("v5e:16x16", "v4:8x8x8", "tpu7x:8x16x16")
"""Slices that are worked out from their layout: 256 to 4096 devices."""

USUAL = "-8"
"""One machine: eight TensorCores, or eight chips of one core."""


class Family(msgspec.Struct, frozen=True):
    """What the number of an accelerator type means, and how large its slices are."""

    own: str
    """libtpu's name."""
    cloud: str
    """Google Cloud's, in accelerator types."""
    kinds: tuple[str, ...]
    """What JAX calls such a device."""
    per_chip: int
    """What the number counts per chip: TensorCores for most, chips for v5e and v6e
    (Cloud TPU's documentation, by version; MaxText's table of accelerator types)."""
    dimensions: int
    most_chips: int
    single: bool = False
    """Whether there are slices of one chip."""
    devices_per_chip: int = 1
    """A device for each core, or one for the chip."""
    cores_per_device: int = 1
    """TensorCores that work as one device (megacore)."""

    def layouts(self) -> dict[int, str]:
        """The layout of a slice by its number of chips."""
        every = {_chips(layout): layout for layout in _LAYOUTS[self.dimensions]}
        least = 1 if self.single else 2
        return {n: every[n] for n in every if least <= n <= self.most_chips}


FAMILIES = (
    Family("v2", "v2", ("TPU v2",), 2, 2, 256, devices_per_chip=2),
    Family("v3", "v3", ("TPU v3",), 2, 2, 1024, devices_per_chip=2),
    Family("v4", "v4", ("TPU v4",), 2, 3, 2048, cores_per_device=2),
    Family("v5e", "v5litepod", ("TPU v5 lite", "TPU v5e"), 1, 2, 256, single=True),
    Family("v5p", "v5p", ("TPU v5", "TPU v5p"), 2, 3, 2048, cores_per_device=2),
    Family("v6e", "v6e", ("TPU v6 lite", "TPU v6e"), 1, 2, 256, single=True),
    Family("tpu7x", "tpu7x", ("TPU7x",), 2, 3, 2048, single=True, devices_per_chip=2),
)

_LAYOUTS = {
    2: ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16", "16x32", "32x32"),
    3: (
        *("1x1x1", "2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8"),
        *("8x8x8", "8x8x16", "8x16x16"),
    ),
}
"""The layouts that Google Cloud gives slices whose size is a power of two, by
dimensions (cloud.google.com/tpu/docs, the page of each version). There are others, for
which libtpu's own names are the way."""

_ALIASES = {"v5lite": "v5e", "v5litepod": "v5e", "v6lite": "v6e", "v7x": "tpu7x"}
"""What people call a family that libtpu knows by another name."""

_BY_NAME = {family.own: family for family in FAMILIES}
_BY_NAME |= {alias: _BY_NAME[own] for alias, own in _ALIASES.items()}

_NAME = (
    r"(?P<family>[a-z0-9]+(?: lite)?)[=_:](?P<layout>[0-9x]+)"
    r"(?P<torus>_twisted|_untwisted)?"
)
_LAYOUT = r"[1-9][0-9]{0,4}(?:x[1-9][0-9]{0,4})*"
_TYPE = r"(?:(?P<slices>[1-9][0-9]?)x-)?(?P<family>[a-z0-9]+)-(?P<count>\d+)"
_OPTION = r"(?P<key>[a-z_]+)=(?P<value>\w+)"
_NUMBERS = r"[0-9]{1,9}(?:x[0-9]{1,9})*"


# Lists of devices.

_RECORDED = {
    "v2-8": "v2:2x2",
    "v3-8": "v3:2x2",
    "v3-32": "v3:4x4",
    "v4-8": "v4:2x2x1",
    "v4-16": "v4:2x2x2",
    "v4-32": "v4:2x2x4",
    "v5litepod-1": "v5e:1x1,chips_per_host_bounds=1x1x1",
    "v5litepod-4": "v5e:2x2",
    "v5litepod-8": "v5e:2x4,chips_per_host_bounds=2x4x1",
    "v5litepod-8-2-hosts": "v5e:2x4",
    "v5litepod-16": "v5e:4x4",
    "2x-v5litepod-8": "v5e:2x4,num_slices=2",
    "v5p-8": "v5p:2x2x1",
    "v5p-16": "v5p:2x2x2",
    "v6e-1": "v6e:1x1,chips_per_host_bounds=1x1x1",
    "v6e-8": "v6e:2x4,chips_per_host_bounds=2x4x1",
    "tpu7x-2": "tpu7x:1x1x1,chips_per_host_bounds=1x1x1",
    "tpu7x-8": "tpu7x:2x2x1",
    "tpu7x-16": "tpu7x:2x2x2",
}
"""By the name that is typed: what libtpu was asked for."""


def names() -> tuple[str, ...]:
    """Every topology that was recorded, as it is typed: ``v5litepod-16``.

    A name that ends in ``-2-hosts`` has its chips on two machines where other machines
    of that name have them on one; ``2x-…`` is two slices.
    """
    return tuple(_RECORDED)


def devices(name: str) -> tuple[Device, ...]:
    """The devices of a topology, in the order of ``jax.devices()``.

    Raises:
        SelectionError: There is no such topology, or its layout is not known here.
    """
    return compute(parse(name))


def compute(topology: Topology) -> tuple[Device, ...]:
    """The devices of a slice as libtpu lists them, worked out from its layout.

    Ids count the cores of the chips, x first; hosts are boxes of chips, numbered like
    them, and the list goes through them host by host. So are all recorded lists.

    Raises:
        SelectionError: there is no such family, its chips are set up in another way, or
            the layout and the boxes of hosts do not fit.
    """
    name, _, layout = topology.name.partition(":")
    family = _BY_NAME.get(name)
    usual = topology.options.get("chip_config_name", "megacore") == "megacore"
    known = {"chip_config_name", "chips_per_host_bounds", "num_slices"}
    if family is None or not usual or not topology.options.keys() <= known:
        unknown: dict[str, Fact] = {"typed": topology.label, "known": names()}
        raise rejection("topology-name", **unknown)
    extents = _boxed(layout.partition("_")[0])
    host = _host(topology, extents)
    if any(extent % size for extent, size in zip(extents, host, strict=True)):
        value = "x".join(map(str, host))
        facts: dict[str, Fact] = {"topology": topology.label, "value": value}
        raise rejection("topology-hosts", **facts)
    hosts = [extent // size for extent, size in zip(extents, host, strict=True)]
    cores = family.devices_per_chip
    kind = family.kinds[0]
    slices = topology.options.get("num_slices", 1)
    several = isinstance(slices, int) and slices > 1
    found = []
    for index in range(slices if isinstance(slices, int) else 1):
        for number, corner in enumerate(_places(hosts)):
            for inside in _places(host):
                x, y, z = (
                    at * size + within
                    for at, size, within in zip(corner, host, inside, strict=True)
                )
                chip = x + extents[0] * (y + extents[1] * z)
                process = index * math.prod(hosts) + number
                for core in range(cores):
                    first = (index + 1) * SLICE_IDS if several else 0
                    found.append(
                        Device(
                            id=first + chip * cores + core,
                            platform="tpu",
                            device_kind=kind,
                            process_index=process,
                            coords=(x, y, z),
                            core_on_chip=core,
                            slice_index=index if several else None,
                            addressable=process == 0,
                            attributes={"num_cores": str(family.cores_per_device)},
                        )
                    )
    return tuple(found)


def _boxed(layout: str) -> tuple[int, int, int]:
    x, y, z = (*map(int, layout.split("x")), 1, 1)[:3]
    return x, y, z


def _host(topology: Topology, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    """The box of chips that a host has."""
    given = topology.options.get("chips_per_host_bounds", HOST_BOUNDS)
    sizes = given if isinstance(given, tuple) else HOST_BOUNDS
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _places(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every place in a box, x first."""
    for place in itertools.product(*map(range, reversed(sizes))):
        yield place[::-1]


# What is typed.


def parse(text: str) -> Topology:
    """The topology that a person means.

    Accelerator types (``v5litepod-8``, ``v4-16``, ``2x-v6e-8``; ``v4`` alone is a
    machine of the usual size, ``v4-8``), recorded names, and libtpu's own names, to
    which arguments of ``jax.experimental.topologies.get_topology_desc`` can be added:
    ``v5e:2x4,chips_per_host_bounds=2x4x1``. A v4 gets ``chip_config_name=megacore``,
    because its machines run like that: without it there would be two devices per chip.
    libtpu has the last word about the rest.

    Raises:
        SelectionError: it is none of these.
    """
    name = text.strip().lower()
    if name in _BY_NAME:
        name += USUAL
    if name in _RECORDED:
        return _parse_own(_RECORDED[name], _RECORDED[name])
    found = re.fullmatch(_TYPE, name)
    if found and found["family"] in _BY_NAME:
        return _of_type(name, found)
    return _parse_own(text, name)


def _parse_own(text: str, name: str) -> Topology:
    """One of libtpu's own names, with options."""
    own, *options = name.split(",")
    if found := re.fullmatch(_NAME, own):
        return _own(found, _options(text, options))
    facts: dict[str, Fact] = {"typed": text.strip(), "known": names()}
    raise rejection("topology-name", **facts)


def _own(found: re.Match[str], given: dict[str, Any]) -> Topology:
    """What libtpu takes as it is, with the default of a v4."""
    layout = found["layout"]
    if not re.fullmatch(_LAYOUT, layout):
        # libtpu divides by it: a zero would end the process (SIGFPE).
        raise rejection("topology-layout", layout=layout)
    slices = given.get("num_slices", 1)
    chips = _chips(layout) * (slices if isinstance(slices, int) else 1)
    if chips > MOST_CHIPS:
        facts: dict[str, Fact] = {"layout": layout, "chips": chips, "most": MOST_CHIPS}
        raise rejection("topology-too-large", **facts)
    family = _ALIASES.get(found["family"], found["family"])
    if family == "v4":
        given.setdefault("chip_config_name", "megacore")
    return Topology(name=f"{family}:{layout}{found['torus'] or ''}", options=given)


def _options(text: str, options: list[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for option in options:
        found = re.fullmatch(_OPTION, option.strip())
        if not found:
            facts: dict[str, Fact] = {"option": option.strip(), "typed": text.strip()}
            raise rejection("topology-option-typed", **facts)
        value = found["value"]
        if re.fullmatch(_NUMBERS, value):
            numbers = tuple(map(int, value.split("x")))
            given[found["key"]] = numbers if len(numbers) > 1 else numbers[0]
        else:
            given[found["key"]] = value
    return given


def _of_type(name: str, found: re.Match[str]) -> Topology:
    """An accelerator type by the table of layouts."""
    family = _BY_NAME[found["family"]]
    layouts = family.layouts()
    chips, rest = divmod(int(found["count"]), family.per_chip)
    if rest or chips not in layouts:
        counts = tuple(count * family.per_chip for count in layouts)
        facts: dict[str, Fact] = {"typed": name, "family": found["family"]}
        facts["counts"] = counts
        raise rejection("accelerator-type", **facts)
    slices = int(found["slices"] or 1)
    recorded = f"{family.cloud}-{found['count']}"
    if slices == 1 and recorded in _RECORDED:
        return parse(recorded)
    several = f",num_slices={slices}" if slices > 1 else ""
    return parse(f"{family.own}:{layouts[chips]}{several}")


def _chips(layout: str) -> int:
    return math.prod(map(int, layout.split("x")))


# What libtpu says of a name that it does not take.

_REFUSALS = {
    re.compile(r"Invalid TPU external name: TPU (\S+)"): "topology-unknown",
    re.compile(r'not divisible by .*chips_per_host_bounds "([^"]+)"'): "topology-hosts",
    re.compile(
        r"Invalid topology layout for a single slice: (\S+)"
    ): "topology-dimensions",
    re.compile(r"Twisted-torus requires wrapping()"): "topology-twisted",
    re.compile(r'Failed to obtain chip config "([^"]+)"'): "topology-configuration",
    re.compile(r"Unexpected arguments?: (\S+)"): "topology-option",
}
"""By what libtpu 0.0.50 writes, with what it is about."""

REFUSALS = frozenset((*_REFUSALS.values(), "topology-refused"))
"""Codes of a topology that libtpu does not have."""


def refusal(text: str, topology: Topology) -> Remark:
    """Why libtpu refuses a topology, by its own text, which is kept."""
    for pattern, code in _REFUSALS.items():
        if found := pattern.search(text):
            facts: dict[str, Fact] = {"topology": topology.name, "value": found[1]}
            return Remark(code, facts, "error", text)
    return Remark("topology-refused", {"topology": topology.label}, "error", text)


# Links.

CUBE = 4
"""Chips along an axis of the smallest slice whose axes are rings, where links cross
racks by optical switches (Cloud TPU's documentation of v4 and v5p: slices of 4x4x4 and
larger are tori). TPU7x is built of the same cubes."""


def rings(device_kind: str, extents: Sequence[int]) -> tuple[bool, ...]:
    """Which axes of a slice close to a ring, by its family and its layout.

    JAX does not say it. In three dimensions all of them do if each is a multiple of
    four; in two an axis does if it is as long as the side of the pod (16 chips; 32 of
    v3), because there the cables are fixed.

    Args:
        device_kind: of its devices.
        extents: chips along each axis.
    """
    family = next((one for one in FAMILIES if device_kind in one.kinds), None)
    if family is None:
        return (False,) * len(extents)
    if family.dimensions > 2:
        return (all(extent % CUBE == 0 for extent in extents),) * len(extents)
    side = math.isqrt(family.most_chips)
    return tuple(extent == side for extent in extents)


# Slices of several hosts.


def chips_of(accelerator_type: str) -> int | None:
    """How many chips an accelerator type has: 4 for ``v4-8``, 16 for ``v5litepod-16``.

    Returns:
        ``None`` for a type that is not known.
    """
    found = re.fullmatch(r"([a-z0-9]+)-(\d+)", accelerator_type.strip().lower())
    family = _BY_NAME.get(found[1]) if found else None
    if found is None or family is None:
        return None
    chips, rest = divmod(int(found[2]), family.per_chip)
    return chips if chips and not rest else None


def workers(environment: Mapping[str, str]) -> int:
    """How many hosts the slice has; 1 if the environment does not tell."""
    hosts = environment.get("TPU_WORKER_HOSTNAMES", "").split(",")
    return max(1, len([host for host in hosts if host.strip()]))


_BOUNDS = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1", 8: "2,4,1"}
"""How the chips of one host are laid out, by their number (the host bounds of libtpu's
own topology descriptions)."""


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
    if bounds := _BOUNDS.get(chips):
        settings["TPU_CHIPS_PER_PROCESS_BOUNDS"] = bounds
        settings["TPU_VISIBLE_CHIPS"] = ",".join(map(str, range(chips)))
    return settings
