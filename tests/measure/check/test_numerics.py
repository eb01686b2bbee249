"""Devices that compute rightly, and planted ones that do not."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import msgspec
import numpy as np
import pytest

from jaxtui.measure import devices, ops
from jaxtui.measure.check import agreement, numerics
from jaxtui.measure.check.agreement import (
    SAME_BITS,
    Ballot,
    Comparison,
    Computation,
    difference,
)
from jaxtui.measure.check.base import run_check
from jaxtui.measure.check.numerics import computations
from jaxtui.measure.clocks import Call
from jaxtui.model import Case, CheckDoing, CheckDone, CheckRead, Reading, RunEvent
from tests.measure.check.faults import (
    NAMES,
    Fault,
    check,
    done,
    events,
    of,
    plant,
    raising,
    readings,
)

PRODUCT = "matmul 256 float32 highest"
NAN = float("nan")


def faults(found: list[Reading]) -> set[tuple[str | None, str]]:
    return {(one.device, one.what) for one in found if one.fault}


def changed(change: Callable[[Any], Any]) -> Fault:
    """A device whose float32 products are changed."""

    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def changing(*args: Any) -> Any:
            return change(call(*args))

        return changing if (case.op, case.dtype) == ("matmul", "float32") else call

    return fault


def flip(result: Any) -> Any:
    """One bit of one element, the last of its mantissa."""
    host = np.asarray(result).copy()
    host.reshape(-1).view(np.uint32)[5] ^= 1
    return jnp.asarray(host)


def now_and_then(first: int) -> Callable[[Any], Any]:
    """Every other result has a flipped bit."""
    calls = itertools.count(first)
    return lambda result: flip(result) if next(calls) % 2 else result


def at(place: tuple[int, int], value: float) -> Callable[[Any], Any]:
    return lambda result: result.at[place].set(value)


# What is computed.


def test_accelerators_compute_more_and_larger_products() -> None:
    tpu = [one.what for one in computations("tpu", "quick")]
    gpu = [one.what for one in computations("gpu", "quick")]
    wanted = {f"matmul 512 {of}" for of in ("float32 default", "float32 highest")}
    assert {*wanted, "matmul 512 bfloat16"} <= set(tpu)
    assert "matmul 512 float16" not in tpu
    assert "matmul 512 float16" in gpu
    full = computations("tpu", "full")
    assert len(set(full)) == len(full)
    assert full[: len(tpu)] == computations("tpu", "quick")
    assert Computation("matmul", 2048, "float32", "high") in full


def test_rounding_at_default_precision_is_expected_and_said() -> None:
    rounded = Computation("matmul", 512, "float32").expected
    exact = Computation("matmul", 512, "float32", "highest").expected
    assert rounded.value > 100 * exact.value
    assert "may round" in rounded.source
    assert "may round" not in exact.source
    assert "exactly" in Computation("matmul", 512, "int8").expected.source


# Sound devices.


def test_four_devices_that_are_all_right() -> None:
    found = events(check("numerics"))
    assert sorted(done(found)) == NAMES
    read = readings(found)
    assert not faults(read)
    # Those of a device stand together.
    assert len([*itertools.groupby(one.device for one in read)]) == len(NAMES)
    wanted = [one.what for one in computations("cpu", "quick")]
    for device in NAMES:
        mine = of(device, read)
        assert list(mine) == [*wanted, SAME_BITS]
        for what in wanted:
            one = mine[what]
            assert one.unit == "relative error"
            assert one.expected is not None
            assert (one.expected.kind, bool(one.expected.source)) == ("most", True)
            assert one.measured is not None
            assert one.measured <= one.expected.value
        assert mine["matmul 256 int8"].measured == 0
        same = mine[SAME_BITS]
        assert same.measured == 0
        assert same.expected is not None
        assert (same.expected.kind, same.expected.value) == ("exact", 0)
        assert "on 3 other devices" in same.said
    alone = msgspec.structs.replace(check("numerics"), devices=("cpu:2",))
    same = of("cpu:2", readings(events(alone)))[SAME_BITS]
    assert same.measured == 0
    assert "no other device" in same.said


def test_every_dtype_of_every_op_at_level_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "SIZES_ON_CPU", (16, 32))
    monkeypatch.setattr(numerics, "LONG_VECTOR", 1 << 10)
    full = check("numerics", devices=2, level="full", budget=30)
    read = readings(events(full))
    assert not faults(read)
    for op in ("matmul", "selu", "sum"):
        for dtype in ops.get(op).dtypes:
            names = [one for one in read if one.what.startswith(f"{op} ")]
            mine = [one for one in names if f" {dtype}" in one.what]
            assert mine
            assert all(one.measured is not None for one in mine)
    double = of("cpu:0", read)["matmul 32 float64"].measured
    # In float32 it would be 1e-7.
    assert double is not None
    assert double < 1e-13


# Faulty devices.


@pytest.mark.parametrize(
    ("guilty", "count", "change", "blamed", "says"),
    [
        # One bit, far too small for the comparison with float64.
        (
            "cpu:2",
            4,
            flip,
            {("cpu:2", SAME_BITS)},
            "cpu:2 computes another result than the 3 others: 1 of 65536 elements of"
            f" {PRODUCT} differ, largest difference ",
        ),
        (
            "cpu:0",
            4,
            lambda result: result.at[3, 4].add(1.0),
            {("cpu:0", PRODUCT), ("cpu:0", SAME_BITS)},
            "largest difference 1.00",
        ),
        (
            "cpu:1",
            4,
            at((0, 0), NAN),
            {("cpu:1", PRODUCT), ("cpu:1", SAME_BITS)},
            "not finite",
        ),
        (
            "cpu:1",
            4,
            at((0, 0), math.inf),
            {("cpu:1", PRODUCT), ("cpu:1", SAME_BITS)},
            "not finite",
        ),
        # One that contradicts itself has no vote: the other is not blamed.
        (
            "cpu:3",
            4,
            now_and_then(0),
            {("cpu:3", SAME_BITS)},
            "cpu:3 computes different results from the same input: 1 of 65536 elements",
        ),
        (
            "cpu:1",
            2,
            now_and_then(1),
            {("cpu:1", SAME_BITS)},
            "cpu:1 computes different results from the same input",
        ),
        # Of two that disagree both are named.
        (
            "cpu:1",
            2,
            flip,
            {("cpu:0", SAME_BITS), ("cpu:1", SAME_BITS)},
            "no majority says which is right",
        ),
    ],
)
def test_a_device_that_computes_wrongly(
    monkeypatch: pytest.MonkeyPatch,
    guilty: str,
    count: int,
    change: Callable[[Any], Any],
    blamed: set[tuple[str, str]],
    says: str,
) -> None:
    plant(monkeypatch, guilty, changed(change))
    found = events(check("numerics", devices=count))
    assert sorted(done(found)) == NAMES[:count]
    read = readings(found)
    assert faults(read) == blamed
    assert says in of(guilty, read)[SAME_BITS].fault
    for name, what in blamed:
        fault = of(name, read)[what].fault
        assert guilty in fault
        assert name in fault
    if (guilty, PRODUCT) in blamed:
        assert f"{guilty} " in of(guilty, read)[PRODUCT].fault


def test_all_wrong_in_the_same_way_is_found_by_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for device in NAMES:
        plant(monkeypatch, device, changed(lambda result: result * 1.01))
    read = readings(events(check("numerics")))
    assert faults(read) == {(device, PRODUCT) for device in NAMES}
    assert "cpu:0 computes matmul" in of("cpu:0", read)[PRODUCT].fault


def test_an_exception_costs_one_computation_of_one_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = RuntimeError("INTERNAL: the chip is on fire\nat line 2")
    plant(monkeypatch, "cpu:1", raising(error, dtype="bfloat16"))
    found = events(check("numerics"))
    assert sorted(done(found)) == NAMES
    read = readings(found)
    assert faults(read) == {("cpu:1", "matmul 256 bfloat16")}
    failed = of("cpu:1", read)["matmul 256 bfloat16"]
    assert "the chip is on fire" in failed.fault
    assert "at line 2" in failed.detail
    assert of("cpu:1", read)[SAME_BITS].measured == 0


@pytest.mark.parametrize(
    ("error", "refuses"),
    [
        (NotImplementedError("MLIR translation rule not found for platform tpu"), True),
        (RuntimeError("UNIMPLEMENTED: Dot algorithm is not supported."), True),
        (TypeError("dot does not accept dtype int8 at position 0."), True),
        (ValueError("The precision 'F16' is not supported by dot_general"), True),
        (RuntimeError("INTERNAL: compiler crashed"), False),
        (RuntimeError("RESOURCE_EXHAUSTED: out of memory"), False),
    ],
)
def test_a_dtype_that_is_refused_is_skipped_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch, error: Exception, refuses: bool
) -> None:
    def refusing(call: Call, case: Case, options: dict[str, Any]) -> Call:
        if case.dtype == "int8":
            raise error
        return call

    plant(monkeypatch, "cpu:0", refusing)
    read = of("cpu:0", readings(events(check("numerics", devices=2))))
    one = read["matmul 256 int8"]
    assert (bool(one.skipped), bool(one.fault)) == (refuses, not refuses)
    assert str(error) in one.detail
    assert read[SAME_BITS].measured == 0


# Devices that are late.


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
    monkeypatch.setattr(agreement, "PATIENCE_SECONDS", 0.0)
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
    assert "on 2 other devices" in of("cpu:0", read)[SAME_BITS].said
    if late == "never":
        assert sorted(done(found)) == ["cpu:0", "cpu:2", "cpu:3"]
        assert {one.device for one in read} == {"cpu:0", "cpu:2", "cpu:3"}
        assert not faults(read)
    else:
        assert done(found)[-1] == "cpu:1"
        assert "than the 3 others" in of("cpu:1", read)[SAME_BITS].fault


def test_a_follower_does_not_wait_for_a_leader_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numerics, "GPUS", ("cpu",))
    monkeypatch.setattr(numerics, "LEADER_SECONDS", 0.01)
    monkeypatch.setattr(agreement, "PATIENCE_SECONDS", 0.0)
    release = threading.Event()

    def slow_to_compile(call: Call, case: Case, options: dict[str, Any]) -> Call:
        release.wait()
        return call

    plant(monkeypatch, "cpu:0", slow_to_compile)
    two = check("numerics", devices=2)
    try:
        found = run(two, lambda found: bool(done(found)))
    finally:
        release.set()
    assert done(found) == ["cpu:1"]


def test_what_ends_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(run_check(check("numerics"), stop=lambda: True))
    assert not any(isinstance(one, (CheckRead, CheckDone)) for one in found)
    assert found[-1].outcome == "cancelled"  # type: ignore[union-attr]
    # What is not begun before the deadline is skipped.
    with monkeypatch.context() as patch:
        patch.setattr(numerics, "COMPILE_SECONDS", -10.0)
        found = events(check("numerics", devices=2))
    assert sorted(done(found)) == NAMES[:2]
    assert all(one.skipped for one in readings(found))

    def broken(*_: Any, **__: Any) -> Any:
        raise MemoryError("no more threads")

    monkeypatch.setattr(numerics, "compute", broken)
    found = events(check("numerics", devices=2))
    assert sorted(done(found)) == NAMES[:2]
    assert faults(readings(found)) == {("cpu:0", "numerics"), ("cpu:1", "numerics")}


# GPUs, whose kernels are chosen by trying them out.


class Program:
    """A compiled call with its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def as_text(self) -> str:
        return self._text


