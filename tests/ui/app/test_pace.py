"""Redraws are paced by the bytes that the terminal was sent."""

from __future__ import annotations

from textual.drivers.headless_driver import HeadlessDriver

from jaxtui.ui.app.pace import Pacer, backlog, counted


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_was_written_has_to_be_earned_first() -> None:
    clock = Clock()
    pacer = Pacer(1000, clock)
    assert pacer.ready()
    pacer.spend(500)
    assert not pacer.ready()
    clock.now = 0.51
    assert pacer.ready()


def test_silence_earns_no_burst() -> None:
    clock = Clock()
    pacer = Pacer(1000, clock)
    clock.now = 3600.0
    assert pacer.ready()
    pacer.spend(100)
    assert not pacer.ready()


def test_a_large_paint_does_not_silence_for_long() -> None:
    clock = Clock()
    pacer = Pacer(1000, clock)
    pacer.spend(10**6)
    clock.now = 2.1
    assert pacer.ready()
    assert pacer.written == 10**6


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
