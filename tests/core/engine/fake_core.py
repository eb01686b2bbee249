"""An engine with a made-up core: ops that sleep, print, die or get stuck on demand.

A case's op says what it does and its size in which turn (0: before the first).
FAKE_START makes the start go wrong; FAKE_OPS are those of the catalogue.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

from jaxtui.core.engine.core import CannotServeError
from jaxtui.core.engine.server import main
from jaxtui.core.model import (
    Case,
    CaseMeasured,
    CaseStarted,
    Device,
    Experiment,
    Host,
    Measurement,
    Noticed,
    OpInfo,
    PhaseStarted,
    Plan,
    Progress,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
    Stopped,
)
from tests import records
from tests.records import summary

TURNS = 3
HOST = records.host("fake")
DEVICE = records.device("cpu:0")
OPS = tuple(
    records.op(
        name,
        "float32",
        summary=f"Is {name}. " * 400,  # a catalogue that no pipe holds
        default=1,
        maximum=200,
    )
    for name in os.environ.get("FAKE_OPS", "quick,long").split(",")
)


def stuck() -> None:
    while True:
        time.sleep(3600)


def hold_the_gil() -> None:
    # Exponential time in C code that no signal interrupts.
    re.match(r"(a+)+$", "a" * 64 + "b")


def say_much() -> None:
    os.write(2, b"\xff\xfe \x1b[31mred\x1b[0m \x00 tail\n")
    os.write(1, b"x" * 300_000 + b"\nafter the long line\n")
    os.write(2, b"unfinished")


def garble() -> None:
    """Write into the pipe of events what is none."""
    events = int(sys.argv[sys.argv.index("--events") + 1])
    os.write(events, b'garbage\n{"generation": 1}\n')


def fail() -> None:
    raise RuntimeError("the core stumbled")


ACTS: dict[str, Callable[[], None]] = {
    "abort": os.abort,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda: os._exit(7),
    "stuck": stuck,
    "gil": hold_the_gil,
    "print": say_much,
    "garble": garble,
    "fail": fail,
}


class FakeCore:
    def look(self) -> Noticed:
        if os.environ.get("FAKE_START") == "silent":
            stuck()
        return Noticed(findings=(), hardware="2 chips TPU fake")

    def compare(self, devices: Any) -> tuple[Any, ...]:
        return ()

    def load(self) -> tuple[OpInfo, ...]:
        return OPS

    launched = False

    def join(self, say: Any) -> None:
        pass

    def leave(self) -> bool:
        return False

    def agree(self, work: Any) -> None:
        return None

    def start(self) -> tuple[tuple[Host, ...], tuple[Device, ...]]:
        wrong = os.environ.get("FAKE_START", "")
        again = "--generation 1" not in " ".join(sys.argv)
        if wrong == "refuse" or (wrong == "refuse again" and again):
            raise CannotServeError(Remark("no-tpu", severity="error"))
        if wrong == "stuck once" and not again:
            wrong = "stuck"
        if wrong in ACTS:
            ACTS[wrong]()
        return (HOST,), (DEVICE,)

    def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        for case in experiment.cases:
            if case.op in ACTS:
                ACTS[case.op]()
        cases = tuple(map(records.planned, experiment.cases))
        return Plan(cases=cases, budget_seconds=experiment.budget)

    def memory(self) -> dict[str, dict[str, int] | None]:
        return {"cpu:0": {"bytes_in_use": 1}}

    def run(
        self, experiment: Experiment, stop: Callable[[], bool]
    ) -> Iterator[RunEvent]:
        cases = experiment.cases
        yield RunStarted(cases=cases, budget_seconds=experiment.budget)
        for index, case in enumerate(cases):
            yield CaseStarted(index=index, case=case)
            yield PhaseStarted(index=index, phase="compile")
            act(case, 0)
        turn = 0
        while any(turn < turns(case) for case in cases):
            turn += 1
            for index, case in enumerate(cases):
                if stop():
                    yield from end(cases, turn, "cancelled")
                    return
                yield PhaseStarted(index=index, phase="turn")
                act(case, turn)
                yield sampled(index, case, turn)
            yield Progress(elapsed_seconds=1.0, remaining_seconds=1.0, doing="turns")
        yield from end(cases, turn, "target")


def end(cases: tuple[Case, ...], turn: int, stopped: Stopped) -> Iterator[RunEvent]:
    for index, case in enumerate(cases):
        yield CaseMeasured(index=index, measurement=measurement(case, turn, stopped))
    cancelled = stopped == "cancelled"
    outcome: Literal["cancelled", "complete"] = "cancelled" if cancelled else "complete"
    yield RunFinished(outcome=outcome, elapsed_seconds=1.0)


def turns(case: Case) -> float:
    return float("inf") if case.op in ("long", "flood") else TURNS


def act(case: Case, turn: int) -> None:
    if case.op == "long":
        time.sleep(0.001)
    elif case.op in ACTS and case.size == turn:
        ACTS[case.op]()


def sampled(index: int, case: Case, turn: int) -> Sampled:
    count = 20_000 if case.op == "large" else 200
    points = [float(turn)] * count
    return records.sampled(index, turn, measurement(case, turn, None), points, points)


def measurement(case: Case, turn: int, stopped: Stopped | None) -> Measurement:
    clock = summary(1.0, n=200 * turn, rounds=turn)
    return records.measurement(case, clock, stopped=stopped)


if __name__ == "__main__":
    # In the place of --python, what the interpreter would be given comes first.
    arguments = sys.argv[sys.argv.index("--requests") :]
    core: Any = FakeCore()
    sys.exit(main(arguments, core=core))
