"""How events change a check: tests in order, devices that hang, engines that die."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxtui.analysis.check import judge, overall
from jaxtui.analysis.examination import (
    Examination,
    begin,
    limit_seconds,
    plan,
)
from jaxtui.model import (
    CHECK_LEVELS,
    CHECK_TESTS,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Event,
    Logged,
    Reading,
    RunFinished,
    WorkFailed,
)
from tests.analysis.figures import tpus

ALL = ("tpu:0", "tpu:1", "tpu:2")
FIRST, SECOND = CHECK_TESTS[:2]
COMPLETE = RunFinished(outcome="complete", elapsed_seconds=1.0)
CANCELLED = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)
DIED = WorkFailed(error="The engine crashed (SIGABRT)", hint="", detail="last words")


def after(exam: Examination, *events: Event) -> Examination:
    for event in events:
        exam = exam.observe(event)
    return exam


def upcoming(exam: Examination) -> Check:
    assert exam.next_work is not None
    return exam.next_work


def read(name: str | None, check: Check | None = None) -> CheckRead:
    test = check.test if check else FIRST
    return CheckRead(reading=Reading(test=test, device=name, what="it", measured=1.0))


def doing(*names: str) -> CheckDoing:
    return CheckDoing(devices=names, what=f"work on {len(names)} devices")


def sound(check: Check) -> Iterator[Event]:
    """A test whose devices take turns, all of them well."""
    yield CheckStarted(check=check)
    for name in check.devices:
        yield from (doing(name), read(name, check), CheckDone(device=name))
    yield COMPLETE


def started(exam: Examination, *events: Event) -> Examination:
    return after(exam, CheckStarted(check=upcoming(exam)), *events)


def rest(exam: Examination) -> Examination:
    """Everything that is left, without trouble."""
    while (check := exam.next_work) is not None:
        exam = after(exam, *sound(check))
    return exam


def faults(exam: Examination) -> dict[str | None, str]:
    return {one.device: one.fault for one in exam.readings if one.fault}


def skipped(exam: Examination) -> dict[str | None, str]:
    return {one.device: one.skipped for one in exam.readings if one.skipped}


@pytest.fixture
def three() -> Examination:
    return begin(tpus(3), "quick")


@pytest.mark.parametrize("level", CHECK_LEVELS)
def test_the_plan_has_every_test_once(level: str) -> None:
    checks = plan(level, ["cpu:0", "cpu:1"], seed=3)  # type: ignore[arg-type]
    assert tuple(check.test for check in checks) == CHECK_TESTS
    for check in checks:
        assert (check.devices, check.seed) == (("cpu:0", "cpu:1"), 3)
        assert limit_seconds(check) > check.budget
    if level == "quick":
        assert sum(check.budget for check in checks) < 10


def test_the_whole_flow(three: Examination) -> None:
    exam, seen = three, []
    while (check := exam.next_work) is not None:
        seen.append(check.test)
        assert check.devices == ALL
        assert exam.limit_seconds == limit_seconds(check)
        for event in sound(check):
            exam = exam.observe(event)
            assert (exam.next_work is None) == (
                event is not COMPLETE or check.test == CHECK_TESTS[-1]
            )
    assert tuple(seen) == CHECK_TESTS
    assert (exam.outcome, len(exam.readings)) == ("complete", 27)
    assert (exam.check, exam.at_work, exam.what) == (None, (), "")
    assert overall(judge(exam.readings, exam.devices)) == "pass"


def test_what_a_running_test_shows(three: Examination) -> None:
    exam = started(three, doing(*ALL))
    assert (exam.at_work, exam.what) == (ALL, "work on 3 devices")
    exam = after(exam, read("tpu:1"), CheckDone(device="tpu:1"))
    assert (exam.at_work, exam.done) == (("tpu:0", "tpu:2"), ("tpu:1",))
    assert exam.observe(Logged(line="hello")) == exam
    # Neither who is through nor a device of others can be blamed.
    assert exam.observe(doing("tpu:0", "tpu:1", "tpu:7")).at_work == ("tpu:0",)


@pytest.mark.parametrize("late", [False, True])
def test_a_user_who_cancels_keeps_what_was_read(three: Examination, late: bool) -> None:
    assert three.observe(CANCELLED).outcome == "cancelled"
    exam = started(three, doing("tpu:0"), read("tpu:0"))
    ended = exam.overdue().stopped() if late else exam.observe(CANCELLED)
    assert (ended.outcome, ended.next_work) == ("cancelled", None)
    assert (len(ended.readings), ended.check, ended.at_work) == (1, None, ())
    # Whatever still arrives.
    ended = after(ended, *sound(upcoming(three)), DIED, CRASHED)
    assert (ended.outcome, ended.next_work, faults(ended)) == ("cancelled", None, {})


def test_one_of_several_devices_hangs(three: Examination) -> None:
    exam = started(three, doing(*ALL))
    for name in ("tpu:0", "tpu:2"):
        exam = after(exam, read(name), CheckDone(device=name))
    exam = exam.overdue().observe(CANCELLED)
    assert exam.hung == ("tpu:1",)
    limit = limit_seconds(upcoming(three))
    fault = faults(exam)["tpu:1"]
    assert fault.startswith(f"tpu:1 did not finish within {limit:.1f} s.")
    assert "work on 3 devices" in fault
    assert (upcoming(exam).test, upcoming(exam).devices) == (SECOND, ("tpu:0", "tpu:2"))
    exam = rest(exam)
    assert exam.outcome == "complete"
    assert list(faults(exam)) == ["tpu:1"]
    left_out = [one for one in exam.readings if one.skipped]
    assert [one.test for one in left_out] == list(CHECK_TESTS[1:])
    assert {one.device for one in left_out} == {"tpu:1"}
    assert overall(judge(exam.readings, exam.devices)) == "fail"


def test_all_devices_hang(three: Examination) -> None:
    exam = started(three, doing(*ALL)).overdue().observe(CANCELLED)
    assert (exam.outcome, exam.next_work) == ("complete", None)
    assert set(faults(exam)) == set(ALL)
    assert sum(bool(one.skipped) for one in exam.readings) == 3 * 8
    assert overall(judge(exam.readings, exam.devices)) == "fail"


def test_one_after_the_other_hangs_and_the_rest_get_their_turn(
    three: Examination,
) -> None:
    exam = started(three, doing("tpu:0"), CheckDone(device="tpu:0"), doing("tpu:1"))
    exam = exam.overdue().observe(CANCELLED)
    assert (upcoming(exam).test, upcoming(exam).devices) == (FIRST, ("tpu:2",))
    exam = started(exam, doing("tpu:2")).overdue().observe(CANCELLED)
    assert exam.hung == ("tpu:1", "tpu:2")
    assert (upcoming(exam).test, upcoming(exam).devices) == (SECOND, ("tpu:0",))
    assert rest(exam).outcome == "complete"


def test_late_but_not_to_blame(three: Examination) -> None:
    *most, last = sound(upcoming(three))
    # The test came to its end after all.
    exam = after(after(three, *most).overdue(), last)
    assert (faults(exam), exam.hung, exam.late) == ({}, (), False)
    assert upcoming(exam).test == SECOND
    # All devices were through.
    exam = after(three, *most).overdue().observe(CANCELLED)
    assert exam.hung == ()
    assert "The test present did not finish" in faults(exam)[None]
    assert upcoming(exam).test == SECOND
    # The engine had not even said that it began.
    exam = after(started(three.overdue()), doing("tpu:0"), CANCELLED)
    assert (exam.outcome, exam.hung) == (None, ("tpu:0",))
    assert set(faults(three.overdue().observe(CANCELLED))) == set(ALL)


def test_the_limit_of_the_user_is_the_one_that_is_named() -> None:
    exam = started(begin(tpus(1), "full", 7.0), doing("tpu:0")).overdue()
    assert (exam.limit_seconds, exam.level) == (7.0, "full")
    assert "within 7.00 s" in faults(exam.observe(CANCELLED))["tpu:0"]


def test_the_engine_dies_and_the_others_get_the_test_again(three: Examination) -> None:
    exam = started(three, doing("tpu:0"), CheckDone(device="tpu:0"), doing("tpu:1"))
    exam = after(exam, DIED, CRASHED)
    assert exam.hung == ()
    (blamed,) = exam.readings
    said = "The engine crashed (SIGABRT). Last seen: work on 1 devices."
    assert (blamed.device, blamed.fault, blamed.skipped) == ("tpu:1", "", said)
    assert blamed.detail == "last words"
    again = upcoming(exam)
    assert (again.test, again.devices) == (FIRST, ("tpu:2",))
    count = len(exam.readings)
    exam = after(exam, *sound(again))
    assert upcoming(exam).devices == ALL
    # The failure of one test is not that of the next.
    assert not any(one.skipped for one in exam.readings[count:])
    assert rest(exam).outcome == "incomplete"


def test_a_test_that_begins_again_reads_everything_again(three: Examination) -> None:
    exam = started(three, read("tpu:0"), CheckDone(device="tpu:0"))
    exam = after(exam, *sound(upcoming(three)))
    assert [one.device for one in exam.readings] == list(ALL)
    assert exam.deaths == 1
    assert rest(exam).outcome == "complete"


def test_an_engine_that_dies_before_it_begins_does_not_go_round_for_ever(
    three: Examination,
) -> None:
    exam = three
    for _ in CHECK_TESTS:
        exam = after(exam, DIED, CRASHED)
    assert (exam.outcome, exam.next_work) == ("incomplete", None)
    assert len(exam.readings) == 27
    assert all(one.skipped for one in exam.readings)


def test_who_is_blamed_for_a_crash(three: Examination) -> None:
    silent = skipped(started(three, doing("tpu:0"), CRASHED))
    assert "The engine ended in the middle" in silent["tpu:0"]
    # A device of others is not, so all may have been at work.
    exam = started(three, doing("tpu:7"), DIED, CRASHED)
    assert set(skipped(exam)) == set(ALL)
    assert upcoming(exam).test == SECOND
    # After all devices it is what they have in common.
    *most, last = sound(upcoming(three))
    exam = after(three, *most, DIED, last)
    said = "The engine crashed (SIGABRT). Last seen: work on 1 devices."
    assert faults(exam) == {None: said}
    assert upcoming(exam).test == SECOND


def test_no_engine_is_left(three: Examination) -> None:
    exam = after(three, *sound(upcoming(three))).lost("JAX does not start.")
    assert (exam.outcome, faults(exam)) == ("incomplete", {})
    assert sum(one.skipped == "JAX does not start." for one in exam.readings) == 3 * 8
