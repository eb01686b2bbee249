"""Devices that compute rightly, and planted ones that do not."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.measure import ops
from jaxtui.measure.checks import agreement, numerics, repeated, run_check
from jaxtui.measure.checks.agreement import SAME_BITS, Comparison, Visit
from jaxtui.measure.checks.computations import Computation, computations
from jaxtui.measure.checks.repeated import Outcome
from jaxtui.measure.clocks import Call
from jaxtui.model import Case, CheckDoing, CheckDone, CheckRead, Reading
from tests.measure.checks.faults import (
    Fault,
    check,
    done,
    events,
    plant,
    raising,
    readings,
)

DEVICES = ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
PRODUCT = "matmul 256 float32 highest"


def of(device: str, found: list[Reading]) -> dict[str, Reading]:
    return {one.what: one for one in found if one.device == device}


def faults(found: list[Reading]) -> set[tuple[str | None, str]]:
    return {(one.device, one.what) for one in found if one.fault}


def changed(change: Callable[[Any], Any], op: str = "matmul") -> Fault:
    """A device whose float32 results of an op are changed."""

    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def changing(*args: Any) -> Any:
            return change(call(*args))

        return changing if (case.op, case.dtype) == (op, "float32") else call

    return fault


def flip(result: Any) -> Any:
    """One bit of one element, the last of its mantissa."""
    host = np.asarray(result).copy()
    host.reshape(-1).view(np.uint32)[5] ^= 1
    return jnp.asarray(host)


def test_four_devices_that_are_all_right() -> None:
    found = events(check("numerics"))
    assert sorted(done(found)) == DEVICES
    read = readings(found)
    assert not faults(read)
    for device in DEVICES:
        mine = of(device, read)
        wanted = [one.what for one in computations("cpu", "quick")]
        assert list(mine) == [*wanted, SAME_BITS]
        for what in wanted:
            one = mine[what]
            assert one.unit == "relative error"
            assert one.expected is not None
            assert one.expected.kind == "most"
            assert one.expected.source
            assert one.measured is not None
            assert one.measured <= one.expected.value
        assert mine["matmul 256 int8"].measured == 0
        same = mine[SAME_BITS]
        assert same.measured == 0
        assert same.expected is not None
        assert (same.expected.kind, same.expected.value) == ("exact", 0)
        assert "on 3 other devices" in same.said


def test_one_device_is_compared_with_itself() -> None:
    read = of("cpu:2", readings(list(run_check(check_of("cpu:2")))))
    assert read[SAME_BITS].measured == 0
    assert "no other device" in read[SAME_BITS].said


def check_of(*devices: str, budget: float = 1.0) -> Any:
    import msgspec

    return msgspec.structs.replace(
        check("numerics", budget=budget), devices=tuple(devices)
    )


def test_every_dtype_of_every_op_at_level_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxtui.measure.checks.computations.SIZES_ON_CPU", (16, 32))
    monkeypatch.setattr("jaxtui.measure.checks.computations.LONG_VECTOR", 1 << 10)
    asked = check("numerics", devices=2, level="full", budget=30)
    read = readings(events(asked))
    assert not faults(read)
    for op in ("matmul", "selu", "sum"):
        for dtype in ops.get(op).dtypes:
            names = [one for one in read if one.what.startswith(f"{op} ")]
            mine = [one for one in names if f" {dtype}" in one.what]
            assert mine
            assert all(one.measured is not None for one in mine)
    (double,) = {
        one.measured for one in read if one.what == "matmul 32 float64" and one.measured
    } or {0.0}
    assert double is not None
    # In float32 it would be 1e-7.
    assert double < 1e-13


def test_accelerators_compute_more_and_larger_products() -> None:
    tpu = [one.what for one in computations("tpu", "quick")]
    gpu = [one.what for one in computations("gpu", "quick")]
    assert "matmul 512 float32 default" in tpu
    assert "matmul 512 float32 highest" in tpu
    assert "matmul 512 bfloat16" in tpu
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


def test_one_flipped_bit_on_one_device_is_found_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, "cpu:2", changed(flip))
    found = events(check("numerics"))
    assert sorted(done(found)) == DEVICES
    read = readings(found)
    assert faults(read) == {("cpu:2", SAME_BITS)}
    same = of("cpu:2", read)[SAME_BITS]
    assert same.measured == 1
    assert same.fault.startswith(
        "cpu:2 computes another result than the 3 others: 1 of 65536 elements of"
        f" {PRODUCT} differ, largest difference "
    )
    # Far too small for the comparison with float64.
    assert not of("cpu:2", read)[PRODUCT].fault


def test_a_wrong_result_is_also_far_from_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, "cpu:0", changed(lambda result: result.at[3, 4].add(1.0)))
    read = readings(events(check("numerics")))
    assert faults(read) == {("cpu:0", PRODUCT), ("cpu:0", SAME_BITS)}
    assert "cpu:0 computes matmul" in of("cpu:0", read)[PRODUCT].fault
    assert "largest difference 1.00" in of("cpu:0", read)[SAME_BITS].fault


def test_all_wrong_in_the_same_way_is_found_by_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for device in DEVICES:
        plant(monkeypatch, device, changed(lambda result: result * 1.01))
    read = readings(events(check("numerics")))
    assert faults(read) == {(device, PRODUCT) for device in DEVICES}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_result_that_is_not_finite(
    monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    plant(monkeypatch, "cpu:1", changed(lambda result: result.at[0, 0].set(value)))
    read = readings(events(check("numerics")))
    assert faults(read) == {("cpu:1", PRODUCT), ("cpu:1", SAME_BITS)}
    assert "not finite" in of("cpu:1", read)[PRODUCT].fault
    assert "not finite" in of("cpu:1", read)[SAME_BITS].fault
    assert of("cpu:1", read)[PRODUCT].measured is None


def test_a_device_that_contradicts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()
    plant(
        monkeypatch,
        "cpu:3",
        changed(lambda result: flip(result) if next(calls) % 2 else result),
    )
    read = readings(events(check("numerics")))
    assert faults(read) == {("cpu:3", SAME_BITS)}
    same = of("cpu:3", read)[SAME_BITS]
    assert same.measured == 1
    assert same.fault.startswith(
        "cpu:3 computes different results from the same input: 1 of 65536 elements"
    )


def test_one_that_contradicts_itself_has_no_vote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two devices the steady one is not blamed."""
    calls = itertools.count()
    plant(
        monkeypatch,
        "cpu:1",
        changed(lambda result: result if next(calls) % 2 else flip(result)),
    )
    read = readings(events(check("numerics", devices=2)))
    assert faults(read) == {("cpu:1", SAME_BITS)}


