"""How long a start may take, what is said meanwhile, and why it failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jaxtui.core.engine import startup
from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.engine.process import DEFAULT_COMMAND
from jaxtui.core.model import (
    EngineDied,
    EngineFailed,
    Hello,
    Logged,
    Noticed,
    Ready,
    Remark,
    Waiting,
)
from jaxtui.ui import words
from jaxtui.ui.progress import starting
from tests.processes import ROOT, alive, ended


async def test_a_start_that_hangs_ends_at_its_limit_and_can_be_tried_again(
    open_engine: Any, experiment: Any
) -> None:
    engine = await open_engine(
        environment={"FAKE_START": "stuck once"},
        start_limit_seconds=6.0,
        slow_seconds=0.0,
    )
    pid = await engine.pid()
    with pytest.raises(EngineUnavailableError) as caught:
        await engine.run(experiment("quick"))
    remark = (await engine.until(EngineFailed)).remark
    assert caught.value.remark == remark
    assert remark.code == "start-timeout"
    facts = {"seconds": 6.0, "imported": True, "hardware": "2 chips TPU fake"}
    assert facts.items() <= remark.facts.items()
    # Where it hung is the original text.
    assert "most recent call first" in remark.detail
    assert "in stuck" in remark.detail
    # At once, while the first process may still be ending.
    await engine.client.start()
    assert not alive(pid)
    await engine.until(Ready)
    assert engine.client.generation == 2
    assert not engine.of(EngineDied, Waiting)


async def test_a_start_that_takes_long_is_commented_upon(open_engine: Any) -> None:
    engine = await open_engine(
        environment={"FAKE_START": "gil"}, start_limit_seconds=0.0, slow_seconds=0.3
    )
    waiting = await engine.until(Waiting)
    assert waiting.elapsed_seconds == 0.3
    assert waiting.remark.code == "slow-start"
    if not engine.of(Hello):
        await engine.until(Hello)
    # Without a limit nobody ends it but whoever started it.
    await engine.finish()
    assert not engine.of(EngineFailed)
    assert not alive(engine.of(Hello)[0].pid)


async def test_the_last_words_of_an_engine_that_ends_at_once_are_kept(
    open_engine: Any,
) -> None:
    engine = await open_engine(
        command=DEFAULT_COMMAND, environment={"XLA_FLAGS": "--xla_nonsense=1"}
    )
    failed = await engine.until(EngineFailed, EngineDied)
    assert isinstance(failed, EngineFailed)
    assert failed.remark.code == "flag-unknown"
    assert "Unknown flag in XLA_FLAGS: --xla_nonsense=1" in failed.remark.detail
    await engine.finish()
    assert engine.client.generation == 1


# What is known of an engine that is starting.


def started(*events: Any) -> Any:
    start = startup.NOTHING
    for event in events:
        start = startup.observe(start, event)
    return start


V5E: dict[str, Any] = {
    "hardware": "8 TPU v5e chips",
    "makers": ("tpu",),
    "tpu_chips": 8,
}
NOTICED = Noticed(findings=(), **V5E)
HELLO = Hello(pid=1, ops=())


def test_what_an_engine_does_is_said_as_it_goes() -> None:
    initialising = "initialising JAX on 8 TPU v5e chips"
    assert starting(started(NOTICED)) == "starting JAX"
    assert starting(started(NOTICED, HELLO)) == initialising
    assert starting(started(HELLO)) == "starting JAX"


@pytest.mark.parametrize(
    ("facts", "imported"),
    [
        (V5E, False),
        (V5E, True),
        ({"makers": ("cuda",)}, True),
        ({"makers": ("rocm",)}, True),
        ({"hardware": "the CPU"}, True),
    ],
)
def test_a_slow_start_tells_how_far_it_is(facts: Any, imported: bool) -> None:
    start = startup.Start(imported=imported, **facts)
    remark = startup.slow(start, 20.0)
    assert remark.facts["seconds"] == 20.0
    assert remark.facts["imported"] == imported
    for one in (remark, startup.timed_out(start, 180.0).remark):
        assert words.advice(one)


def test_a_slice_that_is_known_is_a_fact_of_a_slow_start() -> None:
    slice_ = Remark("pod-slice", {"chips": 4, "worker": "2", "workers": 4})
    start = started(Noticed(findings=(slice_,), hardware="4 TPU v4 chips"), HELLO)
    assert startup.slow(start, 20.0).facts["slice"]
    assert not startup.slow(startup.NOTHING, 20.0).facts["slice"]


def test_the_last_lines_of_the_log_are_kept() -> None:
    lines = [*map(str, range(startup.KEPT_LINES + 1)), "the last"]
    start = started(NOTICED, *(Logged(line=line) for line in lines))
    assert start.logged == ()
    assert "the last" in startup.timed_out(start, 180.0).remark.detail
    died = startup.died(start, -9).remark
    assert died.facts == {"signal": "SIGKILL", "ready": False}
    assert (len(start.log), start.log[0]) == (startup.KEPT_LINES, "2")


# Real engines, as the commands start them.


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"JAX_PLATFORMS": "cuda"}, "JAX_PLATFORMS is 'cuda'"),
        ({"JAX_ENABLE_X64": "maybe"}, "JAX refuses JAX_ENABLE_X64=maybe."),
    ],
)
def test_a_wrong_environment_is_exit_3_and_a_sentence(
    environment: dict[str, Any], says: str
) -> None:
    done = ended("devices", **environment)
    if done.returncode == 0 and "JAX_PLATFORMS" in environment:
        pytest.skip("this machine has that accelerator")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("jaxtui: ")
    assert says in done.stderr
    assert "The original text:" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_limit_of_the_command_line_is_kept(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text("import time; time.sleep(3600)")
    path = f"{tmp_path}:{ROOT}"
    done = ended("devices", "--start-limit", "0.2", PYTHONPATH=path)
    assert done.returncode == 3
    assert "JAX did not start within 0.2 s" in done.stderr
