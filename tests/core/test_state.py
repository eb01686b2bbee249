"""The reducer: events in, snapshots out."""

from __future__ import annotations

import pytest
from msgspec import structs
from msgspec.structs import replace

from jaxtui.core.engine import startup
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.history.store import Entry
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Check,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Failure,
    Hello,
    Inspection,
    Logged,
    Loop,
    LoopCall,
    LoopSeen,
    Memory,
    Noticed,
    PhaseMeasured,
    PhaseStarted,
    Progress,
    Ready,
    Remark,
    Roof,
    Roofs,
    RoofsMeasured,
    RunFinished,
    RunStarted,
    Snippet,
    Waiting,
    Work,
    WorkFailed,
)
from jaxtui.core.state import (
    MAXIMUM_LOG_LINES,
    Purpose,
    Topic,
    begin_run,
    end_message,
    reduce,
    say,
    with_past,
)
from jaxtui.features.bench import report as bench
from jaxtui.ui.app.state import EMPTY, State
from tests.fake_engine import HOST, OPS, cpu_devices, measurement, sampled, tpu_devices
from tests.records import case, told

JIT, NUMPY = case(), case("numpy")
ON_CPU = Ready(host=HOST, devices=cpu_devices(), ops=OPS)
ON_TPU = Ready(host=HOST, devices=tpu_devices(), ops=OPS)
DIED = EngineDied(returncode=-9, remark=told("It was killed."))


def after(*events: Event, state: State = EMPTY, run: int | None = None) -> State:
    for event in events:
        state = reduce(state, Envelope(generation=1, run=run, event=event))
    return state


def began(*cases: Case) -> State:
    """A run of these, where a TPU is."""
    state = after(Hello(pid=1, ops=OPS), ON_TPU)
    state = begin_run(state, 1, "bench", Experiment(cases=cases))
    return after(RunStarted(cases=cases, budget_seconds=5.0), state=state, run=1)


# The engine.


def test_an_engine_that_is_ready_holds_its_devices_until_it_is_released() -> None:
    ready = after(Hello(pid=1, ops=OPS), ON_TPU)
    assert (ready.engine, ready.accelerator) == ("ready", "TPU")
    assert ready.device == ready.devices[0]
    assert replace(ready, cursor="tpu:3").device == ready.devices[3]
    assert replace(ready, cursor="gpu:9").device == ready.devices[0]
    assert replace(ready, engine="released").accelerator is None
    assert after(ON_CPU).accelerator is None
    memory = Memory(devices={"tpu:1": {"bytes_in_use": 5}})
    first, second, *_ = after(memory, state=ready).devices
    assert (first, second.memory) == (ready.devices[0], {"bytes_in_use": 5})


def test_an_engine_that_fails_or_dies_is_down_until_the_next_is_ready() -> None:
    failed = EngineFailed(remark=told("Held.", "Wait."))
    state = after(failed)
    assert (state.engine, state.failed) == ("failed", failed)
    assert state.message == failed.remark
    assert after(DIED).engine == "released"
    state = after(ON_CPU, state=state)
    assert (state.engine, state.failed) == ("ready", None)


def test_the_log_is_bounded() -> None:
    lines = [Logged(line=str(index)) for index in range(MAXIMUM_LOG_LINES + 5)]
    state = after(*lines)
    assert len(state.log) == MAXIMUM_LOG_LINES
    assert state.log[0] == "5"


# What is to be known of the machine.


def waiting(seconds: float) -> Waiting:
    start = startup.Start(hardware="8 TPU v5e chips")
    return Waiting(elapsed_seconds=seconds, remark=startup.slow(start, seconds))


BAD, HINT = Remark("bad", severity="error"), Remark("worker")
LIBRARY = Logged(line="RuntimeError: Unable to load cuDNN. Is it installed?")


@pytest.mark.parametrize(
    ("events", "codes", "message"),
    [
        ([Noticed(findings=(HINT,))], ["worker"], ""),
        ([Noticed(findings=(BAD, HINT))], ["bad", "worker"], "bad"),
        # A line of the log is said once, and stays when JAX is up.
        ([LIBRARY, LIBRARY, ON_CPU], ["cuda-library"], "cuda-library"),
        # It is over when JAX is up.
        ([waiting(20.0)], ["slow-start"], "slow-start"),
        ([waiting(20.0), ON_CPU], [], ""),
    ],
)
def test_what_is_to_be_known_of_the_machine(
    events: list[Event], codes: list[str], message: str
) -> None:
    state = after(*events)
    assert [one.code for one in state.findings] == codes
    said = state.message
    assert (said.code if isinstance(said, Remark) else said) == message


