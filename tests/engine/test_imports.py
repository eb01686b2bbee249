"""What the two sides drag in, proved in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def imported_by(module):
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("jaxtui.engine.client", {"jax", "numpy", "textual", "jaxtui.measure"}),
        ("jaxtui.engine.process", {"jax", "numpy", "textual", "asyncio", "msgspec"}),
        ("jaxtui.engine.server", {"jax", "numpy", "textual", "plotext", "asyncio"}),
    ],
)
def test_nothing_heavy_is_imported(module, heavy):
    assert not imported_by(module) & heavy
