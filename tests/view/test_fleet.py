"""Many devices by slice and host, level by level."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from jaxtui.analysis.rates import Rate, Rates
from jaxtui.machine import topologies
from jaxtui.view import devices as view
from jaxtui.view import rates
from jaxtui.view.chipmap import layout, neighbour, render, summary, where
from jaxtui.view.fleet import MOST, level, size
from jaxtui.view.text import plain
from tests.fake_engine import cpu_devices, tpu_devices


def test_few_devices_are_shown_one_by_one() -> None:
    for devices in (tpu_devices(), topologies.devices("v5e:8x8"), cpu_devices(200)):
        shown = level(devices)
        assert (shown.tiles, shown.members, shown.inside) == (devices, {}, ())
        assert shown.tile_of(devices[3]) is devices[3]
        assert shown.first(devices[3].name) == devices[3].name


def test_many_are_shown_by_host_and_a_host_can_be_opened() -> None:
    devices = topologies.devices("tpu7x:8x16x16")
    hosts = level(devices)
    assert len(hosts.tiles) == len(hosts.members) == 512
    assert sum(map(size, hosts.tiles)) == 4096
    host = hosts.tiles[3]
    assert (host.name, host.coords, size(host)) == ("process:3", (6, 0, 0), 8)
    assert hosts.tile_of(devices[25]).name == "process:3"
    assert hosts.first("process:3") == "tpu:12"
    opened = level(devices, ("process:3",))
    assert opened.inside == ("process:3",)
    assert opened.members == {}
    assert {device.process_index for device in opened.tiles} == {3}
    # What is not there is not opened.
    assert level(devices, ("process:999",)).inside == ()


def test_slices_come_first() -> None:
    devices = topologies.devices("v5e:16x16,num_slices=2")
    slices = level(devices)
    assert [(tile.name, size(tile)) for tile in slices.tiles] == [
        ("slice:0", 256),
        ("slice:1", 256),
    ]
    hosts = level(devices, ("slice:1",))
    assert len(hosts.tiles) == 64
    host = hosts.tiles[0].name
    assert len(level(devices, ("slice:1", host)).tiles) == 4


def test_a_table_and_a_map_draw_hosts_as_any_device() -> None:
    devices = topologies.devices("tpu7x:8x16x16")
    hosts = level(devices)
    columns = {column.key: column for column in view.columns(hosts.tiles)}
    assert [plain(cell) for cell in columns["devices"].cells] == ["8"] * 512
    assert "process" not in columns
    assert where(hosts.tiles[3]).startswith("process:3 at 6,0,0")
    assert summary(hosts.tiles).startswith("512 hosts")
    lines = render(layout(hosts.tiles), 56, 18, "process:3", roomy=True)
    assert all(len(plain(line)) <= 56 for line in lines)
    drawn = [span.device for line in lines for span in line if span.device]
    assert sorted(drawn) == sorted(tile.name for tile in hosts.tiles)
    assert len(lines) < 40
    assert neighbour(lines, "process:3", -1, 0) == "process:2"
    assert neighbour(lines, "process:3", 0, 1) == "process:7"


def test_a_host_has_the_median_of_its_devices() -> None:
    devices = topologies.devices("tpu7x:8x16x16")
    hosts = level(devices)
    by_device = {device.name: Rate(100.0, 101.0) for device in devices}
    by_device |= {
        device.name: Rate(40.0, 41.0) for device in hosts.members["process:9"]
    }
    found = rates.heat(
        (Rates("FLOP/s", "matmul", by_device),), "FLOP/s", devices, hosts.members
    )
    assert found is not None
    assert found.marks["process:9"].role == "heat-0"
    assert found.marks["process:8"].role == "heat-7"
    # Stragglers are devices, with their coords; not all of eight are named.
    text = "\n".join(" ".join(span.text for span in line) for line in found.legend)
    assert text.count(" at ") == 4
    assert "and 4 more" in text


@pytest.mark.parametrize("without", [(), (0,), (17, 18, 19)])
def test_holes_and_missing_coords(without: tuple[int, ...]) -> None:
    devices = [
        device
        for number, device in enumerate(topologies.devices("v4:8x8x8"))
        if number not in without
    ]
    hosts = level(devices)
    assert sum(map(size, hosts.tiles)) == 512 - len(without)
    bare = [
        device if number else type(device)(**{**_facts(device), "coords": None})
        for number, device in enumerate(devices)
    ]
    shown = level(bare)
    assert len(shown.tiles) == len(hosts.tiles)
    assert not replace(layout(shown.tiles)).placed
    assert len(bare) > MOST


def _facts(device: object) -> dict[str, object]:
    return {name: getattr(device, name) for name in device.__struct_fields__}  # type: ignore[attr-defined]
