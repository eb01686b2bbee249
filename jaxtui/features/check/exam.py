"""A health check as far as it has come: one immutable record, and how events change it.

Whoever runs a check gives ``next_work`` to an engine, feeds every event of that run to
``observe``, and calls ``overdue`` before stopping a run that took longer than
``limit_seconds``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from jaxtui.core.format import bytes_text
from jaxtui.core.model import (
    CHECK_TESTS,
    Case,
    CaseFailed,
    CaseMeasured,
    Check,
    CheckDoing,
    CheckDone,
    CheckLevel,
    CheckRead,
    CheckTest,
    Device,
    Doing,
    Event,
    Experiment,
    Fact,
    OpInfo,
    Reading,
    Remark,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.core.model.machine import group_name
from jaxtui.features.check.baseline import Baseline
from jaxtui.machine import messages

BUDGETS: dict[CheckLevel, dict[CheckTest, float]] = {
    "quick": {
        "present": 0.1,
        "memory": 0.1,
        "compute": 1.2,
        "bandwidth": 0.6,
        "transfer": 0.8,
        "dispatch": 0.3,
        "numerics": 1.5,
    },
    "full": {
        "present": 0.1,
        "memory": 0.1,
        "compute": 60.0,
        "bandwidth": 10.0,
        "transfer": 15.0,
        "dispatch": 2.0,
        "numerics": 15.0,
        "collectives": 10.0,
    },
}
"""The tests of each level, and their seconds of measuring, compiling not included.
Those of ``quick`` leave half of twelve to the start and to compiling; compute is long
at ``full`` because chips throttle after tens of seconds."""

COLLECTIVE_BYTES, SHARED_BYTES = 16 * 2**20, 2**20
"""Bytes of the largest buffer of a device in a collective, far more than what latency
decides; and where devices share one memory, and the same cores copy every byte."""

ALLOWANCE_SECONDS = 60.0
"""Seconds that a test may take beyond its budget before its devices count as hanging:
XLA compiles a float32 product at precision highest for a TPU in 5 to 9 s, and a GPU
tries kernels out first."""


class Examination(msgspec.Struct, frozen=True):
    """The tests that are left, the one that is running, and what was read so far."""

    devices: tuple[Device, ...]
    """The tested devices."""
    ops: tuple[str, ...]
    """The collectives between them."""
    waiting: tuple[Check, ...]
    """The tests that have not begun, in order."""
    level: CheckLevel = "quick"
    """The thoroughness of the tests."""
    readings: tuple[Reading, ...] = ()
    check: Check | None = None
    """The test that is running."""
    at_work: tuple[str, ...] = ()
    """The devices that work on it now, without those that are through."""
    done: tuple[str, ...] = ()
    """The devices that have all their readings of it."""
    doing: Doing | None = None
    """The activity of these devices."""
    hung: tuple[str, ...] = ()
    """Devices that did not answer in time: no further test tries them."""
    baseline: Baseline | None = None
    """The figures to compare with."""
    limit: float | None = None
    """Seconds for each test, if the user has chosen them."""
    late: bool = False
    """The running test has passed its time limit and is being ended."""
    failed: WorkFailed | None = None
    """The reason why the running test, or the last one, ended without all its
    readings."""
    crashed: bool = False
    """Some test ended because its engine died, which says nothing about a device."""
    outcome: Literal["complete", "cancelled", "incomplete"] | None = None
    """``None`` while there is more to do; ``incomplete`` at the end if some test was
    lost."""

    @property
    def tests(self) -> tuple[CheckTest, ...]:
        """The tests in their order."""
        alone = len(self.devices) < 2 or not self.ops
        left_out = {"collectives"} if alone else set()
        return tuple(x for x in of_level(self.level) if x not in left_out)

    @property
    def next_work(self) -> Check | Experiment | None:
        check = self.next_check
        if check is None or check.test != "collectives":
            return check
        return _collectives(check, self.ops)

    @property
    def next_check(self) -> Check | None:
        if self.check is not None or self.outcome is not None or not self.waiting:
            return None
        return self.waiting[0]

    @property
    def limit_seconds(self) -> float:
        check = self.check or self.next_check
        if self.limit is not None or check is None:
            return self.limit or 0.0
        return limit_seconds(check)

    def observe(self, event: Event) -> Examination:
        if (figure := _reading(event)) is not None:
            return replace(self, readings=(*self.readings, figure))
        if self.outcome is not None:
            # What a test that was broken off still sends must not begin it again.
            return self
        match event:
            case RunStarted():
                return _start(self)
            case CheckDoing():
                # Only devices of this test can be blamed for it.
                tested = self.check.devices if self.check else ()
                candidates = [name for name in event.devices if name in tested]
                at_work = tuple(name for name in candidates if name not in self.done)
                return replace(self, at_work=at_work, doing=event.doing)
            case CheckDone():
                working = tuple(name for name in self.at_work if name != event.device)
                return replace(self, at_work=working, done=(*self.done, event.device))
            case WorkFailed():
                return replace(self, failed=event)
            case RunFinished():
                return _finish(self, event)
            case _:
                return self

    def overdue(self) -> Examination:
        """The time limit has passed: the test is about to be ended."""
        return replace(self, late=True)

    def stopped(self) -> Examination:
        """The user ends the check; what was read stays.

        To be called whenever the user ends a check: the events of a test that is late
        do not tell who ended it.
        """
        return replace(_idle(self), waiting=(), outcome="cancelled")

    def lost(self, why: Remark) -> Examination:
        """Skip the remaining tests: no engine is left to run them."""
        checks = (self.check, *self.waiting) if self.check else self.waiting
        reason = msgspec.structs.replace(why, severity="info")
        skipped = tuple(
            _skip(check, name, reason) for check in checks for name in check.devices
        )
        return replace(
            _idle(self),
            readings=(*self.readings, *skipped),
            waiting=(),
            crashed=True,
            outcome="incomplete",
        )


def of_level(level: CheckLevel) -> tuple[CheckTest, ...]:
    """The tests of a level, in their order."""
    return tuple(test for test in CHECK_TESTS if test in BUDGETS[level])


def longest_seconds(level: CheckLevel) -> float:
    """Return the seconds that the longest test of a level measures."""
    return max(BUDGETS[level].values())


def limit_seconds(check: Check) -> float:
    return ALLOWANCE_SECONDS + 3 * check.budget_seconds


def begin(
    devices: tuple[Device, ...],
    level: CheckLevel,
    ops: Iterable[OpInfo] = (),
    baseline: Baseline | None = None,
    limit: float | None = None,
) -> Examination:
    """An examination of these devices, all of them addressable, at least one.

    Args:
        devices: that are tested.
        level: how thoroughly.
        ops: of which the collectives are run where there are several devices.
        baseline: to compare with; of the same hardware.
        limit: seconds for each test.
    """
    collectives = tuple(op.name for op in ops if op.collective)
    exam = Examination(devices, collectives, (), level, baseline=baseline, limit=limit)
    names = tuple(device.name for device in devices)
    checks = (
        Check(
            test=test,
            level=level,
            devices=names,
            budget_seconds=BUDGETS[level][test],
        )
        for test in exam.tests
    )
    return replace(exam, waiting=tuple(checks))


def _collectives(check: Check, ops: Sequence[str]) -> Experiment:
    """The collectives between all devices, as cases that take turns."""
    on_cpu = check.devices[0].startswith("cpu:")
    cases = tuple(
        Case(
            op=op,
            size=SHARED_BYTES if on_cpu else COLLECTIVE_BYTES,
            dtype="float32",
            device=group_name(check.devices),
            mode="jit",
        )
        for op in ops
    )
    return Experiment(cases=cases, budget_seconds=check.budget_seconds, seed=check.seed)


def _reading(event: Event) -> Reading | None:
    """The reading of an event: a test's own, or that of a collective."""
    match event:
        case CheckRead():
            return event.reading
        case CaseFailed() if (why := event.failure.remark).code != "stopped":
            if why.code == messages.UNSUPPORTED:  # no fault of a device
                why = replace(why, severity="info")
            return _of_all(_what(event.failure.case), remarks=(why,))
        case CaseMeasured():
            measured = event.measurement
            if not (rates := measured.collective) or (ready := measured.ready) is None:
                return None
            rate = rates.bus_bytes_per_second
            return _of_all(
                _what(measured.case),
                unit="bytes/s",
                measured=rate,
                ci_low=rate and rate * ready.median / ready.ci_high,
                ci_high=rate and rate * ready.median / ready.ci_low,
                confidence=ready.confidence,
                remarks=tuple(x for x in measured.notes if x.severity == "error"),
            )
    return None


