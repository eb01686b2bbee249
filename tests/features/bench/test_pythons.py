"""``jaxtui bench --python A,B`` and ``--memory``: two sides that take turns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from jaxtui import cli
from jaxtui.core.engine.client import EngineOptions
from jaxtui.core.history.store import History
from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Event,
    Experiment,
    Failure,
    RunFinished,
)
from jaxtui.machine import malloc
from jaxtui.ui.commands.schema import DOCUMENTS
from tests import records
from tests.fake_engine import FakeEngine, summary
from tests.records import told
from tests.ui.commands.fakes import complete, ctrl_c
from tests.ui.commands.test_schema import fits

Say = Callable[[Experiment], Sequence[Event]]
Captured = pytest.CaptureFixture[str]


def taking(work: Experiment, seconds: float) -> Sequence[Event]:
    began, started, _, finished = complete(work)
    measured = records.measurement(work.cases[0], summary(seconds))
    return [began, started, CaseMeasured(index=0, measurement=measured), finished]


class Pythons:
    """Makes an engine for each Python; none may run while another one is up.

    A process of A and of B takes so many seconds, or says something ``instead``: by its
    Python and its number.
    """

    def __init__(
        self, first: Any, second: Any, instead: dict[tuple[str, int], Say] | None = None
    ) -> None:
        self.seconds = {"a": first, "b": second}
        self.instead = instead or {}
        self.order = ""
        self.works: list[Experiment] = []
        self.engines: list[FakeEngine] = []

    def __call__(self, options: EngineOptions) -> FakeEngine:
        name = "ab"[len(self.engines)]
        assert options.command is not None
        assert options.command[0] == f"python-{name}"
        engine = FakeEngine(lambda work: self.answer(name, engine, work))
        self.engines.append(engine)
        return engine(options)

    def answer(self, name: str, engine: FakeEngine, work: Any) -> Sequence[Event]:
        others = [one for one in self.engines if one is not engine]
        assert all(other.calls[-1] == "release" for other in others)
        number = self.order.count(name)
        self.order += name
        self.works.append(work)
        say = self.instead.get((name, number))
        return say(work) if say else taking(work, self.seconds[name][number])


STEADY = (1e-3, 1.1e-3, 2e-3, 1e-3, 3e-3, 1e-3)


def bench(pythons: Pythons, *typed: str) -> int:
    words = ("bench", "selu", "--json", "--python", "python-a,python-b", *typed)
    return cli.main(words, engine=pythons)


def printed(capsys: Captured) -> Any:
    document = capsys.readouterr().out
    assert any(fits(document.encode(), kind) for kind in DOCUMENTS["bench"])
    return json.loads(document)


@pytest.mark.parametrize(
    ("factors", "answer"),
    [
        ((1.1,) * 6, "slower"),
        ((0.9, 0.8, 0.9, 0.95, 0.9, 0.9), "faster"),
        ((1.1, 1.1, 1.1, 1.1, 0.99, 1.1), "no difference"),
        ((1.1,) * 5, "cannot tell"),
        ((1.1, 0.9), "no difference"),
    ],
)
def test_the_ratio_is_that_of_pairs_of_processes(
    capsys: Captured, factors: Sequence[float], answer: str
) -> None:
    # The machine changes by a factor of three meanwhile.
    second = [a * factor for a, factor in zip(STEADY, factors, strict=False)]
    pythons, count = Pythons(STEADY, second), len(factors)
    typed = () if count == 6 else ("--processes", str(count))
    assert bench(pythons, *typed, "--budget", "24") == 0
    assert pythons.order == ("baab" * 3)[: 2 * count]
    assert [work.share for work in pythons.works] == [12.0 / count] * 2 * count
    document = printed(capsys)
    found = document["comparisons"][0]["comparison"]
    assert found["answer"] == answer
    assert found["low"] == pytest.approx(min(factors))
    assert found["high"] == pytest.approx(max(factors))
    assert (found["confidence"] > 0.95) == (count == 6)
    assert document["complete"]
    assert document["pythons"] == ["python-a", "python-b"]
    for side in document["sides"]:
        assert side["measurements"][0]["processes"]["n"] == count
    # The history has one of each.
    assert History().count() == 2


def test_people_read_the_ratio_and_the_versions_of_both(capsys: Captured) -> None:
    pythons = Pythons(STEADY, [2 * one for one in STEADY])
    words = ("bench", "selu", "--python", "python-a,python-b")
    assert cli.main(words, engine=pythons) == 0
    _, headline, _, versions = capsys.readouterr().out.split("\n\n")
    assert headline.startswith("B is 2.0× slower than A (")
    assert versions.count("0.12.0  0.12.0") == 2


def interrupted(work: Experiment) -> Sequence[Event]:
    ctrl_c()
    return complete(work)[:2]


def lost(work: Experiment) -> Sequence[Event]:
    return [complete(work)[0], RunFinished(outcome="crashed", elapsed_seconds=1.0)]


@pytest.mark.parametrize(("say", "code"), [(interrupted, 130), (lost, 1)])
@pytest.mark.parametrize("name", ["a", "b"])
def test_what_had_arrived_is_kept(
    capsys: Captured, say: Say, code: int, name: str
) -> None:
    pythons = Pythons(STEADY, STEADY, {(name, 2): say})
    assert bench(pythons) == code
    assert pythons.order == ("baabba" if name == "a" else "baabb")
    document = printed(capsys)
    assert not document["complete"]
    found = document["comparisons"][0]["comparison"]
    assert (found["ratio"], found["answer"]) == (1.0, "no difference")
    assert found["confidence"] == 0.5
    assert History().count() == 2


def test_a_case_that_one_of_them_cannot_run_has_no_ratio(capsys: Captured) -> None:
    def fails(work: Experiment) -> Sequence[Event]:
        failure = Failure(case=work.cases[0], remark=told("No such mode."))
        *events, finished = complete(work)
        events[2] = CaseFailed(index=0, failure=failure)
        return [*events, finished]

    failing: Any = {("b", number): fails for number in range(6)}
    assert bench(Pythons(STEADY, STEADY, failing)) == 1
    document = printed(capsys)
    assert document["comparisons"] == []
    kinds = ("measurements", "failures")
    counts = [[len(side[kind]) for kind in kinds] for side in document["sides"]]
    assert counts == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "typed",
    [
        "bench selu --python a,b --processes 1",
        "bench selu --python a,b --export x.csv",
        "bench selu --python a,b --memory fresh,reused",
        "bench selu --memory fresh,reused --export x.csv",
        "bench selu --python a,b,c",
        "bench selu --python a,",
        "devices --python a,b",
        "--python a,b crossover selu",
        "hlo matmul --topology v5e:2x4 --python a,b",
    ],
)
def test_what_makes_no_sense_with_two_starts_nothing(
    capsys: Captured, typed: str
) -> None:
    pythons = Pythons((), ())
    assert cli.main(typed.split(), engine=pythons) == 64
    assert pythons.engines == []
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_one_that_cannot_be_started_is_named(capsys: Captured) -> None:
    words = ("bench", "selu", "--python", "/no/such/python,/nor/this")
    assert cli.main(words) == 3
    (said,) = capsys.readouterr().err.splitlines()
    assert "/no/such/python" in said


# Both ends of memory.


@pytest.mark.parametrize("count", [1, 6])
def test_both_ends_of_memory_are_two_engines_and_their_ratio(
    capsys: Captured, count: int
) -> None:
    works: list[Experiment] = []

    def engine(options: EngineOptions) -> FakeEngine:
        fresh = malloc.ENVIRONMENT["fresh"].items()
        seconds = 4e-3 if fresh <= (options.environment or {}).items() else 1e-3

        def answer(work: Experiment) -> Sequence[Event]:
            works.append(work)
            return taking(work, seconds)

        return FakeEngine(answer)(options)

    words = ("bench", "selu", "--memory", "fresh,reused", "--processes", str(count))
    assert cli.main(words, engine=engine) == 0
    out = capsys.readouterr().out
    assert "reused memory is 4.0× faster than fresh memory" in out
    assert [work.processes for work in works] == [count] * 2 * count
    assert cli.main((*words, "--json"), engine=engine) == 0
    document = printed(capsys)
    assert (document["memory"], document.get("pythons")) == (["fresh", "reused"], None)
    found = document["comparisons"][0]["comparison"]
    assert (found["ratio"], found["answer"]) == (0.25, "faster")
