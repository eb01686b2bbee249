"""How long a start may take, what is said meanwhile, and why it failed."""

from __future__ import annotations

import pytest

from jaxtui.commands.progress import progress_line
from jaxtui.engine import startup
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.engine.process import DEFAULT_COMMAND
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    EngineDied,
    EngineFailed,
    Finding,
    Hello,
    Logged,
    Noticed,
    Ready,
    Waiting,
)
from jaxtui.state import EMPTY, reduce
from tests.processes import ROOT, jaxtui

SLICE = Finding(
    name="pod-slice", severity="info", what="Worker 2 of 4.", how="x", advice="All."
)
HUNG = "UserWarning: TPU backend initialization is taking more than 60.0 seconds. Did"


async def test_a_start_that_hangs_ends_at_its_limit_and_can_be_tried_again(
    open_engine, experiment, ends_within
):
    engine = await open_engine(
        environment={"FAKE_START": "stuck once"},
        start_limit_seconds=3.0,
        slow_seconds=(),
    )
    pid = await engine.pid()
    with pytest.raises(EngineUnavailableError, match="did not start") as told:
        await engine.run(experiment("quick"))
    failed = await engine.until(EngineFailed)
    assert told.value.failed == failed
    assert failed.reason == "timeout"
    assert "did not start within 3 s" in failed.error
    assert "2 chips TPU fake" in failed.error
    assert "--start-limit" in failed.hint
    # Where it hung is the original text.
    assert "most recent call first" in failed.detail
    assert "in stuck" in failed.detail
    # At once, while the first process may still be ending.
    await engine.client.start()
    assert ends_within(pid, 0)
    await engine.until(Ready)
    assert engine.client.generation == 2
    assert not engine.of(EngineDied, Waiting)


async def test_a_start_that_holds_the_gil_ends_at_its_limit(open_engine, ends_within):
    engine = await open_engine(
        environment={"FAKE_START": "gil"}, start_limit_seconds=2.0
    )
    pid = await engine.pid()
    assert (await engine.until(EngineFailed)).reason == "timeout"
    await engine.finish()
    assert ends_within(pid, 0)
    assert engine.client.generation == 1


async def test_a_start_that_takes_long_is_commented_upon(open_engine, ends_within):
    engine = await open_engine(
        environment={"FAKE_START": "stuck"},
        start_limit_seconds=0.0,
        slow_seconds=(0.3, 0.6),
    )
    await engine.until(Waiting, when=lambda event: event.elapsed_seconds == 0.6)
    if not engine.of(Hello):
        await engine.until(Hello)
    pid = engine.of(Hello)[0].pid
    first, second = engine.of(Waiting)
    assert (first.elapsed_seconds, second.elapsed_seconds) == (0.3, 0.6)
    assert first.finding.name == second.finding.name == "slow-start"
    assert second.finding.advice
    # Without a limit nobody ends it but whoever started it.
    assert not engine.of(EngineFailed)
    await engine.finish()
    assert ends_within(pid, 0)


async def test_an_end_that_the_log_explains_is_not_tried_again(open_engine):
    engine = await open_engine(
        command=DEFAULT_COMMAND, environment={"XLA_FLAGS": "--xla_nonsense=1"}
    )
    failed = await engine.until(EngineFailed, EngineDied)
    assert isinstance(failed, EngineFailed)
    assert "does not know: --xla_nonsense=1" in failed.error
    assert "Unknown flag" in failed.detail
    await engine.finish()
    assert engine.client.generation == 1


# What is known of an engine that is starting.


def started(*events):
    start = startup.NOTHING
    for event in events:
        start = startup.observe(start, event)
    return start


NOTICED = Noticed(findings=(), hardware="8 chips TPU v5e")


def test_what_an_engine_does_is_said_as_it_goes():
    hello = Hello(pid=1, ops=())
    assert startup.doing(started()) == "starting JAX"
    assert startup.doing(started(NOTICED)) == "starting JAX"
    assert (
        startup.doing(started(NOTICED, hello)) == "initialising JAX on 8 chips TPU v5e"
    )
    assert startup.doing(started(hello)) == "starting JAX"


@pytest.mark.parametrize(
    ("hardware", "imported", "seconds", "says"),
    [
        ("8 chips TPU v5e", False, 20.0, "first import"),
        ("8 chips TPU v5e", True, 20.0, "up to a minute"),
        ("8 chips TPU v5e", True, 60.0, "TPU_VISIBLE_CHIPS=0,1,2,3,4,5,6,7"),
        ("tpu", True, 60.0, "TPU_PROCESS_BOUNDS=1,1,1 jaxtui"),
        ("2 GPUs NVIDIA 0x2335", True, 20.0, "nvidia-smi"),
        ("cuda", True, 20.0, "nvidia-smi"),
        ("the CPU", True, 20.0, "what else the machine does"),
    ],
)
def test_a_slow_start_has_its_advice(hardware, imported, seconds, says):
    start = startup.Start(hardware=hardware, imported=imported)
    finding = startup.slow(start, seconds)
    assert f"taken {seconds:.0f} s so far" in finding.what
    assert says in finding.advice
    assert finding.how
    assert finding.severity == ("warning" if seconds >= 60 else "info")
    assert says in startup.timed_out(start, seconds).hint or seconds < 60


