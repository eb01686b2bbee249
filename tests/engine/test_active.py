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


def die_twice(run):
    assert run.died("It crashed.") == []
    run.rest()
    return run.died("It crashed.")


def test_two_deaths_before_any_case_count_against_the_first(run):
    (event,) = die_twice(run)
    assert isinstance(event, CaseFailed)
    assert event.index == 0
    assert event.failure.error == "It crashed. It was the second attempt."


def test_the_rest_keeps_its_indices(run):
    run.translate(CaseStarted(index=1, case=run.work.cases[1]))
    assert run.died("It crashed.") == []
    assert run.rest().cases == run.work.cases
    run.translate(CaseStarted(index=1, case=run.work.cases[1]))
    (event,) = run.died("It crashed.")
    assert event.index == 1
    rest = run.rest()
    assert [case.op for case in rest.cases] == ["a", "c"]
    assert run.translate(RunStarted(cases=rest.cases, budget_seconds=9.0)) is None
    assert run.translate(CaseStarted(index=1, case=rest.cases[1])).index == 2
    # What is finished is followed by a first attempt again.
    run.translate(CaseFailed(index=1, failure=failure_of(rest.cases[1])))
    *_, closed, finished = die_twice(run)
    assert (closed.index, finished.outcome) == (0, "crashed")


def test_what_is_left_has_its_share_of_the_budget(run):
    run.died("It crashed.")
    assert run.rest().budget_seconds == 10.0
    run.died("It crashed.")
    assert run.rest().budget_seconds == pytest.approx(10 * 2 / 3)


@pytest.mark.parametrize(("deaths", "outcome"), [(1, "complete"), (2, "crashed")])
def test_a_run_is_complete_unless_something_died_twice(run, deaths, outcome):
    for _ in range(deaths):
        run.died("It crashed.")
    finished = run.translate(RunFinished(outcome="complete", elapsed_seconds=1.0))
    assert finished.outcome == outcome


def test_a_death_when_all_is_done_costs_nothing(experiment):
    run = ActiveRun(1, experiment("a"))
    run.translate(CaseFailed(index=0, failure=failure_of(run.work.cases[0])))
    (finished,) = run.died("It crashed.")
    assert finished.outcome == "complete"


def test_a_work_without_cases_is_begun_again_once(experiment):
    case = Case(op="selu", size=8, dtype="float32", device="cpu:0", mode="jit")
    run = ActiveRun(2, Loop(case=case))
    assert run.died("It crashed.") == []
    assert run.rest() == run.work
    failed, finished = run.died("It crashed.")
    assert failed.error == "It crashed. It was the second attempt."
    assert finished.outcome == "crashed"


def test_what_hung_is_not_tried_again(run):
    run.give_up()
    (event,) = run.died(run.overdue)
    assert "did not come back" in event.failure.error


def test_a_run_that_breaks_off_gives_every_case_an_outcome(run):
    *outcomes, finished = run.broken_off("Nobody can go on.")
    assert [event.index for event in outcomes] == [0, 1, 2]
    assert finished.outcome == "crashed"


def test_the_first_event_is_always_the_start(experiment):
    run = ActiveRun(1, experiment("a"))
    assert [type(event) for event in die_twice(run)] == [
        RunStarted,
        CaseFailed,
        RunFinished,
    ]


def test_cases_that_were_never_reached_stay_out_of_a_cancelled_run(run):
    run.translate(CaseStarted(index=1, case=run.work.cases[1]))
    events = run.cancelled("Stopped.")
    assert [type(event) for event in events] == [CaseFailed, RunFinished]
    assert not any(isinstance(event, CaseMeasured) for event in events)


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
