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
from jaxtui.measure.check.transfer import PINNED_KIND, Series
from jaxtui.measure.inputs import _allocate
from jaxtui.model import CheckDoing, CheckDone, CheckLevel, CheckRead
from tests.measure.check.faults import NAMES, check, done, events, of, readings

KIB = 1024
MIB = 1024 * KIB
THERE = "host to device 1.00 MiB pageable"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(transfer.SIZES, "quick", (4 * KIB, MIB))


def test_every_device_has_a_bandwidth_for_every_size() -> None:
    found = events(check("transfer"))
    assert done(found) == NAMES
    for device in done(found):
        read = of(device, readings(found))
        assert list(read) == [
            "host to device 4.00 KiB pageable",
            "device to host 4.00 KiB pageable",
            THERE,
            "device to host 1.00 MiB pageable",
            "pinned",
        ]
        there = read[THERE]
        assert (there.unit, there.expected) == ("bytes/s", None)
        ends = (there.ci_low, there.measured, there.ci_high)
        assert all(ends)
        assert list(ends) == sorted(ends)  # type: ignore[type-var]
        assert "1.00 MiB in" in there.said
        assert read["pinned"].skipped
        # On a CPU NumPy looks at the device's own buffer: nothing is copied.
        back = read["device to host 1.00 MiB pageable"]
        assert (back.measured, back.said, back.fault) == (None, transfer.ZERO_COPY, "")
    # The numbers are given back.
    assert transfer._numbers.cache_info().currsize == 0


def test_an_array_that_is_taken_over_is_recognised() -> None:
    aligned = _allocate((KIB,), np.dtype("float32"), 0)
    aligned[...] = 1
    way = transfer.pageable(jax.devices()[0])
    for held, taken_over in ((aligned, True), (way.hold(4 * KIB), False)):
        series = Series(way, 4 * KIB, held)
        series.round()
        assert series.zero_copy[0] == taken_over
    series.rounds = [(0.5, 1.0), (0.25, 1.0), (0.5, 1.0)]
    reading, _ = series.readings(jax.devices()[0])
    assert reading.measured == 8 * KIB
    assert reading.said == "4.00 KiB in 500 ms; 3 rounds."


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
    there = iter([0.0004, 0.0006, 0.001])
    send: Any = lambda _: take(next(there))  # noqa: E731
    series = Series(transfer.Way("x", int, send, lambda _: take(0.0001)), 1, 1)
    assert series.round() == pytest.approx(0.0023 / 3)
    assert series.rounds == [pytest.approx((0.0006, 0.0001))]


def accelerator(*kinds: str) -> Any:
    """As much of a device as the question needs."""
    spaces = [SimpleNamespace(kind=kind) for kind in kinds]
    return SimpleNamespace(platform="gpu", addressable_memories=lambda: spaces)


def test_whether_a_runtime_has_pinned_memory() -> None:
    assert not transfer.why_not_pinned(accelerator("device", PINNED_KIND))
    silent: Any = SimpleNamespace(platform="gpu")
    for device in (accelerator("device"), silent):
        assert PINNED_KIND in transfer.why_not_pinned(device)
    assert "CPU" in transfer.why_not_pinned(jax.devices()[0])


def test_pinned_memory_is_used_where_there_is_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = jax.devices()[1]
    if PINNED_KIND not in {space.kind for space in device.addressable_memories()}:
        pytest.skip("jax before 0.7.2 has no pinned_host on CPU")
    monkeypatch.setattr(transfer, "why_not_pinned", lambda device: "")
    way = transfer.pinned(device)
    held = way.hold(4 * KIB)
    assert held.sharding.memory_kind == PINNED_KIND
    sent = way.send(held)
    assert sent.sharding.memory_kind == device.default_memory().kind
    assert way.fetch(sent).sharding.memory_kind == PINNED_KIND
    read = of("cpu:1", readings(events(check("transfer", devices=2))))
    for what in ("host to device 1.00 MiB pinned", "device to host 1.00 MiB pinned"):
        assert read[what].measured


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
    accelerators = [accelerator("device")] * 4
    assert transfer.sizes(level, accelerators) == transfer.SIZES[level]


@pytest.mark.parametrize(
    ("error", "skips"),
    [
        (NotImplementedError("no such copy"), True),
        (RuntimeError("UNIMPLEMENTED: CopyToMemorySpace"), True),
        (RuntimeError("INTERNAL: link down"), False),
    ],
)
def test_a_runtime_that_cannot_copy_from_pinned_memory(
    monkeypatch: pytest.MonkeyPatch, error: Exception, skips: bool
) -> None:
    def broken(device: jax.Device) -> transfer.Way:
        def hold(nbytes: int) -> object:
            raise error

        return transfer.Way("pinned", hold, lambda held: held, lambda array: array)

    monkeypatch.setattr(transfer, "why_not_pinned", lambda device: "")
    monkeypatch.setattr(transfer, "pinned", broken)
    found = events(check("transfer", devices=2))
    assert done(found) == ["cpu:0", "cpu:1"]
    last = readings(found)[-1]
    assert (bool(last.skipped), bool(last.fault)) == (skips, not skips)
    assert str(error) in last.detail
    # The pageable figures came before.
    assert of("cpu:0", readings(found))[THERE].measured


def test_sizes_without_room_or_time_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(transfer, "available_host_bytes", lambda: 8 * MIB - 1)
        read = of("cpu:0", readings(events(check("transfer", devices=1))))
    assert "no room" in read["1.00 MiB pageable"].skipped
    assert read["host to device 4.00 KiB pageable"].measured
    assert THERE not in read

    monkeypatch.setitem(transfer.SIZES, "quick", (4 * KIB, 8 * KIB, 16 * KIB))
    right = Series.round

    def slow(self: Series) -> float:
        return right(self) + (self.nbytes > 4 * KIB) * 100

    monkeypatch.setattr(Series, "round", slow)
    read = of("cpu:0", readings(events(check("transfer", devices=1))))
    assert "no time" in read["8.00 KiB pageable"].skipped
    assert read["host to device 4.00 KiB pageable"].measured
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
