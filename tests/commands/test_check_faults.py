"""``jaxtui check`` with real engines, sound and faulty."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pexpect

from jaxtui import cli
from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.model import CHECK_TESTS
from tests.commands.processes import alive, children_of
from tests.commands.processes import jaxtui as command

DEADLINE_SECONDS = 180
FAULTY = Path(__file__).parent.parent / "engine" / "faulty_engine.py"


def faulty(options: EngineOptions) -> EngineClient:
    """An engine with planted faults, simulated devices and short tests."""
    options = EngineOptions(
        command=(sys.executable, str(FAULTY)),
        cpu_devices=4,
        environment={
            "FAULTS": "wrong cpu:1 numerics, slow cpu:2, hang cpu:3 together",
            "FAULT_SHARE": "0.3",
        },
    )
    return EngineClient(options)


def test_real_check_of_one_device_is_complete() -> None:
    done = command("check", "--json", "--cpu-devices", "1")
    document = json.loads(done.stdout)
    failed = [one for one in document["tests"] if one["verdict"] not in ("pass", "low")]
    assert {one["test"] for one in document["tests"]} == set(CHECK_TESTS)
    assert {one["verdict"] for one in failed} <= {"skipped"}, failed
    assert done.returncode in (0, 1), done.stderr
    assert document["verdict"] == ("pass", "low")[done.returncode]


def test_each_of_three_faulty_devices_is_found_and_named(capsys) -> None:
    before = children_of(os.getpid())
    assert cli.main(["check", "--json", "--limit", "12"], engine=faulty) == 2
    assert children_of(os.getpid()) == before
    document = json.loads(capsys.readouterr().out)
    assert document["complete"] is True
    rows = document["tests"]
    assert {one["test"] for one in rows} == set(CHECK_TESTS)

    def places(word: str) -> set[tuple[str, str | None]]:
        return {(one["test"], one["device"]) for one in rows if one["verdict"] == word}

    assert places("fail") == {("numerics", "cpu:1"), ("together", "cpu:3")}
    assert ("compute", "cpu:2") in places("low")
    reasons = {
        (one["test"], one["device"], one["verdict"]): one["reason"] for one in rows
    }
    assert "cpu:2 is " in reasons["compute", "cpu:2", "low"]
    hung = reasons["together", "cpu:3", "fail"]
    assert "cpu:3 did not finish within 12.0 s" in hung
    # The others raced without it. Nothing is expected of how far the slow one lags:
    # they wait for the same cores.
    (race,) = [
        one for one in rows if (one["test"], one["device"]) == ("together", None)
    ]
    assert "cpu:2 took " in race["reason"]


def test_ctrl_c_in_a_terminal_prints_what_there_is_and_leaves_no_engine() -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "check", "--cpu-devices", "2"],
        encoding="utf-8",
        dimensions=(40, 80),
        timeout=DEADLINE_SECONDS,
    )
    child.expect("starting JAX, ")
    child.expect("present: ")
    child.expect("test 3 of 9, compute: ")
    engines = children_of(child.pid)
    child.sendintr()
    child.expect("Verdict of what there is: ")
    child.expect("Interrupted in test ")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert engines
    assert not any(map(alive, engines))
