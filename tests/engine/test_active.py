"""A run over several engines: what a death ends, what is left, and what is told."""

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
    RunFinished,
    RunStarted,
)

SELU = Case(op="selu", size=8, dtype="float32", device="cpu:0", mode="jit")
OWN = Case(op="/p/mine.py:f", size=0, dtype="", device="cpu:0", mode="jit")
OFFERED = Case(op="our-step", size=0, dtype="", device="cpu:0", mode="jit")


@pytest.fixture
def run(experiment):
    run = ActiveRun(7, experiment("a", "b", "c", budget=10.0))
    run.translate(RunStarted(cases=run.work.cases, budget_seconds=10.0))
    return run


def failed(index, case):
    return CaseFailed(
        index=index, failure=Failure(case=case, error="It failed.", hint="")
    )


def die_twice(run):
    assert run.died("It crashed.") == []
    run.rest()
    return run.died("It crashed.")


def test_two_deaths_before_any_case_count_against_the_first(run):
    assert run.died("It crashed.") == []
    assert run.rest().budget_seconds == 10.0
    (event,) = run.died("It crashed.")
    assert isinstance(event, CaseFailed)
    assert event.index == 0
    assert event.failure.error == "It crashed. It was the second attempt."
    # What is left has its share of the budget.
    assert run.rest().budget_seconds == pytest.approx(10 * 2 / 3)


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
    run.translate(failed(1, rest.cases[1]))
    *_, closed, finished = die_twice(run)
    assert (closed.index, finished.outcome) == (0, "crashed")


@pytest.mark.parametrize(("deaths", "outcome"), [(1, "complete"), (2, "crashed")])
def test_a_run_is_complete_unless_something_died_twice(run, deaths, outcome):
    for _ in range(deaths):
        run.died("It crashed.")
    finished = run.translate(RunFinished(outcome="complete", elapsed_seconds=1.0))
    assert finished.outcome == outcome


def test_a_death_when_all_is_done_costs_nothing(experiment):
    run = ActiveRun(1, experiment("a"))
    run.translate(failed(0, run.work.cases[0]))
    (finished,) = run.died("It crashed.")
    assert finished.outcome == "complete"


def test_a_work_without_cases_is_begun_again_once():
    run, started = ActiveRun(2, Loop(case=SELU)), RunStarted()
    assert run.translate(started) == started
    assert run.died("It crashed.") == []
    assert run.rest() == run.work
    # Nothing of it stays, and whoever follows it must hear that.
    assert run.translate(started) == started
    ended, finished = run.died("It crashed.")
    assert ended.error == "It crashed. It was the second attempt."
    assert finished.outcome == "crashed"


def test_the_first_event_is_always_the_start_and_the_last_the_end(experiment):
    run = ActiveRun(1, experiment("a"))
    kinds = [type(event) for event in die_twice(run)]
    assert kinds == [RunStarted, CaseFailed, RunFinished]


def test_a_run_that_breaks_off_gives_every_case_an_outcome(run):
    *outcomes, finished = run.broken_off("Nobody can go on.")
    assert [event.index for event in outcomes] == [0, 1, 2]
    assert finished.outcome == "crashed"


def test_cases_that_were_never_reached_stay_out_of_a_cancelled_run(run):
    run.translate(CaseStarted(index=1, case=run.work.cases[1]))
    events = run.cancelled("Stopped.")
    assert [type(event) for event in events] == [CaseFailed, RunFinished]


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
    run.translate(PhaseStarted(index=0, phase=phase))
    assert run.patience_seconds == patience


def test_what_hung_is_not_tried_again(run):
    run.give_up()
    (event,) = run.died(run.overdue)
    assert "did not come back" in event.failure.error
    loop = ActiveRun(1, Loop(case=OWN, budget_seconds=3.0))
    loop.give_up()
    assert loop.overdue.startswith("The loop over p/mine.py:f jit on cpu:0 did not")
