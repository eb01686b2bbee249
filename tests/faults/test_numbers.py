"""Options that take a number refuse what is none."""

from __future__ import annotations

import pytest

from jaxtui import cli

REFUSED = (
    "--fps nan",
    "--start-limit nan",
    "--start-limit 1e999",
    "--cpu-devices nan",
    "bench selu --budget nan",
    "bench selu --budget 1e999",
    "bench selu --target nan",
    "bench selu --seed nan",
    "bench selu --size nan",
    "crossover selu --budget nan",
    "crossover selu --sizes nan",
    "roofline selu --budget nan",
    "check --limit nan",
    "compile selu --topology v5e:2x2 --limit nan",
    "learn clock --step nan",
    "learn clock --size nan",
    "history --limit nan",
)


def assert_is_refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
    assert cli.main([*arguments]) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("jaxtui: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_no_number_is_refused(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_is_refused(capsys, *command.split())


@pytest.mark.parametrize(("value", "command"), [("nan", ("devices",)), ("inf", ())])
def test_the_environment_gives_numbers_too(
    value: str,
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAXTUI_START_LIMIT", value)
    assert_is_refused(capsys, *command)