GEMM = """\
HloModule jit_matmul
FileLocations
1 {{file_name_id=1 line={line}}}
ENTRY %main {{
  %p = f32[2,2] parameter(0), metadata={{op_name="a" stack_frame_id={line}}}
  ROOT %r = f32[2,2] custom-call(%p), backend_config={{"algorithm":"{algorithm}"}}
}}
"""


def test_gpus_are_compared_only_where_they_run_the_same_kernels() -> None:
    task = Computation("matmul", 2, "float32", "highest")
    eye = np.eye(2, dtype=np.float32)
    comparison = Comparison(seed=0, times=2, devices=3)
    comparison._inputs[task] = (eye, eye)
    visits = []
    # Where the source was does not count; the third has another kernel.
    for number, (line, algorithm, result) in enumerate(
        [(1, "4", eye), (2, "4", eye), (1, "7", eye + np.float32(1e-6))]
    ):
        facts = {"platform": "gpu", "device_kind": "NVIDIA H200", "id": number}
        device: Any = type("Gpu", (), facts)()
        call: Any = Program(GEMM.format(line=line, algorithm=algorithm))
        program = numerics.program(call, device)
        outcome = comparison.count(device, task, result, None, program)
        visits.append((device, {task: outcome}))
        # Other backends get the same program for every device.
        assert numerics.program(call, jax.devices()[0]) == ""
    same = [list(comparison.readings(*visit))[-1] for visit in visits]
    assert [one.measured for one in same] == [0, 0, 0]
    assert "1 other device" in same[0].said
    assert all("chose different kernels" in one.said for one in same)


