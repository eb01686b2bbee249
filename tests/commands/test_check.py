"""``jaxtui check``: what it runs and prints, also beside engines that fail."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from jaxtui import cli
from jaxtui.analysis import examination
from jaxtui.engine.client import EngineClient, EngineOptions, EngineUnavailableError
from jaxtui.model import (
    CHECK_TESTS,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Device,
    Event,
    Finding,
    Logged,
    Ready,
    RunFinished,
    WorkFailed,
)
from tests.commands.checking import (
    PEAK,
    engine,
    reading,
    run,
    run_of,
    sound,
    with_trouble,
)
from tests.commands.fakes import DEVICES, HOST, OPS, UP
from tests.processes import children
from tests.tui.fake_engine import tpu_devices

FAULTY = Path(__file__).parent.parent / "engine" / "faulty_engine.py"


def opening(*more: Device, findings: tuple[Finding, ...] = ()) -> tuple[Event, ...]:
    devices = (*DEVICES, *more)
    return UP[0], Ready(host=HOST, devices=devices, ops=OPS, findings=findings)


def test_every_test_is_run_once_on_all_devices_of_this_process(capsys) -> None:
    theirs = Device(
        id=9, platform="cpu", device_kind="cpu", process_index=1, addressable=False
    )
    fake = engine(opening=opening(theirs))
    assert run(fake) == 0
    out, err = capsys.readouterr()
    assert [check.test for check in fake.asked] == list(CHECK_TESTS)
    assert {check.devices for check in fake.asked} == {("cpu:0", "cpu:1")}
    assert {check.level for check in fake.asked} == {"quick"}
    assert "Not tested from here: 1 device of 1 other process" in out
    for test in CHECK_TESTS:
        assert f"\n{test}: pass\n  some {test}  cpu:0-1  100 GFLOP/s\n" in out
    assert err == ""
    assert fake.closed
    fake = engine()
    assert run(fake, "--level", "full", "--devices", "cpu:1") == 0
    assert {check.devices for check in fake.asked} == {("cpu:1",)}
    assert {check.level for check in fake.asked} == {"full"}
    assert "Check of cpu:1, level full:" in capsys.readouterr().out


def test_findings_about_the_machine_come_first_and_never_into_the_json(capsys) -> None:
    finding = Finding(
        name="hidden-processes",
        severity="info",
        what="3 processes of other users could not be looked into.",
        how="/proc refuses.",
    )
    assert run(engine(opening=opening(findings=(finding,)))) == 0
    out = capsys.readouterr().out
    assert out.index("info: 3 processes of other users") < out.index("present: pass")
    assert run(engine(opening=opening(findings=(finding,))), "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "pass"
    assert "could not be looked into" in err


@pytest.mark.parametrize(
    ("trouble", "word", "code"),
    [
        ({"fault": "It computes wrongly.", "measured": None}, "fail", 2),
        ({"doubt": "Others use half of it."}, "low", 1),
        ({"expected": PEAK, "measured": 150e12}, "pass", 0),
        ({"expected": PEAK, "measured": 50e12}, "low", 1),
        ({"expected": PEAK, "measured": 300e12}, "impossible", 2),
    ],
)
def test_the_exit_code_and_the_last_line_are_the_verdict(
    capsys, trouble: dict[str, object], word: str, code: int
) -> None:
    fake = engine(with_trouble("bandwidth", "cpu:0", **trouble))
    assert run(fake, "--devices", "cpu:0") == code
    out = capsys.readouterr().out
    last = " ".join(out.rpartition("\n\n")[2].split())
    assert last.startswith(f"Verdict: {word}. ")
    if code:
        assert "cpu:0 in bandwidth" in last
        assert f"    {word}: " in out


def test_where_nothing_could_be_tested_it_could_not_run(capsys) -> None:
    def nothing(check: Check) -> list[Event]:
        return run_of(check, reading(check, "cpu:0", measured=None, skipped="Too old."))

    assert run(engine(nothing), "--devices", "cpu:0") == 3
    assert "Verdict: skipped. Nothing could be tested." in capsys.readouterr().out


# Baselines.


def test_a_baseline_is_saved_and_compared_with(capsys) -> None:
    assert run(engine(), "--save-baseline", "new") == 0
    err = capsys.readouterr().err
    assert 'Saved as baseline "new" in ' in err
    assert Path(err.rpartition(" in ")[2].strip().rstrip(".")).is_file()
    assert run(engine(), "--baseline", "nwe") == 64
    assert "there is new. Did you mean new?" in capsys.readouterr().err
    assert run(engine(), "--devices", "cpu:1", "--baseline", "new", "--json") == 0
    out, err = capsys.readouterr()
    assert "Compared with the baseline new of " in err
    document = json.loads(out)
    assert document["baseline"] == "new"
    assert {one["share"] for one in document["tests"]} == {1.0}
    slower = engine(with_trouble("compute", "cpu:1", measured=6e10))
    assert run(slower, "--baseline", "new") == 1
    assert "60.0 of 100 GFLOP/s" in capsys.readouterr().out


def test_a_baseline_of_other_hardware_or_a_broken_one_is_refused(
    capsys, data: Path
) -> None:
    assert run(engine(), "--save-baseline", "two") == 0
    capsys.readouterr()
    ready = Ready(host=HOST, devices=tpu_devices(), ops=OPS)
    fake = engine(opening=(UP[0], ready))
    assert run(fake, "--baseline", "two") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 × cpu" in err
    assert "8 × TPU v5 lite" in err
    assert not fake.asked
    assert fake.closed
    (file,) = data.rglob("two.json")
    file.write_text("{", encoding="utf-8")
    assert run(engine(), "--baseline", "two") == 3
    err = capsys.readouterr().err
    assert "is broken" in err
    assert "moved aside" in err
    assert not file.exists()
    assert list(file.parent.glob("two.json.*"))


def test_figures_of_a_machine_that_fails_are_no_baseline(
    capsys, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = with_trouble("compute", "cpu:1", fault="Wrong.", measured=None)
    assert run(engine(failing), "--save-baseline", "bad") == 2
    assert 'Not saved as baseline "bad"' in capsys.readouterr().err
    assert not list(data.rglob("*.json"))
    low = with_trouble("memory", "cpu:1", doubt="Others use it.")
    assert run(engine(low), "--save-baseline", "poor") == 1
    err = capsys.readouterr().err
    assert "Mind that the verdict is low" in err
    assert 'Saved as baseline "poor"' in err
    monkeypatch.setenv("JAXTUI_DATA", str(data / "a file"))
    (data / "a file").touch()
    assert run(engine(), "--save-baseline", "new") == 3
    out, err = capsys.readouterr()
    assert "Verdict: pass" in out
    assert "cannot be" in err


# Engines that fail, hang or are stopped.


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
    tests = json.loads(capsys.readouterr().out)["tests"]
    assert fake.stopped == 1
    (failed,) = [one for one in tests if one["verdict"] == "fail"]
    assert (failed["test"], failed["device"]) == ("compute", "cpu:1")
    assert "cpu:1 did not finish within 50.0 ms" in failed["reason"]
    later = [check for check in fake.asked if check.test == "numerics"]
    assert [check.devices for check in later] == [("cpu:0",)]
    skipped = {one["device"] for one in tests if one["verdict"] == "skipped"}
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


def test_an_engine_that_does_not_come_back_leaves_what_there_is(capsys) -> None:
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


@pytest.mark.parametrize("flags", [("--json", "--save-baseline", "half"), ()])
def test_ctrl_c_gives_a_partial_report_and_130(capsys, flags) -> None:
    def interrupted(check: Check) -> list[Event]:
        if check.test != "compute":
            return sound(check)
        os.kill(os.getpid(), signal.SIGINT)
        return [CheckStarted(check=check), CheckRead(reading=reading(check, "cpu:0"))]

    fake = engine(interrupted)
    assert run(fake, *flags) == 130
    out, err = capsys.readouterr()
    assert fake.stopped == 1
    assert "Interrupted in test 3 of 9, compute" in err
    assert "Saved" not in err
    if not flags:
        assert "compute: pass" in out
        assert "\nVerdict of what there is: pass." in out
        return
    document = json.loads(out)
    assert (document["complete"], document["verdict"]) == (False, "pass")
    last = document["tests"][-1]
    assert (last["test"], last["device"]) == ("compute", "cpu:0")


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


# Real engines, sound and faulty.


def faulty(options: EngineOptions) -> EngineClient:
    """An engine with planted faults and simulated devices."""
    options = EngineOptions(
        command=(sys.executable, str(FAULTY)),
        cpu_devices=4,
        environment={"FAULTS": "wrong cpu:1 numerics, slow cpu:2, hang cpu:3 together"},
    )
    return EngineClient(options)


def test_each_of_three_faulty_devices_is_found_and_named(
    capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = dict.fromkeys(CHECK_TESTS, 0.2)
    monkeypatch.setitem(examination.BUDGETS, "quick", brief)
    patience = {"together": 3.0}
    monkeypatch.setattr(
        examination, "limit_seconds", lambda check: patience.get(check.test, 600.0)
    )
    before = children(os.getpid())
    assert cli.main(["check", "--json"], engine=faulty) == 2
    assert children(os.getpid()) == before
    document = json.loads(capsys.readouterr().out)
    assert document["complete"] is True
    rows = document["tests"]
    assert {one["test"] for one in rows} == set(CHECK_TESTS)

    def reasons(word: str) -> dict[tuple[str, str | None], str]:
        return {
            (one["test"], one["device"]): one["reason"]
            for one in rows
            if one["verdict"] == word
        }

    failed = reasons("fail")
    assert set(failed) == {("numerics", "cpu:1"), ("together", "cpu:3")}
    assert "cpu:3 did not finish within 3.00 s" in failed["together", "cpu:3"]
    assert "cpu:2 is " in reasons("low")["compute", "cpu:2"]
    # The others raced without it. Nothing is expected of how far the slow one lags:
    # they wait for the same cores.
    (race,) = [
        one for one in rows if (one["test"], one["device"]) == ("together", None)
    ]
    assert "cpu:2 took " in race["reason"]
