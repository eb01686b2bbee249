"""How many hops apart chips are, by the layout of their slice."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from jaxtui.core.model import Device
from jaxtui.machine import topologies
from jaxtui.machine.network import Network
from jaxtui.machine.topologies import rings


def box(kind: str, *extents: int, without: Sequence[int] = ()) -> tuple[Device, ...]:
    """A slice of one device per chip, x running fastest."""
    places = [place[::-1] for place in itertools.product(*map(range, extents[::-1]))]
    return tuple(
        Device(
            id=index, platform="tpu", device_kind=kind, process_index=0, coords=place
        )
        for index, place in enumerate(places)
        if index not in without
    )


@pytest.mark.parametrize(
    ("kind", "extents", "closed"),
    [
        ("TPU v4", (2, 2, 4), (False, False, False)),
        ("TPU v4", (4, 4, 4), (True, True, True)),
        ("TPU v5p", (4, 4, 8), (True, True, True)),
        ("TPU v5", (4, 4, 6), (False, False, False)),
        ("TPU7x", (4, 8, 8), (True, True, True)),
        ("TPU v5 lite", (8, 16, 1), (False, True, False)),
        ("TPU v6 lite", (4, 8, 1), (False, False, False)),
        ("TPU v2", (16, 16, 1), (True, True, False)),
        ("TPU v3", (16, 32, 1), (False, True, False)),
        ("Radio v1", (16, 16, 1), (False, False, False)),
    ],
)
def test_rings(kind: str, extents: tuple[int, ...], closed: tuple[bool, ...]) -> None:
    assert rings(kind, extents) == closed


def test_a_mesh_has_no_way_round() -> None:
    network = Network(box("TPU v5 lite", 4, 2, 1))
    assert not network.has_rings
    assert network.steps("tpu:0", "tpu:7") == (3, 1, 0)
    assert network.steps("tpu:7", "tpu:0") == (-3, -1, 0)
    assert network.hops("tpu:0", "tpu:7") == network.hops("tpu:7", "tpu:0") == 4


def test_a_torus_has() -> None:
    network = Network(box("TPU v4", 4, 4, 8))
    assert network.has_rings
    assert network.steps("tpu:0", "tpu:3") == (-1, 0, 0)
    assert network.steps("tpu:3", "tpu:0") == (1, 0, 0)
    # Half-way round both ways are as long.
    assert network.hops("tpu:0", "tpu:2") == network.hops("tpu:2", "tpu:0") == 2
    assert network.steps("tpu:0", "tpu:2") == (2, 0, 0)
    longest = max(network.hops("tpu:0", f"tpu:{n}") or 0 for n in range(128))
    assert longest == 2 + 2 + 4


def test_what_is_missing_breaks_the_rings() -> None:
    network = Network(box("TPU v4", 4, 4, 4, without=(5, 6)))
    assert (network.missing, network.has_rings) == (2, False)
    assert network.hops("tpu:0", "tpu:3") == 3


def test_cores_of_a_chip_are_no_hop_apart_and_slices_have_no_distance() -> None:
    cores = Network(topologies.devices("v2-8"))
    assert cores.hops("tpu:0", "tpu:1") == 0
    assert cores.missing == 0
    several = topologies.devices("2x-v5litepod-8")
    one, other = several[0], several[-1]
    assert one.slice_index != other.slice_index
    assert Network(several).hops(one.name, other.name) is None


def test_without_coords_there_is_no_distance() -> None:
    one, *_ = box("TPU v4", 2, 2, 1)
    bare = Device(id=9, platform="gpu", device_kind="H100", process_index=0)
    assert Network((one, bare)).hops(one.name, bare.name) is None
    assert Network((bare,)).missing == 0
    assert Network(()).missing == 0
