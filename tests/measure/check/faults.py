"""Runs single tests of the check, with faults planted in single devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import pytest

from jaxtui.measure import devices
from jaxtui.measure.check import work
from jaxtui.measure.check.base import run_check
from jaxtui.measure.clocks import Call
from jaxtui.model import (
    Case,
    Check,
    CheckDone,
    CheckLevel,
    CheckRead,
    CheckTest,
    Reading,
    RunEvent,
)

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
    right = work.compile_case

    def compiled(case: Case, on: jax.Device, **options: Any) -> Call:
        call = right(case, on, **options)
        return fault(call, case, options) if devices.name(on) == device else call

    monkeypatch.setattr(work, "compile_case", compiled)


def times(count: int) -> Fault:
    """A device that takes so many times as long."""

    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def slow(*args: Any) -> Any:
            *read, _ = args
            for _ in range(count):
                result = call(*args)
                # What was donated is gone; the next call writes into the result.
                args = (*read, result) if options.get("into") else args
            return result

        return slow

    return fault


def raising(error: Exception, dtype: str | None = None) -> Fault:
    """A device whose calls raise, in one dtype or in all."""

    def fault(call: Call, case: Case, options: dict[str, Any]) -> Call:
        def raises(*args: Any) -> Any:
            raise error

        return raises if dtype in (None, case.dtype) else call

    return fault
