"""Where measurements stand under roofs, how these become known, and what is said."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import (
    ITEMSIZE,
    Case,
    CollectiveRates,
    Event,
    Expected,
    Failure,
    MissingRoof,
    Ready,
    Remark,
    RoofDtype,
    Roofs,
    RoofsMeasured,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.core.state import CaseState, Job, State, begin_run, reduce
from jaxtui.features.roofline.judge import (
    device_of,
    larger,
    needed,
    place,
    ridge,
    roofs_of,
    work_for,
)
from jaxtui.features.roofline.picture import picture
from jaxtui.features.roofline.report import report, result
from jaxtui.features.roofline.screen import columns, is_measured, message
from jaxtui.ui.plot import Picture
from jaxtui.ui.report import terminal
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
from tests.fake_engine import HOST, OPS, cpu_devices, tpu_devices
from tests.records import told

CPU, CACHE = roofs(), roofs(cache=2**25)
HIGHEST = RoofDtype(dtype="float32", precision="highest")
TPU = roofs(bandwidth(), compute(), compute(50e9, of=HIGHEST), device="tpu:0")
NO_BFLOAT16 = MissingRoof(of=BFLOAT16, remark=NO_PRODUCT)
WITHOUT_BFLOAT16 = roofs(bandwidth(), compute(), missing=(NO_BFLOAT16,))
ONLY_COMPUTE = roofs(compute(), missing=(MissingRoof(of=None, remark=NO_PRODUCT),))
CROWDED = roofs(bandwidth(), compute(remarks=(crowded(),)))
WITH_PEAKS = roofs(
    bandwidth(published=expected(14e9)), compute(published=expected(200e9))
)
WIDE = roofs(bandwidth(20e9, ci_low=9e9, ci_high=38e9))
BOTH = roofs(bandwidth(), compute(), compute(400e9, of=BFLOAT16))
FLOPS, PRECISE = {"flops": 1e9}, {"flops": 1e9, "precision": "highest"}
MOVES, UNCOUNTED = {"flops": None}, {"flops": None, "bytes": None}
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
    "over a roof of a busy machine": (FLOPS | {"seconds": 0.005}, CROWDED),
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
    "beyond the published bandwidth": ({"seconds": 6e-5}, WITH_PEAKS),
    "over the roof, below the published": ({"seconds": 7.5e-5}, WITH_PEAKS),
    "beyond the published peak": (FLOPS | {"seconds": 0.004}, WITH_PEAKS),
    "over the roof, below the peak": (FLOPS | {"seconds": 0.0055}, WITH_PEAKS),
    "below all": (FLOPS | {"seconds": 0.0065}, WITH_PEAKS),
    "NumPy beside a TPU": ({"mode": "numpy"}, TPU),
    "another TPU": ({"device": "tpu:1"}, TPU),
    "host inputs": ({"inputs": "host"}, CPU),
    "too few calls": ({"rated": False}, CPU),
    "host-bound": ({"rated": False} | noted("drift", "host-bound"), CPU),
    "no byte count": ({"bytes": None}, CPU),
    "nothing counted": (UNCOUNTED, CPU),
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
    flops: Any,
    moved: Any,
    seconds: Any,
    memory: Any,
    arithmetic: Any,
    dtype: Any,
    mode: Any,
    device: Any,
    cache: Any,
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


def op(
    flops: str, maximum: int = 2**30, arithmetic: str = "flops", name: str = "selu"
) -> Any:
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
    size: int, flops: float | None, moved: float, op: Any, cache: Any, expected: int
) -> None:
    planned = records.planned(records.case(size=size), flops=flops, bytes=moved)
    assert larger(planned, op, roofs(cache=cache)) == expected


COMPLETE, STOPPED, CRASHED = (
    RunFinished(outcome=outcome, elapsed_seconds=1.0)
    for outcome in ("complete", "cancelled", "crashed")
)
FAILED = WorkFailed(remark=told("It broke.", "Mend it."))

MEMORY = bandwidth(20e9)
PUBLISHED = Expected(
    value=4e12, kind="peak", source=Remark("published", {"source": "example.org/chip"})
)
ARITHMETIC = compute(2e12, published=PUBLISHED)
NOTHING = State()
STARTED = Roofs(device="cpu:0", dtypes=(FLOAT32,))
WHOLE = (STARTED, roofs(bandwidth(12e9), compute(95e9)), COMPLETE)


def after(*events: Event | Roofs, state: State = NOTHING) -> State:
    for event in events:
        if isinstance(event, Roofs):
            state, event = begin_run(state, 7, "roofs", event), RunStarted()
        state = reduce(state, Envelope(generation=0, run=7, event=event))
    return state


def heights(state: State, device: str = "cpu:0") -> list[float]:
    found = roofs_of(state, device)
    return [] if found is None else [one.per_second for one in found.roofs]


def test_the_last_measuring_counts_from_its_first_roof_on() -> None:
    state = after(STARTED, roofs(bandwidth(10e9)))
    assert is_measured(state, "cpu:0")
    assert heights(state) == [10e9]
    state = after(*WHOLE[1:], state=state)
    assert not is_measured(state, "cpu:0")
    assert heights(state) == heights(state, "cpu:3") == [12e9, 95e9]
    assert heights(state, "tpu:0") == []
    assert heights(after(*WHOLE, STARTED, roofs(bandwidth(5e9)), STOPPED)) == [5e9]
    event = roofs(bandwidth(800e9), device="tpu:0")
    state = after(replace(STARTED, device="tpu:0"), event, COMPLETE, state=state)
    assert (heights(state), heights(state, "tpu:0")) == ([], [800e9])


@pytest.mark.parametrize(
    ("events", "said", "known"),
    [
        (WHOLE, "cpu:0 reaches", [12e9, 95e9]),
        ((STARTED, roofs(MEMORY), STOPPED), "these are the roofs so far", [20e9]),
        ((STARTED, STOPPED), "there is no roof yet", []),
        ((STARTED, FAILED, COMPLETE), "It broke.", []),
        # Another measuring forgets the failure.
        ((STARTED, FAILED, COMPLETE, STARTED), "", []),
        ((STARTED, roofs(ARITHMETIC), CRASHED), "these are the roofs so far", [2e12]),
    ],
)
def test_what_became_of_measuring(events: Any, said: str, known: list[float]) -> None:
    state = after(*events)
    assert said in message(state)
    assert bool(said) == bool(message(state))
    assert heights(state) == known


def test_they_last_as_long_as_the_devices() -> None:
    def ready(state: State, *devices: Any) -> State:
        event = Ready(host=HOST, devices=devices, ops=OPS)
        return reduce(state, Envelope(generation=1, run=None, event=event))

    (cpu,) = cpu_devices()
    state = after(*WHOLE, state=ready(NOTHING, cpu))
    assert heights(ready(state, replace(cpu, memory={"bytes_in_use": 10})))
    assert not heights(ready(state, *cpu_devices(2)))
    assert not heights(ready(state, *tpu_devices()))


# What is asked for.


def case(device: str = "cpu:0", dtype: str = "float32", mode: Any = "jit") -> Case:
    mode = "numpy" if device == "host" else mode
    return records.case(mode, op="matmul", device=device, dtype=dtype)


def run_of(*cases: Case, state: State = NOTHING) -> State:
    job = Job(number=1, cases=tuple(map(CaseState, cases)))
    return replace(state, jobs={**state.jobs, "bench": job}, ops=OPS)


@pytest.mark.parametrize(
    ("devices", "selected", "device"),
    [
        (("tpu:0", "tpu:1"), 1, "tpu:1"),
        (("host", "tpu:1"), 0, "tpu:1"),
        (("host",), 0, "cpu:0"),
    ],
)
def test_the_device_is_that_of_the_selected_case(
    devices: tuple[str, ...], selected: int, device: str
) -> None:
    assert device_of(run_of(*map(case, devices)), selected) == device


def test_what_is_known_is_asked_again_with_what_is_new() -> None:
    cases = [case(), case("host"), case(dtype="bfloat16"), case("tpu:0")]
    for some, state in (cases, NOTHING), (cases[2:], after(*WHOLE)):
        work = work_for(run_of(*some, state=state), "cpu:0")
        assert work.dtypes == (FLOAT32, BFLOAT16)


# What is said.

CACHED = roofs(MEMORY, ARITHMETIC, cache=2**30)
LIMITS = roofs(MEMORY, ARITHMETIC)
BUSY = compute(50e9, of=HIGHEST, remarks=(crowded(),))
MISSING = tuple(MissingRoof(of=of, remark=NO_PRODUCT) for of in (BFLOAT16, None))


def timed(
    rate: float = 3e9, ready: Any = 1e-3, one: Case | None = None, **more: Any
) -> CaseState:
    facts = {"flops": 2e6, "bytes": 12e6, "flops_per_second": rate, **more}
    figures = records.measurement(one or case(), ready, **facts)
    return CaseState(figures.case, status="done", measurement=figures)


def under(*cases: CaseState, limits: RoofsMeasured = LIMITS, **more: Any) -> State:
    run = Job(number=1, cases=cases)
    known = Job(number=2, purpose="roofs", outcome="complete", result=limits)
    return State(jobs={"bench": run, "roofs": replace(known, **more)})


ON_TPU = timed(1e12, one=case("tpu:0", "bfloat16")), timed(1e12, one=case("host"))
NO_ROOM = Failure(case=case(), remark=told("No memory."))
ONCE = bandwidth(20e9, ci_low=20e9, ci_high=20e9, confidence=0.0)
UNDER = {
    "memory limits": under(timed()),
    "memory limits in the cache": under(timed(), limits=CACHED),
    "far below": under(timed(0.1 * 20e9 / 6)),
    "over the roof in the cache": under(timed(2 * 20e9 / 6), limits=CACHED),
    "over the roof": under(timed(2 * 20e9 / 6)),
    "a figure in doubt": under(timed(2e9, records.summary(1e-3, 0.5))),
    "a roof in doubt": under(
        timed(), limits=roofs(bandwidth(20e9, ci_low=9e9, ci_high=38e9), ARITHMETIC)
    ),
    "a roof of a single turn": under(timed(), limits=roofs(ONCE, ARITHMETIC)),
    "modes": under(timed(), timed(one=case(mode="eager")), timed(one=case("host"))),
    "a failure": under(CaseState(case(), status="failed", failure=NO_ROOM)),
    "no place": under(
        *ON_TPU, limits=roofs(MEMORY, device="tpu:0", missing=MISSING[:1])
    ),
    "being measured": after(STARTED, roofs(MEMORY), state=under(timed())),
    "the engine died": under(timed(), outcome="crashed"),
    "many roofs": under(
        timed(),
        limits=roofs(bandwidth(), ARITHMETIC, BUSY, missing=MISSING, cache=2**25),
    ),
    "no memory roof": under(timed(), limits=roofs(compute())),
}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_report_fits_its_width_and_keeps_what_matters(width: int) -> None:
    for state in UNDER.values():
        shown = terminal(report(result(state, True), state), width).splitlines()
        assert max(map(len, shown)) <= width
    state = under(timed(), timed(), limits=roofs(MEMORY, ARITHMETIC, cache=2**25))
    shown = terminal(report(result(state, True), state), width).splitlines()
    (head,) = [line for line in shown if "limited by" in line]
    assert "ready" in head
    assert "of roof" in head


@pytest.mark.parametrize(("mode", "role"), [("numpy", "bar-numpy"), ("jit", "bar-jit")])
def test_a_bar_has_the_colour_of_what_ran(mode: Any, role: str) -> None:
    shown = columns(under(timed(one=case(mode=mode))), 0, wide=False)
    bar: Any
    (bar,) = [one.cells[0] for one in shown if (one.key or one.head) == "bar"]
    assert [span.role for span in bar] == [role]


# The picture.


COLORS = ((10, 20, 30), (40, 50, 60), (70, 80, 90))
SOME = roofs(
    bandwidth(published=msgspec.structs.replace(PUBLISHED, value=20e9)),
    compute(published=msgspec.structs.replace(PUBLISHED, value=300e9)),
    compute(20e9, BFLOAT16),
)


def drawn(
    *facts: dict[str, Any], under: RoofsMeasured | None = None, selected: int = -1
) -> Picture | None:
    """The picture of cases of which one is selected, if any."""
    found = [place(measured(**one), under or roofs()) for one in facts]
    chosen = found[selected] if selected >= 0 else None
    return picture(found, under or roofs(), COLORS, chosen)


PICTURES = {
    # Data movers, and what has no rate, are left to words.
    "letters": drawn(
        {"flops": 1e6},
        {"flops": None},
        {"flops": 1e9},
        {"rated": False},
        {"flops": 1e7},
    ),
    "measured and published": drawn(
        {"flops": 1e9}, {"flops": 1e9, "dtype": "bfloat16"}, under=SOME
    ),
    # Only roofs that some case is under, or all before there is a case.
    "one roof": drawn({}, under=SOME),
    "no case": drawn(under=SOME),
    "without the memory roof": drawn({}, under=roofs(compute())),
    "the second is selected": drawn(
        {"flops": 1e6}, {"flops": 1e7}, {"flops": 1e5, "mode": "numpy"}, selected=1
    ),
}

FLOATS = st.none() | st.floats(0, 1e30), st.floats(1, 1e30), st.floats(1e-9, 1e6)


@given(st.lists(st.tuples(*FLOATS), max_size=70))
def test_any_cases_can_be_drawn(facts: Any) -> None:
    names = ("flops", "bytes", "seconds")
    lines = drawn(*(dict(zip(names, one, strict=True)) for one in facts))
    assert lines
    assert [len(line) for line in lines.draw(60, 12, color=False).splitlines()] == (
        [60] * 12
    )
