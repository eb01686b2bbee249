"""What commands keep goes to a folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def data(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Where history, baselines and progress are kept."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("JAXTUI_DATA", str(folder))
    return folder
