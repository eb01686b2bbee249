from __future__ import annotations

import re
from typing import Any

import jax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.measure import inputs, ops, planning
from jaxtui.model import DTYPES, Case, Device, Experiment
from tests.measure.running import case

GB = 10**9

REFUSED = [
    (name, dtype)
    for name, op in ops.OPS.items()
    for dtype in DTYPES
    if dtype not in op.dtypes
]


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
    known: dict[str, Any] = {"tpu:0": tpu} if tpu else {}
    return planning.Supply(host_bytes=host, known=known)


def problem(one: Case, there: planning.Supply | None = None) -> tuple[str, str]:
    planned = planning.plan_case(one, there or supply())
    assert planned.problem is not None, planned
    assert planned.problem.case == one
    return planned.problem.error, planned.problem.hint


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


@pytest.mark.parametrize(("op", "dtype"), REFUSED)
def test_every_dtype_that_an_op_lacks_is_refused(op: str, dtype: str) -> None:
    error, hint = problem(case(op, 128, dtype=dtype))
    assert error == f"{op} does not run in {dtype}."
    assert "float32" in hint


@pytest.mark.parametrize(
    ("op", "dtype", "name", "where"),
    [
        ("attention", "float16", "cpu:0", "a CPU"),
        ("attention", "float16", "tpu:0", "a TPU"),
        ("fft", "float64", "tpu:0", "a TPU"),
    ],
)
@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_what_xla_refuses_is_refused_before_it_runs(
    op: str, dtype: str, name: str, where: str, mode: Any
) -> None:
    there = supply(tpu=tpu(16 * GB))
    error, hint = problem(case(op, 128, mode, dtype, device=name), there)
    assert error == f"{op} does not run in {dtype} on {where}: XLA refuses it there."
    assert "float32" in hint
    assert dtype not in re.findall(r"\w+", hint)
    for fine in (case(op, 128, mode, device=name), case(op, 128, "numpy", dtype)):
        assert planning.plan_case(fine, there).problem is None


@pytest.mark.parametrize(
    ("one", "error", "hint"),
    [
        (case("matmull", 8), "did you mean matmul?", "jaxtui ops"),
        (product(dtype="float8"), "matmul does not run in float8", "bfloat16"),
        (product(0), "no size 0; the smallest is 1", "n of n×n"),
        (product(-4), "no size -4", ""),
        (case("gather", 2**31), "its indices are int32", "2147483647"),
        (case("add", 8, precision="high"), "takes no precision", "conv2d and atten"),
        (product(precision="low"), "no precision 'low'", "default, high, highest"),
        (product(device="cpu:9"), "no device 'cpu:9'; try cpu:", "jaxtui devices"),
        (product(device="tpu:0"), "no device 'tpu:0'", ""),
        (product(device="host"), "runs on a JAX device", "NumPy"),
        (product(mode="pallas"), "matmul has no mode pallas", "numpy, eager, jit, "),
        (case("gram", 8, "tensorflow"), "gram has no mode tensorflow", "jit."),
        (product(mode="torch"), "no mode 'torch'", "numpy, eager, jit, pallas"),
        (product(inputs="disk"), "no inputs 'disk'", "device, host"),
        (product(mode="numpy", device="cpu:0"), "NumPy does not run on cpu:0", "host"),
        (product(mode="numpy", inputs="device"), "no inputs on a device", "host"),
        (product(mode="numpy", precision="high"), "NumPy takes no prec", "default"),
        (product(mode="tensorflow", device="cpu:0"), "TensorFlow does not run", "host"),
        (case("selu", 8, "pallas", device="host"), "on a JAX device", "host"),
    ],
)
def test_problems_are_sentences(one: Case, error: str, hint: str) -> None:
    said, advice = problem(one)
    assert error in said
    assert said[0].isupper() or said.startswith(one.op)
    assert hint in advice


def test_devices_of_other_processes_are_refused() -> None:
    error, _ = problem(product(device="tpu:0"), supply(tpu=tpu(GB, addressable=False)))
    assert error == "tpu:0 belongs to process 3, not to this."


# What it needs.


ON_TPU = {"size": 16384, "device": "tpu:0"}


@pytest.mark.parametrize(
    ("one", "host", "device", "error"),
    [
        (product(10**6), 21.3, None, "needs 25.5 TiB on cpu:0; 19.8 GiB are free."),
        (product(10**6, "numpy"), 1, None, "on host; 954 MiB are free"),
        (product(**ON_TPU), 100, 3, "needs 4.02 GiB on tpu:0; 2.79 GiB are free."),
        (product(**ON_TPU), 1, 16, "of host memory .*; 954 MiB are free"),
        # Its scores.
        (case("attention", **ON_TPU), 100, 16, r"needs 1\d\.\d GiB on tpu:0; 14.9 G"),
    ],
)
def test_what_needs_more_than_is_free_is_refused(
    one: Case, host: float, device: int | None, error: str
) -> None:
    there = supply(int(host * GB), tpu(device * GB) if device else None)
    said, _ = problem(one, there)
    assert said.startswith(f"{one.op} {one.size} float32 needs ")
    assert re.search(error, said), said


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
        said = planned.problem.error
        assert any(each in said for each in ("are free", "int32", "XLA refuses it"))


def test_planned_memory_covers_what_is_really_held() -> None:
    op = ops.get("at_set")
    planned = planning.plan_case(case("at_set", 10_000), supply())
    args = jax.device_put(inputs.host_inputs(op, 10_000, "float32", seed=0))
    held = sum(array.nbytes for array in args) + op.bind()(*args).nbytes
    assert planned.memory_bytes >= held
