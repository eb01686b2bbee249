"""Every chip is drawn where it sits, for all topologies at the sizes of the screens."""

from __future__ import annotations

import re
from typing import Any

import pytest

from jaxtui.core.model import Device
from jaxtui.machine.topologies import devices, names
from jaxtui.ui.chipmap import DOT, layout, neighbour, render
from jaxtui.ui.text import Line, device_at, plain

SIZES = [(36, 10), (78, 9), (48, 30)]


def cpus(count: int, **options: Any) -> list[Device]:
    return [
        Device(id=i, platform="cpu", device_kind="cpu", process_index=0, **options)
        for i in range(count)
    ]


def spots(lines: list[Line]) -> dict[str, tuple[int, int]]:
    """Where each device is drawn: line, and column of its number's last digit."""
    found = {}
    for y, line in enumerate(lines):
        x = 0
        for span in line:
            if span.device is not None:
                digits = re.search(r"\d+", span.text)
                assert digits is not None
                found[span.device] = (y, x + digits.end() - 1)
            x += len(span.text)
    return found


def text(lines: list[Line]) -> str:
    return "\n".join(plain(line) for line in lines)


@pytest.mark.parametrize("name", names())
def test_every_device_is_drawn_within_the_size_where_its_coords_say(name: Any) -> None:
    found = devices(name)
    # Moving the selection moves nothing.
    maps = [
        render(layout(found), 36, 10, selected)
        for selected in (None, *(x.name for x in found[:: max(1, len(found) // 8)]))
    ]
    assert len({tuple(spots(lines).items()) for lines in maps}) == 1
    for width, height in SIZES:
        lines = render(layout(found), width, height)
        assert max(len(plain(line)) for line in lines) <= width
        where = spots(lines)
        assert set(where) == {device.name for device in found}
        planes: dict[Any, list[Device]] = {}
        for device in found:
            planes.setdefault((device.slice_index, device.place[2]), []).append(device)
        for plane in planes.values():
            rows: dict[Any, set[int]] = {}
            columns: dict[Any, set[int]] = {}
            for device in plane:
                row, column = where[device.name]
                x, y, _ = device.place
                rows.setdefault(y, set()).add(row)
                columns.setdefault((x, device.core_on_chip), set()).add(column)
            assert all(len(drawn) == 1 for drawn in (*rows.values(), *columns.values()))
            down, across = (
                [max(found[place]) for place in sorted(found)]
                for found in (rows, columns)
            )
            assert down == sorted(down)
            assert across == sorted(set(across))

    # A roomy map uses the room and not more.
    for width, height in ((30, 6), (60, 33), (90, 40)):
        tight = render(layout(found), width, height)
        roomy = render(layout(found), width, height, roomy=True)
        widest = max(width, *(len(plain(line)) for line in tight))
        assert max(len(plain(line)) for line in roomy) <= widest
        assert len(tight) <= len(roomy) <= max(height, len(tight))
        shown = {span.device for line in roomy for span in line if span.device}
        assert shown == {device.name for device in found}


@pytest.mark.parametrize("name", names())
def test_clicks_axes_and_colours(name: Any) -> None:
    found = devices(name)
    lines = render(layout(found), 48, 30)
    for device, (y, x) in spots(lines).items():
        assert device_at(lines, x, y) == device
    for x, y in ((0, 0), (500, 1), (0, -1), (0, 500)):
        assert device_at(lines, x, y) is None
    drawn = text(lines)
    heading = next(line for line in drawn.split("\n") if line.lstrip().startswith("x"))
    assert set(re.findall(r"\d+", heading)) == {str(d.place[0]) for d in found}
    rows = re.findall(r"^y? *(\d+) \[", drawn, re.MULTILINE)
    assert set(rows) == {str(d.place[1]) for d in found}
    # Colours tell processes apart.
    roles: dict[int, set[str]] = {}
    process = {device.name: device.process_index for device in found}
    for span in (span for line in lines for span in line):
        if span.device is not None:
            roles.setdefault(process[span.device], set()).add(span.role)
    assert all(len(own) == 1 for own in roles.values())
    assert len({next(iter(own)) for own in roles.values()}) == len(roles)
    assert (len(roles) > 1) == ("process 0: " in drawn)


GPUS = [
    Device(id=i, platform="gpu", device_kind="NVIDIA H200", process_index=0)
    for i in range(2)
]
GAP = [one for one in devices("v5litepod-4") if one.id != 1]

DRAWN = {
    "none": ([], (36, 10), None),
    "processes": (devices("v3-32"), (36, 10), "tpu:3"),
    "a gap": (GAP, (36, 10), None),
    "a cpu": (cpus(1), (36, 10), None),
    "four": (cpus(4), (36, 10), None),
    "eight": (cpus(8), (36, 10), None),
    "seven": (cpus(7), (36, 10), "cpu:6"),
    "narrow": (cpus(8), (12, 4), None),
    "simulated": (cpus(4, simulated=True), (36, 10), None),
    "gpus": (GPUS, (36, 10), "gpu:1"),
}


def test_a_crowded_map_grows_downwards_only() -> None:
    found = [
        Device(
            id=i,
            platform="tpu",
            device_kind="TPU v4",
            process_index=i // 4,
            coords=(i % 8, i // 8 % 8, i // 64),
            core_on_chip=0,
        )
        for i in range(512)
    ]
    for width in (60, 36, 20, 9, 3, 1):
        lines = render(layout(found), width, 10, "tpu:100")
        assert max(len(plain(line)) for line in lines) <= width
        drawn = [s.text for line in lines for s in line if s.device]
        assert drawn == [DOT] * 512


WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1))


@pytest.mark.parametrize("name", names())
def test_arrows_go_to_the_device_that_is_drawn_there(name: Any) -> None:
    first, *_ = found = devices(name)
    for width in (36, 60):
        lines = render(layout(found), width, 30, first.name)
        where = spots(lines)
        ways: dict[str, set[Any]] = {}
        for device, (y, x) in where.items():
            ways[device] = set()
            for across, down in WAYS:
                to = neighbour(lines, device, across, down)
                ahead = {
                    name: (abs(j - y), abs(i - x))
                    for name, (j, i) in where.items()
                    if ((j == y and (i - x) * across > 0) or (j - y) * down > 0)
                }
                # Only at an edge it stays.
                assert (to == device) == (not ahead)
                if ahead:
                    nearest = min(place[not down] for place in ahead.values())
                    assert ahead[to][not down] == nearest
                ways[device].add(to)
        # Every device can be reached from the first one.
        reached, more = set(), {first.name}
        while more:
            reached |= more
            more = {to for one in more for to in ways[one]} - reached
        assert reached == {*ways}


def test_from_one_plane_to_the_next() -> None:
    lines = render(layout(devices("v4-32")), 60, 30, "tpu:0")
    places = {device.name: device.place for device in devices("v4-32")}
    name, order = "tpu:0", []
    for _ in range(4):
        order.append(places[name])
        name = neighbour(lines, name, 1, 0)
    # Two columns of z=0, then the plane that is drawn beside it.
    assert order == [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1)]
    assert neighbour(lines, "tpu:99", 1, 0) == "tpu:99"


def test_chips_are_large_where_there_is_room_for_all_of_them() -> None:
    for name in ("v5litepod-16", "2x-v5litepod-8"):
        drawn = layout(devices(name))
        first = drawn.devices[0].name
        large = render(drawn, 76, 34, first, roomy=True)
        assert sum(span.device == first for line in large for span in line) == 2
        height, small = len(large), render(drawn, 76, 1, first)
        assert render(drawn, 76, height, first, roomy=True) == large
        assert render(drawn, 76, height - 1, first, roomy=True) == small
