"""The command line: a sentence and an exit code for whatever goes wrong."""

from __future__ import annotations

import json

import pytest

from jaxtui import cli
from jaxtui.model import (
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Holder,
    Logged,
    RunFinished,
)
from tests.commands.fakes import FakeEngine, one_fails, run


@pytest.mark.parametrize("command", [["devices"], ["bench", "matmul", "--json"]])
def test_an_engine_that_fails_is_explained_with_3(capsys, command) -> None:
    failed = EngineFailed(
        reason="held",
        error="The TPU is in use.",
        hint="End that process.",
        holders=(
            Holder(pid=7, user="ada", command="train.py", paths=("/dev/accel0",)),
        ),
    )
    engine = FakeEngine(opening=[failed])
    assert run(engine, *command) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "jaxtui: The TPU is in use. End that process.\n"
        "Held by process 7 of ada (train.py).\n"
    )
    assert engine.closed


def test_an_engine_that_dies_at_the_start_gives_its_last_words_with_3(capsys) -> None:
    died = EngineDied(returncode=-6, error="It was aborted.")
    engine = FakeEngine(opening=[Logged(line="F0000 Check failed"), died])
    assert run(engine, "bench", "matmul") == 3
    assert "F0000 Check failed" in capsys.readouterr().err


def test_an_engine_that_fails_in_a_run_keeps_what_had_arrived(capsys) -> None:
    def fails(experiment: Experiment) -> list[Event]:
        *events, _ = one_fails(experiment)
        return [*events, RunFinished(outcome="crashed", elapsed_seconds=1.0)]

    engine = FakeEngine(answer=fails)
    assert run(engine, "bench", "matmul", "selu", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert len(document["measurements"]) == len(document["failures"]) == 1


def test_a_mistake_of_our_own_gives_70_and_its_traceback(capsys) -> None:
    def wrong(experiment: Experiment) -> list[Event]:
        raise ZeroDivisionError

    engine = FakeEngine(answer=wrong)
    assert run(engine, "bench", "matmul") == 70
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert err.endswith("jaxtui: This is a mistake in jaxtui, not in what you typed.\n")
    assert engine.closed


def test_a_python_that_is_not_there_gives_3(capsys) -> None:
    assert cli.main(["devices", "--python", "/no/such/python"]) == 3
    assert "/no/such/python" in capsys.readouterr().err


def test_the_app_without_a_terminal_says_what_to_use_instead(capsys) -> None:
    assert cli.main([]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "`jaxtui devices`" in err
    assert "`jaxtui bench matmul`" in err
    assert err.count("\n") == 1


def test_version(capsys) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"jaxtui {cli.__version__}\n"
