"""Nothing that lies in the working directory runs, in whatever process of jaxtui."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import LIMIT_SECONDS, environment

Start = Callable[..., subprocess.Popen[str]]

START = "import sys; from jaxtui.__main__ import main; sys.exit(main())"
"""What the console script does: its own folder is on the path, not the current one."""

NAMES = {
    *sys.stdlib_module_names,
    *("jaxtui", "jax", "jaxlib", "numpy", "msgspec", "textual", "click"),
    *("sitecustomize", "usercustomize"),
}

BENCH = ("bench", "../train.py:step", "--arg", "f32[8]", "--budget", "0.2", "--json")
LEARN = ("learn", "devices", "--size", "100", "--step", "2")
"""A part of this step has a process of its own, with two devices."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a command in a folder."""
    script = tmp_path / "bin" / "start"
    script.parent.mkdir()
    script.write_text(START)
    started = []

    def start(
        *arguments: str, cwd: bytes | Path, before: str = "true"
    ) -> subprocess.Popen[str]:
        command = [sys.executable, str(script), *arguments]
        process = subprocess.Popen(
            ["sh", "-c", f'{before} && exec "$@"', "sh", *command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(JAX_NUM_CPU_DEVICES=1),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()
        process.communicate()


def output(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0, err
    return out


def test_nothing_of_the_working_directory_runs(start: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import neighbour\ndef step(x): return neighbour.twice(x)\n"
    )
    (tmp_path / "neighbour.py").write_text("def twice(x): return 2 * x\n")
    # Modules that tell when they run, in a folder with a name that is no UTF-8.
    marker, folder = tmp_path / "ran", os.fsencode(tmp_path) + b"/caf\xe9"
    text = f"with open({str(marker)!r}, 'a') as ran: print(__file__, file=ran)\n"
    for name in sorted(NAMES):
        # A package comes before a module of the same name.
        for path in (b"%s.py", b"%s/__init__.py", b"%s/__main__.py"):
            file = os.path.join(folder, path % name.encode())
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w") as module:
                module.write(text)
    processes = [start(*words, cwd=folder) for words in (BENCH, LEARN)]
    bench, lesson = map(output, processes)
    (measurement,) = json.loads(bench)["measurements"]
    assert measurement["ready"]["n"] > 0
    assert "SIMULATED: two CPU devices" in lesson
    assert not marker.exists(), marker.read_text()


def test_a_deleted_directory_is_no_obstacle(start: Any, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    assert "cpu:0" in output(start("devices", cwd=gone, before=f"rmdir {gone}"))
