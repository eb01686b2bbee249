"""Roofs as they become known, what is asked of them, and what rows and verdicts say."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.analysis.roofline import place
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    Case,
    Event,
    Expected,
    Failure,
    MissingRoof,
    Mode,
    Ready,
    Remark,
    RoofDtype,
    Roofs,
    RoofsMeasured,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.state import CaseState, Job, State, begin_run, reduce
from jaxtui.view import roofline_screen, text
from jaxtui.view.roofline import limit, verdict
from jaxtui.view.roofline_screen import Roofline
from tests import records
from tests.analysis.figures import (
    BFLOAT16,
    FLOAT32,
    NO_PRODUCT,
    bandwidth,
    compute,
    roofs,
)
from tests.fake_engine import HOST, OPS, cpu_devices, tpu_devices

COMPLETE = RunFinished(outcome="complete", elapsed_seconds=9.0)
STOPPED = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)
FAILED = WorkFailed(error="It broke.", hint="Mend it.")

MEMORY = bandwidth(20e9)
PUBLISHED = Expected(
    value=4e12, kind="peak", source=Remark("published", {"source": "example.org/chip"})
)
ARITHMETIC = compute(2e12, published=PUBLISHED)


NOTHING = State()


def started(device: str = "cpu:0", *dtypes: RoofDtype) -> Roofs:
    """The measuring of roofs begins."""
    return Roofs(device=device, dtypes=dtypes or (FLOAT32,))


# What is known.


def after(*events: Event | Roofs, state: State = NOTHING) -> State:
    for event in events:
        if isinstance(event, Roofs):
            state, event = begin_run(state, 7, "roofs", event), RunStarted()
        state = reduce(state, Envelope(generation=0, run=7, event=event))
    return state


def heights(state: State, device: str = "cpu:0") -> list[float]:
    found = roofline_screen.roofs_of(state, device)
    return [] if found is None else [one.per_second for one in found.roofs]


WHOLE = (started(), roofs(bandwidth(12e9), compute(95e9)), COMPLETE)


def test_roofs_are_known_as_soon_as_they_are_found() -> None:
    state = after(started(), roofs(bandwidth(10e9)))
    assert roofline_screen.is_measured(state, "cpu:0")
    assert heights(state) == [10e9]
    state = after(*WHOLE[1:], state=state)
    assert heights(state) == [12e9, 95e9]
    assert not roofline_screen.is_measured(state, "cpu:0")


def test_half_a_measuring_does_not_replace_a_whole_one() -> None:
    state = after(*WHOLE, started(), roofs(bandwidth(5e9)))
    assert heights(state) == [5e9, 95e9]
    state = after(FAILED, COMPLETE, state=state)
    assert heights(state) == [12e9, 95e9]
    partly = (started(), roofs(bandwidth(5e9), compute(30e9, BFLOAT16)), STOPPED)
    assert sorted(heights(after(*partly, state=state))) == [12e9, 30e9, 95e9]


def test_dtypes_of_several_runs_stay_together() -> None:
    none = MissingRoof(of=BFLOAT16, remark=NO_PRODUCT)
    first = roofs(bandwidth(12e9), compute(95e9), missing=(none,))
    second = roofs(bandwidth(13e9), compute(30e9, BFLOAT16))
    state = after(
        started(), first, COMPLETE, started("cpu:0", BFLOAT16), second, COMPLETE
    )
    assert heights(state) == [13e9, 95e9, 30e9]
    assert roofline_screen.roofs_of(state, "cpu:0").missing == ()  # type: ignore[union-attr]


def test_cpu_devices_are_one_and_each_accelerator_has_its_own() -> None:
    state = after(*WHOLE)
    assert heights(state, "cpu:3") == [12e9, 95e9]
    for device, height in (("tpu:0", 800e9), ("tpu:1", 700e9)):
        assert heights(state, device) == []
        event = roofs(bandwidth(height), device=device)
        state = after(started(device), event, COMPLETE, state=state)
    assert heights(state, "tpu:0") == [800e9]
    assert heights(state, "tpu:1") == [700e9]


@pytest.mark.parametrize(
    ("events", "words", "known"),
    [
        (WHOLE, "Roofs of cpu:0: 12.0 GB/s, 95.0 GFLOP/s float32.", [12e9, 95e9]),
        (
            (started(), roofs(MEMORY), STOPPED),
            "Stopped; the roofs that were found stay. z measures the roofs of cpu:0 "
            "again.",
            [20e9],
        ),
        (
            (started(), STOPPED),
            "Stopped; no roof was found. z measures the roofs of cpu:0 again.",
            [],
        ),
        (
            (started(), FAILED, COMPLETE),
            "The roofs of cpu:0 could not be measured. It broke. Mend it.",
            [],
        ),
        # Another measuring forgets the failure.
        ((started(), FAILED, COMPLETE, started()), "", []),
        # Nothing is known of what an engine measured when it died.
        (
            (started(), roofs(ARITHMETIC), FAILED, CRASHED),
            "Incomplete: no new roofs of cpu:0. It broke. Mend it.",
            [],
        ),
    ],
)
def test_what_became_of_measuring(
    events: tuple[Event, ...], words: str, known: list[float]
) -> None:
    state = after(*events)
    assert roofline_screen.message(state) == words
    assert heights(state) == known


def test_they_last_as_long_as_the_devices() -> None:
    def ready(state: State, *devices: object) -> State:
        event = Ready(host=HOST, devices=devices, ops=OPS)  # type: ignore[arg-type]
        return reduce(state, Envelope(generation=1, run=None, event=event))

    (cpu,) = cpu_devices()
    state = after(*WHOLE, state=ready(NOTHING, cpu))
    more = msgspec.structs.replace(cpu, memory={"bytes_in_use": 10})
    assert ready(state, more).roofs
    assert ready(state, *cpu_devices(2)).roofs == ()
    assert ready(state, *tpu_devices()).roofs == ()


# What is asked for.


def case(device: str = "cpu:0", dtype: str = "float32") -> Case:
    host = device == "host"
    mode = "numpy" if host else "jit"
    return records.case(mode, op="matmul", device=device, dtype=dtype)  # type: ignore[arg-type]


def run_of(*cases: Case, state: State = NOTHING) -> State:
    job = Job(number=1, cases=tuple(map(CaseState, cases)))
    jobs = {**state.jobs, "bench": job}
    return replace(state, jobs=jobs, ops=OPS)


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
    state = run_of(*map(case, devices))
    assert roofline_screen.device_of(state, selected) == device


def test_only_what_is_not_known_and_can_be_had_is_asked() -> None:
    cases = [case(), case("host"), case(dtype="bfloat16"), case("tpu:0")]

    def wanted(cases: list[Case], state: State = NOTHING) -> tuple[RoofDtype, ...]:
        return roofline_screen.work_for(run_of(*cases, state=state), "cpu:0").dtypes

    assert wanted(cases) == (FLOAT32, BFLOAT16)
    assert wanted(cases, after(*WHOLE)) == (BFLOAT16,)
    # Where nothing is new, all of it again.
    assert wanted(cases[:2], after(*WHOLE)) == (FLOAT32,)
    none = roofs(bandwidth(12e9), missing=(MissingRoof(of=FLOAT32, remark=NO_PRODUCT),))
    assert wanted(cases, after(started(), none, COMPLETE)) == (BFLOAT16,)


# What a row says.


LIMITS = roofs(MEMORY, ARITHMETIC)


def under(*cases: CaseState, limits: RoofsMeasured = LIMITS, at: int = 0) -> Roofline:
    run = Job(number=1, cases=cases)
    found = Roofline.of(State(jobs={"bench": run}, roofs=(limits,)), at)
    assert found is not None
    return found


def row(case: CaseState, limits: RoofsMeasured = LIMITS) -> dict[str, text.Line]:
    return {one.key: one.cells[0] for one in under(case, limits=limits).columns(8)}


@pytest.mark.parametrize("flops", [None, 2e6])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8, 1.0, 2.0])
@pytest.mark.parametrize("cache", [None, 2**30])
def test_a_row_says_what_the_verdict_says(
    flops: float | None, share: float, cache: int | None
) -> None:
    rates = {"bytes_per_second": share * 20e9}
    if flops:
        rates["flops_per_second"] = share * 20e9 / 6
    figures = records.measurement(case(), flops=flops, bytes=12e6, **rates)
    found = place(figures, roofs(MEMORY, ARITHMETIC, cache=cache))
    assert found.share == pytest.approx(share)
    said = {
        "memory": ("memory bound at", "moves data at"),
        "something else": (": ",),
        "cache": ("faster than the memory roof",),
        "over the roof": ("over the memory roof",),
    }[limit(found)]
    assert any(words in verdict(found) for words in said)
    # Who says that the memory limits says no more than that.
    assert (": " in verdict(found)) == (limit(found) != "memory")


@pytest.mark.parametrize(
    ("rate", "cache", "limited"),
    [
        (0.9 * 20e9 / 6, None, "memory"),
        (0.9 * 20e9 / 6, 2**30, "something else"),
        (0.1 * 20e9 / 6, None, "something else"),
        (2.0 * 20e9 / 6, 2**30, "cache"),
        (2.0 * 20e9 / 6, None, "over the roof"),
    ],
)
def test_a_row_says_what_limits_a_case(
    rate: float, cache: int | None, limited: str
) -> None:
    figures = records.measurement(case(), flops=2e6, bytes=12e6, flops_per_second=rate)
    limits = roofs(MEMORY, ARITHMETIC, cache=cache)
    found = row(CaseState(case(), measurement=figures), limits)
    texts = [text.plain(found[key]) for key in ("letter", "limit", "share")]
    assert texts == ["A", limited, f"{100 * rate * 6 / 20e9:.0f} %"]


@pytest.mark.parametrize("limits", [LIMITS, None])
def test_what_rests_on_an_uncertain_figure_says_so(
    limits: RoofsMeasured | None,
) -> None:
    figures = records.measurement(
        case(), ready=records.summary(1e-3, 0.5), flops=2e6, flops_per_second=2e9
    )
    figures = msgspec.structs.replace(figures, bytes=12e6)
    found = row(CaseState(case(), measurement=figures), limits or roofs())
    assert {span.role for span in found["rate"]} == {"unknown"}
    if limits is not None:
        assert text.plain(found["limit"]) == "uncertain"
        assert verdict(place(figures, limits)).startswith("uncertain: ")


def test_a_roof_that_is_not_known_limits_nothing_for_sure() -> None:
    figures = records.measurement(case(), flops=2e6, bytes=12e6, flops_per_second=3e9)
    wide = roofs(bandwidth(20e9, ci_low=9e9, ci_high=38e9), ARITHMETIC)
    assert limit(place(figures, wide)) == "uncertain"


@pytest.mark.parametrize(("mode", "role"), [("numpy", "bar-numpy"), ("jit", "bar-jax")])
def test_a_bar_has_the_colour_of_what_ran(mode: Mode, role: str) -> None:
    one = msgspec.structs.replace(case(), mode=mode)
    found = row(CaseState(one, measurement=records.measurement(one)))
    assert [span.role for span in found["bar"]] == [role]


def test_a_row_without_figures_says_what_goes_on() -> None:
    failure = Failure(case=case(), error="No memory.", hint="")
    found = row(CaseState(case(), status="failed", failure=failure))
    assert (found["letter"][0].text, found["ready"][0].text) == ("", "failed")


def test_what_has_no_place_says_why() -> None:
    rated = {"flops": 2e9, "bytes": 3e6, "flops_per_second": 1e12}
    cases = [
        CaseState(one, measurement=records.measurement(one, **rated))
        for one in (case("tpu:0", "bfloat16"), case("host"))
    ]
    missing = (MissingRoof(of=BFLOAT16, remark=NO_PRODUCT),)
    limits = roofs(MEMORY, device="tpu:0", missing=missing)
    for index, words in enumerate(
        ("XLA refuses it.", "It ran on the host; these roofs are those of tpu:0.")
    ):
        assert words in under(*cases, limits=limits, at=index).sentences()[0].text
