"""Files that must not change by accident."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WRITES = os.environ.get("JAXTUI_GOLDEN") == "write"


def check_frozen(path: Path, text: str) -> None:
    """Compare with a file, or write it where that is asked for."""
    if WRITES:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    lines = difflib.unified_diff(
        path.read_text().splitlines(),
        text.splitlines(),
        "frozen",
        "now",
        lineterm="",
        n=1,
    )
    if changes := list(lines):
        shown = "\n".join(line[:160] for line in changes[:40])
        hint = "JAXTUI_GOLDEN=write writes it."
        pytest.fail(f"{path.name} would change. {hint}\n{shown}", pytrace=False)
