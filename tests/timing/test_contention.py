"""Contention is judged on recorded /proc inputs, never on what happens to run here."""

from __future__ import annotations

import pytest

from jaxtui.features.bench.measure import notes
from jaxtui.timing import contention
from jaxtui.timing.contention import Meter

HZ = contention.TICKS_PER_SECOND


class RecordedProc:
    """Two cores; time passes when the test says so."""

    def __init__(self, missing: str) -> None:
        self.missing = missing
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
        if name.startswith(self.missing):
            return None
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
    ("turns", "load", "missing", "by", "used"),
    [
        (20, {"own": 1.0, "others": 0.9}, "no file", "processes", 0.9),
        (20, {"own": 2.0}, "no file", "", 0),  # threads of this process
        (20, {"own": 0.8, "others": 0.6}, "no file", "", 0),  # idle cores cost nothing
        (20, {"own": 1.9, "others": 0.1}, "no file", "", 0),  # the screen's share
        (20, {"own": 1.5, "steal": 0.4}, "no file", "hypervisor", 0.4),
        # Less than a fifth of a second.
        (3, {"own": 1.0, "others": 1.0}, "no file", "", 0),
        # Without files of pressure the share of others decides.
        (20, {"own": 0.5, "others": 0.5}, "pressure", "processes", 0.5),
        (20, {"own": 0.5, "others": 0.5}, "", "", 0),
    ],
)
def test_others_are_named_where_they_took_something_away(
    turns: int, load: dict[str, float], missing: str, by: str, used: float
) -> None:
    note = notes.contention(metered(RecordedProc(missing), turns, **load))
    assert (note is not None) == bool(by)
    if note:
        assert (note.code, note.facts["by"]) == ("contended", by)
        assert note.facts["used_cores"] == pytest.approx(used, abs=0.05)
        assert note.facts["cores"] == 2
