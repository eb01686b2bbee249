"""The device lists of real TPUs, recorded, so that they can be looked at anywhere.

The file was made with libtpu's own topology descriptions (`jax.experimental.
topologies`), whose lists equal those of the machines entry by entry where JAX's
documentation prints them.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jaxtui.model import Device
from jaxtui.model.ahead import Topology

PATH = Path(__file__).with_name("tpu_topologies.json")


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
    for name in names():
        if topology_of(name) == topology:
            return name
    return None


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


@cache
def _recorded() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(PATH.read_text())
    return {_short(name): topology for name, topology in found.items()}


def _short(name: str) -> str:
    """``v6e-8 (1 host)`` is typed ``v6e-8``."""
    short = name.replace(" (1 host)", "")
    return re.sub(r"[ ()]+", "-", short).strip("-")
