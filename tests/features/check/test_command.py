"""``jaxtui check``: what it runs and prints, also beside engines that fail."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxtui import cli
from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import CHECK_TESTS, Check, Device, Event, RunStarted
from jaxtui.features.check import exam as examination
from tests.core.figures import skipped
from tests.fake_engine import FakeEngine, cpu_devices, tpu_devices
from tests.features.check.checking import Script, sound
from tests.processes import children
from tests.records import told
from tests.ui.commands import fakes

FAULTY = Path(__file__).parents[2] / "core" / "engine" / "faulty_engine.py"


def engine(answer: Script = sound, **facts: Any) -> FakeEngine:
    return FakeEngine(answer, **facts)


def run(fake: FakeEngine, *arguments: str) -> int:
    return fakes.run(fake, "check", *arguments)


def test_devices_of_this_process_are_tested_and_what_is_known_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = Device(
        id=9, platform="cpu", device_kind="cpu", process_index=1, addressable=False
    )
    finding = told("It is slow.", severity="info")
    for flags, devices, level in (
        ((), ("cpu:0", "cpu:1"), "quick"),
        (("--level", "full", "--device", "cpu:1"), ("cpu:1",), "full"),
    ):
        fake = engine(devices=(*cpu_devices(2), theirs), findings=(finding,))
        assert run(fake, *flags) == 0
        assert {(x.devices, x.level) for x in fake.works} == {(devices, level)}
        out = capsys.readouterr().out
        assert all(one in out for one in ("1 other process", "It is slow."))
        assert "close" in fake.calls


def test_where_nothing_could_be_tested_it_could_not_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def nothing(check: Check) -> list[Event]:
        return sound(check, "cpu:0", **skipped())

    assert run(engine(nothing), "--device", "cpu:0") == 3
    assert capsys.readouterr().out.startswith(" SKIPPED ")


def test_the_check_of_another_machine_is_no_baseline(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "monday.json"
    assert run(engine(), "--json") == 0
    file.write_text(capsys.readouterr().out)
    assert run(engine(), "--device", "cpu:1", "--baseline", str(file), "--json") == 0
    tests = json.loads(capsys.readouterr().out)["tests"]
    assert {one["share"] for one in tests} == {1.0}
    # It is refused before anything is measured.
    fake = engine(devices=tpu_devices())
    assert run(fake, "--baseline", str(file)) == 3
    out, err = capsys.readouterr()
    assert (out, fake.works) == ("", [])
    assert "2 × cpu" in err
    assert "8 × TPU v5 lite" in err
    assert "close" in fake.calls


def test_a_test_that_takes_longer_than_the_limit_is_ended(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(examination.BUDGETS, "quick", dict.fromkeys(CHECK_TESTS, 0.01))

    def hangs(check: Check) -> list[Event]:
        return [RunStarted()] if check.test == "compute" else sound(check)

    fake = engine(hangs)
    assert run(fake, "--limit", "0.05", "--device", "cpu:1", "--json") == 2
    tests = json.loads(capsys.readouterr().out)["tests"]
    assert "stop" in fake.calls
    # On a busy machine others may be late as well.
    (failed,) = [one for one in tests if one["test"] == "compute"]
    assert (failed["verdict"], failed["device"]) == ("fail", "cpu:1")
    assert "Did not finish within 50.0 ms" in failed["reason"]


def faulty(options: EngineOptions) -> EngineClient:
    faults = "wrong cpu:1 numerics, hang cpu:3 dispatch"
    command = (sys.executable, str(FAULTY))
    return EngineClient(
        EngineOptions(command=command, cpu_devices=4, environment={"FAULTS": faults})
    )


def test_faulty_devices_of_a_real_engine_are_found_and_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = dict.fromkeys(CHECK_TESTS, 0.05)
    monkeypatch.setitem(examination.BUDGETS, "quick", brief)
    patience = {"dispatch": 3.0}
    monkeypatch.setattr(
        examination, "limit_seconds", lambda check: patience.get(check.test, 600.0)
    )
    before = children(os.getpid())
    assert cli.main(["check", "--json"], engine=faulty) == 2
    assert children(os.getpid()) == before
    document = json.loads(capsys.readouterr().out)
    assert document["complete"] is True
    assert {one["test"] for one in document["tests"]} == set(CHECK_TESTS)

    def reasons(*words: str) -> dict[tuple[str, str | None], str]:
        return {
            (one["test"], one["device"]): one["reason"]
            for one in document["tests"]
            if one["verdict"] in words
        }

    failed = reasons("fail")
    assert set(failed) == {("numerics", "cpu:1")}
    # Simulated devices share cores that others may use: one that hangs is no proof.
    assert ("dispatch", "cpu:3") in reasons("skipped")