def test_what_an_engine_says_at_its_start_is_said_once_and_of_itself() -> None:
    read = replace(after(Noticed(findings=(BAD, HINT))), message="")
    again = Ready(host=HOST, devices=cpu_devices(), ops=OPS, findings=(BAD, HINT))
    assert after(again, state=read).message == ""
    # Nor of the next engine.
    state = after(Noticed(findings=(), hardware="8 TPU v5e chips"), LIBRARY)
    assert (state.start.hardware, len(state.start.logged)) == ("8 TPU v5e chips", 1)
    hello = Envelope(generation=2, run=None, event=Hello(pid=2, ops=OPS))
    newer = reduce(state, hello)
    assert newer.start == startup.Start(imported=True)


# Runs.


def test_a_run_goes_from_waiting_to_done() -> None:
    running = began(JIT, NUMPY)
    failure = Failure(case=NUMPY, remark=told("Out of memory.", "Go smaller."))
    begun = (CaseStarted(index=0, case=JIT), PhaseStarted(index=0, phase="compile"))
    state = after(*begun, state=running, run=1)
    assert (state.engine, state.busy) == ("running", True)
    assert state.run
    assert state.run.cases[0].doing == "compile"
    state = after(
        PhaseMeasured(index=0, phase="compile", seconds=0.3),
        sampled(0, JIT, 0, calls=7),
        CaseMeasured(index=0, measurement=measurement(JIT)),
        CaseFailed(index=1, failure=failure),
        RunFinished(outcome="complete", elapsed_seconds=4.0),
        state=state,
        run=1,
    )
    assert state.run
    done, failed = state.run.cases
    assert (done.status, done.measurement) == ("done", measurement(JIT))
    assert len(done.ready.points) == len(done.dispatch.points) == 7
    assert (failed.status, failed.failure) == ("not run", failure)
    assert (state.job, state.engine, state.busy) == (None, "ready", False)


@pytest.mark.parametrize(
    ("kind", "host", "known"),
    [
        ("cpu", {}, True),
        # Another processor, or another version, says nothing of this machine.
        ("another", {}, False),
        ("cpu", {"jax": "0.1"}, False),
    ],
)
def test_the_past_of_a_case_is_that_of_its_hardware_and_versions(
    kind: str, host: dict[str, str], known: bool
) -> None:
    (device,) = cpu_devices()
    state = after(ON_CPU, state=began(JIT))
    entry = Entry(
        id=1,
        at=1.0,
        host=structs.replace(HOST, **host),
        device=structs.replace(device, device_kind=kind),
        measurement=measurement(JIT),
    )
    run = with_past(state, {JIT: [entry]}).run
    assert run is not None
    assert run.past == {JIT: [entry.measurement] * known}


def test_events_of_an_older_run_or_no_case_change_nothing() -> None:
    running = began(JIT, NUMPY)
    assert after(CaseStarted(index=0, case=JIT), state=running, run=7) == running
    assert after(CaseStarted(index=9, case=JIT), state=running, run=1) == running


CHECK = Check(test="compute", devices=("cpu:0",), budget_seconds=1.0)
ROOFS = Roofs(device="cpu:0", dtypes=(), budget_seconds=1.0)
SEEN = LoopSeen(first=0, calls=(LoopCall(entered=0.0, returned=1.0, ready=1.0),))
ROOF = Roof(
    kind="bandwidth", of=None, per_second=1e9, ci_low=1e9, ci_high=1e9, what="a copy"
)
MEASURED = RoofsMeasured(device="cpu:0", device_kind="cpu", roofs=(ROOF,))


