"""Recorded lists of devices, other names of topologies, slices of several hosts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from jaxtui.core.model import Topology
from jaxtui.machine import topologies
from jaxtui.machine.topologies import parse
from tests.machine.record import RECORD


def recorded() -> dict[str, Any]:
    """By the name that is typed."""
    found = json.loads(RECORD.read_text())
    return {
        re.sub(r"[ ()]+", "-", name.replace(" (1 host)", "")).strip("-"): topology
        for name, topology in found.items()
    }


@pytest.mark.parametrize("name", topologies.names())
def test_a_list_that_is_worked_out_is_the_recorded_one(name: str) -> None:
    facts = ("id", "platform", "device_kind", "process_index", "core_on_chip")
    for one, other in zip(
        topologies.devices(name), recorded()[name]["devices"], strict=True
    ):
        assert {fact: getattr(one, fact) for fact in facts} == {
            fact: other[fact] for fact in facts
        }
        assert one.coords == tuple(other["coords"])
        assert one.slice_index == other["slice_index"]
        assert one.tensorcores == other["num_cores"]
        assert one.addressable == (other["process_index"] == 0)


def test_all_nineteen_can_be_typed_and_mean_what_they_were_recorded_from() -> None:
    assert set(topologies.names()) == set(recorded())
    assert len(topologies.names()) == 19
    for name, record in recorded().items():
        meant = parse(f" {name.upper()} ")
        assert meant.name == record["topology_name"]
        options = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in record["kwargs"].items()
        }
        assert meant.options == options


def test_any_other_name_is_handed_on() -> None:
    assert parse("v5e:3x5") == Topology(name="v5e:3x5")
    assert parse("v4-4096") == Topology(name="v4-4096")
    # A chip of a v4 is one device only where it is asked for as such.
    assert parse("v4:2x2x4").label == "v4:2x2x4,chip_config_name=megacore"


@pytest.mark.parametrize(
    ("name", "chips"),
    [
        # By Google's rules (MaxText's table of accelerator types).
        ("v2-8", 4),
        ("v3-32", 16),
        ("v4-16", 8),
        ("v5p-8", 4),
        ("v6e-8", 8),
        ("tpu7x-16", 8),
        ("v4-9", None),
        ("V5LITEPOD-16 ", 16),
        ("v5e-4", 4),
        ("v4-0", None),
        ("v9-8", None),
        ("v4", None),
        ("v4-8-x", None),
        ("ct5lp-hightpu-4t", None),
        ("", None),
    ],
)
def test_chips_of_an_accelerator_type(name: str, chips: int | None) -> None:
    assert topologies.chips_of(name) == chips


def test_one_host_of_a_slice() -> None:
    for hosts, count in (("", 1), ("localhost", 1), ("a,b", 2), ("a, b,c,", 3)):
        assert topologies.workers({"TPU_WORKER_HOSTNAMES": hosts}) == count
    assert topologies.workers({}) == 1
    alone = {
        "TPU_PROCESS_BOUNDS": "1,1,1",
        "TPU_WORKER_ID": "0",
        "TPU_WORKER_HOSTNAMES": "localhost",
    }
    bounds, visible = "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_VISIBLE_CHIPS"
    eight = {bounds: "2,4,1", visible: "0,1,2,3,4,5,6,7"}
    one = {bounds: "1,1,1", visible: "0"}
    for chips, settings in ((8, eight), (1, one), (0, {}), (3, {})):
        assert topologies.alone(chips) == alone | settings
