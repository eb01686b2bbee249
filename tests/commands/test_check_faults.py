"""``jaxtui check`` with real engines, sound and faulty."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect

from jaxtui import cli
from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.model import CHECK_TESTS
from tests.commands.processes import alive, children_of
from tests.commands.processes import jaxtui as command

DEADLINE_SECONDS = 180
FAULTY = Path(__file__).parent.parent / "engine" / "faulty_engine.py"


def faulty(
    fault: str, device: str, test: str = "", cpu_devices: int = 2
) -> Callable[..., EngineClient]:
    """Makes engines with a planted fault, simulated devices and short tests."""

    def factory(options: EngineOptions) -> EngineClient:
        options = EngineOptions(
            command=(sys.executable, str(FAULTY)),
            cpu_devices=cpu_devices,
            environment={
                "FAULT": fault,
                "FAULT_DEVICE": device,
                "FAULT_TEST": test,
                "FAULT_SHARE": "0.3",
            },
        )
        return EngineClient(options)

    return factory


def found(
    capsys, code: int, factory: Callable[..., EngineClient], *arguments: str
) -> list[dict[str, object]]:
    """The rows of a whole check; afterwards no process is left."""
    before = children_of(os.getpid())
    assert cli.main(["check", "--json", *arguments], engine=factory) == code
    assert children_of(os.getpid()) == before
    document = json.loads(capsys.readouterr().out)
    assert document["complete"] is True
    assert {one["test"] for one in document["tests"]} == set(CHECK_TESTS)
    return document["tests"]


def places(rows: Sequence[dict[str, object]], word: str) -> set[tuple[object, object]]:
    return {(one["test"], one["device"]) for one in rows if one["verdict"] == word}


def test_real_check_of_one_device_is_complete() -> None:
    done = command("check", "--json", "--cpu-devices", "1")
    document = json.loads(done.stdout)
    failed = [one for one in document["tests"] if one["verdict"] not in ("pass", "low")]
    assert {one["test"] for one in document["tests"]} == set(CHECK_TESTS)
    assert {one["verdict"] for one in failed} <= {"skipped"}, failed
    assert done.returncode in (0, 1), done.stderr
    assert document["verdict"] == ("pass", "low")[done.returncode]


def test_a_wrong_result_on_one_device_is_a_failure_of_that_device(capsys) -> None:
    # Of two devices that disagree nobody could say which is wrong.
    wrong = found(capsys, 2, faulty("wrong", "cpu:1", cpu_devices=4))
    assert ("numerics", "cpu:1") in places(wrong, "fail")
    assert {device for _, device in places(wrong, "fail")} == {"cpu:1"}


def test_a_slow_device_is_low_and_named_as_the_straggler(capsys) -> None:
    slow = found(capsys, 1, faulty("slow", "cpu:1", cpu_devices=4))
    assert ("compute", "cpu:1") in places(slow, "low")
    assert not places(slow, "fail")
    reasons = [str(one["reason"]) for one in slow if one["test"] == "compute"]
    assert any("cpu:1 is " in reason for reason in reasons)
    # Nothing is expected of how far it lags: the others wait for the same cores.
    (race,) = [
        one for one in slow if (one["test"], one["device"]) == ("together", None)
    ]
    assert "cpu:1 took " in str(race["reason"])


def test_a_device_that_never_returns_fails_within_the_limit(capsys) -> None:
    hung = found(capsys, 2, faulty("hang", "cpu:1", "compute"), "--limit", "15")
    assert places(hung, "fail") == {("compute", "cpu:1")}
    (row,) = [one for one in hung if one["verdict"] == "fail"]
    assert "cpu:1 did not finish within 15.0 s" in str(row["reason"])


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
