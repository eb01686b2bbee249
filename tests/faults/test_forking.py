"""A file that forks and starts processes: none outlives the run, and it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import LIMIT_SECONDS, PROGRAM, environment, marked, wait_until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

FILE = """
import ctypes, os, subprocess, time

subprocess.Popen(["sleep", "1000"])
for fork in (os.fork, ctypes.CDLL(None).fork):
    if fork() == 0:  # holds every pipe that it can
        time.sleep(1000)
os.makedirs(os.environ["STARTED"], exist_ok=True)

def step(x):
    return x + 1
"""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Path]:
    """Comes to be when the file is run; its name marks all that the file starts."""
    (tmp_path / "train.py").write_text(FILE)
    yield tmp_path / "started"
    for pid in marked(f"STARTED={tmp_path / 'started'}"):
        os.kill(pid, signal.SIGKILL)


def bench(started: Path, budget: str) -> subprocess.Popen[str]:
    words = ("bench", "train.py:step", "--arg", "f32[8]", "--json", "--budget", budget)
    return subprocess.Popen(
        [*PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(STARTED=started),
    )


def test_a_file_that_forks_is_measured_and_nothing_of_it_is_left(started: Path) -> None:
    process = bench(started, "0.2")
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0, err
    (measurement,) = json.loads(out)["measurements"]
    assert measurement["ready"]["n"] > 0
    assert marked(f"STARTED={started}") == []


def test_nothing_of_it_is_left_either_where_jaxtui_is_killed(started: Path) -> None:
    process = bench(started, "60")
    wait_until(started.exists, "the import of the file")
    process.kill()
    wait_until(lambda: not marked(f"STARTED={started}"), "the end of all")
    process.communicate()
