"""Devices that compute rightly, and planted ones that do not."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from msgspec.structs import replace

from jaxtui.core.model import (
    Case,
    CheckDoing,
    CheckDone,
    CheckLevel,
    CheckRead,
    Reading,
    Remark,
    RunEvent,
)
from jaxtui.features.bench.measure.rates import label
from jaxtui.features.check.judge import judge
from jaxtui.features.check.measure import numerics
from jaxtui.features.check.measure.base import run_check
from jaxtui.features.check.measure.numerics import (
    REPEATED,
    bound,
    computations,
    count_differing,
)
from jaxtui.tasks import devices as seen_by_jax
from jaxtui.tasks import ops
from jaxtui.tasks.waiting import Call
from tests.features.check.faults import NAMES, check, done, events, of, plant, readings

PRODUCT = "matmul 256 float32"
INTEGERS = "matmul 256 int8"
NAN = float("nan")


def faults(found: list[Reading]) -> set[tuple[str | None, str]]:
    """What fails, also in comparison with the other devices."""
    return {
        (one.reading.device, one.reading.what)
        for one in judge(found, seen_by_jax.describe())
        if one.word == "fail"
    }


def change(
    monkeypatch: pytest.MonkeyPatch, device: str, changed: Callable[[Any], Any]
) -> None:
    """Let the float32 products of a device be others."""

    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        if (case.op, case.dtype) != ("matmul", "float32"):
            return call
        return lambda *args: changed(call(*args))

    plant(monkeypatch, device, fault)


def flip(result: Any) -> Any:
    """One bit of one element, the last of its mantissa."""
    host = np.asarray(result).copy()
    host.reshape(-1).view(np.uint32)[5] ^= 1
    return jnp.asarray(host)


def now_and_then(first: int) -> Callable[[Any], Any]:
    """Every other result has a flipped bit."""
    calls = itertools.count(first)
    return lambda result: flip(result) if next(calls) % 2 else result


def add(value: float) -> Callable[[Any], Any]:
    return lambda result: result.at[3, 4].add(value)


def named(platform: str, level: CheckLevel) -> list[str]:
    cases = computations(platform, level)
    return [label(replace(case, device=f"{platform}:0")) for case in cases]


def test_accelerators_compute_more_and_larger_products() -> None:
    tpu, gpu, full = (
        named(*of) for of in (("tpu", "quick"), ("gpu", "quick"), ("tpu", "full"))
    )
    wanted = {"bfloat16", "float32 default", "float32 highest", "int8"}
    assert {f"matmul 512 {of}" for of in wanted} <= set(tpu)
    assert set(gpu) - set(tpu) == {"matmul 512 float16"}
    assert len(set(full)) == len(full)
    assert full[: len(tpu)] == tpu
    assert "matmul 2048 float32 high" in full


def test_rounding_at_default_precision_is_expected() -> None:
    case = Case(op="matmul", size=512, dtype="float32", device="tpu:0", mode="jit")
    rounded, exact = bound(case), bound(replace(case, precision="highest"))
    assert rounded.value > 100 * exact.value
    assert rounded.source == Remark("rounding-bound", {"rounded_inputs": True})
    assert exact.source == Remark("rounding-bound", {"rounded_inputs": False})
    assert bound(replace(case, dtype="int8")).source == Remark("exact-integers")


def test_four_devices_that_are_all_right() -> None:
    found = events(check("numerics"))
    assert sorted(done(found)) == NAMES
    read = readings(found)
    assert not faults(read)
    wanted = named("cpu", "quick")
    for device in NAMES:
        mine = of(device, read)
        assert list(mine) == [*wanted, REPEATED]
        same = mine.pop(REPEATED)
        for one in mine.values():
            assert (one.unit, one.expected and one.expected.kind) == (
                "relative error",
                "most",
            )
            assert one.measured is not None
            assert one.digest
        assert mine[INTEGERS].measured == same.measured == 0
        assert same.expected is not None
        assert (same.expected.kind, same.expected.value) == ("exact", 0)


def test_every_dtype_of_every_op_at_level_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "SIZES_ON_CPU", (16, 32))
    monkeypatch.setattr(numerics, "LONG_VECTOR", 1 << 10)
    read = readings(events(check("numerics", devices=2, level="full", budget=30)))
    assert not faults(read)
    assert all(one.measured is not None for one in read)
    tested = ("matmul", "selu", "sum")
    wanted = {(op, dtype) for op in tested for dtype in ops.get(op).dtypes}
    assert wanted <= {tuple(one.what.split()[::2]) for one in read}
    # In float32 it would be 1e-7.
    assert of("cpu:0", read)["matmul 32 float64"].measured < 1e-13  # type: ignore


@pytest.mark.parametrize(
    ("guilty", "count", "changed", "what", "named"),
    [
        # One bit, far too small for the comparison with float64.
        ("2", 4, flip, PRODUCT, "2"),
        ("1", 4, add(NAN), PRODUCT, "1"),
        # One that contradicts itself says nothing of the others.
        ("3", 4, now_and_then(0), REPEATED, "3"),
        ("1", 2, now_and_then(1), REPEATED, "1"),
        # Of two that disagree both are named.
        ("1", 2, flip, PRODUCT, "01"),
        # All in the same way, which float64 finds.
        ("0123", 4, lambda result: result * 1.01, PRODUCT, "0123"),
    ],
)
def test_a_device_that_computes_wrongly(
    monkeypatch: pytest.MonkeyPatch,
    guilty: str,
    count: int,
    changed: Callable[[Any], Any],
    what: str,
    named: str,
) -> None:
    for number in guilty:
        change(monkeypatch, f"cpu:{number}", changed)
    seen = events(check("numerics", devices=count))
    assert sorted(done(seen)) == NAMES[:count]
    assert faults(readings(seen)) == {(f"cpu:{number}", what) for number in named}


NO_INT8 = TypeError("dot does not accept dtype int8 at position 0.")


@pytest.mark.parametrize(
    ("error", "compiled", "refuses"),
    [
        (NotImplementedError("MLIR rule not found for platform tpu"), False, True),
        (RuntimeError("UNIMPLEMENTED: Dot algorithm is not supported."), False, True),
        (NO_INT8, False, True),
        (NO_INT8, True, False),
        (RuntimeError("RESOURCE_EXHAUSTED: out of memory"), False, False),
        (RuntimeError("INTERNAL: the chip is on fire\nat line 2"), True, False),
    ],
)
def test_a_dtype_that_fails_costs_only_that_and_is_skipped_where_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, error: Exception, compiled: bool, refuses: bool
) -> None:
    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def raises(*args: Any) -> Any:
            raise error

        if case.dtype != "int8":
            return call
        return raises if compiled else raises()

    plant(monkeypatch, "cpu:0", fault)
    found = events(check("numerics", devices=1))
    assert done(found) == NAMES[:1]
    read = readings(found)
    assert faults(read) == (set() if refuses else {("cpu:0", INTEGERS)})
    (remark,) = of("cpu:0", read)[INTEGERS].remarks
    assert (remark.severity == "info") == refuses
    assert str(error) in remark.detail
    assert of("cpu:0", read)[REPEATED].measured == 0


def run(test: Any, stop: Callable[[list[RunEvent]], bool]) -> list[RunEvent]:
    """The events of a test until so much has come."""
    found: list[RunEvent] = []
    over = threading.Event()
    for event in run_check(test, stop=over.is_set):
        found.append(event)
        if stop(found):
            over.set()
    return found


@pytest.mark.parametrize("late", ["never", "late"])
def test_a_device_that_is_late_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    release = threading.Event()

    def waiting(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def waits(*args: Any) -> Any:
            release.wait()
            result = call(*args)
            return flip(result) if case.dtype == "float32" else result

        return waits

    plant(monkeypatch, "cpu:1", waiting)

    def others_are_done(found: list[RunEvent]) -> bool:
        ended = len(done(found)) == 3
        if ended and late == "late":
            release.set()
        return ended and late == "never"

    try:
        found = run(check("numerics"), others_are_done)
    finally:
        release.set()
    assert isinstance(found[1], CheckDoing)
    assert found[1].devices == tuple(NAMES)
    read = readings(found)
    if late == "never":
        others = {"cpu:0", "cpu:2", "cpu:3"}
        assert {*done(found)} == {one.device for one in read} == others
        assert not faults(read)
    else:
        assert done(found)[-1] == "cpu:1"
        assert ("cpu:1", PRODUCT) in faults(read)


def test_a_follower_does_not_wait_for_a_leader_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numerics, "GPU_PLATFORMS", ("cpu",))
    monkeypatch.setattr(numerics, "LEADER_SECONDS", 0.01)
    release = threading.Event()

    def slow_to_compile(call: Call, case: Case, options: dict[str, Any]) -> Call:
        release.wait()
        return call

    plant(monkeypatch, "cpu:0", slow_to_compile)
    try:
        found = run(check("numerics", devices=2), lambda found: bool(done(found)))
    finally:
        release.set()
    assert done(found) == ["cpu:1"]


def test_what_ends_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(check("numerics"), lambda found: True)
    assert not any(isinstance(one, (CheckRead, CheckDone)) for one in found)
    assert found[-1].outcome == "cancelled"  # type: ignore[union-attr]
    # What is not begun before the deadline is skipped.
    with monkeypatch.context() as patch:
        patch.setattr(numerics, "COMPILE_SECONDS", -10.0)
        found = events(check("numerics", devices=2))
    assert sorted(done(found)) == NAMES[:2]
    assert all(one.measured is None for one in readings(found))

    def broken(*_: Any, **__: Any) -> Any:
        raise MemoryError("no more threads")

    monkeypatch.setattr(numerics, "_compile", broken)
    found = events(check("numerics", devices=2))
    assert sorted(done(found)) == NAMES[:2]
    assert faults(readings(found)) == {("cpu:0", "numerics"), ("cpu:1", "numerics")}


GEMM = """\
HloModule jit_matmul
FileLocations
1 {{file_name_id=1 line={line}}}
ENTRY %main {{
  %p = f32[2,2] parameter(0), metadata={{op_name="a" stack_frame_id={line}}}
  ROOT %r = f32[2,2] custom-call(%p), backend_config={{"algorithm":"{algorithm}"}}
}}
"""


def test_a_gpu_that_contradicts_itself_does_not_say_what_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numerics, "GPU_PLATFORMS", ("cpu",))
    change(monkeypatch, "cpu:1", now_and_then(1))
    read = readings(events(check("numerics", devices=2)))
    assert ":" in of("cpu:0", read)[PRODUCT].digest
    assert of("cpu:1", read)[PRODUCT].digest == ""


def test_the_digest_of_a_program_is_that_of_its_kernels() -> None:
    device: Any = type("Gpu", (), {"platform": "gpu"})()

    def digest(line: int, algorithm: str) -> str:
        text = GEMM.format(line=line, algorithm=algorithm)
        call: Any = type("Program", (), {"as_text": lambda _: text})()
        return numerics.digest_of(call, device)

    # Where the source was does not count.
    assert digest(1, "4") == digest(2, "4") != digest(1, "7")
    assert digest(1, "4").endswith(":")
    # Other backends get the same program for every device.
    other: Any = object()
    assert numerics.digest_of(other, jax.devices()[0]) == ""


ZEROS = np.zeros(4, np.float32)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    ("left", "right", "elements"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.5, 3.25], 2),
        ([0.0], [-0.0], 1),
        ([NAN], [NAN], 0),
        ([1.0, 2.0], [NAN, 3.0], 2),
        # Of dtypes of their own.
        (np.array([[1, 1 + 2**-23]], "f4"), np.array([[1, 1]], "f4"), 1),
        (np.array(3), np.array(5), 1),
        (np.array([3 + 4j]), np.array([0j]), 1),
        (np.empty((0, 3)), np.empty((0, 3)), 0),
        # Another shape or dtype differs everywhere.
        (ZEROS, ZEROS.reshape(2, 2), 4),
        (ZEROS, ZEROS[:3], 4),
        (ZEROS, ZEROS.astype(np.float64), 4),
    ],
)
def test_elements_whose_bytes_differ(
    left: Any, right: Any, elements: int, dtype: type
) -> None:
    if isinstance(left, list):
        left, right = np.array(left, dtype), np.array(right, dtype)
    assert count_differing(left, right) == elements
