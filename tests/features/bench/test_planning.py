"""None"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.core.model import DTYPES, Case, Device, Experiment, Remark
from jaxtui.features.bench.measure import estimate, planning
from jaxtui.tasks import inputs, ops
from jaxtui.ui import words
from tests.tasks.running import case

GB = 10**9


def product(size: int = 128, mode: Any = "jit", **changes: Any) -> Case:
    return case("matmul", size, mode, **changes)


def tpu(free: int, *, addressable: bool = True) -> Device:
    return Device(
        id=0,
        platform="tpu",
        device_kind="TPU v5 lite",
        process_index=0 if addressable else 3,
        memory={"bytes_limit": free + 7, "bytes_in_use": 4, "bytes_reserved": 3},
        addressable=addressable,
    )


def supply(host: int | None = 8 * GB, tpu: Device | None = None) -> planning.Supply:
    described: dict[str, Any] = {"tpu:0": tpu} if tpu else {}
    return planning.Supply(host_bytes=host, described=described)


def problem(one: Case, there: planning.Supply | None = None) -> Remark:
    planned = planning.plan_case(one, there or supply())
    assert planned.problem is not None, planned
    assert planned.problem.case == one
    return planned.problem.remark


def test_good_cases_have_needs_and_no_problem() -> None:
    plan = planning.plan(Experiment(cases=(product(), product(mode="numpy"))))
    assert [planned.problem for planned in plan.cases] == [None, None]
    jit, _ = plan.cases
    assert jit.flops == 2 * 128**3
    assert jit.bytes == 3 * 128 * 128 * 4
    assert jit.memory_bytes > 4 * 128 * 128 * 4
    assert jit.peak is None
    assert plan.budget_seconds == 10.0
    assert not plan.grouped


# What is wrong with a case.


def test_every_dtype_that_an_op_lacks_is_refused() -> None:
    for name, op in ops.OPS.items():
        for dtype in {*DTYPES} - {*op.dtypes}:
            remark = problem(case(name, 128, dtype=dtype))
            assert remark.code == "dtype-missing", (name, dtype)
            assert "float32" in remark.facts["dtypes"]


@pytest.mark.parametrize(
    ("op", "dtype", "name"),
    [
        ("attention", "float16", "cpu:0"),
        ("attention", "float16", "tpu:0"),
        ("fft", "float64", "tpu:0"),
    ],
)
@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_what_xla_refuses_is_refused_before_it_runs(
    op: str, dtype: str, name: str, mode: Any
) -> None:
    there = supply(tpu=tpu(16 * GB))
    remark = problem(case(op, 128, mode, dtype, device=name), there)
    assert remark.code == "dtype-not-on-platform"
    assert remark.facts["platform"] == name[:3]
    assert "float32" in remark.facts["dtypes"]
    assert dtype not in remark.facts["dtypes"]
    for fine in (case(op, 128, mode, device=name), case(op, 128, "numpy", dtype)):
        assert planning.plan_case(fine, there).problem is None


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (case("matmull", 8), "op-unknown"),
        (product(dtype="float8"), "dtype-missing"),
        (product(0), "size-too-small"),
        (product(-4), "size-too-small"),
        (case("gather", 2**31), "size-too-large"),
        (product(device="cpu:9"), "device-unknown"),
        (product(device="tpu:0"), "device-unknown"),
        (product(mode="pallas"), "mode-missing"),
        (case("gram", 8, "tensorflow"), "mode-missing"),
    ],
)
def test_what_is_wrong_with_a_case(one: Case, code: str) -> None:
    remark = problem(one)
    assert remark.code == code
    assert words.sentence(remark)


def test_devices_of_other_processes_are_refused() -> None:
    remark = problem(product(device="tpu:0"), supply(tpu=tpu(GB, addressable=False)))
    facts = {"device": "tpu:0", "process": 3}
    assert remark == Remark("device-of-other-process", facts)


# What it needs.


ON_TPU = {"size": 16384, "device": "tpu:0"}


@pytest.mark.parametrize(
    ("one", "host", "device", "needed", "on"),
    [
        (product(10**6), 21.3, None, 28e12, "cpu:0"),
        (product(10**6, "numpy"), 1, None, 36e12, "host"),
        (product(**ON_TPU), 100, 3, 4.3e9, "tpu:0"),
        # Its scores.
        (case("attention", **ON_TPU), 100, 16, 1.7e10, "tpu:0"),
        # Inputs need memory of the host, too.
        (product(**ON_TPU), 1, 16, 3.2e9, "host"),
    ],
)
def test_what_needs_more_than_is_free_is_refused(
    one: Case, host: float, device: int | None, needed: float, on: str
) -> None:
    there = supply(int(host * GB), tpu(device * GB) if device else None)
    remark = problem(one, there)
    free = device if on == "tpu:0" else host
    assert (remark.code, remark.facts["on"]) == ("too-large", on)
    assert remark.facts["needed"] == pytest.approx(needed, rel=0.2)
    assert remark.facts["free"] == int(free * GB)


def test_nothing_is_refused_where_nobody_says_what_is_free() -> None:
    assert planning.plan_case(product(10**6), supply(host=None)).problem is None


@pytest.mark.parametrize(("op", "rate"), [("matmul", 197e12), ("add", None)])
def test_the_peak_of_what_is_no_product_is_a_bandwidth(op: str, rate: Any) -> None:
    there = supply(100 * GB, tpu(16 * GB))
    planned = planning.plan_case(case(op, **ON_TPU), there)
    assert planned.problem is None
    assert planned.peak is not None
    assert planned.peak.flops_per_second == rate
    assert planned.peak.bytes_per_second == 819e9


@pytest.mark.parametrize(("free", "grouped"), [(3 * GB, True), (50 * GB, False)])
def test_short_memory_makes_sizes_take_turns(free: int, grouped: bool) -> None:
    # 134 MB of inputs each.
    sizes = [case("add", 2**24 + extra) for extra in range(8)]
    assert planning._is_crowded(sizes, supply(free)) is grouped
    assert not planning._is_crowded([sizes[0]] * 50, supply(3 * GB))


@given(
    name=st.sampled_from(list(ops.OPS)),
    size=st.integers(1, 10**12),
    data=st.data(),
    mode=st.sampled_from(["jit", "eager", "numpy"]),
)
@settings(max_examples=100)
def test_any_size_is_planned_without_allocating(
    name: str, size: int, data: st.DataObject, mode: Any
) -> None:
    dtype = data.draw(st.sampled_from(ops.get(name).dtypes))
    planned = planning.plan_case(case(name, size, mode, dtype), supply(GB))
    too_large = planned.memory_bytes + planned.host_memory_bytes > GB
    if planned.problem is None:
        assert not too_large
    else:
        codes = ("too-large", "size-too-large", "dtype-not-on-platform")
        assert planned.problem.remark.code in codes


def test_planned_memory_covers_what_is_really_held() -> None:
    op = ops.get("at_set")
    planned = planning.plan_case(case("at_set", 10_000), supply())
    args = jax.device_put(inputs.host_inputs(op, 10_000, "float32", seed=0))
    held = sum(array.nbytes for array in args) + op.bind()(*args).nbytes
    assert planned.memory_bytes >= held


FLOAT8 = "float8_e4m3fn"


@pytest.mark.parametrize(
    ("name", "size", "dtype", "where", "slow"),
    [
        ("matmul", 512, "float32", "cpu", False),
        ("sort", 1 << 18, "float32", "cpu", False),
        ("softmax", 1024, "float32", "cpu", False),
        ("matmul", 8192, "float32", "cpu", True),
        # A second and more in XLA's sort on a CPU, though its bytes are few.
        ("sort", 1 << 24, "float32", "cpu", True),
        # XLA converts float8 in software there: a softmax of this size takes 13 s.
        ("softmax", 16384, FLOAT8, "cpu", True),
        ("selu", 1 << 26, FLOAT8, "cpu", True),
        ("selu", 1 << 26, FLOAT8, "accelerator", False),
        ("selu", 1 << 26, "float32", "cpu", False),
        ("conv2d", 56, "float16", "numpy", True),
        ("scan", 512, "int8", "numpy", True),
    ],
)
def test_slow_work_is_tried_at_a_smaller_size(
    name: str, size: int, dtype: str, where: str, slow: bool
) -> None:
    tried: list[int] = []

    def trial(smaller: int) -> Callable[[], object]:
        tried.append(smaller)
        return lambda: None

    found = estimate.call_seconds(ops.get(name), size, dtype, where, trial)
    assert (found is not None) == bool(tried) == slow
    assert all(smaller < size for smaller in tried)