# Bit by bit.


@pytest.mark.parametrize(
    ("left", "right", "elements", "largest"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, 0.0),
        ([1.0, 2.0, 3.0], [1.0, 2.5, 3.25], 2, 0.5),
        ([0.0], [-0.0], 1, 0.0),
        ([NAN], [NAN], 0, 0.0),
        ([1.0, 2.0], [NAN, 3.0], 2, NAN),
        ([math.inf], [1.0], 1, NAN),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16])
def test_elements_whose_bytes_differ(
    left: list[float], right: list[float], elements: int, largest: float, dtype: type
) -> None:
    found = difference(np.array(left, dtype), np.array(right, dtype))
    assert (found.elements, found.of) == (elements, len(left))
    assert found.largest == pytest.approx(largest, nan_ok=True)


def test_other_dtypes_and_shapes() -> None:
    right = np.float32(1.0)
    wrong = np.nextafter(right, np.float32(2))
    found = difference(np.array([[right, wrong]]), np.array([[right, right]]))
    assert (found.elements, found.largest) == (1, pytest.approx(2**-23))
    assert difference(np.array(3), np.array(5)).largest == 2
    assert difference(np.array([3 + 4j]), np.array([0j])).largest == 5
    assert difference(np.empty((0, 3)), np.empty((0, 3))).elements == 0
    for other in (np.zeros((2, 2), "f4"), np.zeros(3, "f4"), np.zeros(4)):
        found = difference(np.zeros(4, np.float32), other)
        assert (found.elements, math.isnan(found.largest)) == (4, True)