def test_of_two_that_disagree_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "cpu:1", changed(flip))
    read = readings(events(check("numerics", devices=2)))
    assert faults(read) == {("cpu:0", SAME_BITS), ("cpu:1", SAME_BITS)}
    for device in ("cpu:0", "cpu:1"):
        fault = of(device, read)[SAME_BITS].fault
        assert "cpu:0" in fault
        assert "cpu:1" in fault
        assert "no majority" in fault


def test_an_exception_costs_one_computation_of_one_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = RuntimeError("INTERNAL: the chip is on fire\nat line 2")
    plant(monkeypatch, "cpu:1", raising(error, dtype="bfloat16"))
    found = events(check("numerics"))
    assert sorted(done(found)) == DEVICES
    read = readings(found)
    assert faults(read) == {("cpu:1", "matmul 256 bfloat16")}
    failed = of("cpu:1", read)["matmul 256 bfloat16"]
    assert "the chip is on fire" in failed.fault
    assert "at line 2" in failed.detail
    assert of("cpu:1", read)[SAME_BITS].measured == 0


def refusing(error: Exception) -> Fault:
    """Compiling raises; only for int8."""

    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        if case.dtype == "int8":
            raise error
        return call

    return fault


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
    plant(monkeypatch, "cpu:0", refusing(error))
    read = of("cpu:0", readings(events(check("numerics", devices=2))))
    one = read["matmul 256 int8"]
    assert bool(one.skipped) == refuses
    assert bool(one.fault) != refuses
    assert str(error) in one.detail
    assert read[SAME_BITS].measured == 0


