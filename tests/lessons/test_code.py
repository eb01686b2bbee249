"""What a step runs, as scripts."""

from __future__ import annotations

import msgspec

from jaxtui.lessons.code import code_parts
from jaxtui.model import (
    Case,
    Experiment,
    Failure,
    Loop,
    Plan,
    PlannedCase,
)
from tests.tui.fake_engine import RECIPE

CASE = Case(op="selu", size=64, dtype="float32", device="cpu:0", mode="jit")


async def plan(experiment: Experiment) -> Plan:
    return Plan(
        cases=tuple(
            PlannedCase(
                case=case,
                memory_bytes=0,
                host_memory_bytes=0,
                flops=None,
                bytes=None,
                recipe=RECIPE,
            )
            for case in experiment.cases
        ),
        budget_seconds=1.0,
    )


async def refuse(experiment: Experiment) -> Plan:
    (case,) = experiment.cases
    failure = Failure(case=case, error="No room.", hint="Go\nsmaller.")
    planned = PlannedCase(
        case=case,
        memory_bytes=0,
        host_memory_bytes=0,
        flops=None,
        bytes=None,
        problem=failure,
    )
    return Plan(cases=(planned,), budget_seconds=1.0)


OTHER = Case(op="sum", size=64, dtype="float32", device="cpu:0", mode="jit")


async def test_the_cases_of_an_experiment_take_turns_in_one_part() -> None:
    (part,) = await code_parts((Experiment(cases=(CASE, OTHER)),), plan)
    assert part.title == "2 cases of selu and sum, taking turns"
    assert "take_turns(" in part.body
    assert CASE.label in part.body
    assert OTHER.label in part.body


async def test_a_case_alone_has_a_plain_loop() -> None:
    (part,) = await code_parts((Experiment(cases=(CASE,)),), plan)
    assert part.title == CASE.label
    assert "take_turns(" not in part.body


async def test_sizes_do_not_take_turns_where_memory_is_short() -> None:
    async def short(experiment: Experiment) -> Plan:
        return msgspec.structs.replace(await plan(experiment), grouped=True)

    sizes = [msgspec.structs.replace(CASE, size=n) for n in (64, 128)]
    cases = tuple(
        msgspec.structs.replace(one, mode=mode)
        for mode in ("jit", "eager")
        for one in sizes
    )
    parts = await code_parts((Experiment(cases=cases),), short)
    assert ["128" in part.body for part in parts] == [False, True]
    assert ["take_turns(" in part.body for part in parts] == [True, True]


async def test_those_that_cannot_run_here_stand_after_those_that_can() -> None:
    async def some(experiment: Experiment) -> Plan:
        first, second = (await plan(experiment)).cases
        failure = Failure(case=first.case, error="No room.", hint="")
        first = msgspec.structs.replace(first, problem=failure, recipe=None)
        return Plan(cases=(first, second), budget_seconds=1.0)

    able, missing = await code_parts((Experiment(cases=(CASE, OTHER)),), some)
    assert able.title == OTHER.label
    assert missing.text == f"# {CASE.label}\n# It does not run here. No room.\n"


async def test_what_cannot_run_here_is_a_comment_that_says_why() -> None:
    for work in (Experiment(cases=(CASE,)), Loop(case=CASE)):
        (part,) = await code_parts((work,), refuse)
        assert part.body == "# It does not run here. No room. Go smaller.\n"
