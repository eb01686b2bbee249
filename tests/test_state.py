"""The reducer: events in, snapshots out."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    Busy,
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Check,
    CheckStarted,
    EngineDied,
    EngineFailed,
    Event,
    Failure,
    Finding,
    Hello,
    Inspection,
    InspectionStarted,
    Logged,
    Loop,
    LoopStarted,
    Memory,
    Noticed,
    PhaseMeasured,
    PhaseStarted,
    Progress,
    Ready,
    Roofs,
    RoofsStarted,
    RunFinished,
    RunStarted,
    Snippet,
    SnippetStarted,
    WorkFailed,
)
from jaxtui.state import MAXIMUM_LOG_LINES, Purpose, reduce, release_engine
from jaxtui.tui.state import EMPTY, State
from tests.tui.fake_engine import (
    HOST,
    OPS,
    cpu_devices,
    measurement,
    sampled,
    tpu_devices,
)

JIT = Case(op="matmul", size=64, dtype="float32", device="cpu:0", mode="jit")
NUMPY = Case(
    op="matmul", size=64, dtype="float32", device="host", mode="numpy", inputs="host"
)


def after(*events: Event, state: State = EMPTY, run: int | None = None) -> State:
    for event in events:
        state = reduce(state, Envelope(generation=1, run=run, event=event))
    return state


@pytest.fixture
def ready() -> State:
    return after(
        Hello(pid=1, ops=OPS), Ready(host=HOST, devices=tpu_devices(), ops=OPS)
    )


@pytest.fixture
def running(ready: State) -> State:
    return after(RunStarted(cases=(JIT, NUMPY), budget_seconds=5.0), state=ready, run=1)


def test_ready_shows_the_devices_and_what_is_held(ready: State) -> None:
    assert ready.engine == "ready"
    assert ready.accelerator == "TPU"
    assert ready.device == ready.devices[0]


def test_what_is_to_be_known_of_the_machine_is_said_once() -> None:
    error = Finding(
        name="fallback", severity="error", what="JAX uses cpu.", how="", advice="Ask."
    )
    hint = Finding(name="pod-slice", severity="info", what="Worker 2.", how="")
    noticed = after(Noticed(findings=(error, hint)))
    assert noticed.findings == (error, hint)
    assert noticed.message == "JAX uses cpu. Ask."
    read = replace(noticed, message="")
    ready = Ready(host=HOST, devices=cpu_devices(), ops=OPS, findings=(error, hint))
    assert after(ready, state=read).message == ""
    assert after(Noticed(findings=(hint,))).message == ""


def test_what_is_held(ready: State) -> None:
    assert after(Ready(host=HOST, devices=cpu_devices(), ops=OPS)).accelerator is None
    state = release_engine(ready)
    assert (state.accelerator, state.devices) == (None, ready.devices)


def test_a_run_goes_from_waiting_to_done(running: State) -> None:
    assert running.running
    state = after(
        CaseStarted(index=0, case=JIT),
        PhaseStarted(index=0, phase="compile"),
        state=running,
        run=1,
    )
    assert state.run is not None
    assert state.run.cases[0].doing == "compile"
    state = after(
        PhaseMeasured(index=0, phase="compile", seconds=0.3),
        sampled(0, JIT, 0, calls=7),
        CaseMeasured(index=0, measurement=measurement(JIT)),
        RunFinished(outcome="complete", elapsed_seconds=4.0),
        state=state,
        run=1,
    )
    assert state.run is not None
    case = state.run.cases[0]
    assert case.status == "done"
    assert len(case.ready.points) == len(case.dispatch.points) == 7
    assert case.measurement is not None
    assert not state.running
    assert state.engine == "ready"


def test_events_of_an_older_run_or_no_case_change_nothing(running: State) -> None:
    assert after(CaseStarted(index=0, case=JIT), state=running, run=7) == running
    assert after(CaseStarted(index=9, case=JIT), state=running, run=1) == running


CHECK = Check(test="compute", devices=("cpu:0",), budget_seconds=1.0)
ROOFS = Roofs(device="cpu:0", dtypes=(), budget_seconds=1.0)


@pytest.mark.parametrize(
    ("purpose", "began"),
    [
        ("bench", RunStarted(cases=(JIT,), budget_seconds=5.0)),
        ("loop", LoopStarted(loop=Loop(case=JIT))),
        ("lesson", SnippetStarted(snippet=Snippet(title="x", setup="", parts=()))),
        ("check", CheckStarted(check=CHECK)),
        ("inspection", InspectionStarted(inspection=Inspection(case=JIT))),
        ("roofs", RoofsStarted(roofs=ROOFS)),
    ],
)
def test_every_kind_of_run_has_a_job(purpose: Purpose, began: Event) -> None:
    failed = WorkFailed(error="It broke.", hint="")
    progress = Progress(elapsed_seconds=1.0, remaining_seconds=4.0, doing="this")
    ended = RunFinished(outcome="crashed", elapsed_seconds=3.0)
    state = after(began, progress, run=1)
    assert (state.engine, state.busy, state.purpose) == ("running", True, purpose)
    job = state.jobs[purpose]
    assert (job.elapsed_seconds, job.remaining_seconds, job.doing) == (1.0, 4.0, "this")
    state = after(Logged(line="its last words"), state=state)
    state = after(failed, ended, state=state, run=1)
    job = state.jobs[purpose]
    assert job.failed is not None
    assert job.failed.error == "It broke."
    assert job.printed == ("its last words",)
    assert (job.outcome, job.elapsed_seconds) == ("crashed", 3.0)
    assert (state.job, state.engine, state.busy) == (None, "ready", False)


def test_a_failed_case_keeps_its_reason(running: State) -> None:
    failure = Failure(case=JIT, error="Out of memory.", hint="Choose a smaller size.")
    state = after(CaseFailed(index=0, failure=failure), state=running, run=1)
    assert state.run is not None
    assert state.run.cases[0].status == "not run"
    assert state.run.cases[0].failure == failure


def test_what_had_arrived_stays_when_the_engine_dies(running: State) -> None:
    state = after(sampled(0, JIT, 0), state=running, run=1)
    state = after(EngineDied(returncode=-9, error="It was killed."), state=state)
    assert state.engine == "starting"
    assert state.message == "It was killed."
    assert state.run is not None
    assert state.run.cases[0].ready.points
    # It is said until another engine has finished the run.
    finished = RunFinished(outcome="complete", elapsed_seconds=3.0)
    ready = Ready(host=HOST, devices=tpu_devices(), ops=OPS)
    state = after(ready, state=state)
    assert state.message == "It was killed."
    assert after(finished, state=state, run=1).message == ""


def test_a_death_without_a_restart_leaves_the_engine_down() -> None:
    died = EngineDied(returncode=1, error="It ended.")
    assert after(died, died, died, died).engine == "starting"
    state = after(msgspec.structs.replace(died, restarts=False))
    assert state.engine == "failed"
    assert state.failed is not None
    recovered = after(Ready(host=HOST, devices=cpu_devices(), ops=OPS), state=state)
    assert (recovered.engine, recovered.failed) == ("ready", None)
    assert after(died, state=recovered).engine == "starting"


def test_failing_says_why() -> None:
    failed = EngineFailed(reason="held", error="Held.", hint="Wait.")
    state = after(failed)
    assert (state.engine, state.failed, state.message) == ("failed", failed, "Held.")


def test_memory_replaces_only_what_it_names(ready: State) -> None:
    state = after(Memory(devices={"tpu:1": {"bytes_in_use": 5}}), state=ready)
    assert state.devices[1].memory == {"bytes_in_use": 5}
    assert state.devices[0] == ready.devices[0]


def test_the_log_is_bounded() -> None:
    lines = [Logged(line=str(index)) for index in range(MAXIMUM_LOG_LINES + 5)]
    state = after(*lines)
    assert len(state.log) == MAXIMUM_LOG_LINES
    assert state.log[0] == "5"


def test_busy_is_a_message(running: State) -> None:
    assert "A run is in progress" in after(Busy(run=1), state=running).message


def test_the_selected_case_is_the_first_that_jax_runs(ready: State) -> None:
    state = after(
        RunStarted(cases=(NUMPY, JIT), budget_seconds=5.0), state=ready, run=1
    )
    assert state.case is not None
    assert state.case.case == JIT
    picked = replace(state, picked=(1, 0)).case
    assert picked is not None
    assert picked.case == NUMPY
    # Of another run nothing is picked yet.
    assert replace(state, picked=(7, 0)).case == state.case


def test_the_cursor_falls_back_to_the_first_device(ready: State) -> None:
    assert replace(ready, cursor="tpu:3").device == ready.devices[3]
    assert replace(ready, cursor="gpu:9").device == ready.devices[0]
