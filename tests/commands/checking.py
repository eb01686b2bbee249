"""A health check whose readings a test makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxtui import cli
from jaxtui.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Event,
    Expected,
    Reading,
    RunFinished,
)
from tests.commands.fakes import UP, FakeEngine

PEAK = Expected(value=200e12, kind="peak", source="the data sheet")
Script = Callable[[Check], Sequence[Event]]


def reading(check: Check, device: str, **changes: object) -> Reading:
    facts: dict[str, object] = {
        "test": check.test,
        "device": device,
        "what": f"some {check.test}",
        "unit": "flop/s",
        "measured": 1e11,
    }
    return Reading(**{**facts, **changes})  # type: ignore[arg-type]


def run_of(check: Check, *readings: Reading) -> list[Event]:
    return [
        CheckStarted(check=check),
        CheckDoing(devices=check.devices, what=f"doing {check.test}"),
        *(CheckRead(reading=one) for one in readings),
        *(CheckDone(device=name) for name in check.devices),
        RunFinished(outcome="complete", elapsed_seconds=1.0),
    ]


def sound(check: Check) -> list[Event]:
    return run_of(check, *(reading(check, name) for name in check.devices))


def with_trouble(test: str, device: str, **trouble: object) -> Script:
    """Everything is sound but one reading."""

    def script(check: Check) -> list[Event]:
        readings = [
            reading(check, name, **trouble)
            if (check.test, name) == (test, device)
            else reading(check, name)
            for name in check.devices
        ]
        return run_of(check, *readings)

    return script


def engine(script: Script = sound, opening: Sequence[Event] = UP) -> FakeEngine:
    return FakeEngine(opening, script)  # type: ignore[arg-type]


def run(fake: FakeEngine, *arguments: str) -> int:
    return cli.main(["check", *arguments], engine=fake)
