"""How events change a check: tests in order, devices that hang, engines that die."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.core.model import (
    CHECK_LEVELS,
    CaseFailed,
    CaseMeasured,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    Experiment,
    Failure,
    Logged,
    Reading,
    Remark,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.core.model.measurement import CollectiveRates
from jaxtui.features.check.exam import (
    BUDGETS,
    Examination,
    begin,
    limit_seconds,
    of_level,
)
from jaxtui.features.check.judge import judge, overall
from tests.core.figures import tpus
from tests.records import measurement, op, told

ALL = ("tpu:0", "tpu:1", "tpu:2")
QUICK = of_level("quick")
OPS = (op("add"), *(op(name, collective=True) for name in ("all_reduce", "permute")))
ALONE = tuple(test for test in of_level("full") if test != "collectives")
FIRST = "begin, on 0, through 0, on 1"
THROUGH = "begin, on 0, through 0, on 1, through 1, on 2, through 2"
DIED = WorkFailed(remark=told("The engine crashed (SIGABRT)", "", "last words"))


def played(script: str, exam: Examination | None = None) -> Examination:
    """An examination of three devices after some steps.

    ``on 0 1``: the two are at work. ``through 0``: it has its reading. ``died``: the
    engine says why. ``late`` and ``stopped`` are what a caller does. Any other word is
    the outcome of the run.
    """
    exam = exam or begin(tpus(3), "quick")
    for step in filter(None, script.split(", ")):
        word, *numbers = step.split()
        names = tuple(f"tpu:{number}" for number in numbers)
        match word:
            case "late":
                exam = exam.overdue()
            case "stopped":
                exam = exam.stopped()
            case "begin":
                check = exam.check or exam.next_work
                assert check is not None
                exam = exam.observe(RunStarted())
            case "on":
                exam = exam.observe(CheckDoing(devices=names))
            case "through":
                test = exam.check.test if exam.check else QUICK[0]
                for name in names:
                    one = Reading(test=test, device=name, what="it", measured=1.0)
                    exam = exam.observe(CheckRead(reading=one))
                    exam = exam.observe(CheckDone(device=name))
            case "died":
                exam = exam.observe(DIED)
            case _:
                exam = exam.observe(RunFinished(outcome=word, elapsed_seconds=1.0))  # type: ignore[arg-type]
    return exam


def rest(exam: Examination) -> Examination:
    """Everything that is left, without trouble."""
    while (check := exam.next_work) is not None:
        assert isinstance(check, Check)
        numbers = " ".join(name.removeprefix("tpu:") for name in check.devices)
        exam = played(f"begin, on {numbers}, through {numbers}, complete", exam)
    return exam


def numbers_of(exam: Examination, kind: str) -> str:
    """Of the devices with a fault, or with something that was skipped."""
    names = [
        one.device or "machine"
        for one in exam.readings
        for remark in one.remarks
        if (remark.severity == "error") == (kind == "fault")
    ]
    return " ".join(name.removeprefix("tpu:") for name in names)


@pytest.mark.parametrize("level", CHECK_LEVELS)
def test_every_test_is_run_once_on_all_devices(level: str) -> None:
    exam, seen = begin(tpus(3), level), []  # type: ignore[arg-type]
    while (check := exam.next_check) is not None:
        seen.append(check.test)
        assert check.devices == ALL
        assert exam.limit_seconds == limit_seconds(check) > check.budget
        exam = played(f"{THROUGH}, complete", exam)
    assert (*seen, exam.outcome) == (*exam.tests, "complete")
    assert (exam.check, exam.at_work, exam.doing) == (None, (), None)
    assert overall(judge(exam.readings, exam.devices)) == "pass"
    assert sum(BUDGETS["quick"].values()) < 10


def test_collectives_are_cases_between_all_devices() -> None:
    exam = begin(tpus(3), "full", OPS)
    assert exam.tests == of_level("full")
    assert begin(tpus(1), "full", OPS).tests == begin(tpus(3), "full").tests == ALONE
    exam = replace(exam, waiting=exam.waiting[-1:])
    work = exam.next_work
    assert isinstance(work, Experiment)
    assert [case.op for case in work.cases] == ["all_reduce", "permute"]
    assert {(case.device, case.size) for case in work.cases} == {("tpu:0-2", 2**24)}
    exam = exam.observe(RunStarted(cases=work.cases))
    assert (exam.at_work, exam.doing) == (ALL, "measuring")
    rates = CollectiveRates(
        participants=3,
        algorithm_bytes_per_second=4e10,
        bus_bytes_per_second=6e10,
        wrong=7,
    )
    wrong = Remark("wrong-result", {"by": "participants", "wrong": 7}, "error")
    measured = measurement(work.cases[0], collective=rates, notes=(wrong,))
    refused = Remark("unsupported", {}, "error")
    failure = Failure(case=work.cases[1], remark=refused)
    exam = exam.observe(CaseMeasured(index=0, measurement=measured))
    exam = exam.observe(CaseFailed(index=1, failure=failure))
    exam = played("complete", exam)
    assert exam.outcome == "complete"
    reduced, permuted = exam.readings
    assert (reduced.what, reduced.unit) == ("all_reduce 16.0 MiB float32", "bytes/s")
    assert reduced.measured == 6e10
    assert 0 < (reduced.ci_low or 0) <= 6e10 <= (reduced.ci_high or 0)
    words = [verdict.word for verdict in judge(exam.readings, exam.devices)]
    assert words == ["fail", "skipped"]
    assert permuted.remarks[0].severity == "info"


def test_what_a_running_test_shows() -> None:
    exam = played("begin, on 0 1 2")
    assert (exam.at_work, exam.doing) == (ALL, "measuring")
    exam = played("through 1", exam)
    assert (exam.at_work, exam.done) == (("tpu:0", "tpu:2"), ("tpu:1",))
    assert exam.observe(Logged(line="hello")) == exam
    # Neither who is through nor a device of others can be blamed.
    assert played("on 0 1 7", exam).at_work == ("tpu:0",)


SCRIPTS = (
    # Devices that hang are to blame, and no further test tries them.
    "begin, on 0 1 2, through 0 2, late, cancelled",
    "begin, on 0 1 2, late, cancelled",
    # One after the other hangs, and the rest get their turn.
    f"{FIRST}, late, cancelled",
    f"{FIRST}, late, cancelled, begin, on 2, late, cancelled",
    # Late: the test came to its end after all, or all devices were through, or the
    # engine had not even said that it began.
    f"{THROUGH}, late, complete",
    f"{THROUGH}, late, cancelled",
    "late, begin, on 0, cancelled",
    "late, cancelled",
    # A crash says nothing about a device, and the others get the test again; a device
    # of others is not to blame, and after all of them it is none of them.
    f"{FIRST}, died, crashed",
    "begin, on 0, crashed",
    "begin, on 7, died, crashed",
    f"{THROUGH}, died, complete",
    # An engine that dies before it begins does not go round for ever.
    ", ".join(["died, crashed"] * len(QUICK)),
    # A user who cancels keeps what was read, whatever still arrives.
    "cancelled",
    "begin, on 0, through 0, cancelled, died, crashed",
    "begin, on 0, through 0, late, stopped, on 1, complete",
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_failure_of_one_test_is_not_that_of_the_next(script: str) -> None:
    exam = played(script)
    faults, skipped = (numbers_of(exam, kind) for kind in ("fault", "skipped"))
    assert [*exam.hung] == [f"tpu:{n}" for n in faults.split() if n != "machine"]
    if exam.next_work is None:
        assert exam.outcome
        assert (exam.check, exam.at_work) == (None, ())
        return
    whole = rest(exam)
    assert whole.outcome == ("incomplete" if "crashed" in script else "complete")
    assert numbers_of(whole, "fault") == faults
    left_out = {*numbers_of(whole, "skipped").split()} - {*skipped.split()}
    assert left_out <= {*faults.split()}


def test_what_is_said_of_those_who_are_to_blame() -> None:
    hung = played("begin, on 0 1 2, through 0 2, late, cancelled")
    limit = limit_seconds(begin(tpus(3), "quick").waiting[0])
    (remark,) = hung.readings[-2].remarks
    facts: dict[str, Any] = {"seconds": limit, "doing": "measuring", "devices": 1}
    assert remark == Remark("hung", facts)
    assert overall(judge(hung.readings, hung.devices)) == "fail"
    # Of simulated devices the machine is to blame, which others use as well.
    simulated = tuple(replace(device, simulated=True) for device in tpus(3))
    exam = begin(simulated, "quick")
    busy = played("begin, on 0 1 2, through 0 2, late, cancelled", exam)
    assert busy.readings[-2].remarks[0].code == "hung-simulated"
    assert overall(judge(busy.readings, busy.devices)) == "pass"
    (died,) = played("begin, on 1, died, crashed").readings
    (remark,) = died.remarks
    assert (remark.code, remark.severity) == ("refused", "info")
    assert remark.detail == "last words"
    (silent,) = played("begin, on 0, crashed").readings
    assert silent.remarks[0].code == "engine-ended"
    # The limit of the user is the one that is named.
    own = played("begin, on 0, late", begin(tpus(1), "full", limit=7.0))
    assert (own.limit_seconds, own.level) == (7.0, "full")
    assert played("cancelled", own).readings[0].remarks[0].facts["seconds"] == 7.0


def test_no_engine_is_left() -> None:
    exam = played(f"{THROUGH}, complete").lost(Remark("engine-gone", severity="error"))
    assert (exam.outcome, numbers_of(exam, "fault")) == ("incomplete", "")
    remarks = [one.remarks for one in exam.readings[3:]]
    assert remarks == [(Remark("engine-gone"),)] * 3 * len(QUICK[1:])
