"""``jaxtui roofline``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
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
from jaxtui.core.model.roofs import MissingRoof, RoofDtype, Roofs
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
    facts = {"device": work.device, "missing": missing, "cache": 2**20}
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


def roofline(engine: FakeEngine, *arguments: str) -> int:
    return run(engine, "roofline", *arguments)


def asked(engine: FakeEngine) -> tuple[Roofs, Experiment]:
    """What was measured: the roofs come first."""
    work, experiment = engine.works
    assert isinstance(work, Roofs)
    assert isinstance(experiment, Experiment)
    assert "close" in engine.calls
    return work, experiment


def test_only_roofs_that_the_cases_want_are_measured_on_the_device(capsys) -> None:
    engine = machine()
    typed = ("copy:1M", "selu:1M", "--dtype", "bf16", "--seed", "3")
    assert roofline(engine, *typed, "--device", "cpu:1", "--json") == 0
    work, experiment = asked(engine)
    assert work.dtypes == (RoofDtype(dtype="bfloat16"),)
    assert (work.device, work.seed, experiment.seed) == ("cpu:1", 3, 3)
    assert {case.device for case in experiment.cases} == {"cpu:1"}
    (missing,) = json.loads(capsys.readouterr().out)["roofs"]["missing"]
    assert missing["of"]["dtype"] == "bfloat16"
    assert missing["remark"]["flag"] == NO_PRODUCT.code
    alone = machine()
    assert roofline(alone, "copy:1M") == 0
    assert asked(alone)[0].dtypes == ()


def test_a_roof_that_only_a_run_shows_to_be_wanted_is_measured_after_it() -> None:
    engine = machine(partial(complete, multiplies="bfloat16"))
    assert roofline(engine, "matmul:1000") == 0
    first, _, second = engine.works
    assert first.dtypes == (RoofDtype(dtype="float32"),)
    assert {one.dtype for one in second.dtypes} == {"float32", "bfloat16"}


def test_without_an_op_it_is_all_of_the_catalogue_that_takes_the_dtype(capsys) -> None:
    half = msgspec.structs.replace(OPS[0], dtypes=("bfloat16",))
    for typed, dtypes_of_half in (("f32", set()), ("f32,bf16", {"bfloat16"})):
        engine = machine(catalogue=(half, *CATALOGUE[1:]))
        assert roofline(engine, "--mode", "jit,numpy", "--dtype", typed) == 0
        cases = asked(engine)[1].cases
        assert {one.dtype for one in cases if one.op == half.name} == dtypes_of_half
        assert {(one.op, one.mode) for one in cases if one.op != half.name} == {
            (op, mode) for op in ("selu", "copy") for mode in ("jit", "numpy")
        }


@pytest.mark.parametrize(
    ("typed", "fits", "sizes"),
    [
        # 12 GB/s for a millisecond; a matmul of 1000 takes 13 ms of 150 GFLOP/s.
        ("copy selu:1000 matmul", 2**40, [3 * 2**19, 1000, 1000]),
        ("copy --size 1000", 2**40, [1000]),
        ("copy", 2**16, [2**16]),
    ],
)
def test_sizes_of_its_own_grow_past_the_cache_and_asked_ones_stay(
    capsys, typed: str, fits: int, sizes: list[int]
) -> None:
    engine = machine(fits=fits)
    assert roofline(engine, *typed.split()) == 0
    assert [case.size for case in asked(engine)[1].cases] == sizes


def test_a_case_that_fails_costs_itself_and_gives_1(capsys) -> None:
    engine = machine(one_fails)
    assert roofline(engine, "matmul:1k", "copy:1M", "--budget", "30") == 1
    work, experiment = asked(engine)
    assert (work.budget, experiment.budget) == (10.0, 20.0)
    out = capsys.readouterr().out
    assert "No room. Go smaller. – matmul 1024 jit" in out
    assert "1048576" in out


def test_without_any_roof_nothing_is_placed(capsys) -> None:
    failed = WorkFailed(remark=told("The device is lost.", "Start again."))
    ended = RunFinished(outcome="complete", elapsed_seconds=1.0)
    engine = machine(of_roofs=lambda _: [RunStarted(), failed, ended])
    assert roofline(engine, "copy:1M", "--json") == 3
    assert len(engine.works) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", "jaxtui: The device is lost. Start again.\n")


def test_a_run_that_explodes_is_asked_about(capsys) -> None:
    engine = machine()
    typed = ("copy", "selu", "--size", ",".join(map(str, range(100, 160))))
    assert roofline(engine, *typed) == 64
    assert "--yes" in capsys.readouterr().err
    assert engine.works == []
    assert roofline(engine, *typed, "--yes") == 0
    assert len(asked(engine)[1].cases) == 120
