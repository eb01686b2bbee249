"""Options that take a number refuse what is none."""

from __future__ import annotations

import pytest

from jaxtui import cli


@pytest.mark.parametrize(
    ("command", "variable"),
    [
        ("--fps nan", ""),
        ("--start-limit nan", ""),
        ("--start-limit 1e999", ""),
        ("--start-limit=-1", ""),
        ("--cpu-devices nan", ""),
        ("bench selu --budget nan", ""),
        ("bench selu --target nan", ""),
        ("bench selu --size nan", ""),
        ("crossover selu --sizes nan", ""),
        ("check --limit nan", ""),
        ("compile selu --topology v5e:2x2 --limit nan", ""),
        ("learn clock --size nan", ""),
        ("history --limit nan", ""),
        ("devices", "nan"),
        ("", "inf"),
    ],
)
def test_what_is_no_number_is_refused(
    command: str,
    variable: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if variable:
        monkeypatch.setenv("JAXTUI_START_LIMIT", variable)
    assert cli.main(command.split()) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("jaxtui: ")
    assert err.count("\n") == 1
