"""What commands keep goes to a folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Baselines go to a folder of the test's own."""
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    return tmp_path
