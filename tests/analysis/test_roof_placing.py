"""Where measurements stand under roofs, and what is said where they have no place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.analysis.roofline import larger, needed, place, ridge
from jaxtui.model import ITEMSIZE, Case, Expected, Note, OpInfo, PlannedCase
from jaxtui.model.roofs import MissingRoof, RoofDtype
from jaxtui.view import roofline as words
from jaxtui.view.roofline import ridges_text, verdict
from tests.analysis.under import bandwidth, compute, measured, roofs

BFLOAT16 = RoofDtype(dtype="bfloat16")


def test_below_the_ridge_the_memory_limits() -> None:
    found = place(measured(flops=1e6, bytes=1e6, seconds=1e-3), roofs())
    assert found.intensity == 1.0
    assert (found.bound, found.limit, found.rate) == ("memory", 12e9, 1e9)
    assert found.share == pytest.approx(1 / 12)
    assert found.roof == bandwidth()
    assert not found.why_not


def test_above_the_ridge_arithmetic_does() -> None:
    found = place(measured(flops=1e9, bytes=1e6, seconds=0.01), roofs())
    assert (found.bound, found.limit) == ("compute", 150e9)
    assert found.share == pytest.approx(100 / 150)
    assert verdict(found) == "compute bound at 67 % of the roof"


def test_the_ridge_is_where_both_allow_the_same() -> None:
    at = ridge(compute(), bandwidth())
    assert at == 12.5
    found = place(measured(flops=at * 1e6, bytes=1e6), roofs())
    assert found.limit == pytest.approx(150e9)
    assert ridges_text(roofs()) == (
        "The memory limits up to 12 flops per byte in float32; above that, arithmetic "
        "does."
    )


def test_what_only_moves_data_is_under_the_bandwidth_alone() -> None:
    found = place(measured(flops=None, bytes=9e6, seconds=1e-3), roofs())
    assert (found.intensity, found.bound, found.limit) == (None, "memory", 12e9)
    assert verdict(found) == "moves data at 75 % of the bandwidth roof"


def test_arrays_in_the_cache_may_be_faster_than_the_memory() -> None:
    under = roofs(cache=2**25)
    fast = place(measured(flops=1e6, bytes=2**20, seconds=5e-5), under)
    assert fast.cached
    assert fast.share is not None
    assert fast.share > 1
    assert verdict(fast) == (
        "faster than the memory roof (175 %): its arrays (1.00 MiB) fit into the last "
        "cache (32.0 MiB)"
    )
    slow = place(measured(flops=1e6, bytes=2**20, seconds=1.4e-4), under)
    assert verdict(slow).startswith("62 % of the memory roof, though its arrays")
    large = place(measured(flops=1e8, bytes=1e8, seconds=0.01), under)
    assert not large.cached
    partly = place(measured(flops=1e8, bytes=1e8, seconds=0.006), under)
    assert verdict(partly) == (
        "over the memory roof (139 %): part of its arrays (95.4 MiB) may stay in the "
        "last cache (32.0 MiB), and reading alone is faster than copying"
    )
    assert verdict(large) == "memory bound at 83 % of the roof"


def test_over_a_roof_the_possible_cause_is_said() -> None:
    found = place(measured(flops=1e9, bytes=1e6, seconds=0.005), roofs())
    assert verdict(found).startswith("over the compute roof (133 %): the machine was")
    disturbed = roofs(bandwidth(), compute(disturbed="Others were at work."))
    again = place(measured(flops=1e9, bytes=1e6, seconds=0.005), disturbed)
    assert verdict(again).endswith(
        "other programs used the cores while the roof was measured"
    )
    near = place(measured(flops=1e9, bytes=1e6, seconds=0.0065), roofs())
    assert verdict(near) == "compute bound at 103 % of the roof"


def test_far_below_its_roof_something_else_limits() -> None:
    jit = place(measured(flops=1e6, bytes=1e6, seconds=1e-3), roofs())
    assert verdict(jit) == (
        "8.3 % of the memory roof: something other than the memory limits it"
    )
    eager = place(measured(flops=1e6, bytes=1e6, mode="eager"), roofs())
    assert "mode eager writes every intermediate result" in verdict(eager)
    for flag, said in (("contended", "other programs"), ("page-faults", "mapped anew")):
        noted = measured(notes=(Note(flag=flag, text="A note."),))
        assert said in verdict(place(noted, roofs()))


def test_numpy_is_under_the_roofs_of_a_cpu_only() -> None:
    hosted = measured(mode="numpy")
    assert place(hosted, roofs()).bound == "memory"
    found = place(hosted, roofs(device="tpu:0"))
    assert verdict(found) == "It ran on the host; these roofs are those of tpu:0."


def test_devices_of_one_cpu_share_its_roofs_and_other_devices_do_not() -> None:
    assert place(measured(device="cpu:3"), roofs()).share is not None
    other = place(measured(device="tpu:1"), roofs(device="tpu:0"))
    assert other.why_not == "It ran on tpu:1; these roofs are those of tpu:0."
    assert "sent from the host" in place(measured(inputs="host"), roofs()).why_not


def test_without_a_rate_the_note_says_why() -> None:
    bound = Note(flag="host-bound", text="Host-bound: no rate is shown.")
    drift = Note(flag="drift", text="It drifts.")
    found = place(measured(rated=False, notes=(drift, bound)), roofs())
    assert found.why_not == "It has no rate. Host-bound: no rate is shown."
    assert (found.rate, found.share, found.roof) == (None, None, None)
    assert "too few calls" in place(measured(rated=False), roofs()).why_not
    assert "How many bytes" in place(measured(bytes=None), roofs()).why_not
    neither = place(measured(flops=None, bytes=None), roofs())
    assert neither.why_not == "Neither its flops nor its bytes are known."


def test_a_missing_compute_roof_matters_only_where_arithmetic_may_limit() -> None:
    why = MissingRoof(of=BFLOAT16, why="XLA refuses it.")
    under = roofs(bandwidth(), compute(), missing=(why,))
    light = place(measured(flops=1e6, bytes=1e6, dtype="bfloat16"), under)
    assert (light.bound, light.limit) == ("memory", 12e9)
    heavy = place(measured(flops=1e9, bytes=1e6, dtype="bfloat16"), under)
    assert heavy.why_not == "There is no compute roof for bfloat16: XLA refuses it."
    alone = place(measured(flops=1.0, bytes=1e6), roofs(bandwidth()))
    assert alone.why_not == "There is no compute roof for float32: it was not measured."


def test_without_the_memory_roof_nothing_has_a_place() -> None:
    why = MissingRoof(of=None, why="There is no room.")
    under = roofs(compute(), missing=(why,))
    for one in (measured(), measured(flops=None)):
        assert place(one, under).why_not == (
            "There is no memory roof: There is no room."
        )


def test_precision_chooses_the_roof_but_not_on_a_cpu() -> None:
    highest = RoofDtype(dtype="float32", precision="highest")
    under = roofs(bandwidth(), compute(), compute(50e9, of=highest), device="tpu:0")
    facts = {"flops": 1e9, "bytes": 1e6, "precision": "highest"}
    assert place(measured(**facts, device="tpu:0"), under).limit == 50e9
    assert place(measured(**facts), roofs()).limit == 150e9


def test_roofs_in_words() -> None:
    said = Expected(value=200e9, kind="peak", source="a data sheet")
    highest = RoofDtype(dtype="float32", precision="highest")
    assert words.roof_name(bandwidth()) == "bandwidth"
    assert words.roof_name(compute(of=highest)) == "compute float32 highest"
    assert words.rate_text(compute()) == "150 GFLOP/s"
    assert words.published_text(bandwidth()) == "nobody publishes one"
    assert words.published_text(compute(published=said)) == (
        "75 % of 200 GFLOP/s (a data sheet)"
    )
    lacking = MissingRoof(of=BFLOAT16, why="XLA refuses it.")
    assert words.missing_text(lacking) == (
        "no compute roof for bfloat16: XLA refuses it."
    )
    assert words.missing_text(MissingRoof(of=None, why="No room.")) == (
        "no bandwidth roof: No room."
    )
    assert "32.0 MiB" in words.cache_text(roofs(cache=2**25))
    assert words.cache_text(roofs()) == words.ridges_text(roofs(compute())) == ""


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
    assert bool(found.why_not) == (found.roof is None)
    assert verdict(found)
    if found.why_not:
        assert (found.share, found.limit, found.bound) == (None, None, None)
        return
    assert found.rate is not None
    assert found.limit is not None
    assert found.share is not None
    assert 0 < found.limit < math.inf
    assert found.share == pytest.approx(found.rate / found.limit)
    assert found.roof in under.roofs
    if found.intensity is not None:
        assert found.limit <= found.intensity * memory * (1 + 1e-9)
        assert found.bound == ("memory" if found.roof.of is None else "compute")


def test_only_what_cases_stand_under_is_asked_for() -> None:
    ops = [op("selu", "6 n"), op("copy", "none, data are only moved")]
    cases = [
        measured(dtype="bfloat16").case,
        measured().case,
        measured(mode="numpy").case,
        measured(op="copy", dtype="int8").case,
        measured(device="tpu:0", dtype="float16").case,
    ]
    assert needed(cases, "cpu:0", ops) == (BFLOAT16, RoofDtype(dtype="float32"))
    assert needed(cases, "tpu:0", ops) == (RoofDtype(dtype="float16"),)
    # Of a function of the user's own the dtype is known when it has run.
    own = measured(op="step.py:step", dtype="").case
    assert needed([own], "cpu:0") == (RoofDtype(dtype="float32"),)


def op(name: str, flops: str, maximum: int = 2**30) -> OpInfo:
    return OpInfo(
        name=name,
        summary="",
        size_means="n",
        dtypes=("float32",),
        flops=flops,
        bytes="8 n",
        minimum=1,
        default=1000,
        maximum=maximum,
    )


def planned(size: int, flops: float | None, bytes: float) -> PlannedCase:  # noqa: A002
    case = Case(op="selu", size=size, dtype="float32", device="cpu:0", mode="jit")
    return PlannedCase(
        case=case, memory_bytes=0, host_memory_bytes=0, flops=flops, bytes=bytes
    )


@pytest.mark.parametrize(
    ("flops", "moved", "formula", "cache", "size"),
    [
        (6e6, 8e6, "6 n", 2**25, 2000),  # far inside the cache
        (3e7, 4e7, "6 n", 2**25, 1064),  # not yet past it
        (6e8, 8e7, "6 n", 2**25, 1000),  # beyond it
        (2e9, 1e7, "2 n³", 2**25, 1000),  # limited by arithmetic
        (2e6, 1e5, "2 n³", 2**25, 2000),  # too short for any clock
        (2e6, 1e5, "not counted", 2**25, 1000),  # nobody knows how long
        (None, 1e6, "none", None, 2000),
        (None, 1e8, "none", None, 1000),
        (None, 3e8, "none", 2**30, 1000),  # long enough, whatever the cache is
    ],
)
def test_sizes_grow_until_they_say_something(
    flops, moved, formula, cache, size
) -> None:
    under = roofs(cache=cache)
    found = larger(planned(1000, flops, moved), op("selu", formula), under)
    assert found == size


def test_sizes_stay_within_what_is_sensible() -> None:
    found = larger(planned(1000, 1.0, 1.0), op("selu", "n", maximum=1500), roofs())
    assert found == 1500
    again = larger(planned(1500, 1.0, 1.0), op("selu", "n", maximum=1500), roofs())
    assert again == 1500
    asked = larger(planned(4000, 1.0, 1.0), op("selu", "n", maximum=1500), roofs())
    assert asked == 4000
