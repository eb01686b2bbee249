"""Load: what is more than nothing is seen, and no line is too wide or too short."""

from types import SimpleNamespace
from typing import Any

import psutil
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
def test_gauges_fit(cpu: Any, width: Any, rows: Any) -> None:
    loads = [Load(share, 5 << 30, 23 << 30) for share in cpu]
    drawn = load.lines(load.gauges(loads, [tpu_devices()]), width, rows)
    assert len(drawn) == rows
    assert all(len(plain(line)) <= width for line in drawn)


def test_meters_are_to_scale_and_curves_fill_their_width() -> None:
    found = load.gauges([Load(0.5, 1 << 30, 4 << 30)] * 3, [])
    head, *curve = map(plain, load.lines(found, 103, 3))
    cpu, memory = head[:50], head[53:]
    assert cpu.count("█") == cpu.count("░")
    assert 3 * memory.count("█") - memory.count("░") in range(-3, 4)
    assert {len(line) for line in curve} == {103}
    assert curve[-1].count("·") == 2 * (50 - 3)


LOADS = {
    "little, and tpus": ([Load(0.001, 1, 4)], [tpu_devices()]),
    "nearly full": ([Load(1.0, 19, 20)], []),
    "below each other": ([Load(0.5, 1 << 30, 4 << 30)] * 3, []),
    # The newest comes last.
    "more than a minute": ([Load(0.0, 1, 4)] * 60 + [Load(1.0, 4, 4)], []),
    "nothing": ([], []),
}


def test_a_reading_is_a_share_of_all_cores_and_what_is_not_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = SimpleNamespace(total=100, available=30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: 50.0)
    assert machine.read() == Load(0.5, 70, 100)
