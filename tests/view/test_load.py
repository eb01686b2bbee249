"""A minute of load: what is more than nothing is seen, and no line is too wide."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.machine import load as machine
from jaxtui.machine.load import Load
from jaxtui.view import load
from jaxtui.view.text import plain
from tests.fake_engine import tpu_devices

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@given(SHARES, st.integers(40, 200), st.integers(1, 5))
def test_gauges_fit(cpu, width, rows):
    loads = [Load(share, 5 << 30, 23 << 30) for share in cpu]
    drawn = load.lines(load.gauges(loads, [tpu_devices()]), width, rows)
    assert len(drawn) == rows
    assert {len(plain(line)) for line in drawn} <= set(range(width + 1))


def test_devices_together_and_a_little_load():
    found = load.gauges([Load(0.001, 1, 4)], [tpu_devices()])
    assert [gauge.name for gauge in found] == ["cpu", "memory", "tpu"]
    assert "▁" in plain(load.lines(found, 120, 1)[0])
    assert load.gauges([], []) == []


@pytest.mark.parametrize(
    ("shares", "rows", "ends"),
    [
        # Filled from below, from the top line to the bottom one.
        ([0.25], 2, [" ", "▄"]),
        ([1.0], 3, ["█", "█", "█"]),
        ([0.0], 1, [" "]),
        # The newest comes last, and what is older than a minute has gone.
        ([0.0] * 60 + [1.0], 1, ["█"]),
        ([1.0] * 60 + [0.0], 1, [" "]),
    ],
)
def test_a_curve_stands_on_its_line_and_ends_now(shares, rows, ends):
    gauge = load.Gauge("cpu", "", tuple(shares), "host")
    drawn = load.lines([gauge], 120, rows)
    curves = [span.text for line in drawn for span in line if span.role == "host-curve"]
    assert [curve[-1] for curve in curves] == ends


def test_a_reading_is_a_share_of_all_cores_and_what_is_not_available(monkeypatch):
    memory = SimpleNamespace(total=100, available=30)
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(machine.psutil, "cpu_percent", lambda interval: 50.0)
    assert machine.read() == Load(0.5, 70, 100)
