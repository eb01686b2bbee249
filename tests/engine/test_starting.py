"""How long a start may take, what is said meanwhile, and why it failed."""

from __future__ import annotations

import pytest

from jaxtui.engine import startup
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.engine.process import DEFAULT_COMMAND
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
from tests.processes import ROOT, alive, jaxtui

HUNG = "UserWarning: TPU backend initialization is taking more than 60.0 seconds. Did"


async def test_a_start_that_hangs_ends_at_its_limit_and_can_be_tried_again(
    open_engine, experiment
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
    assert not alive(pid)
    await engine.until(Ready)
    assert engine.client.generation == 2
    assert not engine.of(EngineDied, Waiting)


async def test_a_start_that_takes_long_is_commented_upon(open_engine):
    engine = await open_engine(
        environment={"FAKE_START": "gil"},
        start_limit_seconds=0.0,
        slow_seconds=(0.3, 0.6),
    )
    await engine.until(Waiting, when=lambda event: event.elapsed_seconds == 0.6)
    first, second = engine.of(Waiting)
    assert first.elapsed_seconds == 0.3
    assert first.finding.name == second.finding.name == "slow-start"
    assert second.finding.advice
    if not engine.of(Hello):
        await engine.until(Hello)
    # Without a limit nobody ends it but whoever started it.
    await engine.finish()
    assert not engine.of(EngineFailed)
    assert not alive(engine.of(Hello)[0].pid)


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


V5E = {"hardware": "8 chips TPU v5e", "makers": ("tpu",), "tpu_chips": 8}
NOTICED = Noticed(findings=(), **V5E)
HELLO = Hello(pid=1, ops=())


def test_what_an_engine_does_is_said_as_it_goes():
    initialising = "initialising JAX on 8 chips TPU v5e"
    assert startup.doing(started(NOTICED)) == "starting JAX"
    assert startup.doing(started(NOTICED, HELLO)) == initialising
    assert startup.doing(started(HELLO)) == "starting JAX"


@pytest.mark.parametrize(
    ("facts", "imported", "seconds", "says"),
    [
        (V5E, False, 20.0, "first import"),
        (V5E, True, 20.0, "up to a minute"),
        (V5E, True, 60.0, "TPU_VISIBLE_CHIPS=0,1,2,3,4,5,6,7"),
        ({"makers": ("tpu",)}, True, 60.0, "TPU_PROCESS_BOUNDS=1,1,1 jaxtui"),
        ({"makers": ("tpu", "cuda")}, True, 20.0, "up to a minute"),
        ({"makers": ("cuda",)}, True, 20.0, "`nvidia-smi`"),
        ({"makers": ("rocm",)}, True, 20.0, "`rocm-smi`"),
        ({"hardware": "the CPU"}, True, 20.0, "what else the machine does"),
    ],
)
def test_a_slow_start_has_its_advice(facts, imported, seconds, says):
    start = startup.Start(imported=imported, **facts)
    finding = startup.slow(start, seconds)
    assert f"taken {seconds:.0f} s so far" in finding.what
    assert says in finding.advice
    assert finding.severity == ("warning" if seconds >= 60 else "info")
    assert says in startup.timed_out(start, seconds).hint or seconds < 60


def test_a_slice_that_is_known_is_named():
    slice_ = Finding(
        name="pod-slice", severity="info", what="Worker 2 of 4.", how="", advice="All."
    )
    start = started(Noticed(findings=(slice_,), hardware="4 chips TPU v4"), HELLO)
    assert "Worker 2 of 4. All." in startup.slow(start, 20.0).advice
    assert "Worker 2 of 4. All." in startup.timed_out(start, 180.0).hint


def test_what_jax_says_of_slices_is_heard_with_the_chips_that_are_here():
    lines = ["a", *map(str, range(startup.KEPT_LINES - 1)), HUNG, HUNG]
    start = started(NOTICED, *(Logged(line=line) for line in lines))
    (heard,) = start.logged
    assert heard.name == "slice-waits"
    assert "TPU_CHIPS_PER_PROCESS_BOUNDS=2,4,1" in heard.advice
    assert HUNG in startup.timed_out(start, 180.0).detail
    assert startup.died(start, "It crashed.").reason == "died"
    # Only the last lines are kept.
    assert (len(start.log), start.log[0]) == (startup.KEPT_LINES, "1")


# Real engines, as the commands start them.


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"JAX_PLATFORMS": "cuda"}, "told to use CUDA, but this machine shows no"),
        ({"JAX_ENABLE_X64": "maybe"}, "JAX_ENABLE_X64 is 'maybe', which JAX does not"),
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
    path = f"{tmp_path}:{ROOT}"
    ended = jaxtui("devices", "--start-limit", "0.2", PYTHONPATH=path)
    assert ended.returncode == 3
    assert "JAX did not start within 0.2 s" in ended.stderr
