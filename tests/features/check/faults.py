"""Runs single tests of the check, with faults planted in single devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import pytest

from jaxtui.core.model import (
    Case,
    Check,
    CheckDone,
    CheckLevel,
    CheckRead,
    CheckTest,
    Reading,
    RunEvent,
)
from jaxtui.features.bench.measure import rates
from jaxtui.features.check.measure.base import run_check
from jaxtui.tasks import devices
from jaxtui.tasks.waiting import Call
from jaxtui.timing import clocks, turns

NAMES = ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]

Fault = Callable[[Call, Case, dict[str, Any]], Call]
"""Makes another call out of the right one."""


def check(
    test: CheckTest,
    devices: int = 4,
    *,
    budget: float = 0.05,
    level: CheckLevel = "quick",
) -> Check:
    """A test on so many CPU devices; it always takes at least one round."""
    names = tuple(NAMES[:devices])
    return Check(test=test, level=level, devices=names, budget_seconds=budget)


def events(one: Check) -> list[RunEvent]:
    return list(run_check(one))


def readings(found: Sequence[RunEvent]) -> list[Reading]:
    return [event.reading for event in found if isinstance(event, CheckRead)]


def of(device: str, found: Sequence[Reading]) -> dict[str, Reading]:
    return {one.what: one for one in found if one.device == device}


def done(found: Sequence[RunEvent]) -> list[str]:
    return [event.device for event in found if isinstance(event, CheckDone)]


def plant(monkeypatch: pytest.MonkeyPatch, device: str, fault: Fault) -> None:
    """Let every call on this device be another one."""
    right = rates.compile_case

    def compiled(case: Case, on: jax.Device, **options: Any) -> Call:
        call = right(case, on, **options)
        return fault(call, case, options) if devices.name(on) == device else call

    monkeypatch.setattr(rates, "compile_case", compiled)


class Clock:
    """Time that passes only in calls of scripted devices, each with its own queue."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1.0
        self._idle: dict[str, float] = {}
        """When a device has done all that it was given."""
        for module in (turns, rates):
            monkeypatch.setattr(module, "perf_counter", lambda: self.now)
        monkeypatch.setattr(clocks, "perf_counter_ns", lambda: round(self.now * 1e9))
        monkeypatch.setattr(turns, "rest", lambda: 0.0)

    def takes(self, seconds: float, dispatch: float = 0.0) -> Fault:
        """Each call has its result so long after the device begins it."""

        def fault(call: Call, case: Case, _: dict[str, Any]) -> Call:
            def scripted(*args: Any) -> Any:
                self.now += dispatch
                begin = max(self.now, self._idle.get(case.device, 0.0))
                self._idle[case.device] = begin + seconds
                given = [getattr(arg, "array", arg) for arg in args]
                return Late(self, call(*given), begin + seconds)

            return scripted

        return fault


@dataclass
class Late:
    """A result that is there from a moment of a clock on."""

    clock: Clock
    array: Any
    moment: float

    def is_ready(self) -> bool:
        return self.clock.now >= self.moment

    def is_deleted(self) -> bool:
        return bool(self.array.is_deleted())

    def block_until_ready(self) -> None:
        self.array.block_until_ready()
        self.clock.now = max(self.clock.now, self.moment)


def raising(error: Exception, dtype: str | None = None) -> Fault:
    """A device whose calls raise, in one dtype or in all."""

    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def raises(*args: Any) -> Any:
            raise error

        return raises if dtype in (None, case.dtype) else call

    return fault
