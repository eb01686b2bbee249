"""Copies between host and devices, really made."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from jaxtui.measure.check import transfer
from jaxtui.measure.check.base import run_check
from jaxtui.measure.check.transfer import Copies
from jaxtui.model import CheckDoing, CheckDone, CheckLevel, CheckRead, Remark
from tests.measure.buffers import aligned_copy
from tests.measure.check.faults import NAMES, check, done, events, of, readings

KIB = 1024
MIB = 1024 * KIB
THERE = "host to device 1.00 MiB"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(transfer.SIZES, "quick", (4 * KIB, MIB))


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
    assert transfer._sent.cache_info().currsize == 0


def test_an_array_that_is_taken_over_is_recognised() -> None:
    aligned = aligned_copy(np.ones(KIB, np.float32))
    for held, taken_over in ((aligned, True), (transfer._sent(4 * KIB, 0), False)):
        series = Copies(4 * KIB, jax.devices()[0], held)
        series.round()
        assert series.zero_copy[0] == taken_over
    series.rounds = [(0.5, 1.0), (0.25, 1.0), (0.5, 1.0)]
    reading, _ = series.readings()
    assert reading.measured == 8 * KIB


def test_a_round_of_small_copies_is_their_median(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    def take(seconds: float) -> object:
        nonlocal now
        now += seconds
        return seconds

    monkeypatch.setattr(transfer, "perf_counter", lambda: now)
    monkeypatch.setattr(transfer, "shares_memory", lambda *_: False)
    there = iter([0.0046, 0.0004, 0.0006, 0.001])
    monkeypatch.setattr(transfer, "_put", lambda *_: take(next(there)))
    monkeypatch.setattr(transfer.np, "asarray", lambda _: take(0.0001))
    series = Copies(1, jax.devices()[0], np.zeros(1))
    assert series.round() == pytest.approx(0.0023 / 3)
    assert series.rounds == [pytest.approx((0.0006, 0.0001))]


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
    found = transfer.sizes(level, jax.devices()[:count])
    assert (max(found), len(found)) == (largest, how_many)
    assert list(found) == sorted(found)
    accelerators: Any = [SimpleNamespace(platform="gpu")] * 4
    assert transfer.sizes(level, accelerators) == transfer.SIZES[level]


def test_sizes_without_room_or_time_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(transfer, "available_host_bytes", lambda: 8 * MIB - 1)
        read = of("cpu:0", readings(events(check("transfer", devices=1))))
    assert read["1.00 MiB"].remarks[0].code == "no-room"
    assert read["host to device 4.00 KiB"].measured
    assert THERE not in read

    monkeypatch.setitem(transfer.SIZES, "quick", (4 * KIB, 8 * KIB, 16 * KIB))
    right = Copies.round

    def slow(self: Copies) -> float:
        return right(self) + (self.nbytes > 4 * KIB) * 100

    monkeypatch.setattr(Copies, "round", slow)
    read = of("cpu:0", readings(events(check("transfer", devices=1))))
    assert read["8.00 KiB"].remarks[0].code == "slow-copy"
    assert read["host to device 4.00 KiB"].measured
    assert not any("16.0 KiB" in what for what in read)


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
