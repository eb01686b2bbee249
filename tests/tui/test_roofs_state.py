"""What is kept of the roofs that were measured, and what is asked of an engine."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.engine.protocol import Envelope
from jaxtui.model import Case, Event, Ready, RunFinished, WorkFailed
from jaxtui.model.roofs import (
    MissingRoof,
    Roof,
    RoofDtype,
    RoofMeasured,
    Roofs,
    RoofsMeasured,
    RoofsStarted,
)
from jaxtui.state import begin_run, reduce
from jaxtui.tui import roofline as roofs_words
from jaxtui.tui import status
from jaxtui.tui.roofline import device_of, is_measured, of_device, work_for
from jaxtui.tui.state import EMPTY, State
from tests.tui.fake_engine import HOST, OPS, cpu_devices, tpu_devices

F32, BF16 = RoofDtype(dtype="float32"), RoofDtype(dtype="bfloat16")
COMPLETE = RunFinished(outcome="complete", elapsed_seconds=9.0)
STOPPED = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
FAILED = WorkFailed(error="It broke.", hint="Mend it.")


def roof(of: RoofDtype | None, per_second: float) -> Roof:
    return Roof(
        kind="bandwidth" if of is None else "compute",
        of=of,
        per_second=per_second,
        ci_low=per_second * 0.99,
        ci_high=per_second * 1.01,
        what="a copy" if of is None else "matmul",
    )


def measured(
    *roofs: Roof, device: str = "cpu:0", missing: tuple[MissingRoof, ...] = ()
) -> RoofsMeasured:
    return RoofsMeasured(device=device, device_kind="cpu", roofs=roofs, missing=missing)


def after(*events: Event, state: State = EMPTY) -> State:
    for event in events:
        if isinstance(event, RoofsStarted):
            state = begin_run(state, 7, "roofs", event.roofs)
        state = reduce(state, Envelope(generation=0, run=7, event=event))
    return state


def started(device: str = "cpu:0", *dtypes: RoofDtype) -> RoofsStarted:
    return RoofsStarted(roofs=Roofs(device=device, dtypes=dtypes or (F32,)))


def case(
    device: str = "cpu:0",
    dtype: str = "float32",
    mode: str = "jit",
    op: str = "matmul",
    precision: str = "default",
) -> Case:
    return Case(
        op=op,
        size=1000,
        dtype=dtype,
        device=device,
        mode=mode,  # type: ignore[arg-type]
        precision=precision,  # type: ignore[arg-type]
    )


def heights(state: State, device: str = "cpu:0") -> list[float]:
    roofs = of_device(state, device)
    return [] if roofs is None else [one.per_second for one in roofs.roofs]


def test_roofs_are_known_as_soon_as_they_are_found() -> None:
    state = after(started(), RoofMeasured(roof=roof(None, 10e9)))
    assert is_measured(state, "cpu:0")
    assert heights(state) == [10e9]
    better = (RoofMeasured(roof=roof(None, 11e9)), RoofMeasured(roof=roof(F32, 90e9)))
    state = after(*better, state=state)
    assert heights(state) == [11e9, 90e9]
    state = after(measured(roof(None, 12e9), roof(F32, 95e9)), COMPLETE, state=state)
    assert heights(state) == [12e9, 95e9]
    assert not is_measured(state, "cpu:0")


def test_what_was_found_until_the_stop_stays() -> None:
    state = after(started(), RoofMeasured(roof=roof(None, 10e9)), STOPPED)
    assert heights(state) == [10e9]
    assert "Stopped; the roofs that were found stay" in roofs_words.message(state)
    nothing = after(started(), STOPPED)
    assert heights(nothing) == []
    assert "no roof was found" in roofs_words.message(nothing)


def test_half_a_measuring_does_not_replace_a_whole_one() -> None:
    state = after(started(), measured(roof(None, 12e9), roof(F32, 95e9)), COMPLETE)
    again = (started(), RoofMeasured(roof=roof(None, 5e9)))
    state = after(*again, state=state)
    assert heights(state) == [5e9, 95e9]
    state = after(FAILED, COMPLETE, state=state)
    assert heights(state) == [12e9, 95e9]
    partly = (started(), measured(roof(None, 5e9), roof(BF16, 30e9)), STOPPED)
    assert sorted(heights(after(*partly, state=state))) == [12e9, 30e9, 95e9]


def test_dtypes_of_several_runs_stay_together() -> None:
    none = MissingRoof(of=BF16, why="no")
    first = measured(roof(None, 12e9), roof(F32, 95e9), missing=(none,))
    state = after(started(), first, COMPLETE)
    second = measured(roof(None, 13e9), roof(BF16, 30e9))
    state = after(started("cpu:0", BF16), second, COMPLETE, state=state)
    roofs = of_device(state, "cpu:0")
    assert roofs is not None
    assert heights(state) == [13e9, 95e9, 30e9]
    assert roofs.missing == ()


@pytest.mark.parametrize(("device", "known"), [("cpu:3", True), ("tpu:0", False)])
def test_all_devices_of_a_cpu_are_one(device: str, known: bool) -> None:
    state = after(started(), measured(roof(None, 12e9)), COMPLETE)
    assert bool(heights(state, device)) is known


def test_each_accelerator_has_its_own() -> None:
    state = EMPTY
    for device, height in (("tpu:0", 800e9), ("tpu:1", 700e9)):
        event = measured(roof(None, height), device=device)
        state = after(started(device), event, COMPLETE, state=state)
    assert heights(state, "tpu:0") == [800e9]
    assert heights(state, "tpu:1") == [700e9]


def test_another_measuring_forgets_the_failure() -> None:
    state = after(started(), FAILED, COMPLETE)
    assert roofs_words.message(state) == (
        "The roofs of cpu:0 could not be measured. It broke. Mend it."
    )
    assert roofs_words.message(after(started(), state=state)) == ""


def test_a_failure_before_the_start_is_known_too() -> None:
    work = Roofs(device="cpu:0", dtypes=(F32,))
    crashed = RunFinished(outcome="crashed", elapsed_seconds=1.0)
    state = after(FAILED, crashed, state=begin_run(EMPTY, 7, "roofs", work))
    assert roofs_words.message(state) == (
        "Incomplete: no new roofs of cpu:0. It broke. Mend it."
    )


def test_nothing_is_known_of_what_an_engine_measured_when_it_died() -> None:
    crashed = RunFinished(outcome="crashed", elapsed_seconds=1.0)
    state = after(started(), RoofMeasured(roof=roof(F32, 95e9)), FAILED, crashed)
    assert of_device(state, "cpu:0") is None


def test_the_device_is_that_of_the_selected_case() -> None:
    numpy = case("host", mode="numpy")
    assert device_of([case("tpu:0"), case("tpu:1")], 1) == "tpu:1"
    assert device_of([numpy, case("tpu:1")], 0) == "tpu:1"
    assert device_of([numpy], 0) == "cpu:0"
    assert device_of([], 0) is None


def test_only_what_is_not_known_is_asked() -> None:
    cases = [case(), case("host", mode="numpy"), case(dtype="bfloat16"), case("tpu:0")]
    assert work_for((), cases, "cpu:0", OPS).dtypes == (F32, BF16)
    state = after(started(), measured(roof(None, 12e9), roof(F32, 95e9)), COMPLETE)
    assert work_for(state.roofs, cases, "cpu:0", OPS).dtypes == (BF16,)
    assert work_for(state.roofs, cases[:2], "cpu:0", OPS).dtypes == (F32,)


def test_what_cannot_be_had_is_not_asked_beside_what_is_new() -> None:
    none = (MissingRoof(of=F32, why="no"),)
    state = after(started(), measured(roof(None, 12e9), missing=none), COMPLETE)
    cases = [case(), case(dtype="bfloat16")]
    assert work_for(state.roofs, cases, "cpu:0", OPS).dtypes == (BF16,)


def envelope(event: Event, run: int | None = None) -> Envelope:
    return Envelope(generation=1, run=run, event=event)


def ready(state: State, devices: int = 1) -> State:
    event = Ready(host=HOST, devices=cpu_devices(devices), ops=OPS)
    return reduce(state, envelope(event))


def known() -> State:
    found = measured(roof(None, 12e9), roof(F32, 95e9))
    return after(started(), found, COMPLETE, state=ready(EMPTY))


def test_the_snapshot_takes_them_in() -> None:
    state = known()
    assert heights(state) == [12e9, 95e9]
    assert state.engine == "ready"
    assert status.message(state) == "Roofs of cpu:0: 12.0 GB/s, 95.0 GFLOP/s float32."


def test_a_run_that_begins_makes_the_engine_busy() -> None:
    state = after(started(), state=ready(EMPTY))
    assert (state.engine, state.running) == ("running", True)
    late = reduce(state, envelope(RoofMeasured(roof=roof(None, 1e9)), 6))
    assert heights(late) == []


def test_they_last_as_long_as_the_devices() -> None:
    assert ready(known()).roofs
    more = {"bytes_in_use": 10}
    device = msgspec.structs.replace(cpu_devices()[0], memory=more)
    event = Ready(host=HOST, devices=(device,), ops=OPS)
    assert reduce(known(), envelope(event)).roofs
    assert ready(known(), devices=2).roofs == ()
    other = Ready(host=HOST, devices=tpu_devices(), ops=OPS)
    assert reduce(known(), envelope(other)).roofs == ()
