from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import ROOT


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands keep their data; they run this source in the folder above."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))
    return tmp_path / "data"
