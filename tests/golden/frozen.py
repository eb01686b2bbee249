"""Files that must not change by accident."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent
WRITES = os.environ.get("JAXTUI_GOLDEN") == "write"


def check_frozen(path: Path, text: str) -> None:
    """Compare with a file, or write it where that is asked for."""
    if WRITES:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    expected = path.read_text()
    if text != expected:
        hint = f"{path.name} would change; JAXTUI_GOLDEN=write writes it"
        assert text.splitlines() == expected.splitlines(), hint
        assert text == expected, hint
