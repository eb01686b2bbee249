"""What is a hang, and what only takes long."""

from __future__ import annotations

import os
from typing import Any

import pytest

from jaxtui.core.engine import silence
from jaxtui.core.engine.silence import Limits, cpu_seconds, hangs

HOUR = 3600.0


class Clock:
    """Time that passes only where it is waited for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, step: float = 0.0) -> None:
        self.now, self._step = 0.0, step
        monkeypatch.setattr(silence, "monotonic", lambda: self.now)
        monkeypatch.setattr("asyncio.sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += max(seconds, self._step, 0.01)


@pytest.mark.parametrize(
    ("core", "events", "end", "narrated"),
    [
        (0.0, HOUR, 70.0, [20.0]),  # it does nothing
        (0.002, HOUR, 70.0, [20.0]),  # its threads wait
        (0.1, HOUR, 1800.0, []),  # it works
        (None, HOUR, 1800.0, []),  # it may work
        (0.0, 50.0, None, [20.0] * 5),  # it is slow
        (0.0, 5.0, None, []),
    ],
)
async def test_a_process_hangs_that_says_and_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
    core: float | None,
    events: Any,
    end: float | None,
    narrated: Any,
) -> None:
    clock, said = Clock(monkeypatch), []
    limit = await hangs(
        lambda: clock.now // events,
        lambda: None if core is None else core * clock.now,
        lambda: Limits(70.0, 1800.0),
        lambda: clock.now < (270.0 if end is None else HOUR),
        lambda seconds, left: said.append((seconds, left)),
    )
    assert limit == end
    assert [round(seconds) for seconds, _ in said] == narrated
    assert all(seconds + left == pytest.approx(70.0) for seconds, left in said)
    if end is not None:
        assert clock.now == pytest.approx(end, abs=2.0)


async def test_time_in_which_jaxtui_itself_was_stopped_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, step=HOUR)
    limit = await hangs(
        lambda: None, lambda: 0.0, Limits, lambda: True, lambda *_: None
    )
    assert limit == 60.0
    assert clock.now >= 29 * HOUR


def test_the_cpu_time_of_a_group_has_that_of_its_processes() -> None:
    group = os.getpgrp()
    before = cpu_seconds(group)
    assert before is not None
    used = sum(os.times()[:2])
    while sum(os.times()[:2]) < used + 0.05:
        pass
    assert (cpu_seconds(group) or 0.0) > before
    assert cpu_seconds(2**30) == 0.0
