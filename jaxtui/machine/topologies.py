"""TPU topologies: the names that people type, the recorded device lists, slices.

Accelerator types are Google Cloud's (``v5litepod-8``), the other names libtpu's
(``v5e:2x4``). The record was made with libtpu's own topology descriptions
(`jax.experimental.topologies`), whose lists equal those of the machines entry by entry
where JAX's documentation prints them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jaxtui.model import Device, Topology
from jaxtui.model.remark import Fact, Remark

PATH = Path(__file__).with_name("tpu_topologies.json")

MOST_CHIPS = 16_384
"""No slice has more (TPU7x: 9216); a larger layout is a slip of the hand."""

INSTALL = 'pip install "jaxtui[topology]"'
"""What brings libtpu."""

USUAL = "-8"
"""One machine: eight TensorCores, or eight chips of one core."""


@dataclass(frozen=True, slots=True)
class Family:
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

    def layouts(self) -> dict[int, str]:
        """The layout of a slice by its number of chips."""
        every = {_chips(layout): layout for layout in _LAYOUTS[self.dimensions]}
        least = 1 if self.single else 2
        return {n: every[n] for n in every if least <= n <= self.most_chips}


FAMILIES = (
    Family("v2", "v2", ("TPU v2",), 2, 2, 256),
    Family("v3", "v3", ("TPU v3",), 2, 2, 1024),
    Family("v4", "v4", ("TPU v4",), 2, 3, 2048),
    Family("v5e", "v5litepod", ("TPU v5 lite", "TPU v5e"), 1, 2, 256, single=True),
    Family("v5p", "v5p", ("TPU v5", "TPU v5p"), 2, 3, 2048),
    Family("v6e", "v6e", ("TPU v6 lite", "TPU v6e"), 1, 2, 256, single=True),
    Family("tpu7x", "tpu7x", ("TPU7x",), 2, 3, 2048, single=True),
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

_NAME = re.compile(
    r"(?P<family>[a-z0-9]+(?: lite)?)[=_:](?P<layout>[0-9x]+)"
    r"(?P<torus>_twisted|_untwisted)?"
)
_LAYOUT = re.compile(r"[1-9][0-9]{0,4}(?:x[1-9][0-9]{0,4})*")
_TYPE = re.compile(
    r"(?:(?P<slices>[1-9][0-9]?)x-)?(?P<family>[a-z0-9]+)-(?P<count>\d+)"
)
_OPTION = re.compile(r"(?P<key>[a-z_]+)=(?P<value>\w+)")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:x[0-9]{1,9})*")


class TopologyError(ValueError):
    """There is no such topology; carries the remark that says why."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(remark.code)
        self.remark = remark


# The record.


@cache
def _recorded() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(PATH.read_text())
    # ``v6e-8 (1 host)`` is typed ``v6e-8``.
    return {
        re.sub(r"[ ()]+", "-", name.replace(" (1 host)", "")).strip("-"): topology
        for name, topology in found.items()
    }


def names() -> tuple[str, ...]:
    """Every topology that is recorded, as it is typed: ``v5litepod-16``.

    A name that ends in ``-2-hosts`` has its chips on two machines where other machines
    of that name have them on one; ``2x-…`` is two slices.
    """
    return tuple(_recorded())


def devices(name: str) -> tuple[Device, ...]:
    """The devices of a recorded topology, in the order of ``jax.devices()``.

    Raises:
        KeyError: it is not among ``names()``.
    """
    return tuple(
        Device(
            id=one["id"],
            platform=one["platform"],
            device_kind=one["device_kind"],
            process_index=one["process_index"],
            coords=tuple(one["coords"]),
            core_on_chip=one["core_on_chip"],
            slice_index=one["slice_index"],
            addressable=one["process_index"] == 0,
            attributes={"num_cores": str(one["num_cores"])},
        )
        for one in _recorded()[name]["devices"]
    )


def recorded_as(topology: Topology) -> str | None:
    """The name under which a topology is recorded, or ``None`` if it is not."""
    return next((name for name in names() if topology_of(name) == topology), None)


def topology_of(name: str) -> Topology:
    """What libtpu was asked for to record a topology.

    Raises:
        KeyError: it is not among ``names()``.
    """
    found = _recorded()[name]
    options = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in found["kwargs"].items()
    }
    return Topology(name=found["topology_name"], options=options)


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
        TopologyError: it is none of these.
    """
    name = text.strip().lower()
    if name in _BY_NAME:
        name += USUAL
    if name in names():
        return topology_of(name)
    found = _TYPE.fullmatch(name)
    if found and found["family"] in _BY_NAME:
        return _of_type(name, found)
    own, *options = name.split(",")
    if found := _NAME.fullmatch(own):
        return _own(found, _options(text, options))
    facts: dict[str, Fact] = {"typed": text.strip(), "known": names()}
    raise TopologyError(Remark("topology-name", facts, "error"))


def _own(found: re.Match[str], given: dict[str, Any]) -> Topology:
    """What libtpu takes as it is, with the default of a v4."""
    layout = found["layout"]
    if not _LAYOUT.fullmatch(layout):
        # libtpu divides by it: a zero would end the process (SIGFPE).
        raise TopologyError(Remark("topology-layout", {"layout": layout}, "error"))
    slices = given.get("num_slices", 1)
    chips = _chips(layout) * (slices if isinstance(slices, int) else 1)
    if chips > MOST_CHIPS:
        facts: dict[str, Fact] = {"layout": layout, "chips": chips, "most": MOST_CHIPS}
        raise TopologyError(Remark("topology-too-large", facts, "error"))
    family = _ALIASES.get(found["family"], found["family"])
    if family == "v4":
        given.setdefault("chip_config_name", "megacore")
    return Topology(name=f"{family}:{layout}{found['torus'] or ''}", options=given)


def _options(text: str, options: list[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for option in options:
        found = _OPTION.fullmatch(option.strip())
        if not found:
            facts: dict[str, Fact] = {"option": option.strip(), "typed": text.strip()}
            raise TopologyError(Remark("topology-option-typed", facts, "error"))
        value = found["value"]
        if _NUMBERS.fullmatch(value):
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
        raise TopologyError(Remark("accelerator-type", facts, "error"))
    slices = int(found["slices"] or 1)
    recorded = f"{family.cloud}-{found['count']}"
    if slices == 1 and recorded in names():
        return topology_of(recorded)
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
