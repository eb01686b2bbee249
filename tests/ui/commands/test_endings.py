"""Ctrl-C, and engines that are lost: whatever the command, what had arrived is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.model import (
    Check,
    CheckRead,
    Event,
    Experiment,
    Remark,
    RunFinished,
    RunStarted,
)
from jaxtui.core.model.roofs import Roofs
from jaxtui.ui import words
from tests.core.figures import bandwidth, reading, roofs
from tests.fake_engine import FakeEngine, began
from tests.features.check.checking import sound
from tests.features.crossover import test_command as test_crossover
from tests.features.lessons import test_command as test_learn
from tests.features.roofline import test_command as test_roofline
from tests.ui.commands.fakes import complete, ctrl_c, interrupted, run

ARRIVED = "Interrupted: these are the results so far."
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)


def in_second_case(experiment: Experiment) -> Sequence[Event]:
    ctrl_c()
    return complete(experiment)[:3]


def in_roofs(work: Roofs) -> Sequence[Event]:
    ctrl_c()
    return [RunStarted(), roofs(bandwidth())]


def in_search(experiment: Experiment) -> Sequence[Event]:
    ctrl_c()
    return [began(experiment)]


def in_third_test(check: Check) -> Sequence[Event]:
    if check.test != "compute":
        return sound(check)
    ctrl_c()
    return [RunStarted(), CheckRead(reading=reading(device="cpu:0"))]


def crossover(then: Callable[[Experiment], Sequence[Event]]) -> FakeEngine:
    """A search whose grid goes well; its crossing is at 1250."""

    def answer(experiment: Experiment) -> Sequence[Event]:
        grid = experiment.cases[0].size == 16
        return test_crossover.machine(experiment) if grid else then(experiment)

    return FakeEngine(answer)


@pytest.mark.parametrize(
    ("typed", "engine", "measured"),
    [
        ("bench matmul selu", FakeEngine(interrupted), 1),
        ("crossover selu --size 16..1M", crossover(in_search), 34),
        ("roofline selu copy", test_roofline.machine(in_second_case), 1),
        ("roofline selu", test_roofline.machine(of_roofs=in_roofs), 0),
        ("learn clock", test_learn.engine(cases=interrupted), 0),
        ("check", FakeEngine(in_third_test), 0),
    ],
)
def test_ctrl_c_stops_the_run_and_gives_what_had_arrived(
    capsys: pytest.CaptureFixture[str], typed: str, engine: FakeEngine, measured: int
) -> None:
    for stopped, flags in enumerate(((), ("--json",)), start=1):
        assert run(engine, *typed.split(), *flags) == 130
        out, err = capsys.readouterr()
        assert out
        assert ARRIVED in err.splitlines()[-1]
        assert engine.calls.count("stop") == engine.calls.count("close") == stopped
    document = json.loads(out)
    assert not document.get("complete")
    assert len(document.get("measurements", ())) == measured


@pytest.mark.parametrize(("arrived", "measured"), [(3, 1), (0, 0)])
def test_a_limit_ends_everything_and_gives_what_had_arrived(
    capsys: pytest.CaptureFixture[str], arrived: int, measured: int
) -> None:
    def slow(experiment: Experiment) -> Sequence[Event]:
        return complete(experiment)[:arrived]

    engine = FakeEngine(slow)
    assert run(engine, *["bench", "matmul", "selu", "--limit", "0.05", "--json"]) == 1
    out, err = capsys.readouterr()
    assert "The limit of 0.05 s is reached" in err
    assert engine.calls.count("stop") == 1
    document = json.loads(out)
    assert not document["complete"]
    assert len(document["measurements"]) == measured


def test_a_second_ctrl_c_waits_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def twice(experiment: Experiment) -> Sequence[Event]:
        ctrl_c()
        return interrupted(experiment)

    engine = FakeEngine(twice)
    assert run(engine, "bench", "selu") == 130
    assert engine.options is not None
    assert engine.options.grace_seconds == 0.0


def test_before_anything_has_arrived_that_is_said_and_no_file_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def at_once(experiment: Experiment) -> Sequence[Event]:
        ctrl_c()
        return ()

    path = tmp_path / "nothing.json"
    typed = ("bench", "selu", "--export", str(path))
    assert run(FakeEngine(at_once), *typed) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 2
    assert ARRIVED not in err
    assert not path.exists()


def is_lost(work: Any) -> Sequence[Event]:
    return [began(work) if isinstance(work, Experiment) else RunStarted(), CRASHED]


def cannot_come_back(experiment: Experiment) -> Sequence[Event]:
    raise EngineUnavailableError(Remark("held", {"pid": 7}, "error"))


@pytest.mark.parametrize(
    ("typed", "engine"),
    [
        ("crossover selu --size 16..1M", crossover(is_lost)),
        ("crossover selu --size 16..1M", crossover(cannot_come_back)),
        ("roofline copy:1M", test_roofline.machine(of_roofs=is_lost)),
        ("learn clock", test_learn.failing("crashed")),
        # What was not tested says nothing.
        ("check", FakeEngine(lambda work: [CRASHED])),
        ("hlo matmul:8", FakeEngine(lambda work: [CRASHED])),
    ],
)
def test_an_engine_that_is_lost_leaves_an_answer_that_says_so_and_1(
    capsys: pytest.CaptureFixture[str], typed: str, engine: FakeEngine
) -> None:
    assert run(engine, *typed.split(), "--json") == 1
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert not document.get("complete")
    assert f"Incomplete. {words.LOST}" in err
    if typed.startswith("crossover"):
        assert len(document["sizes"]) == 17
        assert "no crossover" not in out
    assert run(engine, *typed.split()) == 1
