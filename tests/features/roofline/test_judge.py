"""Where measurements stand under roofs, and what is said where they have no place."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.model import ITEMSIZE, CollectiveRates, Remark
from jaxtui.core.model.roofs import MissingRoof, RoofDtype
from jaxtui.features.roofline.judge import larger, needed, place, ridge
from tests import records
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

CPU, CACHE = roofs(), roofs(cache=2**25)
HIGHEST = RoofDtype(dtype="float32", precision="highest")
TPU = roofs(bandwidth(), compute(), compute(50e9, of=HIGHEST), device="tpu:0")
NO_BFLOAT16 = MissingRoof(of=BFLOAT16, remark=NO_PRODUCT)
WITHOUT_BFLOAT16 = roofs(bandwidth(), compute(), missing=(NO_BFLOAT16,))
ONLY_COMPUTE = roofs(compute(), missing=(MissingRoof(of=None, remark=NO_PRODUCT),))
BUSY = roofs(bandwidth(), compute(remarks=(crowded(),)))
PUBLISHED = roofs(
    bandwidth(published=expected(14e9)), compute(published=expected(200e9))
)
WIDE = roofs(bandwidth(20e9, ci_low=9e9, ci_high=38e9))
BOTH = roofs(bandwidth(), compute(), compute(400e9, of=BFLOAT16))
FLOPS, PRECISE = {"flops": 1e9}, {"flops": 1e9, "precision": "highest"}
MOVES, NOTHING = {"flops": None}, {"flops": None, "bytes": None}
RATES = CollectiveRates(
    participants=4,
    algorithm_bytes_per_second=1e9,
    bus_bytes_per_second=1.5e9,
    wrong=0,
)
LINK = records.measurement(records.case(), collective=RATES)


def noted(*flags: str) -> dict[str, Any]:
    return {"notes": tuple(Remark(flag, text=f"A {flag} note.") for flag in flags)}


PLACES: dict[str, tuple[dict[str, Any], Any]] = {
    "below the ridge": ({"seconds": 1.2e-4}, CPU),
    "above the ridge": (FLOPS | {"seconds": 0.01}, CPU),
    "moves data": (MOVES | {"bytes": 9e6}, CPU),
    "in the cache, faster than memory": ({"bytes": 2**20, "seconds": 5e-5}, CACHE),
    "in the cache, slower": ({"bytes": 2**20, "seconds": 1.4e-4}, CACHE),
    "not in the cache": ({"bytes": 1e8, "seconds": 0.01}, CACHE),
    "partly in the cache": ({"bytes": 1e8, "seconds": 0.006}, CACHE),
    "over the roof": (FLOPS | {"seconds": 0.005}, CPU),
    "over a roof of a busy machine": (FLOPS | {"seconds": 0.005}, BUSY),
    "over the roof by a hair": (FLOPS | {"seconds": 0.0065}, CPU),
    "low": ({"seconds": 2.7e-4}, CPU),
    "far below": ({"seconds": 2.9e-4}, CPU),
    "far below, op by op": ({"mode": "eager"}, CPU),
    "far below, busy": (noted("contended"), CPU),
    "far below, page faults": (noted("page-faults"), CPU),
    "NumPy under the roofs of a CPU": ({"mode": "numpy"}, CPU),
    "another CPU, which shares them": ({"device": "cpu:3"}, CPU),
    "precision on a TPU": (PRECISE | {"device": "tpu:0"}, TPU),
    "precision on a CPU": (PRECISE, CPU),
    "bandwidth limits, no compute roof": ({"dtype": "bfloat16"}, WITHOUT_BFLOAT16),
    "beyond the published bandwidth": ({"seconds": 6e-5}, PUBLISHED),
    "over the roof, below the published": ({"seconds": 7.5e-5}, PUBLISHED),
    "beyond the published peak": (FLOPS | {"seconds": 0.004}, PUBLISHED),
    "over the roof, below the peak": (FLOPS | {"seconds": 0.0055}, PUBLISHED),
    "below all": (FLOPS | {"seconds": 0.0065}, PUBLISHED),
    "NumPy beside a TPU": ({"mode": "numpy"}, TPU),
    "another TPU": ({"device": "tpu:1"}, TPU),
    "host inputs": ({"inputs": "host"}, CPU),
    "too few calls": ({"rated": False}, CPU),
    "host-bound": ({"rated": False} | noted("drift", "host-bound"), CPU),
    "no byte count": ({"bytes": None}, CPU),
    "nothing counted": (NOTHING, CPU),
    "no roof of its dtype": (FLOPS | {"dtype": "bfloat16"}, WITHOUT_BFLOAT16),
    "no roof yet": ({"flops": 1.0}, roofs(bandwidth())),
    "no bandwidth": ({}, ONLY_COMPUTE),
    "moves data without bandwidth": (MOVES, ONLY_COMPUTE),
    "under a wide interval": (MOVES, WIDE),
    "multiplies in another dtype": (FLOPS | {"seconds": 0.01, "dtype": ""}, BOTH),
}


def test_the_ridge_is_where_both_allow_the_same() -> None:
    assert ridge(compute(), bandwidth()) == 12.5


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
    found = place(
        measured(flops, moved, seconds, mode=mode, dtype=dtype, **where), under
    )
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


def op(flops: str, maximum: int = 2**30, arithmetic: str = "flops", name: str = "selu"):
    facts = {"flops": flops, "arithmetic": arithmetic, "maximum": maximum}
    return records.op(name, "float32", bytes="8 n", **facts)


def test_only_what_cases_stand_under_is_asked_for() -> None:
    ops = [op("6 n"), op("none", arithmetic="moves", name="copy")]
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
    assert needed([measured(op="a.py:f", dtype="").case], "cpu:0") == (FLOAT32,)


@pytest.mark.parametrize(
    ("size", "flops", "moved", "op", "cache", "expected"),
    [
        (1000, 6e6, 8e6, op("6 n"), 2**25, 2000),  # far inside the cache
        (1000, 3e7, 4e7, op("6 n"), 2**25, 1064),  # not yet past it
        (1000, 6e8, 8e7, op("6 n"), 2**25, 1000),  # beyond it
        (1000, 2e9, 1e7, op("2 n³"), 2**25, 1000),  # limited by arithmetic
        (1000, 2e6, 1e5, op("2 n³"), 2**25, 2000),  # too short for any clock
        # Nobody knows how long.
        (1000, 2e6, 1e5, op("?", arithmetic="uncounted"), 2**25, 1000),
        (1000, None, 1e6, op("none"), None, 2000),
        (1000, None, 1e8, op("none"), None, 1000),
        (1000, None, 3e8, op("none"), 2**30, 1000),  # long enough anyhow
        # Never beyond what is sensible, and never below what was asked for.
        (1000, 1.0, 1.0, op("n", 1500), None, 1500),
        (1500, 1.0, 1.0, op("n", 1500), None, 1500),
        (4000, 1.0, 1.0, op("n", 1500), None, 4000),
    ],
)
def test_sizes_grow_until_they_say_something(
    size, flops, moved, op, cache, expected
) -> None:
    planned = records.planned(records.case(size=size), flops=flops, bytes=moved)
    assert larger(planned, op, roofs(cache=cache)) == expected
