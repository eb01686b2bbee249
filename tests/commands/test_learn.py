"""`jaxtui learn`: the list, a lesson as text and as JSON, its code, and mistakes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pexpect
import pytest

from jaxtui import cli, lessons
from jaxtui.commands.learn import read_ghost
from jaxtui.document import Results, encode
from jaxtui.lessons.base import (
    Conclusion,
    Lesson,
    Question,
    Row,
    Setting,
    Step,
)
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import (
    HOST,
    Case,
    Experiment,
    Host,
    Loop,
    Measurement,
    RunEvent,
    RunFinished,
    Sampled,
    Shown,
    Snippet,
    SnippetStarted,
    Timed,
    Work,
    WorkFailed,
)
from jaxtui.plot import Axis, Picture, Series
from jaxtui.selection import SelectionError
from tests.tui import fake_engine
from tests.tui.fake_engine import FakeEngine, measurement, tpu_devices

DEADLINE_SECONDS = 180


def snippet(title: str, *codes: str) -> Snippet:
    parts = tuple(Timed(name=f"{title} {code}", code=code) for code in codes)
    shown = Shown(name=f"{title} shown", code="x")
    return Snippet(
        title=title, setup="x = 1", parts=(*parts, shown), budget_seconds=0.2
    )


def time_it(setting: Setting) -> tuple[Work, ...]:
    return (snippet("first", "x + 1"), snippet("second", "x + 2"))


def compare(setting: Setting) -> tuple[Work, ...]:
    common = {"op": "matmul", "size": setting.size, "dtype": "float32"}
    jit = Case(**common, device=setting.device, mode="jit")
    numpy = Case(**common, device=HOST, mode="numpy", inputs="host")
    return (Experiment(cases=(jit, numpy), budget_seconds=1.0),)


def timed(setting: Setting, outcome: Outcome) -> Conclusion:
    seconds = outcome.seconds("first x + 1")
    if seconds is None:
        return Conclusion(rows=(), holds=None, takeaway="No figure has arrived.")
    row = Row(what="x + 1", yours=f"{seconds:.1e} s", published="2 s", remark="quick")
    return Conclusion(rows=(row,), holds=True, takeaway="It is quick.", answer=1)


def compared(setting: Setting, outcome: Outcome) -> Conclusion:
    ghosts = f" {setting.ghost_label}: {len(setting.ghosts)}" if setting.ghosts else ""
    found = len(outcome.measurements)
    said = f"On {setting.device} there are {found} of {setting.size}.{ghosts}"
    return Conclusion(rows=(), holds=False if found else None, takeaway=said)


def curve(setting: Setting, outcome: Outcome) -> Picture | None:
    if not outcome.measurements:
        return None
    series = Series("a curve", (1, 2, 3), (1, 4, 9))
    return Picture((series,), Axis(), Axis(), "what it looks like")


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
            setup="Look at `x + 1`.\n\n    x = 1",
            explanation="Then think.",
            question=Question(text="How long?", choices=("long", "short", "never")),
            claim="It takes no time.",
            works=time_it,
            conclude=timed,
            source="A book, 1999",
        ),
        Step(
            title="Compare it",
            setup="Two of them.",
            claim="They are equal.",
            works=compare,
            conclude=compared,
            picture=curve,
        ),
    ),
)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("jaxtui.lessons.tiny")
    module.LESSON = TINY  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(lessons, "NAMES", {"tiny": "tiny"})


def run(engine: FakeEngine, *arguments: str) -> int:
    return cli.main(["learn", *arguments], engine=lambda options: engine)


def works(engine: FakeEngine) -> list[str]:
    return [getattr(work, "title", "experiment") for work in engine.works]


# The list.


def test_the_list_needs_no_engine(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    engine = FakeEngine()
    assert run(engine) == 0
    out = capsys.readouterr().out
    assert "   1  Is it quick?  ○○ 0/2" in out
    assert "jaxtui learn tiny" in out
    assert "Two small steps." in out
    assert "Needs: a clock" in out
    assert run(engine, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": 1,
        "lessons": [{"name": "tiny", "title": "Is it quick?", "needs": "a clock"}],
    }
    assert not engine.calls
    engine.answer = fails
    run(engine, "tiny")
    run(FakeEngine())
    assert "   1  Is it quick?  ○● 1/2" in capsys.readouterr().out
    (tmp_path / "lessons.json").unlink()
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "a file"))
    (tmp_path / "a file").write_text("")
    assert run(FakeEngine(), "tiny") == 0
    assert capsys.readouterr().err.count("progress cannot be kept") == 1


# A lesson as text.


def test_a_lesson_is_told_in_order(capsys) -> None:
    engine = FakeEngine()
    assert run(engine, "tiny") == 0
    out, err = capsys.readouterr()
    told = [
        "Is it quick?",
        "n of n×n: 64 · cpu:0\nTwo small steps.",
        "1/2  Time it\n------------",
        "Look at `x + 1`.\n\n    x = 1\n",
        "# first\nx = 1\n# time: first x + 1\nx + 1",
        "How long?\n ○ 1  long\n ○ 2  short\n ○ 3  never",
        "✓ Holds here: It takes no time.\nAnswer: short",
        "       yours      published\nx + 1  1.0e-03 s  2 s        quick",
        "It is quick.",
        "Then think.",
        "Yours: cpu:0, vm, jax 0.12.0.\nPublished: A book, 1999",
        "2/2  Compare it",
        "what it looks like",
        "✗ Does not hold here: They are equal.",
        "On cpu:0 there are 2 of 64.",
    ]
    places = [out.find(text) for text in told]
    assert -1 not in places, told[places.index(-1)]
    assert places == sorted(places)
    assert err == ""
    assert works(engine) == ["first", "second", "experiment"]
    assert "close" in engine.calls


def test_one_step_alone_in_a_file(capsys) -> None:
    engine = FakeEngine()
    assert run(engine, "tiny", "--step", "2") == 0
    assert works(engine) == ["experiment"]
    out, err = capsys.readouterr()
    assert "1/2" not in out
    assert "\x1b" not in out
    assert "your guess" not in out + err
    heading = next(line for line in out.splitlines() if "what it looks like" in line)
    assert len(heading) == 80


def test_size_and_device_reach_the_lesson(capsys) -> None:
    engine = FakeEngine(tpu_devices())
    assert run(engine, "tiny", "--step", "2", "--size", "2k", "--device", "tpu:3") == 0
    (asked,) = engine.experiments
    assert (asked.cases[0].size, asked.cases[0].device) == (2048, "tpu:3")
    assert run(FakeEngine(tpu_devices()), "TINY", "--step", "2") == 0
    assert "On tpu:0 there are 2 of 4096." in capsys.readouterr().out


# What goes wrong.


def fails(work: Loop | Snippet) -> Sequence[RunEvent]:
    assert isinstance(work, Snippet)
    return [
        SnippetStarted(snippet=work),
        WorkFailed(error="It needs 8 GB, and there are 4.", hint="Go smaller."),
        RunFinished(outcome="complete", elapsed_seconds=1.0),
    ]


def test_a_failed_step_costs_only_itself_and_gives_1(capsys) -> None:
    engine = FakeEngine()
    engine.answer = fails
    assert run(engine, "tiny") == 1
    out = capsys.readouterr().out
    assert "It needs 8 GB, and there are 4. Go smaller." in out
    assert "— Not shown here: It takes no time." in out
    assert works(engine) == ["first", "experiment"]
    assert "On cpu:0 there are 2 of 64." in out
    engine = FakeEngine()
    engine.answer = fails
    assert run(engine, "tiny", "--json") == 1
    first, second = json.loads(capsys.readouterr().out)["steps"]
    assert first["problem"]["hint"] == "Go smaller."
    assert first["holds"] is None
    assert len(second["measurements"]) == 2


def test_a_step_whose_engine_died_claims_nothing(capsys) -> None:
    def dies(work: Loop | Snippet) -> Sequence[RunEvent]:
        return [*fails(work)[:-1], RunFinished(outcome="crashed", elapsed_seconds=1.0)]

    engine = FakeEngine()
    engine.answer = dies
    assert run(engine, "tiny", "--step", "1", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    (step,) = document["steps"]
    assert document["outcome"] == "incomplete"
    assert step["problem"] is not None
    assert step["holds"] is None


class Interrupted(FakeEngine):
    """Somebody presses Ctrl-C after the first turn of a case."""

    async def run(self, work: Work) -> int:
        if not isinstance(work, Experiment):
            return await super().run(work)
        self._scripted = False
        number = await super().run(work)
        case = work.cases[0]
        self.emit_run(
            fake_engine.CaseStarted(index=0, case=case),
            Sampled(
                index=0,
                round=1,
                calls=1,
                dispatch=(1e-5,),
                ready=(1e-3,),
                ready_median=1e-3,
                measurement=measurement(case, None),
            ),
        )
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
        return number


def test_ctrl_c_stops_the_step_and_prints_what_had_arrived(capsys) -> None:
    engine = Interrupted()
    assert run(engine, "tiny", "--json") == 130
    out, err = capsys.readouterr()
    first, second = json.loads(out)["steps"]
    assert first["holds"] is True
    assert second["problem"]["error"].startswith("Stopped")
    assert second["measurements"] == []
    assert "had arrived" in err
    assert engine.calls.count("stop") == 1
    assert "close" in engine.calls


def test_ctrl_c_in_text_concludes_the_step_it_was_in(capsys) -> None:
    assert run(Interrupted(), "tiny", "--step", "2") == 130
    out = capsys.readouterr().out
    assert "Stopped: what had arrived stays." in out
    assert "On cpu:0 there are 1 of 64." in out


def test_ctrl_c_before_jax_is_up_ends_at_once(capsys) -> None:
    engine = FakeEngine(ready=False)
    begin = engine.start

    async def start() -> None:
        await begin()
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)

    engine.start = start  # type: ignore[method-assign]
    assert run(engine, "tiny", "--json") == 130
    assert json.loads(capsys.readouterr().out) == {
        "schema": 1,
        "host": None,
        "lesson": "tiny",
        "notes": [],
        "steps": [],
        "outcome": "cancelled",
    }
    assert "close" in engine.calls


# Ghosts.


def saved(path: Path, *ones: Measurement, host: Host | None = None) -> str:
    path.write_bytes(encode(Results(host=host, measurements=ones, failures=())))
    return str(path)


def test_a_ghost_reaches_the_lesson_with_its_label(capsys, tmp_path: Path) -> None:
    case = Case(op="matmul", size=9, dtype="float32", device="tpu:0", mode="jit")
    once, again = measurement(case), measurement(case, "budget")
    bench = saved(tmp_path / "bench.json", once, host=fake_engine.HOST)
    assert run(FakeEngine(), "tiny", "--step", "2", "--ghost", bench) == 0
    assert "vm, tpu:0: 1" in capsys.readouterr().out
    # Of a case that was timed twice the last one stays.
    ghost = read_ghost(saved(tmp_path / "twice.json", once, again))
    assert (ghost.measurements, ghost.label) == ((again,), "another machine, tpu:0")
    assert run(FakeEngine(), "tiny", "--json") == 0
    path = tmp_path / "lesson.json"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    ghost = read_ghost(str(path))
    assert ghost.label == "vm, cpu:0"
    assert [one.case.mode for one in ghost.measurements] == ["jit", "numpy"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not look like one"),
        ("[1]", "does not look like one"),
        ('{"schema": 2}', "schema is 2"),
        ('{"schema": 1, "host": null, "measurements": []}', "no measurements"),
        ('{"schema": 1, "measurements": [{"case": 1}]}', "does not look like one"),
    ],
)
def test_a_file_that_is_no_ghost_is_refused(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SelectionError, match=f"^.*{why}.*$"):
        read_ghost(str(path))


# The code.


def test_the_code_runs_nothing_but_the_plan(capsys) -> None:
    engine = FakeEngine()
    assert run(engine, "tiny", "--code") == 0
    out = capsys.readouterr().out
    compile(out, "tiny.py", "exec")
    assert "step 1: first" in out
    assert "2 cases of matmul, taking turns" in out
    assert not engine.works
    assert engine.calls.count("plan") == 1


# Real engines.


def test_the_code_of_a_real_lesson_runs_in_plain_python(capsys, tmp_path: Path) -> None:
    assert cli.main(["learn", "tiny", "--code"]) == 0
    path = tmp_path / "tiny.py"
    code, count = re.subn(
        r"(take_turns\(cases, )[\d.]+", r"\g<1>0.05", capsys.readouterr().out
    )
    assert count == 3
    path.write_text(code, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-P" if sys.version_info >= (3, 11) else "-B", str(path)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "first x + 1" in done.stdout
    assert done.stdout.count("ready") == 2
    assert "jaxtui" not in path.read_text(encoding="utf-8")


def test_a_real_lesson_as_json() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "jaxtui", "learn", "digits"),
            *("--step", "3", "--json"),
        ],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        stdin=subprocess.DEVNULL,
    )
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
        timeout=DEADLINE_SECONDS,
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
