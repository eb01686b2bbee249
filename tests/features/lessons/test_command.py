"""`jaxtui learn`: the list, a lesson as text and as JSON, its code, and mistakes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pexpect
import pytest

from jaxtui.core.model import (
    Case,
    Event,
    Experiment,
    RunFinished,
    RunStarted,
    Work,
    WorkFailed,
)
from jaxtui.features.bench.messages import Results, read
from jaxtui.ui.documents import encode
from tests.fake_engine import RECIPE, FakeEngine, at_once, tpu_devices
from tests.processes import LIMIT_SECONDS
from tests.records import measurement, planned, told
from tests.ui.commands import fakes
from tests.ui.commands.fakes import complete


def engine(
    snippets: Callable[[Any], Sequence[Event]] = at_once,
    cases: Callable[[Experiment], Sequence[Event]] = complete,
    **facts: Any,
) -> FakeEngine:
    def answered(work: Work) -> Sequence[Event]:
        return cases(work) if isinstance(work, Experiment) else snippets(work)

    return FakeEngine(answered, plan=partial(planned, recipe=RECIPE), **facts)


def failing(outcome: Any = "complete") -> FakeEngine:
    """A snippet cannot run on it."""
    return engine(
        lambda work: [
            RunStarted(),
            WorkFailed(remark=told("It needs 8 GB, and there are 4.", "Go smaller.")),
            RunFinished(outcome=outcome, elapsed_seconds=1.0),
        ]
    )


def run(fake: FakeEngine, *arguments: str) -> int:
    return fakes.run(fake, "learn", *arguments)


def works(fake: FakeEngine) -> list[str]:
    return [getattr(work, "title", "experiment") for work in fake.works]


def test_the_list_needs_no_engine(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    fake = failing()
    assert run(fake) == 0
    out = capsys.readouterr().out
    assert re.search("   1  The clock that lies +○○○ +0/3", out)
    assert fake.options is None
    run(fake, "clock")
    run(fake)
    assert re.search("   1  The clock that lies +○●○ +1/3", capsys.readouterr().out)
    (tmp_path / "lessons.json").unlink()
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "a file"))
    (tmp_path / "a file").write_text("")
    assert run(engine(), "clock") == 0
    assert capsys.readouterr().err.count(f"{tmp_path}/a file/lessons.json") == 1


def test_step_size_and_device_reach_the_lesson(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake = engine(devices=tpu_devices())
    assert run(fake, "clock", "--step", "2", "--size", "2k", "--device", "tpu:3") == 0
    (asked,) = fake.works
    assert (asked.cases[0].size, asked.cases[0].device) == (2048, "tpu:3")
    assert "close" in fake.calls
    capsys.readouterr()
    fake = engine(devices=tpu_devices())
    assert run(fake, "CLOCK") == 0
    product, snippet, experiment, audit = works(fake)
    assert product == "experiment"  # whose size fits this device
    assert snippet.startswith("The product of an n×n")
    assert experiment == "experiment"
    assert audit.startswith("A stopwatch that stops too soon")
    out, err = capsys.readouterr()
    assert "n of n×n: 4000 or more · tpu:0" in out
    assert "your guess" not in out + err


def test_a_failed_step_costs_only_itself_and_gives_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake = failing()
    assert run(fake, "clock") == 1
    out = capsys.readouterr().out
    assert "It needs 8 GB, and there are 4. Go smaller." in out
    assert works(fake)[2:3] == ["experiment"]
    assert "2/3 The speed that a plain call claims" in out
    # A step without a result claims nothing.
    assert run(failing(), "clock", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["complete"]
    first, second, _ = document["steps"]
    assert first["problem"]["error"]
    assert first["holds"] is None
    assert len(second["measurements"]) == 2


# What another machine measured.


def test_a_document_has_each_case_once_as_it_was_timed_last(tmp_path: Path) -> None:
    case = Case(op="matmul", size=9, dtype="float32", device="tpu:0", mode="jit")
    again = measurement(case, 2e-3)
    twice = Results(host=None, measurements=(measurement(case), again), failures=())
    path = tmp_path / "twice.json"
    path.write_bytes(encode(twice))
    assert read(path) == (None, (again,))


# Real engines.


def test_at_a_terminal_a_guess_is_asked_for_and_answered() -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "learn", "digits", "--step", "2"],
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=LIMIT_SECONDS,
    )
    child.expect(r"your guess \(a-c, Enter to skip\): ")
    child.sendline("7")
    child.expect(r"your guess \(a-c, Enter to skip\): ")
    child.sendline("b")
    child.expect("here: ")
    child.expect("Your prediction was right")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
