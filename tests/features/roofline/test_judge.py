"""Where measurements stand under roofs, and what is said where they have no place."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core.model import (
    ITEMSIZE,
    Arithmetic,
    Case,
    CollectiveRates,
    OpInfo,
    PlannedCase,
    Remark,
)
from jaxtui.core.model.roofs import MissingRoof, RoofDtype
from jaxtui.features.roofline.judge import larger, needed, place, ridge
from tests.core.figures import (
    BFLOAT16,
    FLOAT32,
    NO_PRODUCT,
    bandwidth,
    compute,
    crowded,
    expected,
    measured,
    roofs,
)
from tests.records import case, measurement

HIGHEST = RoofDtype(dtype="float32", precision="highest")
PRECISE = {"precision": "highest"}
CACHE = roofs(cache=2**25)
TPU = roofs(bandwidth(), compute(), compute(50e9, of=HIGHEST), device="tpu:0")
WITHOUT_BFLOAT16 = roofs(
    bandwidth(), compute(), missing=(MissingRoof(of=BFLOAT16, remark=NO_PRODUCT),)
)
ONLY_COMPUTE = roofs(compute(), missing=(MissingRoof(of=None, remark=NO_PRODUCT),))
BUSY = roofs(bandwidth(), compute(remarks=(crowded(),)))


CPU = roofs()
FLOPS = {"flops": 1e9}
OVER, BELOW = "over-the-roof", "below-the-roof"


def noted(*flags: Any) -> dict[str, Any]:
    return {"notes": tuple(Remark(flag, text=f"A {flag} note.") for flag in flags)}


@pytest.mark.parametrize(
    ("facts", "under", "bound", "share", "code", "words"),
    [
        # Below the ridge the memory limits, above it arithmetic.
        ({"seconds": 1.2e-4}, CPU, "memory", 0.694, "memory-bound", ""),
        ({**FLOPS, "seconds": 0.01}, CPU, "compute", 2 / 3, "compute-bound", ""),
        ({"flops": None, "bytes": 9e6}, CPU, "memory", 0.75, "moves-data", ""),
        # Arrays in the cache may be faster than the memory.
        ({"bytes": 2**20, "seconds": 5e-5}, CACHE, "memory", 1.748, "in-cache", ""),
        ({"bytes": 2**20, "seconds": 1.4e-4}, CACHE, "memory", 0.624, "in-cache", ""),
        ({"bytes": 1e8, "seconds": 0.01}, CACHE, "memory", 0.833, "memory-bound", ""),
        (
            {"bytes": 1e8, "seconds": 0.006},
            CACHE,
            "memory",
            1.389,
            OVER,
            "stays in the last-level cache",
        ),
        # Over a roof the possible cause is said.
        ({**FLOPS, "seconds": 0.005}, CPU, "compute", 4 / 3, OVER, "fewer op"),
        ({**FLOPS, "seconds": 0.005}, BUSY, "compute", 4 / 3, OVER, "other programs"),
        ({**FLOPS, "seconds": 0.0065}, CPU, "compute", 1.026, "compute-bound", ""),
        # Far below its roof something else limits.
        ({"seconds": 2.7e-4}, CPU, "memory", 0.309, "memory-bound", ""),
        ({"seconds": 2.9e-4}, CPU, "memory", 0.287, BELOW, "something"),
        ({}, CPU, "memory", 1 / 12, BELOW, "something"),
        ({"mode": "eager"}, CPU, "memory", 1 / 12, BELOW, "without jit"),
        (noted("contended"), CPU, "memory", 1 / 12, BELOW, "other programs"),
        (noted("page-faults"), CPU, "memory", 1 / 12, BELOW, "maps new memory"),
        # NumPy is under the roofs of a CPU, whose devices share them.
        ({"mode": "numpy"}, CPU, "memory", 1 / 12, BELOW, "without jit"),
        ({"device": "cpu:3"}, CPU, "memory", 1 / 12, BELOW, "something"),
        # Precision chooses the roof, but not on a CPU.
        (
            {**FLOPS, **PRECISE, "device": "tpu:0"},
            TPU,
            "compute",
            20,
            OVER,
            "fewer operations",
        ),
        ({**FLOPS, **PRECISE}, CPU, "compute", 1e3 / 150, OVER, "fewer op"),
        # A missing compute roof matters only where arithmetic may limit.
        (
            {"dtype": "bfloat16"},
            WITHOUT_BFLOAT16,
            "memory",
            1 / 12,
            BELOW,
            "something other",
        ),
    ],
)
def test_under_a_roof(
    facts: dict[str, Any],
    under: Any,
    bound: str,
    share: float,
    code: str,
    words: str,
) -> None:
    found = place(measured(**facts), under)
    assert (found.bound, found.code) == (bound, code)
    assert found.rate is not None
    assert found.limit is not None
    assert found.rate / found.limit == pytest.approx(share, abs=6e-4)
    beyond = share > 1.05 or code == "in-cache"
    assert found.share == (None if beyond else found.rate / found.limit)
    assert words in found.verdict


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"seconds": 6e-5}, "from-cache"),
        ({"seconds": 7.5e-5}, "over-the-roof"),
        ({**FLOPS, "seconds": 0.004}, "beyond-peak"),
        ({**FLOPS, "seconds": 0.0055}, "over-the-roof"),
        ({**FLOPS, "seconds": 0.0065}, "compute-bound"),
    ],
)
def test_nothing_is_far_beyond_what_is_published(
    facts: dict[str, Any], code: str
) -> None:
    under = roofs(
        bandwidth(published=expected(14e9)), compute(published=expected(200e9))
    )
    found = place(measured(**facts), under)
    assert found.code == code
    assert (found.share is None) == (code != "compute-bound")


@pytest.mark.parametrize(
    ("facts", "under", "code", "told"),
    [
        ({"mode": "numpy"}, TPU, "other-silicon", "host"),
        ({"device": "tpu:1"}, TPU, "other-silicon", "tpu:1"),
        ({"inputs": "host"}, CPU, "sent-each-call", ""),
        ({"rated": False}, CPU, "too-few-calls", ""),
        (
            {"rated": False, **noted("drift", "host-bound")},
            CPU,
            "no-rate",
            "dispatch takes longer",
        ),
        ({"bytes": None}, CPU, "no-byte-count", ""),
        ({"flops": None, "bytes": None}, CPU, "nothing-counted", ""),
        (
            {**FLOPS, "dtype": "bfloat16"},
            WITHOUT_BFLOAT16,
            "no-roof",
            "compute bfloat16",
        ),
        (
            {"flops": 1.0},
            roofs(bandwidth()),
            "roof-not-measured",
            "compute float32",
        ),
        ({}, ONLY_COMPUTE, "no-roof", "bandwidth"),
        ({"flops": None}, ONLY_COMPUTE, "no-roof", "bandwidth"),
    ],
)
def test_without_a_place_there_is_a_reason(
    facts: dict[str, Any], under: Any, code: str, told: str
) -> None:
    found = place(measured(**facts), under)
    assert found.code == code
    assert told in found.verdict
    assert (found.share, found.bound) == (None, None)


def test_a_function_stands_under_the_roof_of_what_it_multiplies() -> None:
    one = replace(measured(1e9, seconds=0.01), multiplies="bfloat16")
    both = roofs(bandwidth(), compute(), compute(400e9, of=BFLOAT16))
    assert place(one, both).share == pytest.approx(100 / 400)
    assert "compute bfloat16" in place(one, CPU).verdict


def test_what_rests_on_a_wide_interval_is_uncertain() -> None:
    wide = roofs(bandwidth(20e9, ci_low=9e9, ci_high=38e9))
    assert place(measured(flops=None), wide).uncertain
    assert not place(measured(flops=None), CPU).uncertain


def test_the_ridge_is_where_both_allow_the_same() -> None:
    at = ridge(compute(), bandwidth())
    assert at == 12.5
    found = place(measured(flops=at * 1e6, bytes=1e6), roofs())
    assert found.limit == pytest.approx(150e9)


anything = st.floats(allow_nan=True, allow_infinity=True)
counts = st.none() | st.floats(min_value=0, allow_infinity=True)


@given(
    flops=counts,
    moved=counts,
    seconds=st.floats(min_value=1e-12, max_value=1e6),
    memory=anything,
    arithmetic=anything,
    dtype=st.sampled_from([*ITEMSIZE, ""]),
    mode=st.sampled_from(["jit", "eager", "numpy"]),
    device=st.sampled_from(["cpu:0", "cpu:1", "tpu:0"]),
    cache=st.none() | st.integers(0, 2**40),
)
def test_a_case_has_a_place_or_a_reason(
    flops, moved, seconds, memory, arithmetic, dtype, mode, device, cache
) -> None:
    under = roofs(bandwidth(memory), compute(arithmetic), cache=cache)
    where = {} if mode == "numpy" else {"device": device}
    one = measured(flops, moved, seconds, mode=mode, dtype=dtype, **where)
    found = place(one, under)
    assert found.code
    assert found.verdict
    assert found.limited_by
    if found.bound is None:
        assert (found.share, found.limit) == (None, None)
        return
    assert found.rate is not None
    assert found.limit is not None
    assert 0 < found.limit < math.inf
    assert found.share is None or found.share <= 1.05
    if found.intensity is not None:
        assert found.limit <= found.intensity * memory * (1 + 1e-9)


def op(
    name: str, flops: str, maximum: int = 2**30, *, arithmetic: Arithmetic = "flops"
) -> OpInfo:
    return OpInfo(
        name=name,
        summary="",
        size_means="n",
        dtypes=("float32",),
        flops=flops,
        arithmetic=arithmetic,
        bytes="8 n",
        minimum=1,
        default=1000,
        maximum=maximum,
    )


def test_only_what_cases_stand_under_is_asked_for() -> None:
    ops = [op("selu", "6 n"), op("copy", "none", arithmetic="moves")]
    cases = [
        measured(dtype="bfloat16").case,
        measured().case,
        measured(mode="numpy").case,
        measured(op="copy", dtype="int8").case,
        measured(device="tpu:0", dtype="float16").case,
    ]
    assert needed(cases, "cpu:0", ops) == (BFLOAT16, FLOAT32)
    assert needed(cases, "tpu:0", ops) == (RoofDtype(dtype="float16"),)
    # Of a function of a file the dtype is known when it has run.
    own = measured(op="step.py:step", dtype="").case
    assert needed([own], "cpu:0") == (FLOAT32,)


@pytest.mark.parametrize(
    ("size", "flops", "moved", "op", "cache", "expected"),
    [
        (1000, 6e6, 8e6, op("selu", "6 n"), 2**25, 2000),  # far inside the cache
        (1000, 3e7, 4e7, op("selu", "6 n"), 2**25, 1064),  # not yet past it
        (1000, 6e8, 8e7, op("selu", "6 n"), 2**25, 1000),  # beyond it
        (1000, 2e9, 1e7, op("selu", "2 n³"), 2**25, 1000),  # limited by arithmetic
        (1000, 2e6, 1e5, op("selu", "2 n³"), 2**25, 2000),  # too short for any clock
        # Nobody knows how long.
        (1000, 2e6, 1e5, op("selu", "?", arithmetic="uncounted"), 2**25, 1000),
        (1000, None, 1e6, op("selu", "none"), None, 2000),
        (1000, None, 1e8, op("selu", "none"), None, 1000),
        (1000, None, 3e8, op("selu", "none"), 2**30, 1000),  # long enough anyhow
        # Never beyond what is sensible, and never below what was asked for.
        (1000, 1.0, 1.0, op("selu", "n", 1500), None, 1500),
        (1500, 1.0, 1.0, op("selu", "n", 1500), None, 1500),
        (4000, 1.0, 1.0, op("selu", "n", 1500), None, 4000),
    ],
)
def test_sizes_grow_until_they_say_something(
    size: int,
    flops: float | None,
    moved: float,
    op: OpInfo,
    cache: int | None,
    expected: int,
) -> None:
    case = Case(op="selu", size=size, dtype="float32", device="cpu:0", mode="jit")
    planned = PlannedCase(
        case=case, memory_bytes=0, host_memory_bytes=0, flops=flops, bytes=moved
    )
    assert larger(planned, op, roofs(cache=cache)) == expected


def test_no_published_figure_is_that_of_a_link() -> None:
    rates = CollectiveRates(
        participants=4,
        algorithm_bytes_per_second=1e9,
        bus_bytes_per_second=1.5e9,
        wrong=0,
    )
    under = place(measurement(case(), collective=rates), CPU)
    assert (under.code, under.bound) == ("links-unpublished", None)
