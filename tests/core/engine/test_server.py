"""The engine process on its raw pipes, without the client."""

from __future__ import annotations

import itertools
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxtui.core.engine.process import EngineProcess
from jaxtui.core.engine.protocol import (
    GoodbyeRequest,
    RunRequest,
    StopRequest,
    decode_envelope,
    encode,
)
from jaxtui.core.model import (
    EngineFailed,
    Logged,
    Ready,
    RunFinished,
    RunStarted,
    Sampled,
)
from tests.processes import LIMIT_SECONDS, wait_until


class Raw:
    def __init__(self, process: Any) -> None:
        self.popen = process.popen
        self.requests, self.events, self._log = process.take_pipes()
        self._rest = b""

    def send(self, *requests: Any) -> None:
        os.write(self.requests, b"".join(map(encode, requests)))

    def receive(self) -> Any:
        while b"\n" not in self._rest:
            assert select.select((self.events,), (), (), LIMIT_SECONDS)[0]
            chunk = os.read(self.events, 1 << 16)
            assert chunk, "the engine closed its pipe"
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return decode_envelope(line)

    def until(self, kind: Any) -> Any:
        end = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < end:
            envelope = self.receive()
            if isinstance(envelope.event, kind):
                return envelope
        raise AssertionError(f"{kind.__name__} never came")

    def end(self) -> None:
        self.popen.kill()
        self.popen.wait()
        for fd in (self.requests, self.events, self._log):
            os.close(fd)


@pytest.fixture
def spawn(fake_options: Any) -> Iterator[Any]:
    spawned = []

    def spawn(**changes: Any) -> Any:
        raw = Raw(EngineProcess.spawn(fake_options(**changes), generation=5))
        spawned.append(raw)
        return raw

    yield spawn
    for raw in spawned:
        raw.end()


def test_requests_of_an_engine_that_is_ready(spawn: Any, experiment: Any) -> None:
    engine = spawn()
    assert engine.until(Ready).generation == 5
    # A stop for another run is ignored.
    engine.send(RunRequest(run=3, work=experiment("long")))
    engine.until(Sampled)
    engine.send(StopRequest(run=1))
    engine.until(Sampled)
    engine.send(StopRequest(run=3))
    finished = engine.until(RunFinished)
    assert (finished.run, finished.event.outcome) == (3, "cancelled")
    # What is no request is logged and harmless.
    damaged = (
        b"garbage",
        b'{"type":"Dance"}',
        b"\xff\xfe",
        b'{"type":"Stop","run":"3"}',
    )
    os.write(engine.requests, b"\n".join(damaged) + b"\n")
    for _ in damaged:
        assert engine.until(Logged).event.line.startswith("request: ")
    # The next run may be asked for at the last event.
    for number in range(5, 30):
        engine.send(RunRequest(run=number, work=experiment("quick")))
        assert engine.until(RunFinished).event.outcome == "complete"
    engine.send(GoodbyeRequest())
    assert engine.popen.wait(LIMIT_SECONDS) == 0


def test_a_run_and_its_stop_may_arrive_before_the_engine_is_ready(
    spawn: Any, experiment: Any
) -> None:
    engine = spawn()
    engine.send(RunRequest(run=1, work=experiment("long")), StopRequest(run=1))
    assert engine.until(RunFinished).event.outcome == "cancelled"


def test_goodbye_ends_a_stuck_engine_too(spawn: Any, experiment: Any) -> None:
    engine = spawn()
    engine.send(RunRequest(run=1, work=experiment("stuck")))
    engine.until(RunStarted)
    engine.send(GoodbyeRequest())
    assert engine.popen.wait(LIMIT_SECONDS) == 0


def test_the_engine_exits_after_it_has_failed(spawn: Any) -> None:
    engine = spawn(environment={"FAKE_START": "refuse"})
    engine.until(EngineFailed)
    assert engine.popen.wait(LIMIT_SECONDS) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="reads the engine's CPU time")
def test_a_full_pipe_does_not_block_the_timing(spawn: Any, experiment: Any) -> None:
    """Nobody reads for a while; the run goes on meanwhile, and can be stopped."""
    engine = spawn()
    engine.until(Ready)
    engine.send(RunRequest(run=1, work=experiment("flood")))
    engine.until(RunStarted)
    worked = cpu_seconds(engine.popen.pid) + 1.0
    wait_until(lambda: cpu_seconds(engine.popen.pid) > worked, "the work")
    engine.send(StopRequest(run=1))
    rounds = []
    while not isinstance((event := engine.receive().event), RunFinished):
        if isinstance(event, Sampled):
            rounds.append(event.round)
    # More turns were made than the pipe and the outbox hold: some were given up.
    assert max(b - a for a, b in itertools.pairwise(rounds)) > 1


def cpu_seconds(pid: Any) -> Any:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
