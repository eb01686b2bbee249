"""Redraws are paced by the bytes that the terminal was sent."""

from __future__ import annotations

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from jaxtui.ui.app.pace import Pacer, backlog, counted


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("before", "written", "after", "ready"),
    [
        # What was written has to be earned first.
        (0.0, 500, 0.0, False),
        (0.0, 500, 0.51, True),
        # Silence earns no burst.
        (3600.0, 100, 3600.0, False),
        # A large paint does not silence for long.
        (0.0, 10**6, 2.1, True),
    ],
)
def test_what_was_written_is_earned(
    before: float, written: int, after: float, ready: bool
) -> None:
    clock = Clock()
    pacer = Pacer(1000, clock)
    clock.now = before
    assert pacer.ready()
    pacer.spend(written)
    clock.now = after
    assert pacer.ready() is ready
    assert pacer.written == written


def test_a_live_run_stays_within_its_rate() -> None:
    clock = Clock()
    pacer = Pacer(1000, clock)
    for step in range(400):
        clock.now = step * 0.25
        if pacer.ready():
            pacer.spend(700)
    assert pacer.written <= 1000 * clock.now + 700


def test_the_driver_counts_bytes_not_characters() -> None:
    seen: list[int] = []
    driver_class = counted(HeadlessDriver, seen.append)
    driver = driver_class.__new__(driver_class)
    driver.write("⣿a")
    assert seen == [4]


def test_without_a_writer_thread_nothing_is_queued() -> None:
    assert backlog(None) == 0
