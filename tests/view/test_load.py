"""A minute of load: what is more than nothing is seen, and no line is too wide."""

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


def test_this_machine_is_read():
    reading = machine.read()
    assert 0 <= reading.cpu <= 1
    assert 0 < reading.memory_used_bytes < reading.memory_total_bytes
