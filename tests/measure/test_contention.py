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


@pytest.mark.parametrize(
    ("turns", "load", "said"),
    [
        (20, {"own": 1.0, "others": 0.9}, "0.9 of 2 cores"),
        (20, {"own": 2.0}, ""),  # threads of this process
        (20, {"own": 0.8, "others": 0.6}, ""),  # idle cores cost nothing
        (20, {"own": 1.9, "others": 0.1}, ""),  # the screen's share
        (20, {"own": 1.5, "steal": 0.4}, "20%"),
        (3, {"own": 1.0, "others": 1.0}, ""),  # less than a fifth of a second
    ],
)
def test_others_are_named_where_they_took_something_away(
    turns: int, load: dict[str, float], said: str
) -> None:
    note = notes.contention(metered(RecordedProc(), turns, **load))
    assert (note is not None) == bool(said)
    if note:
        assert note.flag == "contended"
        assert said in note.text


def test_without_proc_nothing_is_said() -> None:
    meter = Meter(lambda name: None)
    meter.start()
    meter.stop()
    assert notes.contention(meter.usage) is None


def test_without_pressure_files_the_share_of_others_decides() -> None:
    proc = RecordedProc()
    meter = Meter(lambda name: None if name.startswith("pressure") else proc(name))
    for _ in range(20):
        meter.start()
        proc.pass_time(0.05, own=0.5, others=0.5)
        meter.stop()
    assert notes.contention(meter.usage) is not None
