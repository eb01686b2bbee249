"""``jaxtui crossover``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec
import pytest

from jaxtui.core.model import Event, Experiment
from tests.fake_engine import FakeEngine
from tests.features.crossover.crossing import events
from tests.ui.commands.fakes import run


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


def test_no_crossover_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine(machine)
    typed = ("selu", "--size", "16..64", "--between", "numpy,eager", "--json")
    assert search(engine, *typed) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["faster"], document["crossing"]) == ("first", None)
    assert [size["size"] for size in document["sizes"]] == [16, 32, 64]


def test_where_nothing_can_be_measured_the_code_is_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
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
    crossing = json.loads(capsys.readouterr().out)["crossing"]
    assert crossing["below"] <= 1250 <= crossing["above"]