def test_a_device_that_never_answers_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numerics, "PATIENCE_SECONDS", 0.0)
    release, stop = threading.Event(), threading.Event()

    def hanging(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def hangs(*args: Any) -> Any:
            release.wait()
            return call(*args)

        return hangs

    plant(monkeypatch, "cpu:1", hanging)
    found = []
    try:
        for event in run_check(check("numerics"), stop=stop.is_set):
            found.append(event)
            if len(done(found)) == 3:
                stop.set()
    finally:
        release.set()
    assert isinstance(found[1], CheckDoing)
    assert found[1].devices == tuple(DEVICES)
    assert sorted(done(found)) == ["cpu:0", "cpu:2", "cpu:3"]
    read = readings(found)
    assert {one.device for one in read} == {"cpu:0", "cpu:2", "cpu:3"}
    assert not faults(read)
    assert "on 2 other devices" in of("cpu:0", read)[SAME_BITS].said


def test_a_device_that_answers_late_is_compared_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numerics, "PATIENCE_SECONDS", 0.0)
    release = threading.Event()

    def late(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def waits(*args: Any) -> Any:
            release.wait()
            result = call(*args)
            return flip(result) if case.dtype == "float32" else result

        return waits

    plant(monkeypatch, "cpu:1", late)
    found = []
    for event in run_check(check("numerics")):
        found.append(event)
        if len(done(found)) == 3:
            release.set()
    assert done(found)[-1] == "cpu:1"
    assert (("cpu:1", SAME_BITS)) in faults(readings(found))
    assert "than the 3 others" in of("cpu:1", readings(found))[SAME_BITS].fault


def test_stopped_before_it_begins_it_reads_nothing() -> None:
    found = list(run_check(check("numerics"), stop=lambda: True))
    assert not any(isinstance(one, (CheckRead, CheckDone)) for one in found)
    assert found[-1].outcome == "cancelled"  # type: ignore[union-attr]


def test_what_is_not_begun_before_the_deadline_is_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numerics, "COMPILE_SECONDS", -10.0)
    found = events(check("numerics", devices=2))
    assert sorted(done(found)) == ["cpu:0", "cpu:1"]
    assert all(one.skipped for one in readings(found))


def test_a_visit_that_breaks_off_has_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise MemoryError("no more threads")

    monkeypatch.setattr(numerics.repeated, "compute", broken)
    found = events(check("numerics", devices=2))
    assert sorted(done(found)) == ["cpu:0", "cpu:1"]
    assert faults(readings(found)) == {("cpu:0", "numerics"), ("cpu:1", "numerics")}


class Gpu:
    """As much of a GPU as a comparison needs."""

    platform, device_kind = "gpu", "NVIDIA H200"

    def __init__(self, number: int) -> None:
        self.id = number


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
    comparison = Comparison(inputs={task: (eye, eye)}, times=2)
    visits = []
    # Where the source was does not count; the third has another kernel.
    for number, (line, algorithm, result) in enumerate(
        [(1, "4", eye), (2, "4", eye), (1, "7", eye + np.float32(1e-6))]
    ):
        device: Any = Gpu(number)
        text = GEMM.format(line=line, algorithm=algorithm)
        program = repeated._program(Program(text), device)  # type: ignore[arg-type]
        visit = Visit(device)
        comparison.count(visit, task, Outcome(result=result, program=program))
        visits.append(visit)
    same = [list(comparison.readings(visit))[-1] for visit in visits]
    assert [one.measured for one in same] == [0, 0, 0]
    assert "1 other device" in same[0].said
    assert all("chose different kernels" in one.said for one in same)


def test_other_backends_get_the_same_program_for_every_device() -> None:
    device = jax.devices()[0]
    assert repeated._program(Program("anything"), device) == ""  # type: ignore[arg-type]


def test_a_follower_does_not_wait_for_a_leader_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numerics, "GPUS", ("cpu",))
    monkeypatch.setattr(numerics, "LEADER_SECONDS", 0.01)
    monkeypatch.setattr(numerics, "PATIENCE_SECONDS", 0.0)
    release, stop = threading.Event(), threading.Event()

    def slow_to_compile(call: Call, case: Case, options: dict[str, Any]) -> Call:
        release.wait()
        return call

    plant(monkeypatch, "cpu:0", slow_to_compile)
    found = []
    try:
        for event in run_check(check("numerics", devices=2), stop=stop.is_set):
            found.append(event)
            if done(found):
                stop.set()
    finally:
        release.set()
    assert done(found) == ["cpu:1"]


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, "tpu:3"),
        ({"coords": [0, 1, 0]}, "tpu:3 at 0,1,0"),
        ({"coords": [0, 1, 0], "core_on_chip": 0}, "tpu:3 at 0,1,0"),
        ({"coords": [0, 1, 0], "core_on_chip": 1}, "tpu:3 at 0,1,0 core 1"),
    ],
)
def test_a_device_is_named_with_its_place(
    attributes: dict[str, Any], text: str
) -> None:
    device = type("Device", (), {"platform": "tpu", "id": 3, **attributes})
    assert agreement.place(device) == text  # type: ignore[arg-type]


def test_several_wrong_computations_are_one_fault() -> None:
    found = [(1, f"op {n}", f"d computes op {n} wrongly.") for n in range(6)]
    assert agreement._in_one(found) == (
        "d computes op 0 wrongly. It is so in op 1, op 2, op 3 and 2 more, too."
    )
    assert agreement._in_one(found[:1]) == "d computes op 0 wrongly."
    assert agreement._in_one([]) == ""
