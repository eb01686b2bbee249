"""What people type for a TPU, what is recorded, and slices of several hosts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from jaxtui.machine import topologies
from jaxtui.machine.topologies import parse
from jaxtui.model import SelectionError
from jaxtui.view import words
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
        assert parse(name).name == record["topology_name"]
        assert parse(parse(name).label) == parse(name)


@pytest.mark.parametrize(
    ("name", "count", "hosts"),
    [
        ("v5e:16x16", 256, 64),
        ("v4:8x8x8", 512, 128),
        ("tpu7x:8x16x16", 4096, 512),
        ("v5e:4x8,num_slices=3", 96, 24),
        ("v5p-64", 32, 8),
    ],
)
def test_large_slices_are_worked_out(name: str, count: int, hosts: int) -> None:
    found = topologies.devices(name)
    assert len({device.name for device in found}) == len(found) == count
    processes = [device.process_index for device in found]
    assert processes == sorted(processes)
    assert len(set(processes)) == hosts
    places = {(one.slice_index, one.coords, one.core_on_chip) for one in found}
    assert len(places) == count


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("v5e:3x5", "topology-hosts"),
        ("v9:2x2", "topology-name"),
        ("v4:2x2x1,chip_config_name=default", "topology-name"),
        ("v5e:4x4,wrap=1", "topology-name"),
    ],
)
def test_what_cannot_be_worked_out_is_said(name: str, code: str) -> None:
    with pytest.raises(SelectionError) as raised:
        topologies.devices(name)
    assert raised.value.remark.code == code


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("v5e:2x4", "v5e:2x4"),
        (" V5E:2x4 ", "v5e:2x4"),
        ("TPU7x:2x2x1", "tpu7x:2x2x1"),
        ("v5litepod:2x4", "v5e:2x4"),
        ("v7x:2x2x1", "tpu7x:2x2x1"),
        ("v5e=2x4", "v5e:2x4"),
        ("v5e:4x4_untwisted", "v5e:4x4_untwisted"),
        # A chip of a v4 is one device only where it is asked for as such.
        ("v4:2x2x1", "v4:2x2x1,chip_config_name=megacore"),
        (
            "v4:2x2x1,chip_config_name=default",
            "v4:2x2x1,chip_config_name=default",
        ),
        ("v5e:2x4,num_slices=2", "v5e:2x4,num_slices=2"),
        (
            "v5e:2x4,chips_per_host_bounds=2x4x1,num_slices=2",
            "v5e:2x4,chips_per_host_bounds=2x4x1,num_slices=2",
        ),
        # Accelerator types: recorded, of another name, and by the table of layouts.
        ("v5litepod-8", "v5e:2x4,chips_per_host_bounds=2x4x1"),
        ("v5e-8", "v5e:2x4,chips_per_host_bounds=2x4x1"),
        ("v5litepod-8-2-hosts", "v5e:2x4"),
        ("2x-v5e-8", "v5e:2x4,num_slices=2"),
        ("v5litepod-64", "v5e:8x8"),
        ("v4-8", "v4:2x2x1,chip_config_name=megacore"),
        ("v4-128", "v4:4x4x4,chip_config_name=megacore"),
        ("v3-128", "v3:8x8"),
        ("tpu7x-32", "tpu7x:2x2x4"),
        # A family alone is its usual machine.
        ("v4", "v4:2x2x1,chip_config_name=megacore"),
        ("tpu7x", "tpu7x:2x2x1"),
    ],
)
def test_a_name_says_what_libtpu_is_asked_for(typed: str, meant: str) -> None:
    assert parse(typed).label == meant


@pytest.mark.parametrize(
    ("typed", "code", "facts"),
    [
        ("nonsense", "topology-name", {"typed": "nonsense"}),
        ("v5e-7", "accelerator-type", {"counts": (1, 4, 8, 16, 32, 64, 128, 256)}),
        ("v4-9", "accelerator-type", {"typed": "v4-9"}),
        # libtpu would end the process by SIGFPE.
        ("v5e:0x4", "topology-layout", {"layout": "0x4"}),
        ("v5e:2x", "topology-layout", {"layout": "2x"}),
        ("v5e:999x999", "topology-too-large", {"chips": 998_001}),
        ("v5e:2x4,num_slices=300000", "topology-too-large", {"chips": 2_400_000}),
        ("v5e:2x4,slices", "topology-option-typed", {"option": "slices"}),
    ],
)
def test_what_is_none_is_refused(typed: str, code: str, facts: dict[str, Any]) -> None:
    with pytest.raises(SelectionError) as raised:
        parse(typed)
    remark = raised.value.remark
    assert remark.code == code
    assert remark.facts.items() >= facts.items()
    assert "\n" not in words.text(remark)


@pytest.mark.parametrize(
    ("name", "chips"),
    [
        # Those of the record: tests/measure/check/test_present.py.
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
def test_chips_of_an_accelerator_type(name, chips):
    assert topologies.chips_of(name) == chips


def test_one_host_of_a_slice():
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
