"""Engines that are killed while they work: no answer may rest on their death."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Running, documents

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

AGAIN = "tried once more in a new engine"
FINISHED = {"target", "budget", "noise floor"}

FATAL = """
import os
def once(x):
    if not os.path.exists('died'):
        open('died', 'w').close()
        os.kill(os.getpid(), 9)
    return x + 1
def always(x):
    os.kill(os.getpid(), 9)
"""


def run(*arguments: str) -> Running:
    return Running(*arguments, "--json")


def document(command: Running, code: int) -> dict[str, Any]:
    """What it prints when it has ended with this exit code."""
    returncode, out = command.ended()
    assert returncode == code, command.said
    assert ("Incomplete: " in command.said) is (code == 1)
    (found,) = documents(out)
    return dict(found)


def test_a_check_judges_no_test_by_the_death_of_its_engine() -> None:
    command = run("check", "--cpu-devices", "1")
    command.kill_engine("compute: multiplying matrices", AGAIN)
    command.kill_engine("bandwidth: moving large", AGAIN)
    command.kill_engine("bandwidth: moving large", "SIGABRT", signal.SIGABRT)
    command.until("transfer: ")
    command.signal(signal.SIGINT)
    found = document(command, 130)
    assert not found["complete"]
    assert found["verdict"] in ("pass", "low")
    tests = found["tests"]
    (lost,) = [one for one in tests if "Fatal Python error: Aborted" in one["detail"]]
    assert (lost["test"], lost["verdict"]) == ("bandwidth", "skipped")
    begun_again = [one["what"] for one in tests if one["test"] == "compute"]
    assert len(begun_again) == len(set(begun_again)) > 0


def test_a_bench_tries_a_case_twice_and_keeps_the_rest() -> None:
    Path("fatal.py").write_text(FATAL)
    functions = ("fatal.py:once", "fatal.py:always")
    command = run(
        *("bench", *functions, "--arg", "f32[8]", "selu:100", "--budget", "1")
    )
    found = document(command, 1)
    assert found["outcome"] == "incomplete"
    ops = {one["case"]["op"].rpartition(":")[2] for one in found["measurements"]}
    assert ops == {"once", "selu"}
    (failure,) = found["failures"]
    assert failure["case"]["op"].endswith("fatal.py:always")
    assert "SIGKILL" in failure["error"]
    assert {one["stopped"] for one in found["measurements"]} <= FINISHED
