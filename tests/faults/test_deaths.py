"""Engines that are killed while they work: no answer may rest on their death."""

from __future__ import annotations

import signal
import sys
from typing import Any

import pytest

from tests.processes import FAKE_PYTHON, Running, documents

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)


def run(*arguments: str) -> Running:
    return Running(*arguments, "--json")


def document(command: Running, code: int) -> dict[str, Any]:
    """What it prints when it has ended with this exit code."""
    returncode, out = command.ended()
    assert returncode == code, command.said
    assert ("Incomplete" in command.said) is (code == 1)
    (found,) = documents(out)
    return dict(found)


def test_a_check_judges_no_test_by_the_death_of_its_engine() -> None:
    command = run("check", "--cpu-devices", "1")
    command.kill_engine("moving large arrays", "SIGABRT", signal.SIGABRT)
    command.until("transfer 5 of")
    command.signal(signal.SIGINT)
    found = document(command, 130)
    assert not found["complete"]
    assert found["verdict"] in ("pass", "low")
    tests = found["tests"]
    (lost,) = [one for one in tests if "Fatal Python error: Aborted" in one["detail"]]
    assert (lost["test"], lost["verdict"]) == ("bandwidth", "skipped")


def test_a_bench_keeps_what_no_engine_died_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_OPS", "kill,stuck,quick")
    cases = ("kill:2", "stuck:2", "quick:1", "--mode", "jit")
    command = run("bench", *cases, "--python", FAKE_PYTHON)
    # The first kills its engine; that of the second is killed from outside.
    command.until("SIGKILL")
    command.kill_engine("turns", "SIGKILL")
    found = document(command, 1)
    assert not found["complete"]
    (kept,) = found["measurements"]
    assert (kept["case"]["op"], kept["stopped"]) == ("quick", "target")
    failed = {one["case"]["op"]: one["error"] for one in found["failures"]}
    assert failed.keys() == {"kill", "stuck"}
    assert all("SIGKILL" in error for error in failed.values())


def test_an_engine_that_is_killed_before_it_is_ready_is_exit_3() -> None:
    command = run("devices", "--python", f"env FAKE_START=stuck {FAKE_PYTHON}")
    command.kill_engine("initialising JAX", "SIGKILL")
    assert command.ended() == (3, "")
