"""Real TPU device objects of a topology, from libtpu."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jax.experimental import topologies

from jaxtui.measure.devices import describe_device
from jaxtui.measure.errors import full_text
from jaxtui.model import Device
from jaxtui.model.ahead import AheadRefused, Topology

FAMILIES = "v2, v3, v4, v5e, v5p, v6e and tpu7x"
"""What libtpu 0.0.50 accepts."""

_Sentence = Callable[[re.Match[str], Topology], str]


def open_topology(topology: Topology) -> list[Any]:
    """The ``jax.Device`` objects; nothing can be run on them.

    Raises:
        Exception: whatever libtpu raises for what it refuses; see ``refusal``.
    """
    described = topologies.get_topology_desc(
        platform="tpu", topology_name=topology.name, **topology.options
    )
    return list(described.devices)


def describe(devices: list[Any]) -> tuple[Device, ...]:
    """The devices as records; process 0 stands for the own one."""
    return tuple(describe_device(device, process_index=0) for device in devices)


def refusal(error: Exception, topology: Topology) -> AheadRefused:
    """Why libtpu refuses a topology, in a sentence; the original text is kept."""
    text = full_text(error)
    for pattern, sentence in _RULES:
        if found := pattern.search(text):
            return AheadRefused(error=sentence(found, topology), detail=text)
    return AheadRefused(
        error=f'libtpu refuses the topology "{topology.label}".', detail=text
    )


_RULES: tuple[tuple[re.Pattern[str], _Sentence], ...] = (
    (
        re.compile(r"Invalid TPU external name: TPU (\S+)"),
        lambda found, topology: (
            f'libtpu knows no TPU "{found[1]}": it knows {FAMILIES}.'
        ),
    ),
    (
        re.compile(r'not divisible by .*chips_per_host_bounds "([^"]+)"'),
        lambda found, topology: (
            f'The chips of "{topology.name}" cannot be shared out among hosts of '
            f"{found[1]}: say how many a host has, as in "
            f"{topology.name},chips_per_host_bounds=1x1x1."
        ),
    ),
    (
        re.compile(r"Invalid topology layout for a single slice: (\S+)"),
        lambda found, topology: (
            f'The layout "{found[1]}" has too few dimensions or too many: v2, v3, v5e '
            "and v6e have two, as in v5e:2x4, the others three, as in v4:2x2x1."
        ),
    ),
    (
        re.compile(r"Twisted-torus requires wrapping"),
        lambda found, topology: (
            f'The torus of "{topology.name}" can only be twisted if it wraps in every '
            f"dimension: add ,wrap=1x1x1."
        ),
    ),
    (
        re.compile(r'Failed to obtain chip config "([^"]+)"'),
        lambda found, topology: (
            f'The chips of "{topology.name}" have no configuration "{found[1]}": leave '
            "chip_config_name out."
        ),
    ),
    (
        re.compile(r"Unexpected arguments?: (\S+)"),
        lambda found, topology: (
            f'A topology of libtpu has no option "{found[1]}": it has '
            "chips_per_host_bounds, num_slices, chip_config_name and wrap."
        ),
    ),
)
