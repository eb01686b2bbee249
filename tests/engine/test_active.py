from __future__ import annotations

import msgspec
import pytest

from jaxtui.engine.active import PATIENCE_SECONDS, ActiveRun
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Failure,
    Inspection,
    Loop,
    RunFinished,
    RunStarted,
)


@pytest.fixture
def run(experiment):
    run = ActiveRun(7, experiment("a", "b", "c", budget=10.0))
    run.translate(RunStarted(cases=run.work.cases, budget_seconds=10.0))
    return run


def test_a_crash_before_any_case_counts_against_the_first(run):
    (event,) = run.crashed("It crashed.")
    assert isinstance(event, CaseFailed)
    assert (event.index, event.failure.error) == (0, "It crashed.")


def test_the_rest_keeps_its_indices_and_the_budget_that_is_left(run):
    run.translate(CaseStarted(index=1, case=run.work.cases[1]))
    run.crashed("It crashed.")
    rest = run.rest()
    assert [case.op for case in rest.cases] == ["a", "c"]
    assert 9.0 < rest.budget_seconds < 10.0
    assert run.translate(RunStarted(cases=rest.cases, budget_seconds=9.0)) is None
    assert run.translate(CaseStarted(index=1, case=rest.cases[1])).index == 2
    assert run.crashed("Again.")[0].index == 2
    assert run.rest().cases == run.work.cases[:1]
    assert run.translate(CaseStarted(index=0, case=rest.cases[0])).index == 0
    run.crashed("And again.")
    assert run.rest() is None


def test_a_budget_that_is_used_up_leaves_every_case_a_little(experiment):
    run = ActiveRun(1, experiment("a", "b", "c", budget=0.0))
    run.crashed("It crashed.")
    assert run.rest().budget_seconds == 1.0


def test_a_run_that_crashed_once_is_not_complete(run):
    run.crashed("It crashed.")
    finished = run.translate(RunFinished(outcome="complete", elapsed_seconds=1.0))
    assert finished.outcome == "crashed"


def test_a_run_that_breaks_off_gives_every_case_an_outcome(run):
    *outcomes, finished = run.broken_off("Nobody can go on.")
    assert [event.index for event in outcomes] == [0, 1, 2]
    assert finished.outcome == "crashed"


def test_the_first_event_is_always_the_start(experiment):
    run = ActiveRun(1, experiment("a"))
    kinds = [type(event) for event in (*run.crashed("x"), *run.broken_off("x"))]
    assert kinds == [RunStarted, CaseFailed, RunFinished]


def test_cases_that_were_never_reached_stay_out_of_a_cancelled_run(run):
    run.translate(CaseStarted(index=1, case=run.work.cases[1]))
    events = run.cancelled("Stopped.")
    assert [type(event) for event in events] == [CaseFailed, RunFinished]
    assert not any(isinstance(event, CaseMeasured) for event in events)


def test_what_is_left_for_another_engine_is_told_before_it_starts(experiment):
    two = ActiveRun(1, experiment("a", "b"))
    assert two.goes_on(ready=True)
    two.translate(CaseFailed(index=0, failure=failure_of(two.work.cases[0])))
    # The one that was running dies with its engine; it had none if that never came up.
    assert not two.goes_on(ready=True)
    assert two.goes_on(ready=False)
    two.stopping = True
    assert not two.goes_on(ready=False)
    case = Case(op="selu", size=8, dtype="float32", device="cpu:0", mode="jit")
    assert not ActiveRun(2, Loop(case=case)).goes_on(ready=True)


def failure_of(case):
    return Failure(case=case, error="It failed.", hint="")


@pytest.mark.parametrize(
    ("op", "foreign"), [("/p/mine.py:f", True), ("our-step", True), ("selu", False)]
)
def test_looking_into_a_function_of_a_file_or_a_package_runs_it(op, foreign):
    case = Case(op=op, size=0, dtype="", device="cpu:0", mode="jit")
    run = ActiveRun(1, Inspection(case=case), offered={"our-step"})
    assert run.foreign is foreign
    assert run.patience_seconds is None


def test_a_loop_over_ones_own_function_is_not_waited_for_without_end():
    case = Case(op="/p/mine.py:f", size=0, dtype="", device="cpu:0", mode="jit")
    run = ActiveRun(1, Loop(case=case, budget_seconds=3.0))
    assert run.foreign
    assert run.patience_seconds == 3.0 + PATIENCE_SECONDS
    run.give_up()
    assert run.overdue.startswith("The loop over p/mine.py:f jit on cpu:0 did not")
    known = msgspec.structs.replace(case, op="selu", size=8, dtype="float32")
    assert ActiveRun(1, Loop(case=known)).patience_seconds is None
