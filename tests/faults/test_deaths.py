"""Engines that are killed while they work: no answer may rest on their death.

Each command draws its progress on a terminal of its own, which tells what the engine is
doing; the document goes to a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

DEADLINE_SECONDS = 120
AGAIN = "tried once more in a new engine"
FINISHED = {"target", "budget", "noise floor"}


class Command:
    """A command that is going on."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._document = folder / "document.json"
        words = ["-c", 'exec "$@" > "$OUT"', "sh", sys.executable, "-m", "jaxtui"]
        self.child: pexpect.spawn[str] = pexpect.spawn(
            "/bin/sh",
            [*words, *arguments, "--json"],
            env={**os.environ, "OUT": str(self._document)},
            encoding="utf-8",
            dimensions=(40, 160),
            timeout=DEADLINE_SECONDS,
        )

    def kill_engine(
        self, doing: str, then: str = AGAIN, by: int = signal.SIGKILL
    ) -> None:
        """End the engine as soon as it does this, and wait for what is said of it."""
        self.child.expect(doing)
        pid = self.child.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        (engine,) = map(int, children.split())
        os.kill(engine, by)
        self.child.expect(then)

    def end(self, code: int) -> dict[str, Any]:
        """Its document, when it has ended with this exit code."""
        self.child.expect(pexpect.EOF)
        said = str(self.child.before)
        self.child.close()
        assert self.child.exitstatus == code, said
        assert ("Incomplete: " in said) is (code == 1)
        found: dict[str, Any] = json.loads(self._document.read_bytes())
        return found


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[Command]:
    command = Command(folder, *arguments)
    try:
        yield command
    finally:
        command.child.close(force=True)


def test_a_search_goes_on_where_its_engine_died(tmp_path: Path) -> None:
    arguments = ("selu", "--sizes", "4,8", "--budget", "5", "--no-history")
    with started(tmp_path, "crossover", *arguments) as command:
        command.kill_engine("warming up the process")
        found = command.end(0)
    assert found["outcome"] in ("complete", "budget")
    assert [one["size"] for one in found["sizes"]] == [4, 8]
    assert found["failures"] == []
    assert {one["stopped"] for one in found["measurements"]} <= FINISHED


def test_a_search_whose_engine_dies_twice_at_a_size_has_no_answer(
    tmp_path: Path,
) -> None:
    arguments = ("selu", "--sizes", "2,8", "--budget", "10", "--no-history")
    with started(tmp_path, "crossover", *arguments) as command:
        command.child.expect("2: numpy ")
        command.kill_engine(": selu 8 ")
        command.kill_engine("warming up the process", then="SIGKILL")
        found = command.end(1)
    assert found["outcome"] == "incomplete"
    assert [one["size"] for one in found["sizes"]] == [2]
    assert {one["case"]["size"] for one in found["failures"]} == {8}
    assert "no crossover" not in "".join(one["sentence"] for one in found["answers"])


def test_a_check_judges_no_test_by_the_death_of_its_engine(tmp_path: Path) -> None:
    with started(tmp_path, "check", "--cpu-devices", "1") as command:
        command.kill_engine("compute: multiplying matrices")
        command.kill_engine("bandwidth: moving large")
        command.kill_engine("bandwidth: moving large", "SIGABRT", signal.SIGABRT)
        found = command.end(1)
    assert (found["outcome"], found["complete"]) == ("incomplete", False)
    assert found["verdict"] in ("pass", "low")
    tests = found["tests"]
    assert len({one["test"] for one in tests}) == 9
    (lost,) = [one for one in tests if "Fatal Python error: Aborted" in one["detail"]]
    assert (lost["test"], lost["verdict"]) == ("bandwidth", "skipped")
    begun_again = [one["what"] for one in tests if one["test"] == "compute"]
    assert len(begun_again) == len(set(begun_again)) > 0


def test_a_roofline_without_its_roofs_says_what_limits_nothing(tmp_path: Path) -> None:
    arguments = ("copy:1M", "--budget", "2", "--no-history")
    with started(tmp_path, "roofline", *arguments) as command:
        command.kill_engine("preparing the bandwidth roof|prepared")
        command.kill_engine("preparing the bandwidth roof|prepared", then="SIGKILL")
        found = command.end(1)
    assert found["outcome"] == "incomplete"
    assert found["places"] == found["measurements"] == []


def test_a_lesson_claims_nothing_where_its_engine_died_twice(tmp_path: Path) -> None:
    arguments = ("small-work", "--step", "3", "--no-history")
    with started(tmp_path, "learn", *arguments) as command:
        command.kill_engine("sampling: ")
        command.kill_engine("warming up the process", then="SIGKILL")
        found = command.end(1)
    (step,) = found["steps"]
    assert found["outcome"] == "incomplete"
    assert step["problem"] is not None
    assert step["holds"] is None


def test_a_bench_tries_a_case_twice_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "fatal.py"
    file.write_text(
        "import os\n"
        "def once(x):\n"
        "    if not os.path.exists('died'):\n"
        "        open('died', 'w').close()\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return x + 1\n"
        "def always(x):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    monkeypatch.chdir(tmp_path)
    functions = [f"{file}:{name}" for name in ("once", "always")]
    arguments = (*functions, "--arg", "f32[8]", "selu:100", "--budget", "1")
    with started(tmp_path, "bench", *arguments, "--no-history") as command:
        found = command.end(1)
    assert found["outcome"] == "incomplete"
    ops = {one["case"]["op"].rpartition(":")[2] for one in found["measurements"]}
    assert ops == {"once", "selu"}
    (failure,) = found["failures"]
    assert failure["case"]["op"] == functions[1]
    assert "SIGKILL" in failure["error"]
    assert {one["stopped"] for one in found["measurements"]} <= FINISHED
