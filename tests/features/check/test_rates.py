"""compute, bandwidth and dispatch on real (CPU) devices."""

from __future__ import annotations

import math
from functools import cache

import pytest

from jaxtui.core.model import (
    CheckDoing,
    CheckRead,
    CheckTest,
    Reading,
    Remark,
    RunEvent,
    RunFinished,
)
from jaxtui.core.stats import median
from jaxtui.features.bench.measure import rates
from jaxtui.features.check.measure import base
from jaxtui.features.check.measure.base import run_check
from tests.features.check.faults import (
    NAMES,
    Clock,
    check,
    done,
    events,
    plant,
    raising,
    readings,
)

TESTS: tuple[CheckTest, ...] = ("compute", "bandwidth", "dispatch")
EACH = pytest.mark.parametrize("test", TESTS)

ON_FIRE = RuntimeError("INTERNAL: chip on fire")


@pytest.fixture(autouse=True)
def small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last cache of this host may be huge, its memory small and its cores few."""
    monkeypatch.setattr(rates, "last_cache_bytes", lambda: 2**20)

    monkeypatch.setattr(rates, "_size", lambda *_: 256)


@cache
def sound(test: CheckTest) -> list[RunEvent]:
    """A test without faults, which several tests look at."""
    return events(check(test))


def wrong(reading: Reading) -> bool:
    return any(remark.severity == "error" for remark in reading.remarks)


def ending(found: list[RunEvent]) -> str:
    finished = found[-1]
    assert isinstance(finished, RunFinished)
    return finished.outcome


@EACH
def test_every_device_gets_its_readings_and_is_done(test: CheckTest) -> None:
    found, names = sound(test), NAMES
    assert done(found) == names
    assert ending(found) == "complete"
    assert {reading.device for reading in readings(found)} == {*names}
    keys = [(reading.device, reading.what) for reading in readings(found)]
    assert len(set(keys)) == len(keys)
    at_work: set[str] = set()
    for event in found:
        if isinstance(event, CheckDoing):
            at_work |= set(event.devices)
        if not isinstance(event, CheckRead):
            continue
        reading = event.reading
        # Suspects are named before they work.
        assert reading.device in at_work
        assert reading.test == test
        codes = [one.code for one in reading.remarks if one.code != "contended"]
        assert (reading.measured is None) == bool(codes)
        if reading.measured is not None:
            assert 0 < reading.measured < math.inf
            low, high = reading.ci_low, reading.ci_high
            if low is not None and high is not None:
                assert low <= reading.measured <= high


@EACH
def test_stop_ends_a_test_between_two_turns(test: CheckTest) -> None:
    asked = iter(range(10**9))
    long = check(test, budget=1000.0)
    assert ending(list(run_check(long, stop=lambda: next(asked) > 2))) == "cancelled"


def test_rates_are_work_by_the_time_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "cpu:0", Clock(monkeypatch).takes(0.002, dispatch=5e-6))

    def one_device(test: CheckTest) -> list[Reading]:
        return readings(events(check(test, 1, budget=0.4)))

    single, double = one_device("compute")
    assert [single.what, double.what] == ["matmul 256 float32", "matmul 256 float64"]
    # Of few rounds the one dispatch of a burst is counted with its calls.
    for reading in (single, double):
        assert (reading.unit, reading.expected) == ("flop/s", None)
        assert reading.measured == pytest.approx(2 * 256**3 / 0.002, rel=1e-3)

    copy, triad = one_device("bandwidth")
    n = 2**20  # four times the cache
    assert (copy.what, triad.what) == (f"copy {n} float32", f"triad {n} float32")
    assert (copy.unit, triad.unit) == ("bytes/s", "bytes/s")
    assert copy.measured == pytest.approx(8 * n / 0.002, rel=1e-3)
    assert triad.measured == pytest.approx(12 * n / 0.002, rel=1e-3)

    (tiny,) = one_device("dispatch")
    assert (tiny.what, tiny.unit) == ("tiny call", "seconds")
    assert tiny.measured == pytest.approx(5e-6)


def test_full_streams_several_sizes() -> None:
    found = readings(events(check("bandwidth", 1, level="full")))
    whats = [tuple(reading.what.split()[:2]) for reading in found]
    assert [op for op, _ in whats] == ["copy", "triad"] * 3
    assert len(set(whats)) == 6


def test_of_devices_that_share_a_memory_one_streams() -> None:
    found = readings(sound("bandwidth"))
    skipped = {each.device: each.remarks for each in found if each.measured is None}
    shared = (Remark("shared-memory", {"with": "cpu:0"}),)
    assert skipped == dict.fromkeys(NAMES[1:], shared)


# Faulty devices.


@EACH
def test_an_exception_on_one_device_costs_only_its_readings(
    test: CheckTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "cpu:0", raising(ON_FIRE))
    found = events(check(test))
    assert sorted(done(found)) == NAMES
    for reading in readings(found):
        if reading.device == "cpu:0":
            (remark,) = reading.remarks
            assert remark.severity == "error"
            assert "RuntimeError: INTERNAL: chip on fire" in remark.detail
            assert reading.measured is None
        else:
            assert not wrong(reading)
    whole = {reading.device for reading in readings(found) if not wrong(reading)}
    assert set(NAMES[1:]) <= whole


@pytest.mark.parametrize("test", ["compute", "dispatch"])
def test_a_slow_device_is_seen_and_a_straggler_named(
    test: CheckTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    for device in NAMES:
        slowness = 2 if device == "cpu:2" else 1
        takes = clock.takes(0.02 * slowness, dispatch=5e-6 * slowness)
        plant(monkeypatch, device, takes)
    found = readings(events(check(test, 4, budget=0.4)))
    for what in {reading.what for reading in found if reading.device is not None}:
        rates = {one.device: one.measured or 0.0 for one in found if one.what == what}
        slow, others = rates.pop("cpu:2"), [*rates.values()]
        share = slow / median(others) if test == "compute" else median(others) / slow
        assert share == pytest.approx(0.5, rel=0.01), (what, slow, rates)
        assert max(others) == pytest.approx(min(others), rel=0.01)


@EACH
def test_all_accelerators_are_measured_at_once_but_for_dispatch(
    test: CheckTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # CPU devices are taken for chips of their own.
    monkeypatch.setattr(base, "shares_silicon", lambda _: False)
    found = events(check(test))
    assert {one.device for one in readings(found)} - {None} == set(NAMES)
    for reading in readings(found):
        assert reading.measured is not None
    most = max(len(one.devices) for one in found if isinstance(one, CheckDoing))
    assert most == (1 if test == "dispatch" else 4)