def test_a_slice_that_is_known_is_named():
    noticed = Noticed(findings=(SLICE,), hardware="4 chips TPU v4")
    start = started(noticed, Hello(pid=1, ops=()))
    assert "Worker 2 of 4. All." in startup.slow(start, 20.0).advice
    assert "Worker 2 of 4. All." in startup.timed_out(start, 180.0).hint


def test_what_jax_says_of_slices_is_heard_with_the_chips_that_are_here():
    start = started(NOTICED, Logged(line="a"), Logged(line=HUNG), Logged(line=HUNG))
    (heard,) = start.logged
    assert heard.name == "slice-waits"
    assert "TPU_CHIPS_PER_PROCESS_BOUNDS=2,4,1" in heard.advice
    assert HUNG in startup.timed_out(start, 180.0).detail
    assert startup.died(start) is None


def test_only_the_last_lines_are_kept():
    lines = [Logged(line=str(number)) for number in range(startup.KEPT_LINES + 5)]
    assert started(*lines).log[0] == "5"


# Real engines, as the commands start them.


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"JAX_PLATFORMS": "cuda"}, "told to use CUDA, but this machine shows no"),
        ({"JAX_PLATFORMS": "tup"}, "Did you mean tpu?"),
        ({"JAX_ENABLE_X64": "maybe"}, "JAX_ENABLE_X64 is 'maybe', which JAX does not"),
        ({"XLA_FLAGS": "foo"}, "XLA_FLAGS is 'foo': XLA takes that for"),
    ],
)
def test_a_wrong_environment_is_exit_3_and_a_sentence(environment, says):
    ended = jaxtui("devices", **environment)
    if ended.returncode == 0 and "JAX_PLATFORMS" in environment:
        pytest.skip("this machine has that accelerator")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("jaxtui: ")
    assert says in ended.stderr
    assert "The original text:" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_limit_of_the_command_line_is_kept(tmp_path):
    (tmp_path / "jax.py").write_text("import time; time.sleep(3600)")
    path = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    ended = jaxtui("devices", "--start-limit", "0.2", **path)
    assert ended.returncode == 3
    assert "JAX did not start within 0.2 s" in ended.stderr
    again = jaxtui("devices", JAXTUI_START_LIMIT="0.2", **path)
    assert again.stderr.splitlines()[0] == ended.stderr.splitlines()[0]


# What the snapshot makes of it.


def seen(*events, state=EMPTY):
    for event in events:
        state = reduce(state, Envelope(generation=1, run=None, event=event))
    return state


def test_log_lines_become_findings_and_stay_when_jax_is_up():
    line = "RuntimeError: Unable to load cuDNN. Is it installed?"
    state = seen(NOTICED, Logged(line=line), Logged(line=line))
    assert [one.name for one in state.findings] == ["cuda-library"]
    assert "cuDNN is missing" in state.message
    host_ready = Ready(host=None, devices=(), ops=())  # type: ignore[arg-type]
    assert [one.name for one in seen(host_ready, state=state).findings] == [
        "cuda-library"
    ]


def test_what_was_said_about_waiting_is_over_when_jax_is_up():
    slow = Waiting(elapsed_seconds=60.0, finding=startup.slow(started(NOTICED), 60.0))
    state = seen(NOTICED, Logged(line=HUNG), slow)
    assert {one.name for one in state.findings} == {"slice-waits", "slow-start"}
    assert "60 s so far" in state.message
    ready = Ready(host=None, devices=(), ops=())  # type: ignore[arg-type]
    over = seen(ready, state=state)
    assert (over.findings, over.message) == ((), "")


def test_a_later_comment_replaces_the_earlier():
    events = [
        Waiting(elapsed_seconds=s, finding=startup.slow(started(NOTICED), s))
        for s in (20.0, 60.0)
    ]
    state = seen(NOTICED, *events)
    assert [one.what for one in state.findings] == [events[1].finding.what]


def test_an_error_is_not_hidden_by_what_is_good_to_know():
    error = Finding(name="a", severity="error", what="Bad.", how="x", advice="Do.")
    other = Finding(name="b", severity="warning", what="So so.", how="x")
    info = Finding(name="c", severity="info", what="Fine.", how="x")
    state = seen(Noticed(findings=(error, other, info), hardware="x"))
    assert state.message == "Bad. Do. (d: 1 more)"
    state = seen(Logged(line="Platform 'METAL' is experimental"), state=state)
    assert state.message == "Bad. Do. (d: 1 more)"
    assert state.findings[0] is error
    long = Finding(name="d", severity="error", what="Bad.", how="x", advice="w" * 200)
    assert seen(Noticed(findings=(long,))).message == "Bad. (d: what to do)"


def test_the_line_in_the_terminal_counts_the_start():
    state = seen(NOTICED, Hello(pid=1, ops=()))
    line = progress_line(state, 12.3)
    assert line == "initialising JAX on 8 chips TPU v5e, 12 s"
