"""compute, bandwidth, dispatch, steady and together on real (CPU) devices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import jax
import numpy as np
import pytest

from jaxtui.measure import notes
from jaxtui.measure.checks import (
    bandwidth,
    base,
    libtpu_sdk,
    rates,
    run_check,
    steady,
)
from jaxtui.measure.checks.base import Context
from jaxtui.measure.contention import Usage
from jaxtui.model import CheckDoing, CheckRead, CheckTest, Reading, RunFinished
from jaxtui.stats import median
from tests.measure.checks.faults import (
    check,
    done,
    events,
    plant,
    raising,
    readings,
    times,
)

TESTS: tuple[CheckTest, ...] = (
    "compute",
    "bandwidth",
    "dispatch",
    "steady",
    "together",
)
EACH = pytest.mark.parametrize("test", TESTS)

FACTOR = 8.0
"""A machine with other work to do is off by less, a formula by more."""


@pytest.fixture(autouse=True)
def small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last cache of this host may be huge, and its memory small."""
    monkeypatch.setattr(bandwidth, "last_cache_bytes", lambda: 2**20)


@EACH
@pytest.mark.parametrize("devices", [1, 4])
def test_every_device_gets_its_readings_and_is_done(
    test: CheckTest, devices: int
) -> None:
    found = events(check(test, devices))
    names = [f"cpu:{index}" for index in range(devices)]
    assert done(found) == names
    finished = found[-1]
    assert isinstance(finished, RunFinished)
    assert finished.outcome == "complete"
    alone = test == "together" and devices == 1
    expected = {None} if alone else {*names, *([None] if test == "together" else [])}
    assert {reading.device for reading in readings(found)} == expected
    for reading in readings(found):
        assert reading.test == test
        assert not reading.fault
        assert not reading.doubt
        if reading.skipped:
            assert reading.measured is None
            continue
        assert reading.measured is not None
        assert math.isfinite(reading.measured)
        assert reading.measured > 0
        if reading.ci_low is not None and reading.ci_high is not None:
            assert reading.ci_low <= reading.measured <= reading.ci_high
    keys = [(reading.device, reading.what) for reading in readings(found)]
    assert len(set(keys)) == len(keys)


@EACH
def test_suspects_are_named_before_they_work(test: CheckTest) -> None:
    at_work: set[str] = set()
    for event in events(check(test)):
        if isinstance(event, CheckDoing):
            assert event.what
            at_work |= set(event.devices)
        if isinstance(event, CheckRead) and event.reading.device is not None:
            assert event.reading.device in at_work


@EACH
def test_stop_ends_a_test_between_two_turns(test: CheckTest) -> None:
    one = check(test, budget=1000.0)
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    finished = list(run_check(one, stop=stop))[-1]
    assert isinstance(finished, RunFinished)
    assert finished.outcome == "cancelled"


def by_hand(work: Any, *args: Any) -> float:
    """Seconds per call, from a loop as anybody would write it."""
    compiled = jax.jit(work)
    compiled(*args).block_until_ready()
    taken = []
    for _ in range(10):
        start = perf_counter()
        compiled(*args).block_until_ready()
        taken.append(perf_counter() - start)
    return median(taken)


def test_flops_agree_with_a_loop_by_hand() -> None:
    found = readings(events(check("compute", 1, budget=0.4)))
    assert [reading.unit for reading in found] == ["flop/s", "flop/s"]
    single, double = found
    assert single.what.startswith("matmul ")
    assert single.what.endswith(" float32")
    assert double.what.endswith(" float64")
    n = int(single.what.split()[1])
    x = jax.device_put(np.random.default_rng(0).random((n, n), np.float32))
    expected = 2 * n**3 / by_hand(lambda x: x @ x, x)
    assert single.measured is not None
    assert expected / FACTOR < single.measured < expected * FACTOR
    assert single.expected is None
    assert "per call" in single.said


def test_bytes_agree_with_a_loop_by_hand() -> None:
    copy, triad = readings(events(check("bandwidth", 1, budget=0.2)))
    assert (copy.unit, triad.unit) == ("bytes/s", "bytes/s")
    n = int(copy.what.split()[1])
    assert copy.what == f"copy {n} float32"
    assert triad.what == f"triad {n} float32"
    assert n * 4 >= 4 * 2**20
    a, b = np.ones(n, np.float32), np.ones(n, np.float32)
    taken = []
    for _ in range(10):
        start = perf_counter()
        np.copyto(a, b)
        taken.append(perf_counter() - start)
    expected = 8 * n / median(taken)
    for reading in (copy, triad):
        assert reading.measured is not None
        assert expected / FACTOR < reading.measured < expected * FACTOR


def test_full_streams_several_sizes() -> None:
    found = readings(events(check("bandwidth", 1, level="full")))
    whats = [reading.what.split() for reading in found]
    assert [op for op, *_ in whats] == ["copy", "triad"] * 3
    sizes = [int(size) for _, size, _ in whats]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3


