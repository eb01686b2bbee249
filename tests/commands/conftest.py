"""Commands as they are typed; what they keep goes to a folder of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jaxtui import cli


@pytest.fixture(autouse=True)
def data(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Where history, baselines and progress are kept."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("JAXTUI_DATA", str(folder))
    return folder


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command; gives its exit code, stdout and stderr."""

    def run(*words: object) -> tuple[int, str, str]:
        code = cli.main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return run