def _of_all(what: str, **facts: Any) -> Reading:
    return Reading(test="collectives", device=None, what=what, **facts)


def _what(case: Case) -> str:
    return f"{case.op} {bytes_text(case.size)} {case.dtype}"


def _idle(exam: Examination) -> Examination:
    return replace(exam, check=None, at_work=(), doing=None, late=False)


def _skip(check: Check, device: str, why: Remark) -> Reading:
    return Reading(test=check.test, device=device, what=check.test, remarks=(why,))


def _start(exam: Examination) -> Examination:
    check, *waiting = exam.waiting
    together = check.test == "collectives"
    return replace(
        exam,
        check=check,
        waiting=tuple(waiting),
        at_work=check.devices if together else (),
        done=(),
        doing="measuring" if together else None,
        failed=None,
    )


def _finish(exam: Examination, event: RunFinished) -> Examination:
    if event.outcome == "cancelled" and not exam.late:
        return exam.stopped()
    if exam.check is None and exam.next_check is not None:
        # The engine was gone before it could say that it began.
        exam = replace(_start(exam), failed=exam.failed)
    if exam.check is None:
        return exam
    # A late test may have come to its end after all.
    if event.outcome != "complete" or exam.failed is not None:
        died = event.outcome == "crashed" and not exam.late
        exam = _break_off(replace(exam, crashed=exam.crashed or died), exam.check, died)
    return _leave_out_hung(_idle(exam))