def test_simulated_devices_share_one_memory_and_one_set_of_cores() -> None:
    for test, word in (("bandwidth", "memory"), ("steady", "cores")):
        found = readings(events(check(test, 3)))  # type: ignore[arg-type]
        assert not any(each.skipped for each in found if each.device == "cpu:0")
        others = [each.skipped for each in found if each.device != "cpu:0"]
        assert len(others) == 2
        assert all(word in said and "cpu:0" in said for said in others)


def test_dispatch_says_whether_calls_are_asynchronous() -> None:
    tiny, product = readings(events(check("dispatch", 1, budget=0.2)))
    assert tiny.unit == product.unit == "seconds"
    assert tiny.measured is not None
    assert tiny.measured < 0.01
    assert product.said.startswith("Asynchronous: a call of ")
    assert "returned after" in product.said


def test_a_device_that_waits_in_every_call_is_said_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def waits(call: Any, *_: Any) -> Any:
        return lambda *args: call(*args).block_until_ready()

    plant(monkeypatch, "cpu:0", waits)
    _, product = readings(events(check("dispatch", 1)))
    # On a CPU that is a setting; on an accelerator it would be in doubt.
    assert product.said.startswith("Not asynchronous: a call of ")
    assert not product.doubt


@pytest.mark.parametrize("test", ["compute", "dispatch", "together"])
def test_a_slow_device_is_seen(
    test: CheckTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "cpu:2", times(20))
    found = readings(events(check(test, 4, budget=0.4)))
    whats = {reading.what for reading in found if reading.device is not None}
    for what in whats:
        by_name = {
            reading.device: reading.measured or 0.0
            for reading in found
            if reading.what == what
        }
        slow = by_name.pop("cpu:2")
        others = median(list(by_name.values()))
        if what.startswith("dispatch of matmul"):
            continue
        share = slow / others if test == "compute" else others / slow
        assert share < 0.5, (what, slow, by_name)


def test_the_straggler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "cpu:1", times(20))
    found = readings(events(check("together", 3, budget=0.3)))
    machine = next(reading for reading in found if reading.device is None)
    assert machine.said.startswith("cpu:1 took ")
    assert "times as long as alone" in machine.said
    assert machine.measured is not None
    assert machine.expected is not None
    assert machine.measured > machine.expected.value == 2.0
    assert machine.expected.kind == "most"


@EACH
def test_an_exception_on_one_device_costs_only_its_readings(
    test: CheckTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "cpu:0", raising(RuntimeError("INTERNAL: chip on fire")))
    found = events(check(test))
    assert sorted(done(found)) == ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
    for reading in readings(found):
        if reading.device == "cpu:0":
            assert "chip on fire" in reading.fault
            assert "RuntimeError: INTERNAL: chip on fire" in reading.detail
            assert reading.measured is None
        else:
            assert not reading.fault
    whole = {reading.device for reading in readings(found) if not reading.fault}
    assert {"cpu:1", "cpu:2", "cpu:3"} <= whole


def test_no_memory_for_one_dtype_costs_only_that() -> None:
    error = RuntimeError(
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes."
    )
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, "cpu:0", raising(error, dtype="float64"))
        single, double = readings(events(check("compute", 1)))
    assert single.measured is not None
    assert double.what.endswith("float64")
    assert "ran out of memory" in double.fault
    assert "it asked for 4.8 GB" in double.fault
    assert "smaller size" not in double.fault
    assert not double.skipped


def test_what_a_compiler_does_not_have_is_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = NotImplementedError("UNIMPLEMENTED: Dot algorithm is not supported.")
    plant(monkeypatch, "cpu:0", raising(error, dtype="float32"))
    single, double = readings(events(check("compute", 1)))
    assert "does not implement it" in single.skipped
    assert not single.fault
    assert "Dot algorithm" in single.detail
    assert double.measured is not None


