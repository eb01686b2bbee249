"""Several processes as one measurement, and what runs of the past say of one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jaxtui.core.model import (
    CaseMeasured,
    Experiment,
    Failure,
    Measurement,
    Phases,
    Processes,
    Remark,
    RunFinished,
    Samples,
)
from jaxtui.core.processes import Repetition, earlier_runs, fold, same_machine
from tests import records
from tests.fake_engine import HOST
from tests.records import case, measurement, told

CASE = case()
FINE = RunFinished(outcome="complete", elapsed_seconds=1.0)
FAILED = Failure(case=CASE, remark=told("There was no memory."))


def experiment(processes: int, **changes: Any) -> Experiment:
    return Experiment(cases=(CASE,), processes=processes, **changes)


def of(*milliseconds: float, **changes: Any) -> list[Measurement]:
    """A measurement of each process, which is known to a thousandth in itself."""
    return [
        measurement(CASE, records.summary(each / 1e3, 0.001), **changes)
        for each in milliseconds
    ]


def folded(*ended: Measurement | Failure, asked: int | None = None) -> Measurement:
    found = fold(ended, experiment(asked or len(ended)))
    assert isinstance(found, Measurement)
    return found


def test_the_interval_is_about_the_medians_of_the_processes() -> None:
    found = folded(*of(10.0, 3.1, 8.5))
    assert found.processes == Processes(
        n=3, medians=(0.01, 0.0031, 0.0085), low=0.0031, high=0.01
    )
    ready = found.ready
    assert ready is not None
    assert (ready.ci_low, ready.median, ready.ci_high) == (0.0031, 0.0085, 0.01)
    assert (ready.processes, ready.confidence) == (3, 0.75)
    assert not found.stable


@pytest.mark.parametrize(
    ("count", "sure"), [(2, 0.5), (5, 0.9375), (6, 0.96875), (8, 1 - 2**-7)]
)
def test_it_is_as_sure_as_the_sign_test_makes_so_many_processes(
    count: int, sure: float
) -> None:
    found = folded(*of(*range(1, count + 1)))
    assert found.ready is not None
    assert found.ready.confidence == sure
    assert found.has("few-processes") == (count < 6)
    again = msgspec.json.decode(msgspec.json.encode(found), type=Measurement)
    assert again == found


def test_other_figures_are_those_of_the_process_in_the_middle() -> None:
    parts = [
        measurement(
            CASE,
            records.summary(each, n=100 * int(each)),
            dispatch=records.summary(each / 2),
            phases=Phases(compile=each, fetch=None),
            pipelined_seconds=each,
            flops_per_second=6.0 / each,
            error_vs_float64=each,
            notes=(Remark("few-rounds"), Remark("drift", {"first": each})),
            samples=Samples(ready=(each,), dispatch=(each,)),
        )
        for each in (1.0, 3.0, 2.0)
    ]
    found = folded(*parts)
    assert (found.dispatch, found.phases) == (parts[2].dispatch, parts[2].phases)
    assert (found.pipelined_seconds, found.flops_per_second) == (2.0, 3.0)
    assert found.error_vs_float64 == 2.0
    assert [note.code for note in found.notes] == ["drift", "few-processes"]
    assert found.notes[0].facts == {"first": 2.0}
    # What is counted or listed is that of all.
    assert found.samples == Samples(ready=(1.0, 3.0, 2.0), dispatch=(1.0, 3.0, 2.0))
    assert found.ready is not None
    assert (found.ready.n, found.ready.rounds) == (600, 24)


def test_processes_that_agree_to_the_target_are_stable() -> None:
    assert folded(*of(1.0, 1.01, 1.02)).stable
    assert not folded(*of(1.0, 1.01, 1.2)).stable
    assert not folded(*of(1.0, 1.01, 1.02, stable=False)).stable


@pytest.mark.parametrize("last", ["cancelled", "crashed"])
def test_what_was_broken_off_does_not_count_beside_whole_ones(last: str) -> None:
    first, second = of(1.0, 2.0)
    (broken,) = of(9.0, stopped=last)
    found = folded(first, second, broken, asked=5)
    assert found.processes is not None
    assert found.processes.medians == (0.001, 0.002)
    assert found.stopped == "target"
    (note,) = found.notes
    assert note.code == "few-processes"
    assert (note.facts["found"], note.facts["asked"]) == (2, 5)


def test_one_process_of_several_is_its_own_measurement_with_a_note() -> None:
    (only,) = of(1.0)
    for found in (folded(only, asked=5), folded(only, FAILED, asked=2)):
        assert found.processes is None
        assert found.ready == only.ready
        assert found.notes[0].code == "few-processes"
    assert FAILED.remark in folded(only, FAILED, asked=2).notes
    (broken,) = of(1.0, stopped="cancelled")
    assert folded(broken, asked=5).stopped == "cancelled"
    # It has failed where none has a measurement.
    assert fold([FAILED, FAILED], experiment(2)) == FAILED


def test_the_budget_is_shared_out_and_a_run_that_ended_for_nothing_is_the_last() -> (
    None
):
    whole = experiment(3, budget_seconds=6.0)
    series, budgets = Repetition.of(whole), []
    while (work := series.next_work) is not None:
        budgets.append((work.processes, work.share))
        series = series.observe(FINE)
    assert budgets == [(3, 2.0)] * 3
    assert Repetition.of(whole).stopped().next_work is None
    lost = RunFinished(outcome="crashed", elapsed_seconds=1.0)
    assert Repetition.of(whole).observe(lost).next_work is None


def test_what_an_engine_leaves_has_the_next_one_and_its_share_of_the_budget() -> None:
    whole = Experiment(cases=(CASE,) * 3, processes=2, budget_seconds=6.0)
    series = Repetition.of(whole)
    done = CaseMeasured(index=1, measurement=measurement(CASE))
    left = series.observe(done).observe(FINE)
    assert (left.left, left.done) == ((0, 2), 0)
    assert left.next_work is not None
    assert (len(left.next_work.cases), left.next_work.budget_seconds) == (2, 4.0)
    # Who ends none of its cases is asked for no more of them.
    assert left.observe(FINE).done == 1
    # By default each process has a second for each case.
    assert experiment(1).budget == experiment(5).budget == 10.0
    assert experiment(20).budget == 20.0


# Runs of the past.


@pytest.mark.parametrize(
    ("past", "facts"),
    [
        ([], None),
        ([3.3], None),
        ([8.5], {"low": 0.0085, "high": 0.0085, "runs": 1}),
        ([3.1, 3.3, 10.0], {"low": 0.0031, "high": 0.01, "runs": 3}),
    ],
)
def test_runs_of_the_past_outside_of_the_interval_are_said(
    past: list[float], facts: dict[str, float] | None
) -> None:
    measured = measurement(CASE, records.summary(3.3e-3, 0.01))
    note = earlier_runs(measured, of(*past))
    assert note == (None if facts is None else Remark("earlier-runs", {**facts}))


def test_only_whole_runs_of_the_same_case_count_and_each_of_their_processes() -> None:
    measured = measurement(CASE, records.summary(3.3e-3, 0.01))
    (other,) = of(8.5)
    other = msgspec.structs.replace(other, case=case(size=5))
    broken = of(8.5, stopped="cancelled")
    # What other programs took is no property of the case.
    busy = of(8.5, notes=(Remark("contended"),))
    assert earlier_runs(measured, [other, *broken, *busy]) is None
    note = earlier_runs(measured, [folded(*of(1.0, 3.0, 7.0))])
    assert note is not None
    assert note.facts == {"low": 0.001, "high": 0.007, "runs": 3}
    # Whose interval is about processes has said it itself.
    assert earlier_runs(folded(*of(3.0, 3.1)), of(8.5)) is None


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"memory_bytes": 1}, True),
        ({"hostname": "other"}, False),
        ({"jax": "0.6"}, False),
        ({"python": "3.10"}, False),
        ({"settings": {"XLA_FLAGS": "--x"}}, False),
    ],
)
def test_the_same_machine_has_the_same_versions_and_settings(
    change: dict[str, Any], same: bool
) -> None:
    assert same_machine(HOST, msgspec.structs.replace(HOST, **change)) == same
