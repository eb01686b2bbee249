from __future__ import annotations

import re
from typing import Any

import jax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.measure import inputs, ops, planning
from jaxtui.model import DTYPES, Case, Device, Experiment

GB = 10**9

REFUSED = [
    (name, dtype)
    for name, op in ops.OPS.items()
    for dtype in DTYPES
    if dtype not in op.dtypes
]


def case(**changes: Any) -> Case:
    fields = {
        "op": "matmul",
        "size": 128,
        "dtype": "float32",
        "device": "cpu:0",
        "mode": "jit",
    }
    return Case(**(fields | changes))


def numpy_case(**changes: Any) -> Case:
    return case(**({"mode": "numpy", "device": "host", "inputs": "host"} | changes))


def tpu(free: int, *, addressable: bool = True) -> Device:
    return Device(
        id=0,
        platform="tpu",
        device_kind="TPU v5 lite",
        process_index=0 if addressable else 3,
        memory={"bytes_limit": free + 7, "bytes_in_use": 4, "bytes_reserved": 3},
        addressable=addressable,
    )


def supply(host: int | None = 8 * GB, **known: Device) -> planning.Supply:
    named: dict[str, Device | str] = {
        name.replace("_", ":"): device for name, device in known.items()
    }
    return planning.Supply(host_bytes=host, known=named)


def problem(one: Case, there: planning.Supply | None = None) -> tuple[str, str]:
    planned = planning.plan_case(one, there or supply())
    assert planned.problem is not None, planned
    assert planned.problem.case == one
    return planned.problem.error, planned.problem.hint


def test_good_cases_have_needs_and_no_problem() -> None:
    plan = planning.plan(Experiment(cases=(case(), numpy_case())))
    assert [planned.problem for planned in plan.cases] == [None, None]
    jit, _ = plan.cases
    assert jit.flops == 2 * 128**3
    assert jit.bytes == 3 * 128 * 128 * 4
    assert jit.memory_bytes > 4 * 128 * 128 * 4
    assert jit.peak is None
    assert plan.budget_seconds == 10.0
    assert not plan.grouped


@pytest.mark.parametrize(("op", "dtype"), REFUSED)
def test_every_dtype_that_an_op_lacks_is_refused(op: str, dtype: str) -> None:
    error, hint = problem(case(op=op, dtype=dtype))
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
    op: str, dtype: str, name: str, where: str, mode: str
) -> None:
    there = supply(tpu_0=tpu(16 * GB))
    one = case(op=op, dtype=dtype, device=name, mode=mode)
    error, hint = problem(one, there)
    assert error == f"{op} does not run in {dtype} on {where}: XLA refuses it there."
    assert "float32" in hint
    assert dtype not in re.findall(r"\w+", hint)
    other = case(op=op, dtype="float32", device=name, mode=mode)
    assert planning.plan_case(other, there).problem is None
    on_host = planning.plan_case(numpy_case(op=op, dtype=dtype), there)
    assert on_host.problem is None


def test_scores_of_attention_are_part_of_its_memory() -> None:
    one = case(op="attention", size=16384, device="tpu:0")
    there = supply(host=100 * GB, tpu_0=tpu(16 * GB))
    error, _ = problem(one, there)
    assert re.search(r"needs 1\d\.\d GiB on tpu:0; 14\.9 GiB are free", error)


@pytest.mark.parametrize(
    ("one", "error", "hint"),
    [
        (case(op="matmull"), "did you mean matmul?", "jaxtui ops"),
        (case(dtype="float8"), "matmul does not run in float8", "bfloat16"),
        (case(size=0), "no size 0; the smallest is 1", "n of n×n"),
        (case(size=-4), "no size -4", ""),
        (case(op="gather", size=2**31), "its indices are int32", "2147483647"),
        (
            case(op="add", precision="high"),
            "takes no precision",
            "conv2d and attention",
        ),
        (case(precision="low"), "no precision 'low'", "default, high, highest"),
        (case(device="cpu:9"), "no device 'cpu:9'; try cpu:", "jaxtui devices"),
        (case(device="tpu:0"), "no device 'tpu:0'", ""),
        (case(device="host"), "runs on a JAX device", "NumPy"),
        (case(mode="pallas"), "matmul has no mode pallas", "numpy, eager, jit, tens"),
        (case(op="gram", mode="tensorflow"), "gram has no mode tensorflow", "jit."),
        (case(mode="torch"), "no mode 'torch'", "numpy, eager, jit, pallas"),
        (case(inputs="disk"), "no inputs 'disk'", "device, host"),
        (numpy_case(device="cpu:0"), "NumPy does not run on cpu:0", "host"),
        (numpy_case(inputs="device"), "no inputs on a device", "host"),
        (numpy_case(precision="high"), "NumPy takes no precision", "default"),
        (case(mode="tensorflow"), "TensorFlow does not run on cpu:0", "host"),
        (case(op="selu", mode="pallas", device="host"), "on a JAX device", "host"),
    ],
)
def test_problems_are_sentences(one: Case, error: str, hint: str) -> None:
    said, advice = problem(one)
    assert error in said
    assert said[0].isupper() or said.startswith(one.op)
    assert hint in advice