@pytest.mark.parametrize(
    ("purpose", "work", "arrived"),
    [
        ("loop", Loop(case=JIT), SEEN),
        ("lesson", Snippet(title="x", setup="", parts=()), None),
        ("check", CHECK, None),
        ("inspection", Inspection(case=JIT), None),
        ("roofs", ROOFS, MEASURED),
    ],
)
def test_a_work_has_a_job_which_ends_with_its_engine(
    purpose: Purpose, work: Work, arrived: Event | None
) -> None:
    started = RunStarted()
    progress = Progress(elapsed_seconds=1.0, remaining_seconds=4.0, doing="this")
    failed = WorkFailed(remark=told("It broke."))
    ended = RunFinished(outcome="crashed", elapsed_seconds=3.0)
    state = begin_run(EMPTY, 1, purpose, work)
    assert state.jobs[purpose].share == 0.0
    state = after(
        started, progress, *([arrived] if arrived else []), state=state, run=1
    )
    assert (state.engine, state.busy, state.purpose) == ("running", True, purpose)
    job = state.jobs[purpose]
    assert (job.elapsed_seconds, job.remaining_seconds, job.doing) == (1.0, 4.0, "this")
    assert job.share == 0.2
    assert bool(job.seen or job.result) == bool(arrived)
    state = after(Logged(line="its last words"), DIED, state=state)
    state = after(failed, state=state, run=1)
    failed_now = state.jobs[purpose].failed
    assert failed_now
    assert failed_now.remark.detail == "its last words" * (purpose == "check")
    state = after(ended, state=state, run=1)
    job = state.jobs[purpose]
    assert job.failed
    assert (job.failed.remark, job.printed) == (told("It broke."), ("its last words",))
    assert (job.outcome, job.elapsed_seconds, state.job) == ("crashed", 3.0, None)


@pytest.mark.parametrize(
    ("refuses", "what", "refused"),
    [
        ("jax", Experiment(cases=(JIT,)), True),
        # The engine leaves out what JAX would run.
        ("jax", Experiment(cases=(JIT, NUMPY)), False),
        ("jax", "jax", True),
        ("verdicts", "jax", False),
        ("verdicts", Experiment(cases=(JIT,)), False),
        *(("verdicts", what, True) for what in ("verdicts", CHECK, ROOFS)),
        ("", CHECK, False),
    ],
)
def test_a_setting_refuses_what_it_makes_meaningless(
    refuses: str, what: object, refused: bool
) -> None:
    setting = Remark("setting", {"setting": "x", "refuses": refuses})
    state = replace(EMPTY, findings=(HINT, setting))
    assert state.refusal(what) == (setting if refused else None)  # type: ignore[arg-type]


def test_other_devices_have_other_roofs() -> None:
    """JAX falls back to the CPU where an accelerator was lost with its engine."""
    state = begin_run(after(ON_CPU), 1, "roofs", ROOFS)
    ended = RunFinished(outcome="complete", elapsed_seconds=1.0)
    state = after(RunStarted(), MEASURED, ended, state=state, run=1)
    assert after(ON_CPU, state=state) == state
    state = after(ON_TPU, state=state)
    assert "roofs" not in state.jobs


@pytest.mark.parametrize("gone", [False, True])
def test_what_had_arrived_stays_when_the_engine_dies(gone: bool) -> None:
    left = EngineDied(returncode=1, remark=Remark("host-left", {"process": 1}))
    died = left if gone else DIED
    compiling = PhaseStarted(index=1, phase="compile")
    state = after(sampled(0, JIT, 0), compiling, state=began(JIT, NUMPY), run=1)
    state = after(died, state=state)
    assert (state.engine, state.message) == ("released", died.remark)
    assert state.run
    assert state.run.cases[0].ready.points
    finished = RunFinished(outcome="crashed", elapsed_seconds=3.0)
    state = after(finished, state=state, run=1)
    # A host that is gone is named after the run, too.
    assert (state.message == died.remark) is gone
    assert state.run
    first, second = state.run.cases
    assert first.measurement
    assert first.measurement.stopped == "crashed"
    assert (first.status, bench.status(second)) == ("done", "not run")


@pytest.mark.parametrize(
    ("topic", "ends"),
    [
        ("key", {"ready", "begun", "ended", "next key"}),
        ("run", {"begun", "ended"}),
        ("machine", {"begun"}),
    ],
)
def test_a_message_ends_with_what_it_is_about(topic: Topic, ends: set[str]) -> None:
    said = say(began(JIT, NUMPY), "A sentence.", topic)
    moments = {
        "ready": after(ON_CPU, state=said),
        "begun": after(RunStarted(), state=said, run=1),
        "turn": after(sampled(0, JIT, 0), state=said, run=1),
        "ended": after(
            RunFinished(outcome="complete", elapsed_seconds=3.0), state=said, run=1
        ),
        "next key": end_message(said, "key"),
    }
    assert {name for name, state in moments.items() if not state.message} == ends


def test_the_selected_case_is_the_first_that_jax_runs() -> None:
    state = began(NUMPY, JIT)
    picked = replace(state, picked=(1, 0)).case
    assert state.case
    assert picked
    assert (state.case.case, picked.case) == (JIT, NUMPY)
    # Of another run nothing is picked yet.
    assert replace(state, picked=(7, 0)).case == state.case
