"""A run as it is followed: what the death of its engine ends, and its patience."""

from __future__ import annotations

import pytest

from jaxtui.engine.active import PATIENCE_SECONDS, ActiveRun
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseStarted,
    Experiment,
    Failure,
    Inspection,
    Loop,
    PhaseStarted,
)
from tests.processes import alive
from tests.records import told

SELU = Case(op="selu", size=8, dtype="float32", device="cpu:0", mode="jit")
OWN = Case(op="/p/mine.py:f", size=0, dtype="", device="cpu:0", mode="jit")
CRASH = {"signal": "SIGABRT"}
OFFERED = Case(op="our-step", size=0, dtype="", device="cpu:0", mode="jit")


@pytest.fixture
def run(experiment):
    return ActiveRun(7, experiment("a", "b", "c", budget=10.0))


def failed(index, case):
    return CaseFailed(
        index=index, failure=Failure(case=case, remark=told("It failed."))
    )


def test_a_death_ends_the_case_whose_turn_it_was(run):
    run.observe(CaseStarted(index=1, case=run.work.cases[1]))
    case, finished = run.died(CRASH)
    remark = case.failure.remark
    assert (case.index, remark.code) == (1, "engine-died")
    assert remark.facts == {"signal": "SIGABRT", "ready": True}
    assert finished.outcome == "crashed"


def test_a_death_between_two_cases_counts_against_the_first_that_is_left(run):
    for index in (0, 1):
        run.observe(CaseStarted(index=index, case=run.work.cases[index]))
        run.observe(failed(index, run.work.cases[index]))
    case, _ = run.died(CRASH)
    assert case.index == 2


def test_a_death_when_all_is_done_costs_nothing(experiment):
    run = ActiveRun(1, experiment("a"))
    run.observe(failed(0, run.work.cases[0]))
    (finished,) = run.died(CRASH)
    assert finished.outcome == "complete"


def test_a_death_while_it_is_stopped_is_its_end(run):
    run.stopping = True
    (finished,) = run.died(CRASH)
    assert finished.outcome == "cancelled"


def test_a_work_without_cases_fails():
    failed, finished = ActiveRun(2, Loop(case=SELU)).died(CRASH)
    assert failed.remark.code == "engine-died"
    assert finished.outcome == "crashed"


@pytest.mark.parametrize(
    ("work", "foreign", "patience"),
    [
        (Inspection(case=OWN), True, 600.0),
        (Inspection(case=OFFERED), True, 600.0),
        (Inspection(case=SELU, limit_seconds=2.0), False, 2.0),
        (Loop(case=OFFERED, budget_seconds=3.0), True, 3.0 + PATIENCE_SECONDS),
        (Loop(case=SELU, budget_seconds=3.0), False, None),
        (Loop(case=OWN, budget_seconds=3.0), True, 3.0 + PATIENCE_SECONDS),
    ],
)
def test_code_that_is_not_jaxtui_s_and_inspections_have_a_limit(
    work, foreign, patience
):
    run = ActiveRun(1, work, offered={"our-step"})
    assert (run.foreign, run.patience_seconds) == (foreign, patience)


@pytest.mark.parametrize(
    ("budget", "phase", "patience"),
    [
        (None, "compile", None),
        (None, "trace", 10.0 + PATIENCE_SECONDS),
        (5.0, "compile", 5.0 + PATIENCE_SECONDS),
    ],
)
def test_xla_compiles_as_long_as_it_takes_unless_a_budget_was_typed(
    budget, phase, patience
):
    run = ActiveRun(1, Experiment(cases=(OWN,), budget_seconds=budget))
    run.observe(PhaseStarted(index=0, phase=phase))
    assert run.patience_seconds == patience


def test_what_hung_is_told_with_its_phase():
    loop = ActiveRun(1, Loop(case=OWN, budget_seconds=3.0))
    loop.observe(PhaseStarted(index=0, phase="trace"))
    loop.give_up()
    (failed, _) = loop.died(CRASH)
    assert failed.remark.code == "overdue"
    assert failed.remark.facts == {"seconds": 63.0, "phase": "trace", "work": "loop"}


async def test_a_forced_stop_returns_when_the_engine_is_gone(open_engine, experiment):
    engine = await open_engine(grace_seconds=0.0)
    pid = await engine.pid()
    await engine.run(experiment(("stuck", 1)))
    await engine.until(PhaseStarted, when=lambda event: event.phase == "turn")
    await engine.stop()
    assert not alive(pid)
