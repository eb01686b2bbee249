"""Load: what is more than nothing is seen, and no line is too wide or too short."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.features.devices import load
from jaxtui.machine import load as machine
from jaxtui.machine.load import Load
from jaxtui.ui.text import plain
from tests.fake_engine import tpu_devices

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@given(SHARES, st.integers(30, 200), st.integers(1, 7))
def test_gauges_fit(cpu, width, rows):
    loads = [Load(share, 5 << 30, 23 << 30) for share in cpu]
    drawn = load.lines(load.gauges(loads, [tpu_devices()]), width, rows)
    assert len(drawn) == rows
    assert all(len(plain(line)) <= width for line in drawn)


def test_meters_are_to_scale_and_curves_fill_their_width():
    found = load.gauges([Load(0.5, 1 << 30, 4 << 30)] * 3, [])
    head, *curve = map(plain, load.lines(found, 103, 3))
    cpu, memory = head[:50], head[53:]
    assert cpu.count("█") == cpu.count("░")
    assert 3 * memory.count("█") - memory.count("░") in range(-3, 4)
    assert {len(line) for line in curve} == {103}
    assert curve[-1].count("·") == 2 * (50 - 3)


def test_devices_together_and_a_little_load():
    found = load.gauges([Load(0.001, 1, 4)], [tpu_devices()])
    assert [gauge.name for gauge in found] == ["cpu", "memory", "tpu"]
    assert "▁" in plain(load.lines(found, 120, 1)[0])
    assert load.gauges([], []) == []
    # A memory that is nearly full is a danger.
    roles = [gauge.role for gauge in load.gauges([Load(1.0, 19, 20)], [])]
    assert roles == ["host", "danger"]


@pytest.mark.parametrize(
    ("shares", "rows", "ends"),
    [
        # Filled from below, from the top line to the bottom one.
        ([0.25], 2, [" ", "▄"]),
        ([1.0], 3, ["█", "█", "█"]),
        ([0.0], 1, [" "]),
        # The newest comes last.
        ([0.0] * 60 + [1.0], 1, ["█"]),
        ([1.0] * 60 + [0.0], 1, [" "]),
    ],
)
def test_a_curve_stands_on_its_line_and_ends_now(shares, rows, ends):
    gauge = load.Gauge("cpu", "", tuple(shares), "host", 5)
    _, *below = load.lines([gauge], 60, rows + 1)
    assert [plain(line)[-1] for line in below] == ends


def test_a_reading_is_a_share_of_all_cores_and_what_is_not_available(monkeypatch):
    memory = SimpleNamespace(total=100, available=30)
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(machine.psutil, "cpu_percent", lambda interval: 50.0)
    assert machine.read() == Load(0.5, 70, 100)