def test_memory_of_the_host() -> None:
    error, _ = problem(case(size=1_000_000), supply(host=21_300_000_000))
    assert error == (
        "matmul 1000000 float32 needs 25.5 TiB on cpu:0; 19.8 GiB are free."
    )
    error, _ = problem(numpy_case(size=1_000_000), supply(host=GB))
    assert "on host; 954 MiB are free" in error


def test_memory_of_an_accelerator_and_of_its_host() -> None:
    one = case(device="tpu:0", size=16384)
    there = supply(host=100 * GB, tpu_0=tpu(16 * GB))
    fine = planning.plan_case(one, there)
    assert fine.problem is None
    assert fine.peak is not None
    assert fine.peak.flops_per_second == 197e12
    error, _ = problem(one, supply(host=100 * GB, tpu_0=tpu(3 * GB)))
    assert error == "matmul 16384 float32 needs 4.02 GiB on tpu:0; 2.79 GiB are free."
    error, _ = problem(one, supply(host=GB, tpu_0=tpu(16 * GB)))
    assert "of host memory" in error
    assert "954 MiB are free" in error


def test_nothing_is_refused_where_nobody_says_what_is_free() -> None:
    huge = case(size=1_000_000)
    assert planning.plan_case(huge, supply(host=None)).problem is None


def test_devices_of_other_processes_are_refused() -> None:
    there = supply(tpu_0=tpu(GB, addressable=False))
    error, _ = problem(case(device="tpu:0"), there)
    assert error == "tpu:0 belongs to process 3, not to this."


def test_elementwise_peak_is_a_bandwidth() -> None:
    there = supply(tpu_0=tpu(16 * GB))
    planned = planning.plan_case(case(op="add", device="tpu:0"), there)
    assert planned.peak is not None
    assert planned.peak.flops_per_second is None
    assert planned.peak.bytes_per_second == 819e9


@pytest.mark.parametrize(("free", "grouped"), [(3 * GB, True), (50 * GB, False)])
def test_short_memory_makes_sizes_take_turns(free: int, grouped: bool) -> None:
    # 134 MB of inputs each.
    sizes = [case(op="add", size=2**24 + extra) for extra in range(8)]
    assert planning._is_crowded(sizes, supply(host=free)) is grouped
    assert not planning._is_crowded([sizes[0]] * 50, supply(host=3 * GB))


@given(
    name=st.sampled_from(list(ops.OPS)),
    size=st.integers(1, 10**12),
    data=st.data(),
    mode=st.sampled_from(["jit", "eager", "numpy"]),
)
@settings(max_examples=100)
def test_any_size_is_planned_without_allocating(
    name: str, size: int, data: st.DataObject, mode: str
) -> None:
    dtype = data.draw(st.sampled_from(ops.get(name).dtypes))
    place = {"numpy": "host"}.get(mode, "cpu:0")
    one = case(op=name, size=size, dtype=dtype, mode=mode, device=place)
    if mode == "numpy":
        one = numpy_case(op=name, size=size, dtype=dtype)
    planned = planning.plan_case(one, supply(host=GB))
    too_large = planned.memory_bytes + planned.host_memory_bytes > GB
    if planned.problem is None:
        assert not too_large
    else:
        said = planned.problem.error
        assert any(each in said for each in ("are free", "int32", "XLA refuses it"))


def test_planned_memory_covers_what_is_really_held() -> None:
    op = ops.get("at_set")
    planned = planning.plan_case(case(op="at_set", size=10_000), supply())
    args = jax.device_put(inputs.host_inputs(op, 10_000, "float32", seed=0))
    held = sum(array.nbytes for array in args) + op.bind()(*args).nbytes
    assert planned.memory_bytes >= held
