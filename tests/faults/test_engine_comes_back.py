"""An engine that died again and again is started by the next run, as the line says."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 60

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

PYTHON = """#!/bin/sh
test -e broken && kill -9 $$
exec {} "$@"
"""


@pytest.fixture
def app(tmp_path: Path):
    """The app, with devices on screen, and a Python that dies where ``broken`` is."""
    python = tmp_path / "python"
    python.write_text(PYTHON.format(sys.executable))
    python.chmod(0o755)
    app = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "--python", str(python)],
        cwd=str(tmp_path),
        env={
            **os.environ,
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            "JAXTUI_DATA": str(tmp_path),
        },
        dimensions=(40, 150),
        timeout=SECONDS,
    )
    yield app
    app.close(force=True)


def children(pid: int) -> list[int]:
    return [
        int(child)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


def test_a_run_starts_the_engine_again(app, tmp_path: Path) -> None:
    app.expect("CPU only")
    broken = tmp_path / "broken"
    broken.touch()
    (engine,) = children(app.pid)
    os.kill(engine, signal.SIGKILL)
    app.expect("the next run tries once more")
    broken.unlink()
    app.send("\r")
    app.expect("Starting JAX again")
    app.expect("stopwatch")
    (again,) = children(app.pid)
    assert again != engine
    app.send("\x03")
    app.expect(pexpect.EOF)
