"""What a plan says of cases: what is wrong, what they need, and how long they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.core.model import DTYPES, Case, Device
from jaxtui.features.bench.measure import estimate, planning
from jaxtui.tasks import inputs, ops
from jaxtui.ui import words
from tests.golden.test_documents import DOCUMENTS, check_frozen
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


ON_TPU: dict[str, Any] = {"size": 16384, "device": "tpu:0"}
HERE, TPU, ROOMY = supply(), supply(tpu=tpu(16 * GB)), supply(100 * GB, tpu(16 * GB))
PLANS: list[tuple[Case, planning.Supply]] = [
    (product(), HERE),
    (product(mode="numpy"), HERE),
    # What is wrong with a case.
    (case("matmull", 8), HERE),
    (product(dtype="float8"), HERE),
    (product(0), HERE),
    (product(-4), HERE),
    (case("gather", 2**31), HERE),
    (product(device="cpu:9"), HERE),
    (product(device="tpu:0"), HERE),
    (product(device="tpu:0"), supply(tpu=tpu(GB, addressable=False))),
    (product(mode="pallas"), HERE),
    (case("gram", 8, "tensorflow"), HERE),
    # XLA refuses some; NumPy does not.
    *(
        (case(op, 128, mode, dtype, device=device), TPU)
        for op, dtype, device in (
            ("attention", "float16", "cpu:0"),
            ("attention", "float16", "tpu:0"),
            ("attention", "float32", "tpu:0"),
            ("fft", "float64", "tpu:0"),
        )
        for mode in ("jit", "eager")
    ),
    (case("attention", 128, "numpy", "float16"), TPU),
    (case("fft", 128, "numpy", "float64"), TPU),
    # What it needs; the host has inputs, attention has scores.
    (product(10**6), supply(int(21.3 * GB))),
    (product(10**6), supply(host=None)),
    (product(10**6, "numpy"), supply(GB)),
    (product(**ON_TPU), supply(100 * GB, tpu(3 * GB))),
    (product(**ON_TPU), supply(GB, tpu(16 * GB))),
    (case("attention", **ON_TPU), ROOMY),
    # The peak of what is no product is a bandwidth.
    (product(**ON_TPU), ROOMY),
    (case("add", **ON_TPU), ROOMY),
]


def test_plans() -> None:
    lines = []
    for one, there in PLANS:
        planned = planning.plan_case(one, there)
        needs = planned.memory_bytes, planned.host_memory_bytes
        told = " and ".join(f"{x / 1e9:.3g} GB" for x in needs)
        if planned.problem is not None:
            assert planned.problem.case == one
            remark = planned.problem.remark
            facts = {
                name: f"{fact:.2g}" if name == "needed" else fact
                for name, fact in remark.facts.items()
            }
            assert words.sentence(remark)
            lines.append(f"{one.label}: {remark.code} {facts}"[:200])
            continue
        peak = planned.peak
        rates = peak and (peak.flops_per_second, peak.bytes_per_second)
        work = planned.flops, planned.bytes
        lines.append(f"{one.label}: {told}, flops and bytes {work}, peaks {rates}")
    check_frozen(DOCUMENTS / "plans.txt", "\n".join(lines) + "\n")


def test_every_dtype_that_an_op_lacks_is_refused() -> None:
    for name, op in ops.OPS.items():
        for dtype in {*DTYPES} - {*op.dtypes}:
            failure = planning.plan_case(case(name, 128, dtype=dtype), HERE).problem
            assert failure is not None
            assert failure.remark.code == "dtype-missing", (name, dtype)
            assert "float32" in str(failure.remark.facts["dtypes"])


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
