"""However the UI ends, two seconds later no engine is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd")


@pytest.fixture
def start_ui():
    """Start a UI; returns its process and the pid of its engine."""
    started = []

    def start_ui(op, *arguments):
        ui = subprocess.Popen(
            [sys.executable, str(HERE / "fake_ui.py"), op, *arguments],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(ui)
        assert ui.stdout is not None
        return ui, int(ui.stdout.readline())

    yield start_ui
    for ui in started:
        ui.kill()
        ui.wait()
        ui.stdout.close()


@pytest.mark.parametrize(
    ("op", "how"),
    [
        ("-", signal.SIGKILL),
        ("stuck", signal.SIGKILL),
        ("long", signal.SIGKILL),
        ("stuck", signal.SIGTERM),
        ("-", signal.SIGHUP),
        ("gil", signal.SIGKILL),
    ],
)
def test_the_engine_ends(start_ui, ends_within, op, how):
    ui, engine = start_ui(op)
    ui.send_signal(how)
    assert ends_within(engine, 2.0)


def test_an_orderly_end_ends_it_first(start_ui, ends_within):
    ui, engine = start_ui("-", "--close")
    assert ui.wait(180) == 0
    assert ends_within(engine, 0)
