"""``jaxtui check`` beside engines that fail, hang or are stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal

from jaxtui.analysis import examination
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.model import (
    CHECK_TESTS,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Event,
    Logged,
    RunFinished,
    WorkFailed,
)
from tests.commands.checking import engine, reading, run, sound


def test_a_test_that_takes_too_long_is_ended_and_the_rest_goes_on(
    capsys, monkeypatch
) -> None:
    monkeypatch.setitem(examination.BUDGETS, "quick", dict.fromkeys(CHECK_TESTS, 0.01))

    def hangs(check: Check) -> list[Event]:
        if check.test != "compute" or "cpu:1" not in check.devices:
            return sound(check)
        return [
            CheckStarted(check=check),
            CheckRead(reading=reading(check, "cpu:0")),
            CheckDoing(devices=("cpu:1",), what="multiplying on cpu:1"),
            CheckDone(device="cpu:0"),
        ]

    fake = engine(hangs)
    assert run(fake, "--limit", "0.05", "--json") == 2
    document = json.loads(capsys.readouterr().out)
    assert fake.stopped == 1
    (failed,) = [one for one in document["tests"] if one["verdict"] == "fail"]
    assert (failed["test"], failed["device"]) == ("compute", "cpu:1")
    assert "cpu:1 did not finish within 50.0 ms" in failed["reason"]
    later = [check for check in fake.asked if check.test == "numerics"]
    assert [check.devices for check in later] == [("cpu:0",)]
    skipped = {
        one["device"] for one in document["tests"] if one["verdict"] == "skipped"
    }
    assert skipped == {"cpu:1"}


def test_an_engine_that_dies_costs_its_test_alone_and_leaves_its_last_words(
    capsys,
) -> None:
    def dies(check: Check) -> list[Event]:
        if check.test != "bandwidth":
            return sound(check)
        return [
            CheckStarted(check=check),
            CheckDoing(devices=check.devices, what="copying"),
            WorkFailed(error="The engine crashed (SIGABRT).", hint=""),
            RunFinished(outcome="crashed", elapsed_seconds=1.0),
        ]

    fake = engine(dies)
    asked = fake.run

    async def says(check: Check) -> int:
        if check.test == "bandwidth":
            fake.say(None, Logged(line="F0000 shape.h:847] Check failed: buffer"))
        return await asked(check)

    fake.run = says  # type: ignore[assignment,method-assign]
    assert run(fake, "--devices", "cpu:0", "--save-baseline", "half") == 1
    out, err = capsys.readouterr()
    assert "  skipped: cpu:0: The engine crashed (SIGABRT)." in out
    assert "Incomplete: the engine was lost on the way." in out
    assert "\nVerdict of what there is: pass. Check again." in out
    assert "Not saved" in err
    assert "    | F0000 shape.h:847] Check failed: buffer" in out
    assert [check.test for check in fake.asked] == list(CHECK_TESTS)


def test_an_engine_that_does_not_come_back_leaves_what_there_is(
    capsys,
) -> None:
    fake = engine()
    asked = fake.run

    async def refuses(check: Check) -> int:
        if check.test == "numerics":
            raise EngineUnavailableError("The TPU is held by process 7.")
        return await asked(check)

    fake.run = refuses  # type: ignore[assignment,method-assign]
    assert run(fake, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["outcome"]) == ("pass", "incomplete")
    skipped = [one for one in document["tests"] if one["verdict"] == "skipped"]
    assert {one["test"] for one in skipped} == {"numerics", "steady", "together"}
    assert all("held by process 7" in one["reason"] for one in skipped)


def test_ctrl_c_gives_a_partial_report_and_130(capsys) -> None:
    def interrupted(check: Check) -> list[Event]:
        if check.test != "compute":
            return sound(check)
        os.kill(os.getpid(), signal.SIGINT)
        return [
            CheckStarted(check=check),
            CheckRead(reading=reading(check, "cpu:0")),
        ]

    fake = engine(interrupted)
    assert run(fake, "--json", "--save-baseline", "half") == 130
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert fake.stopped == 1
    assert document["complete"] is False
    assert document["verdict"] == "pass"
    found = [(one["test"], one["device"]) for one in document["tests"]]
    assert found[-1] == ("compute", "cpu:0")
    assert "Interrupted in test 3 of 9, compute" in err
    assert "Saved" not in err
    fake = engine(interrupted)
    assert run(fake) == 130
    out = capsys.readouterr().out
    assert "compute: pass" in out
    assert "\nVerdict of what there is: pass." in out


def test_ctrl_c_before_jax_is_up_ends_at_once(capsys) -> None:
    fake = engine(opening=())
    starting = fake.start

    async def start() -> None:
        await starting()
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)

    fake.start = start  # type: ignore[method-assign]
    assert run(fake, "--json") == 130
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["host"], document["tests"]) == (None, [])
    assert document["verdict"] == "skipped"
    assert "Interrupted before the first test." in err
    assert fake.closed