def _break_off(exam: Examination, check: Check, died: bool) -> Examination:
    """Blame the devices that were at work; the others get the test once more."""
    unfinished = tuple(name for name in check.devices if name not in exam.done)
    suspects = exam.at_work or unfinished
    # Where all devices are through, what they have in common went wrong.
    readings = tuple(_blame(exam, check, name, died) for name in suspects or (None,))
    innocent = tuple(name for name in unfinished if name not in suspects)
    again = (msgspec.structs.replace(check, devices=innocent),) if innocent else ()
    return replace(
        exam,
        readings=(*exam.readings, *readings),
        hung=(*exam.hung, *suspects) if exam.late else exam.hung,
        waiting=(*again, *exam.waiting),
    )


def _blame(exam: Examination, check: Check, device: str | None, died: bool) -> Reading:
    """Return the reading of a device, or of all, in a test that was broken off.

    That an engine died is no evidence against a device: it was skipped.
    """
    failed, doing = exam.failed, exam.doing
    facts: dict[str, Fact] = {"doing": doing, "devices": len(exam.at_work)}
    if exam.late:
        # Simulated devices share the cores of a machine, which may be busy.
        simulated = all(device.simulated for device in exam.devices)
        code, died = ("hung-simulated", True) if simulated else ("hung", died)
        remark = Remark(code, {"seconds": exam.limit_seconds, **facts}, "error")
    elif failed is None:
        remark = Remark("engine-ended", facts, "error")
    else:
        remark = failed.remark
    if died:
        remark = msgspec.structs.replace(remark, severity="info")
    return Reading(test=check.test, device=device, what=check.test, remarks=(remark,))


def _leave_out_hung(exam: Examination) -> Examination:
    """Leave devices that hung out of the next test; end where none is left."""
    while exam.waiting:
        check, *later = exam.waiting
        left_out = tuple(
            _skip(check, name, Remark("unfinished-before"))
            for name in check.devices
            if name in exam.hung
        )
        exam = replace(exam, readings=(*exam.readings, *left_out))
        responding = tuple(name for name in check.devices if name not in exam.hung)
        if responding and not (check.test == "collectives" and len(responding) < 2):
            first = msgspec.structs.replace(check, devices=responding)
            return replace(exam, waiting=(first, *later))
        exam = replace(exam, waiting=tuple(later))
    return replace(exam, outcome="incomplete" if exam.crashed else "complete")
