"""A sentence and an exit code for whatever goes wrong with an engine."""

from __future__ import annotations

from jaxtui import cli
from jaxtui.model import EngineDied, Event, Experiment, Logged
from tests.commands.fakes import FakeEngine, run


def test_an_engine_that_dies_at_the_start_gives_its_last_words_with_3(capsys) -> None:
    died = EngineDied(returncode=-6, error="It was aborted.")
    engine = FakeEngine(opening=[Logged(line="F0000 Check failed"), died])
    assert run(engine, "bench", "matmul", "--json") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "F0000 Check failed" in err


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