@pytest.mark.parametrize(
    ("values", "winner"),
    [
        ((1,), (0,)),
        ((1, 1, 1), (0, 1, 2)),
        ((2, 1, 1), (1, 2)),
        ((1, 2, 1, 3), (0, 2)),
        ((1, 2), None),
        ((1, 2, 1, 2), None),
        ((1, 2, 3), None),
        ((), None),
    ],
)
def test_most_devices_win(
    values: tuple[float, ...], winner: tuple[int, ...] | None
) -> None:
    made = Ballot()
    for index, value in enumerate(values):
        made.cast(f"d:{index}", np.array([value, 1.0]), pytest.fail)
    # Equal results are kept once.
    assert len(made.results) == len(set(values))
    against = [made.against(f"d:{index}") for index in range(len(values))]
    if winner is None:
        assert made.winner is None
        # Of a tie every party differs.
        assert all(one is not None and one.elements == 1 for one in against)
        return
    assert made.winner is not None
    assert made.holders(made.winner) == tuple(f"d:{index}" for index in winner)
    assert [index for index, one in enumerate(against) if one is None] == list(winner)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, "tpu:3"),
        ({"coords": [0, 1, 0], "core_on_chip": 0}, "tpu:3 at 0,1,0"),
        ({"coords": [0, 1, 0], "core_on_chip": 1}, "tpu:3 at 0,1,0 core 1"),
    ],
)
def test_a_device_is_named_with_its_place(
    attributes: dict[str, Any], text: str
) -> None:
    device: Any = type("Device", (), {"platform": "tpu", "id": 3, **attributes})
    assert devices.place(device) == text


def test_several_wrong_computations_are_one_fault() -> None:
    found = [(f"op {n}", f"d computes op {n} wrongly.") for n in range(6)]
    assert agreement.join_faults(found) == (
        "d computes op 0 wrongly. It is so in op 1, op 2, op 3 and 2 more, too."
    )
    assert agreement.join_faults(found[:1]) == "d computes op 0 wrongly."
    assert agreement.join_faults([]) == ""
