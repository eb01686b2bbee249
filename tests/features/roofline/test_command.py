"""``jaxtui roofline``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from jaxtui.core.model import (
    Case,
    Event,
    Experiment,
    Failure,
    PlannedCase,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.core.model.roofs import MissingRoof, Roofs
from tests.core.figures import NO_PRODUCT, bandwidth, compute, roofs
from tests.fake_engine import OPS, FakeEngine
from tests.records import planned, told
from tests.ui.commands.fakes import complete, one_fails, run

COPY = msgspec.structs.replace(
    OPS[1], name="copy", flops="none", arithmetic="moves", default=2**16, maximum=2**30
)
CATALOGUE = (*OPS, COPY)


def work_of(case: Case) -> tuple[float | None, float]:
    """Flops and bytes."""
    n = case.size
    if case.op == "matmul":
        return 2.0 * n**3, 12.0 * n**2
    return (6.0 * n if case.op == "selu" else None), 8.0 * n


def found(work: Roofs) -> list[Event]:
    """Roofs of 12 GB/s and 150 GFLOP/s in float32; none in anything else."""
    known = [compute(of=of) for of in work.dtypes if of.dtype == "float32"]
    others = [of for of in work.dtypes if of.dtype != "float32"]
    missing = tuple(MissingRoof(of=of, remark=NO_PRODUCT) for of in others)
    facts: dict[str, Any] = {"device": work.device, "missing": missing, "cache": 2**20}
    ended = RunFinished(outcome="complete", elapsed_seconds=2.0)
    return [RunStarted(), roofs(bandwidth(), *known, **facts), ended]


def machine(
    cases: Callable[[Experiment], Sequence[Event]] = complete,
    of_roofs: Callable[[Roofs], Sequence[Event]] = found,
    fits: int = 2**40,
    catalogue: Sequence[Any] = CATALOGUE,
) -> FakeEngine:
    def answer(work: Any) -> Sequence[Event]:
        return of_roofs(work) if isinstance(work, Roofs) else cases(work)

    def plan(case: Case) -> PlannedCase:
        flops, moved = work_of(case)
        too_large = Failure(case=case, remark=told("There is no room."))
        problem = too_large if case.size > fits else None
        return planned(case, flops=flops, bytes=moved, problem=problem)

    return FakeEngine(answer, plan=plan, ops=tuple(catalogue))


def test_a_case_that_fails_costs_itself_and_gives_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(machine(one_fails), "roofline", "matmul:1k", "copy:1M") == 1
    out = capsys.readouterr().out
    assert "No room. Go smaller. – matmul 1024 jit" in out
    assert "1048576" in out


def test_a_roof_that_is_missing_has_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed = ("roofline", "selu:1M", "--dtype", "bf16", "--json")
    assert run(machine(), *typed) == 0
    (missing,) = json.loads(capsys.readouterr().out)["roofs"]["missing"]
    assert missing["of"]["dtype"] == "bfloat16"
    assert missing["remark"]["flag"] == NO_PRODUCT.code


def test_without_any_roof_nothing_is_placed(capsys: pytest.CaptureFixture[str]) -> None:
    failed = WorkFailed(remark=told("The device is lost.", "Start again."))
    ended = RunFinished(outcome="complete", elapsed_seconds=1.0)
    engine = machine(of_roofs=lambda _: [RunStarted(), failed, ended])
    assert run(engine, "roofline", "copy:1M", "--json") == 3
    assert len(engine.works) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", "jaxtui: The device is lost. Start again.\n")
