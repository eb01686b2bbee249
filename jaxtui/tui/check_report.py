"""The health check as it is drawn: what was read, what it means, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from jaxtui.health.rows import Judged, Row, rows
from jaxtui.health.verdict import SEVERITY, VerdictWord, judge, overall
from jaxtui.model import CHECK_TESTS, CheckTest, Device, Reading
from jaxtui.tui.check_state import NO_CHECK, CheckState

Stage = Literal["waiting", "going", "done", "left"]
"""Of a test: still to come, going on, over, or never run: the check was ended."""

Place = tuple[str | None, CheckTest]
"""A device, or ``None`` for the machine as a whole, and a test."""


@dataclass(frozen=True, slots=True)
class Report:
    """A check with its verdicts, sorted by device and test."""

    check: CheckState = NO_CHECK
    judged: tuple[Judged, ...] = ()
    """In the order in which they were read."""
    places: Mapping[Place, tuple[Judged, ...]] = field(default_factory=dict)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Those that are tested."""
        return () if self.check.exam is None else self.check.exam.devices

    @property
    def names(self) -> frozenset[str]:
        """Of the devices that are tested."""
        return frozenset(device.name for device in self.devices)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """As they came."""
        return () if self.check.exam is None else self.check.exam.readings

    @property
    def at_work(self) -> tuple[str, ...]:
        """The devices that are being tested now."""
        return () if self.check.exam is None else self.check.exam.at_work

    @property
    def word(self) -> VerdictWord:
        """The worst verdict of all."""
        return overall([one.verdict for one in self.judged])

    def of_test(self, test: CheckTest) -> tuple[Judged, ...]:
        """What a test has read, of all devices and of the machine."""
        return tuple(one for one in self.judged if one.verdict.test == test)

    def at(self, device: str | None, test: CheckTest) -> tuple[Judged, ...]:
        """What a test has read of one device, or of the machine as a whole."""
        return self.places.get((device, test), ())

    def of_device(self, device: str | None) -> tuple[Judged, ...]:
        """All that was read of one device, or of the machine as a whole."""
        return tuple(one for test in CHECK_TESTS for one in self.at(device, test))

    def stage(self, test: CheckTest) -> Stage:
        """How far a test has come."""
        if self.check.test == test:
            return "going" if self.check.going else "left"
        if self.check.going and CHECK_TESTS.index(test) >= self.check.place:
            return "waiting"
        return "done" if self.of_test(test) else "left"


NO_REPORT = Report()


def report(check: CheckState, last: Report = NO_REPORT) -> Report:
    """A check with its verdicts.

    Args:
        check: as far as it has come.
        last: an earlier report: readings that it has judged are not judged again.
    """
    exam = check.exam
    if exam is None:
        return NO_REPORT
    if exam.readings == () or exam.readings is last.readings:
        kept = last.judged if exam.readings else ()
        return Report(check, kept, last.places if kept else {})
    verdicts = judge(exam.readings, exam.devices)
    judged = tuple(map(Judged, exam.readings, verdicts))
    places: dict[Place, list[Judged]] = {}
    for one in judged:
        places.setdefault((one.verdict.device, one.verdict.test), []).append(one)
    return Report(check, judged, {at: tuple(found) for at, found in places.items()})


def word_of(judged: Iterable[Judged]) -> VerdictWord | None:
    """The worst verdict; ``None`` before there is any."""
    verdicts = [one.verdict for one in judged]
    return overall(verdicts) if verdicts else None


def worst(judged: Sequence[Judged]) -> Row | None:
    """The row of a test that tells most: the worst verdict, then the lowest share."""
    found = rows(judged)
    if not found:
        return None
    return max(found, key=lambda row: max(map(badness, row.members)))


def worst_first(report: Report) -> list[CheckTest]:
    """The tests, those with something to worry about before the others."""

    def rank(test: CheckTest) -> int:
        return max(map(worry, report.of_test(test)), default=0)

    return sorted(CHECK_TESTS, key=rank, reverse=True)


def worry(one: Judged) -> int:
    """How far up in a list a verdict belongs: all that is in order is alike."""
    return max(0, SEVERITY.index(one.verdict.verdict) - SEVERITY.index("pass"))


def badness(one: Judged) -> tuple[int, float]:
    """How bad a verdict is, to be compared: by its word, then by what was missed."""
    share = one.verdict.share
    missed = float("-inf") if share is None else 1 - share
    return SEVERITY.index(one.verdict.verdict), missed
