"""Copies between host and devices, really made."""

from __future__ import annotations

import itertools
import threading

import pytest

from jaxtui.core.model import CheckDoing, CheckDone, CheckLevel, CheckRead, Remark
from jaxtui.features.check.measure import base
from jaxtui.features.check.measure import rates as tests
from jaxtui.features.check.measure.base import Context, run_check
from jaxtui.machine.survey import Survey
from jaxtui.timing.turns import never
from tests.features.check.faults import NAMES, check, done, events, of, readings

KIB = 1024
MIB = 1024 * KIB
THERE = "host to device 1.00 MiB"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tests.COPIES, "quick", (4 * KIB, MIB))


def test_every_device_has_a_bandwidth_for_every_size() -> None:
    found = events(check("transfer"))
    assert done(found) == NAMES
    for device in done(found):
        read = of(device, readings(found))
        assert list(read) == [
            "host to device 4.00 KiB",
            "device to host 4.00 KiB",
            THERE,
            "device to host 1.00 MiB",
        ]
        there = read[THERE]
        assert (there.unit, there.expected) == ("bytes/s", None)
        ends = (there.ci_low, there.measured, there.ci_high)
        assert all(ends)
        assert list(ends) == sorted(ends)  # type: ignore[type-var]
        # On a CPU NumPy looks at the device's own buffer: nothing is copied.
        back = read["device to host 1.00 MiB"]
        assert (back.measured, back.remarks) == (None, (Remark("nothing-copied"),))
    # The numbers are given back.
    assert tests._sent.cache_info().currsize == 0


@pytest.mark.parametrize(
    ("level", "count", "largest", "how_many"),
    [
        ("quick", 1, 64 * MIB, 2),
        ("quick", 2, 64 * MIB, 2),
        ("quick", 4, 16 * MIB, 2),
        ("full", 1, 256 * MIB, 7),
        ("full", 4, 16 * MIB, 5),
    ],
)
def test_many_devices_that_share_their_time_copy_less(
    monkeypatch: pytest.MonkeyPatch,
    level: CheckLevel,
    count: int,
    largest: int,
    how_many: int,
) -> None:
    monkeypatch.undo()
    context = Context(check("transfer", count, level=level), Survey(), never)
    found = tests.copy_sizes(context)
    assert (max(found), len(found)) == (largest, how_many)
    assert list(found) == sorted(found)
    monkeypatch.setattr(base, "shares_silicon", lambda _: False)
    assert tests.copy_sizes(context) == tests.COPIES[level]


def test_sizes_without_room_or_time_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tests, "available_host_bytes", lambda: 8 * MIB - 1)
        read = of("cpu:0", readings(events(check("transfer", devices=1))))
    assert read["1.00 MiB"].remarks[0].code == "no-room"
    assert read["host to device 4.00 KiB"].measured
    assert THERE not in read

    clock = itertools.count()
    monkeypatch.setattr(tests, "perf_counter", lambda: 1.5 * next(clock))
    read = of("cpu:0", readings(events(check("transfer", devices=1))))
    (remark,) = read["4.00 KiB"].remarks
    assert (remark.code, remark.facts["seconds"]) == ("slow-copy", 1.5)
    assert [*read] == ["4.00 KiB"]


def test_stopped_in_the_middle_it_ends_without_further_readings() -> None:
    over = threading.Event()
    found = []
    for event in run_check(check("transfer", budget=3600), stop=over.is_set):
        found.append(event)
        if isinstance(event, CheckDoing):
            over.set()
    assert not any(isinstance(event, CheckRead) for event in found)
    assert sum(isinstance(event, CheckDone) for event in found) <= 1
    assert found[-1].outcome == "cancelled"  # type: ignore[union-attr]
