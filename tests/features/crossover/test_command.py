"""``jaxtui crossover``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import msgspec
import pytest

from jaxtui.core.model import Event, Experiment
from tests.fake_engine import OPS, FakeEngine
from tests.features.crossover.crossing import events
from tests.ui.commands.fakes import complete, run


def machine(experiment: Experiment) -> Sequence[Event]:
    """NumPy 1 ns an element, jit 1 µs more and a fifth of that: they cross at 1250."""
    costs = {
        "numpy": lambda n: 1e-9 * n,
        "jit": lambda n: 1e-6 + 2e-10 * n,
        "eager": lambda n: 2e-6 + 2e-9 * n,
    }
    chosen = [costs[one.mode] for one in experiment.cases[:2]]
    return list(events(experiment, chosen, used=0.3))


def search(fake: FakeEngine, *arguments: str) -> int:
    return run(fake, "crossover", *arguments)


def test_no_crossover_is_an_answer_in_the_default_range(capsys) -> None:
    small = tuple(msgspec.structs.replace(op, default=512) for op in OPS)
    engine = FakeEngine(machine, ops=small)
    assert search(engine, "selu", "--between", "numpy,eager", "--json") == 0
    (work,) = engine.works
    sizes = [case.size for case in work.cases[::2]]
    assert sizes == [16, 32, 64, 128, 256, 512, 1024]
    document = json.loads(capsys.readouterr().out)
    assert (document["faster"], document["crossing"]) == ("first", None)
    assert [size["size"] for size in document["sizes"]] == sizes


def test_its_options_reach_the_engine(capsys) -> None:
    engine = FakeEngine(machine)
    code = search(
        engine,
        *("matmul", "--between", "jit/bf16/highest,jit/cpu:1/host"),
        *("--size", "16..128x2", "--device", "cpu:0", "--seed", "7"),
    )
    assert code == 0
    assert [
        (one.dtype, one.precision, one.device, one.inputs)
        for one in engine.works[0].cases[:2]
    ] == [
        ("bfloat16", "highest", "cpu:0", "device"),
        ("float32", "default", "cpu:1", "host"),
    ]
    sizes = [case.size for case in engine.works[0].cases[::2]]
    assert sizes == [16, 32, 64, 128]
    assert engine.works[0].seed == 7


def test_a_size_that_the_op_does_not_have_is_refused(capsys) -> None:
    small = tuple(msgspec.structs.replace(op, minimum=32) for op in OPS)
    assert search(FakeEngine(complete, ops=small), "selu", "--size", "16..64") == 64
    err = capsys.readouterr().err
    assert {"16", "32"} <= set(re.findall(r"\d+", err))


def test_where_nothing_can_be_measured_the_code_is_1(capsys) -> None:
    def too_large(experiment: Experiment) -> Sequence[Event]:
        return list(events(experiment, [lambda n: 1e-9 * n] * 2, too_large=1))

    assert search(FakeEngine(too_large), "selu", "--size", "16..64", "--json") == 1
    assert len(json.loads(capsys.readouterr().out)["failures"]) == 6


def test_a_function_of_a_file_is_searched_like_an_op(
    capsys: pytest.CaptureFixture[str], write: Callable[..., str]
) -> None:
    path = write("def step(x): return x\n")

    def settled(experiment: Experiment) -> Sequence[Event]:
        # Its dtype is known once its arguments are there.
        assert {one.dtype for one in experiment.cases} == {""}
        cases = tuple(
            msgspec.structs.replace(one, dtype="float16") for one in experiment.cases
        )
        return machine(msgspec.structs.replace(experiment, cases=cases))

    engine = FakeEngine(settled)
    assert search(engine, f"{path}:step", "--size", "16..64k", "--json") == 0
    assert {one.cases[0].op for one in engine.works} == {f"{path}:step"}
    crossing = json.loads(capsys.readouterr().out)["crossing"]
    assert crossing["below"] <= 1250 <= crossing["above"]
    for refused in (["--size", "16..64", "--dtype", "bf16"], []):
        assert search(FakeEngine(settled), f"{path}:step", *refused) == 64