class TestAccelerators:
    """CPU devices that are taken for chips of their own."""

    @pytest.fixture(autouse=True)
    def own_silicon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def none_shared(_: object) -> bool:
            return False

        monkeypatch.setattr(base, "shares_silicon", none_shared)
        for name in ("bandwidth", "steady", "together", "setting"):
            monkeypatch.setattr(
                f"jaxtui.measure.checks.{name}.shares_silicon", none_shared
            )

    @EACH
    def test_all_of_them_are_measured(self, test: CheckTest) -> None:
        found = readings(events(check(test)))
        assert {reading.device for reading in found} - {None} == {
            f"cpu:{index}" for index in range(4)
        }
        for reading in found:
            assert reading.measured is not None
            assert not reading.skipped
            assert not reading.fault

    def test_all_at_once_but_for_dispatch(self) -> None:
        def together(test: CheckTest) -> int:
            return max(
                len(event.devices)
                for event in events(check(test))
                if isinstance(event, CheckDoing)
            )

        assert together("compute") == 4
        assert together("dispatch") == 1

    def test_one_that_fails_costs_only_its_own(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plant(monkeypatch, "cpu:3", raising(RuntimeError("INTERNAL: broken")))
        found = readings(events(check("compute")))
        assert {each.device for each in found if each.fault} == {"cpu:3"}
        assert {each.device for each in found if each.measured} == {
            "cpu:0",
            "cpu:1",
            "cpu:2",
        }


class Never:
    """A result that is never there."""

    def is_ready(self) -> bool:
        return False

    def block_until_ready(self) -> None:
        raise AssertionError("it would wait for ever")


class Held(Never):
    """One that is there, but not before somebody says so."""

    released = False

    def __init__(self, result: Any) -> None:
        self._result = result

    def is_ready(self) -> bool:
        return Held.released and bool(self._result.is_ready())

    def block_until_ready(self) -> None:
        self._result.block_until_ready()


def after(calls: int, made: Any) -> Any:
    """A device whose results are others after so many calls."""

    def fault(call: Any, *_: Any) -> Any:
        count = 0

        def changed(*args: Any) -> Any:
            nonlocal count
            count += 1
            return call(*args) if count <= calls else made(call, args)

        return changed

    return fault


ALONE_CALLS = 6
"""At most so many calls are made before the race begins."""


def test_who_keeps_the_others_waiting_is_the_suspect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jaxtui.measure.checks.together.LATE_SECONDS", 0.0)
    monkeypatch.setattr(Held, "released", False)
    held = after(ALONE_CALLS, lambda call, args: Held(call(*args)))
    plant(monkeypatch, "cpu:1", held)
    found, at_work = [], []
    for event in run_check(check("together", 3)):
        found.append(event)
        if isinstance(event, CheckDoing):
            at_work.append(set(event.devices))
            # Before the race, each device in turn is alone at work for good reason.
            if len(at_work) > 4 and at_work[-1] == {"cpu:1"}:
                monkeypatch.setattr(Held, "released", True)
    assert Held.released
    assert at_work[-1] == {"cpu:0", "cpu:1", "cpu:2"}
    assert done(found) == ["cpu:0", "cpu:1", "cpu:2"]


def test_a_device_that_never_answers_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jaxtui.measure.checks.together.LATE_SECONDS", 0.0)
    plant(monkeypatch, "cpu:2", after(ALONE_CALLS, lambda *_: Never()))
    at_work: list[tuple[str, ...]] = []

    def alone_at_work() -> bool:
        # Before the race, each device in turn is alone at work for good reason.
        return len(at_work) > 4 and at_work[-1] == ("cpu:2",)

    for event in run_check(check("together", 3), stop=alone_at_work):
        if isinstance(event, CheckDoing):
            at_work.append(event.devices)
    assert alone_at_work()
    assert isinstance(event, RunFinished)
    assert event.outcome == "cancelled"


def test_a_device_that_fails_in_the_race_is_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def dies(*_: Any) -> Any:
        raise RuntimeError("INTERNAL: fell off the bus")

    plant(monkeypatch, "cpu:0", after(ALONE_CALLS, dies))
    found = readings(events(check("together", 3)))
    by_name = {reading.device: reading for reading in found}
    assert "fell off the bus" in by_name["cpu:0"].fault
    assert by_name["cpu:1"].measured is not None
    assert "of 2 devices" in by_name[None].said


def test_a_race_of_one_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "cpu:0", raising(RuntimeError("INTERNAL: broken")))
    machine = readings(events(check("together", 2)))[-1]
    assert machine.device is None
    assert machine.skipped.startswith("Fewer than two devices")


@pytest.mark.parametrize(
    ("taken", "ratio"),
    [
        ([1.0] * 8, 1.0),
        ([1.0, 1.0, 1.0, 1.0, 1.5, 1.5, 1.5, 1.5], 1.5),
        ([2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.5),
        # One disturbance is no throttling.
        ([1.0] * 11 + [9.0], 1.0),
    ],
)
def test_the_last_quarter_is_compared_with_the_first(
    taken: list[float], ratio: float
) -> None:
    reading = steady._compared(taken, 2.0, "steady work", jax.devices()[0])
    assert reading.measured == pytest.approx(ratio)
    assert reading.expected is not None
    assert reading.expected.kind == "most"
    assert reading.expected.value == 1.5
    assert "first quarter of 2.00 s" in reading.said


def test_what_others_do_to_the_cores_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = Usage(seconds=1.0, others=1.5, steal=0.0, cores=2)
    note = notes.contended(others)
    monkeypatch.setattr(rates.notes, "contended", lambda _: note)
    (reading,) = readings(events(check("steady", 1)))
    assert "Other processes used 1.5 of 2 cores" in reading.disturbed
    assert reading.measured is not None
    assert reading.expected is None
    monkeypatch.setattr(rates.notes, "contended", lambda _: None)
    (reading,) = readings(events(check("steady", 1)))
    assert not reading.disturbed
    assert reading.expected is not None


def test_what_libtpu_says_of_itself_comes_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = Reading(test="steady", device="tpu:0", what="throttle score", measured=0.0)

    def sdk(_: Context) -> Iterator[Reading]:
        yield said

    monkeypatch.setattr(libtpu_sdk, "readings", sdk)
    found = readings(events(check("steady", 1)))
    assert found[-1] == said
    assert len(found) == 2
