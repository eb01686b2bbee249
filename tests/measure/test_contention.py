"""Contention is judged on recorded /proc inputs, never on what happens to run here."""

from __future__ import annotations

import pytest

from jaxtui.measure import contention, notes
from jaxtui.measure.contention import Meter

HZ = contention.TICKS_PER_SECOND


class RecordedProc:
    """Two cores; time passes when the test says so."""

    def __init__(self) -> None:
        self.own = self.others = self.steal = self.idle = 0.0
        self.waited = 0.0

    def pass_time(
        self, seconds: float, own: float, others: float = 0.0, steal: float = 0.0
    ) -> None:
        self.own += own * seconds
        self.others += others * seconds
        self.steal += steal * seconds
        self.idle += (2 - own - others - steal) * seconds
        self.waited += max(0.0, own + others - 1.5) * seconds

    def __call__(self, name: str) -> str | None:
        if name == "stat":
            busy = round((self.own + self.others) * HZ)
            idle, steal = round(self.idle * HZ), round(self.steal * HZ)
            line = f"{busy} 0 0 {idle} 0 0 0 {steal} 0 0"
            half = f"{busy // 2} 0 0 {idle // 2} 0 0 0 {steal // 2} 0 0"
            return f"cpu  {line}\ncpu0 {half}\ncpu1 {half}\nintr 1\n"
        if name == "self/stat":
            fields = ["S", *["0"] * 10, str(round(self.own * HZ)), "0", *["0"] * 30]
            return f"123 (py (thon) x) {' '.join(fields)}"
        return (
            f"some avg10=0.00 avg60=0.00 avg300=0.00 total={round(self.waited * 1e6)}\n"
        )


def metered(proc: RecordedProc, turns: int, **load: float) -> contention.Usage:
    meter = Meter(proc)
    for _ in range(turns):
        meter.start()
        proc.pass_time(0.05, **load)
        meter.stop()
        proc.pass_time(1.0, own=0.0, others=2.0)  # between turns nobody cares
    return meter.usage


def test_a_competitor_is_seen_within_a_second_of_turns() -> None:
    usage = metered(RecordedProc(), 20, own=1.0, others=0.9)
    assert usage.others == pytest.approx(0.9, abs=0.05)
    note = notes.contended(usage)
    assert note is not None
    assert note.flag == "contended"
    assert "0.9 of 2 cores" in note.text


def test_our_own_threads_are_not_others() -> None:
    assert notes.contended(metered(RecordedProc(), 20, own=2.0)) is None


def test_idle_cores_that_others_use_cost_us_nothing() -> None:
    assert notes.contended(metered(RecordedProc(), 20, own=0.8, others=0.6)) is None


def test_the_screens_own_share_passes_unremarked() -> None:
    assert notes.contended(metered(RecordedProc(), 20, own=1.9, others=0.1)) is None


def test_time_stolen_by_the_hypervisor_is_said() -> None:
    note = notes.contended(metered(RecordedProc(), 20, own=1.5, steal=0.4))
    assert note is not None
    assert "20%" in note.text


def test_less_than_a_fifth_of_a_second_says_nothing() -> None:
    assert notes.contended(metered(RecordedProc(), 3, own=1.0, others=1.0)) is None


def test_without_proc_nothing_is_said() -> None:
    meter = Meter(lambda name: None)
    meter.start()
    meter.stop()
    assert notes.contended(meter.usage) is None


def test_without_pressure_files_the_share_of_others_decides() -> None:
    proc = RecordedProc()
    meter = Meter(lambda name: None if name.startswith("pressure") else proc(name))
    for _ in range(20):
        meter.start()
        proc.pass_time(0.05, own=0.5, others=0.5)
        meter.stop()
    assert notes.contended(meter.usage) is not None
