"""A run as it is followed: what the death of its engine ends, and its patience."""

from __future__ import annotations

from typing import Any

import pytest

from jaxtui.core.engine.active import ActiveRun
from jaxtui.core.engine.silence import PATIENCE_SECONDS, WORK_SECONDS
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseStarted,
    Check,
    Experiment,
    Failure,
    Inspection,
    Loop,
    PhaseStarted,
    RunFinished,
    WorkFailed,
)
from jaxtui.features.check.exam import limit_seconds
from tests.records import told

SELU = Case(op="selu", size=8, dtype="float32", device="cpu:0", mode="jit")
OWN = Case(op="/p/mine.py:f", size=0, dtype="", device="cpu:0", mode="jit")
SHORT, LONG = 3.0 + PATIENCE_SECONDS, 3.0 + WORK_SECONDS
CHECK = Check(test="compute", devices=("cpu:0",), budget_seconds=3.0)
CRASH: dict[str, Any] = {"signal": "SIGABRT"}


@pytest.fixture
def run(experiment: Any) -> Any:
    return ActiveRun(7, experiment("a", "b", "c", budget=10.0))


def test_a_death_ends_the_case_whose_turn_it_was_or_the_first_that_is_left(
    run: Any,
) -> None:
    run.observe(CaseStarted(index=1, case=run.work.cases[1]))
    case, finished = run.died(CRASH)
    remark = case.failure.remark
    assert (case.index, remark.code) == (1, "engine-died")
    assert remark.facts == {"signal": "SIGABRT", "ready": True}
    assert finished.outcome == "crashed"


@pytest.mark.parametrize(
    ("ended", "stopping", "charged", "outcome"),
    [
        (2, False, [2], "crashed"),
        (3, False, [], "complete"),
        (0, True, [], "cancelled"),
    ],
)
def test_a_death_between_two_cases(
    run: Any, ended: int, stopping: bool, charged: list[int], outcome: str
) -> None:
    run.stopping = stopping
    for index, case in enumerate(run.work.cases[:ended]):
        run.observe(CaseStarted(index=index, case=case))
        failure = Failure(case=case, remark=told("It failed."))
        run.observe(CaseFailed(index=index, failure=failure))
    *cases, finished = run.died(CRASH)
    assert [one.index for one in cases] == charged
    assert finished.outcome == outcome


def test_a_work_without_cases_fails() -> None:
    failed, finished = ActiveRun(2, Loop(case=SELU)).died(CRASH)
    assert isinstance(failed, WorkFailed)
    assert isinstance(finished, RunFinished)
    assert failed.remark.code == "engine-died"
    assert finished.outcome == "crashed"


@pytest.mark.parametrize(
    ("work", "foreign", "phase", "idle", "working"),
    [
        (Inspection(case=OWN), True, "trace", 600.0, 600.0),
        (Inspection(case=SELU, limit_seconds=2.0), False, "", 2.0, 2.0),
        (Inspection(case=SELU), False, "", PATIENCE_SECONDS, 600.0),
        (Loop(case=OWN, budget_seconds=3.0), True, "", SHORT, LONG),
        (Loop(case=OWN, budget_seconds=3.0), True, "turn", SHORT, SHORT),
        (Loop(case=SELU, budget_seconds=3.0), False, "turn", SHORT, LONG),
        (CHECK, False, "", 69.0 + PATIENCE_SECONDS, 69.0 + WORK_SECONDS),
        (Experiment(cases=(OWN,), budget_seconds=3.0), True, "import", SHORT, LONG),
        (Experiment(cases=(OWN,), budget_seconds=3.0), True, "trace", SHORT, SHORT),
        (Experiment(cases=(OWN,), budget_seconds=3.0), True, "compile", SHORT, LONG),
        (Experiment(cases=(SELU,), budget_seconds=3.0), False, "fetch", SHORT, LONG),
    ],
)
def test_every_work_has_a_limit_and_code_that_runs_in_circles_a_near_one(
    work: Any, foreign: bool, phase: str, idle: Any, working: Any
) -> None:
    run = ActiveRun(1, work)
    run.observe(PhaseStarted(index=0, phase=phase))
    assert (run.foreign, run.limits) == (foreign, (idle, working))


def test_what_hung_is_told_with_its_phase() -> None:
    loop = ActiveRun(1, Loop(case=OWN, budget_seconds=3.0))
    loop.observe(PhaseStarted(index=0, phase="trace"))
    loop.give_up(63.0)
    (failed, _) = loop.died(CRASH)
    assert isinstance(failed, WorkFailed)
    assert failed.remark.code == "overdue"
    assert failed.remark.facts == {"seconds": 63.0, "phase": "trace", "work": "loop"}


def test_an_examination_leaves_out_a_device_before_its_engine_is_given_up() -> None:
    assert limit_seconds(CHECK) < ActiveRun(1, CHECK).limits.idle
