"""A file that forks and starts processes: none outlives the run, and it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 60.0

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

FILE = """
import ctypes, os, subprocess, sys, time

subprocess.Popen(["sleep", "1000"])
for fork in (os.fork, ctypes.CDLL(None).fork):
    if fork() == 0:  # holds every pipe that it can
        time.sleep(1000)
if os.fork() == 0:  # measures as well, if it is let
    sys.stderr.write("A copy goes on.\\n")
os.makedirs(os.environ["STARTED"], exist_ok=True)

def step(x):
    return x + 1
"""


@pytest.fixture
def bench(tmp_path: Path):
    """Starts ``jaxtui bench`` of the file; its environment marks all that it starts."""
    (tmp_path / "train.py").write_text(FILE)
    mark = f"STARTED={tmp_path}/started"
    started: list[subprocess.Popen[str]] = []

    def bench(budget: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jaxtui", "bench", f"{tmp_path}/train.py:step"),
                *("--arg", "f32[8]", "--budget", budget, "--json", "--no-history"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "STARTED": mark[8:]},
        )
        started.append(process)
        return process

    bench.left = lambda: marked(mark)
    yield bench
    for pid in marked(mark):
        os.kill(pid, signal.SIGKILL)
    for process in started:
        process.communicate()


def marked(text: str) -> list[int]:
    """The processes that have this in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            variables = (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if text.encode() in variables:
            found.append(int(place.name))
    return found


def wait_until(done, what: str) -> None:
    end = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def test_a_file_that_forks_is_measured_and_nothing_of_it_is_left(bench) -> None:
    process = bench("0.2")
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    (measurement,) = json.loads(out)["measurements"]
    assert measurement["ready"]["n"] > 0
    assert bench.left() == []


def test_nothing_of_it_is_left_either_where_jaxtui_is_killed(bench, tmp_path) -> None:
    process = bench("60")
    wait_until((tmp_path / "started").exists, "the file was never imported")
    process.kill()
    wait_until(lambda: not bench.left(), f"left: {bench.left()}")
