"""Ctrl-C, and engines that are lost: whatever the command, what had arrived is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxtui.engine.client import EngineUnavailableError
from jaxtui.model import Check, CheckRead, CheckStarted, Event, Experiment, RunFinished
from jaxtui.model.roofs import RoofMeasured, Roofs, RoofsStarted
from tests.analysis.figures import bandwidth
from tests.commands import test_crossover, test_learn, test_roofline
from tests.commands.checking import reading, sound
from tests.commands.fakes import (
    FakeEngine,
    began,
    complete,
    ctrl_c,
    interrupted,
    run,
    up,
)

ARRIVED = "Interrupted: this is what had arrived.\n"
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)


def second_case_is_stopped(experiment: Experiment) -> Sequence[Event]:
    ctrl_c()
    return complete(experiment)[:3]


def roofs_are_stopped(work: Roofs) -> Sequence[Event]:
    ctrl_c()
    return [RoofsStarted(roofs=work), RoofMeasured(roof=bandwidth())]


def third_size(then: Callable[[Experiment], Sequence[Event]]) -> FakeEngine:
    """A crossover that goes well until 256."""

    def answer(experiment: Experiment) -> Sequence[Event]:
        small = experiment.cases[0].size < 256
        return test_crossover.machine(experiment) if small else then(experiment)

    return FakeEngine(answer=answer)


def is_stopped(experiment: Experiment) -> Sequence[Event]:
    ctrl_c()
    return began(experiment)


def is_lost(experiment: Experiment) -> Sequence[Event]:
    return [*began(experiment), CRASHED]


def has_no_engine(experiment: Experiment) -> Sequence[Event]:
    raise EngineUnavailableError("The TPU is held by process 7.")


def third_test_is_stopped(check: Check) -> Sequence[Event]:
    if check.test != "compute":
        return sound(check)
    ctrl_c()
    return [CheckStarted(check=check), CheckRead(reading=reading(check, "cpu:0"))]


def ops(rows: Sequence[Any]) -> list[str]:
    return [row["case"]["op"] for row in rows]


def measured(document: Any) -> Any:
    return ops(document["measurements"]), ops(document["failures"])


@pytest.mark.parametrize(
    ("typed", "engine", "left", "expected", "sentence"),
    [
        (
            "bench matmul selu",
            lambda: FakeEngine(answer=interrupted),
            measured,
            (["matmul"], ["selu"]),
            ARRIVED,
        ),
        (
            "crossover selu --sizes 16..1M",
            lambda: third_size(is_stopped),
            measured,
            (["selu"] * 4, []),
            ARRIVED,
        ),
        (
            "roofline matmul:1k copy:1M",
            lambda: test_roofline.machine(second_case_is_stopped),
            measured,
            (["matmul"], ["copy"]),
            ARRIVED,
        ),
        (
            "roofline matmul:1k",
            lambda: test_roofline.machine(of_roofs=roofs_are_stopped),
            lambda document: len(document["roofs"]["roofs"]),
            1,
            ARRIVED,
        ),
        (
            "learn clock",
            lambda: test_learn.engine(cases=interrupted),
            lambda document: [one["problem"] is None for one in document["steps"]],
            [True, False],
            ARRIVED,
        ),
        (
            "check --save-baseline half",
            lambda: FakeEngine(answer=third_test_is_stopped),
            lambda document: (
                document["verdict"],
                document["complete"],
                [document["tests"][-1][name] for name in ("test", "device")],
            ),
            ("pass", False, ["compute", "cpu:0"]),
            "Interrupted in test 3 of 9, compute: this is what had arrived.\n"
            'Not saved as baseline "half", because the check did not pass.\n',
        ),
    ],
)
def test_ctrl_c_stops_the_run_and_gives_what_had_arrived(
    capsys,
    typed: str,
    engine: Callable[[], FakeEngine],
    left: Callable[[Any], Any],
    expected: Any,
    sentence: str,
) -> None:
    fake = engine()
    assert run(fake, *typed.split(), "--json") == 130
    out, err = capsys.readouterr()
    assert (fake.stopped, fake.closed) == (1, True)
    assert left(json.loads(out)) == expected
    assert err.endswith(sentence)
    assert run(engine(), *typed.split()) == 130
    out, err = capsys.readouterr()
    assert out
    assert err.endswith(sentence)


def test_before_anything_has_arrived_that_is_said_and_no_file_written(
    capsys, tmp_path: Path
) -> None:
    def at_once(experiment: Experiment) -> Sequence[Event]:
        ctrl_c()
        return ()

    path = tmp_path / "nothing.json"
    typed = ("bench", "selu", "--export", str(path))
    assert run(FakeEngine(answer=at_once), *typed) == 130
    assert capsys.readouterr() == (
        "",
        "Nothing had arrived: no file was written.\nInterrupted before it began.\n",
    )
    assert not path.exists()


@pytest.mark.parametrize(
    ("typed", "engine", "sizes"),
    [
        ("crossover selu --sizes 16..1M", lambda: third_size(is_lost), [16, 64]),
        ("crossover selu --sizes 16..1M", lambda: third_size(has_no_engine), [16, 64]),
        (
            "roofline copy:1M",
            lambda: test_roofline.machine(of_roofs=test_roofline.failing("crashed")),
            None,
        ),
        ("learn clock", lambda: test_learn.failing("crashed"), None),
        # What was not tested says nothing.
        ("check", lambda: FakeEngine(answer=lambda work: [CRASHED]), None),
        ("hlo matmul:8", lambda: FakeEngine(up(), lambda work: [CRASHED]), None),
    ],
)
def test_an_engine_that_is_lost_leaves_an_answer_that_says_so_and_1(
    capsys, typed: str, engine: Callable[[], FakeEngine], sizes: list[int] | None
) -> None:
    assert run(engine(), *typed.split(), "--json") == 1
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document.get("outcome", "incomplete") == "incomplete"
    assert "Incomplete: the engine was lost on the way." in err
    if sizes is not None:
        assert [one["size"] for one in document["sizes"]] == sizes
        said = "".join(one["sentence"] for one in document["answers"])
        assert "no crossover" not in said
    assert run(engine(), *typed.split()) == 1
    out, err = capsys.readouterr()
    assert "the engine was lost on the way." in " ".join((out + err).split())
