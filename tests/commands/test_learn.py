"""`jaxtui learn`: the list, a lesson as text and as JSON, its code, and mistakes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pexpect
import pytest

from jaxtui import lessons
from jaxtui.commands import learn
from jaxtui.document import Results, encode, read
from jaxtui.lessons.base import Conclusion, Lesson, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import (
    HOST,
    Case,
    CaseStarted,
    Event,
    Experiment,
    RunFinished,
    Sampled,
    Shown,
    Snippet,
    SnippetStarted,
    Timed,
    Work,
    WorkFailed,
)
from tests.commands import fakes
from tests.commands.fakes import FakeEngine, began, complete, ctrl_c, up
from tests.processes import LIMIT_SECONDS, jaxtui
from tests.records import measurement, planned
from tests.tui.fake_engine import RECIPE, answer, tpu_devices


def snippet(title: str) -> Snippet:
    parts = (Timed(name=title, code="x + 1"), Shown(name=f"{title} shown", code="x"))
    return Snippet(title=title, setup="x = 1", parts=parts, budget_seconds=0.2)


def time_it(setting: Setting) -> tuple[Work, ...]:
    return snippet("first"), snippet("second")


def compare(setting: Setting) -> tuple[Work, ...]:
    common = {"op": "matmul", "size": setting.size, "dtype": "float32"}
    jit = Case(**common, device=setting.device, mode="jit")
    numpy = Case(**common, device=HOST, mode="numpy", inputs="host")
    return (Experiment(cases=(jit, numpy), budget_seconds=1.0),)


def timed(setting: Setting, outcome: Outcome) -> Conclusion:
    holds = None if outcome.seconds("first") is None else True
    return Conclusion(rows=(), holds=holds, sentences=("It is quick.",))


def compared(setting: Setting, outcome: Outcome) -> Conclusion:
    found = len(outcome.measurements)
    said = f"On {setting.device} there are {found} of {setting.size}."
    return Conclusion(rows=(), holds=False if found else None, sentences=(said,))


TINY = Lesson(
    name="tiny",
    title="Is it quick?",
    summary="Two small steps.",
    size_means="n of n×n",
    sizes={"cpu": 64, "tpu": 4096},
    minimum=8,
    maximum=8192,
    needs="a clock",
    steps=(
        Step(
            title="Time it",
            setup="Look at `x + 1`.",
            claim="It takes no time.",
            works=time_it,
            conclude=timed,
        ),
        Step(
            title="Compare it",
            setup="Two of them.",
            claim="They are equal.",
            works=compare,
            conclude=compared,
        ),
    ),
)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    # It reads the names of the lessons once, when it is imported.
    assert learn.command.name == "learn"
    module = ModuleType("jaxtui.lessons.tiny")
    module.LESSON = TINY  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(lessons, "NAMES", {"tiny": "tiny"})


def engine(
    snippets: Callable[[Any], Sequence[Event]] = answer,
    cases: Callable[[Experiment], Sequence[Event]] = complete,
    **facts: Any,
) -> FakeEngine:
    def answered(work: Work) -> Sequence[Event]:
        return cases(work) if isinstance(work, Experiment) else snippets(work)

    return FakeEngine(up(**facts), answered, lambda case: planned(case, recipe=RECIPE))


def failing(outcome: Any = "complete") -> FakeEngine:
    """A snippet cannot run on it."""
    return engine(
        lambda work: [
            SnippetStarted(snippet=work),
            WorkFailed(error="It needs 8 GB, and there are 4.", hint="Go smaller."),
            RunFinished(outcome=outcome, elapsed_seconds=1.0),
        ]
    )


def run(fake: FakeEngine, *arguments: str) -> int:
    return fakes.run(fake, "learn", *arguments)


def works(fake: FakeEngine) -> list[str]:
    return [getattr(work, "title", "experiment") for work in fake.asked]


def test_the_list_needs_no_engine(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    fake = failing()
    assert run(fake) == 0
    out = capsys.readouterr().out
    assert "   1  Is it quick?  ○○ 0/2" in out
    assert "jaxtui learn tiny" in out
    assert "Needs: a clock" in out
    assert run(fake, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": 1,
        "lessons": [{"name": "tiny", "title": "Is it quick?", "needs": "a clock"}],
    }
    assert fake.options is None
    run(fake, "tiny")
    run(fake)
    assert "   1  Is it quick?  ○● 1/2" in capsys.readouterr().out
    (tmp_path / "lessons.json").unlink()
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "a file"))
    (tmp_path / "a file").write_text("")
    assert run(engine(), "tiny") == 0
    assert capsys.readouterr().err.count("progress cannot be kept") == 1


def test_step_size_and_device_reach_the_lesson(capsys) -> None:
    fake = engine(devices=tpu_devices())
    assert run(fake, "tiny", "--step", "2", "--size", "2k", "--device", "tpu:3") == 0
    (asked,) = fake.asked
    assert (asked.cases[0].size, asked.cases[0].device) == (2048, "tpu:3")
    assert fake.closed
    capsys.readouterr()
    fake = engine(devices=tpu_devices())
    assert run(fake, "TINY") == 0
    assert works(fake) == ["first", "second", "experiment"]
    out, err = capsys.readouterr()
    assert "On tpu:0 there are 2 of 4096." in out
    assert "your guess" not in out + err


def test_a_failed_step_costs_only_itself_and_gives_1(capsys) -> None:
    fake = failing()
    assert run(fake, "tiny") == 1
    out = capsys.readouterr().out
    assert "It needs 8 GB, and there are 4. Go smaller." in out
    assert "— Not shown here: It takes no time." in out
    assert works(fake) == ["first", "experiment"]
    assert "On cpu:0 there are 2 of 64." in out


@pytest.mark.parametrize(
    ("ended", "outcome"), [("complete", "complete"), ("crashed", "incomplete")]
)
def test_a_step_without_a_result_claims_nothing(
    capsys, ended: str, outcome: str
) -> None:
    assert run(failing(ended), "tiny", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["outcome"] == outcome
    first, second = document["steps"]
    assert first["problem"]["error"]
    assert first["holds"] is None
    assert len(second["measurements"]) == 2


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_ctrl_c_stops_the_step_and_prints_what_had_arrived(capsys, flags) -> None:
    def interrupted(experiment: Experiment) -> list[Event]:
        """After the first turn of a case."""
        ctrl_c()
        case = experiment.cases[0]
        sampled = Sampled(
            index=0,
            round=1,
            calls=1,
            dispatch=(1e-5,),
            ready=(1e-3,),
            ready_median=1e-3,
            measurement=measurement(case, stopped=None),
        )
        return [*began(experiment), CaseStarted(index=0, case=case), sampled]

    fake = engine(cases=interrupted)
    assert run(fake, "tiny", *flags) == 130
    out, err = capsys.readouterr()
    assert "had arrived" in err
    assert (fake.stopped, fake.closed) == (1, True)
    if not flags:
        assert "Stopped: what had arrived stays." in out
        assert "On cpu:0 there are 1 of 64." in out
        return
    first, second = json.loads(out)["steps"]
    assert first["holds"] is True
    assert second["problem"]["error"].startswith("Stopped")
    assert second["measurements"] == []


# What another machine measured, and the code.


def test_a_document_has_each_case_once_as_it_was_timed_last(tmp_path: Path) -> None:
    case = Case(op="matmul", size=9, dtype="float32", device="tpu:0", mode="jit")
    again = measurement(case, 2e-3)
    twice = Results(host=None, measurements=(measurement(case), again), failures=())
    path = tmp_path / "twice.json"
    path.write_bytes(encode(twice))
    assert read(path) == (None, (again,))


def test_the_code_runs_nothing_but_the_plan(capsys) -> None:
    fake = engine()
    assert run(fake, "tiny", "--code") == 0
    out = capsys.readouterr().out
    compile(out, "tiny.py", "exec")
    assert "step 1: first" in out
    assert "2 cases of matmul, taking turns" in out
    assert not fake.asked


# Real engines.


def test_a_real_lesson_as_json(tmp_path: Path) -> None:
    done = jaxtui("learn", "digits", "--step", "3", "--json", data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["lesson"] == "digits"
    (step,) = document["steps"]
    assert step["holds"] is True
    assert step["takeaway"]
    assert step["values"]


def test_at_a_terminal_a_guess_is_asked_for_and_answered() -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "learn", "digits", "--step", "2"],
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=LIMIT_SECONDS,
    )
    child.expect(r"your guess \(1-3, Enter to skip\): ")
    child.sendline("7")
    child.expect(r"your guess \(1-3, Enter to skip\): ")
    child.sendline("2")
    child.expect("here: ")
    child.expect("Your prediction was right")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
