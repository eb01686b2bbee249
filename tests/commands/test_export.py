"""``--export``: every kind of file, whole or not there, and said beforehand."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import signal
from pathlib import Path
from xml.dom import minidom

import msgspec
import pytest

from jaxtui import cli
from jaxtui.document import Results
from jaxtui.export import MEMORY, as_svg
from jaxtui.history.store import Filter, History
from jaxtui.model import (
    CaseMeasured,
    Event,
    Experiment,
    Failure,
    MemorySpan,
    Plan,
    PlannedCase,
)
from tests.commands.fakes import FakeEngine, began, complete, measured, one_fails
from tests.tui.fake_engine import RECIPE

BOTH = ("bench", "selu", "--mode", "jit,numpy")


class PlanningEngine(FakeEngine):
    """One that has a script for every case, unless it is told otherwise."""

    scripts = True

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        made = (
            PlannedCase(
                case=case,
                memory_bytes=0,
                host_memory_bytes=0,
                flops=None,
                bytes=None,
                recipe=RECIPE if recipes and self.scripts else None,
                problem=None
                if self.scripts
                else Failure(case=case, error="No.", hint=""),
            )
            for case in experiment.cases
        )
        return Plan(cases=tuple(made), budget_seconds=experiment.budget)


def run(engine: FakeEngine, *arguments: str) -> int:
    return cli.main(arguments, engine=engine)


def texts(document: str) -> str:
    """What stands in an SVG."""
    nodes = minidom.parseString(document).getElementsByTagName("text")
    joined = "\n".join(node.firstChild.data for node in nodes if node.firstChild)
    return joined.replace("\xa0", " ")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_kind_of_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"out{ending}" for ending in (".json", ".csv", ".md", ".svg", ".txt")]
    options = [part for name in names for part in ("--export", name)]
    assert run(FakeEngine(), *BOTH, "--size", "256,512", *options) == 0
    out, err = capsys.readouterr()
    assert err == "".join(f"Wrote {name}.\n" for name in names)
    assert sorted(os.listdir()) == sorted(names)
    whole = msgspec.json.decode(Path("out.json").read_bytes(), type=Results)
    assert len(whole.measurements) == 4
    assert len(list(csv.DictReader(_lines("out.csv")))) == 4
    assert Path("out.md").read_text().startswith("| op | size |")
    text = Path("out.txt").read_text()
    assert "ready · seconds per call over size" in text
    assert out.strip() in text
    assert "\x1b" not in text
    drawn = Path("out.svg").read_text()
    assert "ready · seconds per call over size" in texts(drawn)
    assert "selu · box, jax 0.12.0" in texts(drawn)


def test_the_memory_span_stands_beside_its_row_everywhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    span = MemorySpan(fresh=1.7e-3, reused=0.42e-3, page_faults=980.25)

    def spanned(experiment: Experiment) -> list[Event]:
        events = complete(experiment)
        with_span = measured(experiment.cases[1], experiment, memory=span)
        events[4] = CaseMeasured(index=1, measurement=with_span)
        return events

    names = [f"out{ending}" for ending in (".json", ".csv", ".md")]
    options = [part for name in names for part in ("--export", name)]
    assert run(FakeEngine(answer=spanned), *BOTH, *options) == 0
    head, jit, numpy, *_ = capsys.readouterr().out.splitlines()
    at = head.index("memory") + len("memory")
    assert numpy[:at].endswith(" 0.42–1.70 ms")
    assert jit[:at].endswith(" —")
    whole = msgspec.json.decode(Path("out.json").read_bytes(), type=Results)
    assert [one.memory for one in whole.measurements] == [None, span]
    first, second = csv.DictReader(_lines("out.csv"))
    assert [first[name] for name in MEMORY] == ["", "", ""]
    assert [second[name] for name in MEMORY] == ["0.0017", "0.00042", "980.25"]
    head, _, jit, numpy, *_ = Path("out.md").read_text().splitlines()
    assert head.endswith("| memory |")
    assert jit.endswith("| — |")
    assert numpy.endswith("| 0.42–1.70 ms |")
    kept = History().entry(History().page(Filter(mode="numpy")).rows[0].id)
    assert kept.measurement.memory == span
    assert run(FakeEngine(), *BOTH) == 0
    assert "memory" not in capsys.readouterr().out


def test_stdout_is_what_it_is_without(capsys: pytest.CaptureFixture[str]) -> None:
    run(FakeEngine(), *BOTH, "--json")
    plain = capsys.readouterr().out
    assert run(FakeEngine(), *BOTH, "--json", "--export", "out.json") == 0
    assert capsys.readouterr().out == plain == Path("out.json").read_text()


def test_a_run_without_a_plot_is_a_picture_of_its_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(FakeEngine(), *BOTH, "--export", "out.svg") == 0
    shown = texts(Path("out.svg").read_text())
    assert shown.count("selu") > 2
    assert "numpy" in shown
    # A plot of nothing must not be asked of Rich.
    failing = ("--export", "out.svg", "--force")
    assert run(FakeEngine(answer=_nothing), *BOTH, *failing) == 1
    assert "not run" in texts(Path("out.svg").read_text())


def test_one_case_is_its_script_and_several_take_turns() -> None:
    assert run(PlanningEngine(), "bench", "selu", "--export", "out.py") == 0
    script = Path("out.py").read_text()
    assert script.startswith("# selu 512 float32 jit on cpu:0\n")
    assert "\nf, wait = np.zeros, str\n" in script
    assert run(PlanningEngine(), *BOTH, "--export", "out.py", "--force") == 0
    script = Path("out.py").read_text()
    compile(script, "out.py", "exec")
    assert "def take_turns(cases, seconds):" in script
    assert '"selu 512 float32 numpy on host"' in script


def test_no_case_that_can_run_is_no_script(capsys: pytest.CaptureFixture[str]) -> None:
    engine = PlanningEngine()
    engine.scripts = False
    arguments = ("--export", "out.py", "--export", "out.csv")
    assert run(engine, "bench", "selu", *arguments) == 3
    out, err = capsys.readouterr()
    assert "selu" in out
    assert "No case of this run can be written as plain Python. No." in err
    assert os.listdir() == ["out.csv"]


def test_force_replaces(capsys: pytest.CaptureFixture[str]) -> None:
    Path("old.csv").write_text("old")
    assert run(FakeEngine(), "bench", "selu", "--export", "old.csv", "--force") == 0
    assert Path("old.csv").read_text().startswith("op,size")


def test_what_cannot_be_written_at_the_end_is_still_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def vanishing(experiment: Experiment) -> list:
        folder.rmdir()
        return complete(experiment)

    paths = ("--export", "folder/a.csv", "--export", "b.csv")
    code = run(FakeEngine(answer=vanishing), "bench", "selu", *paths)
    out, err = capsys.readouterr()
    assert code == 3
    assert "selu" in out
    assert "folder/a.csv was not written." in err
    assert Path("b.csv").exists()


def test_a_full_disk_is_said_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert run(FakeEngine(), "bench", "selu", "--export", "out.csv") == 3
    out, err = capsys.readouterr()
    assert "selu" in out
    assert "out.csv cannot be written: No space left on device." in err
    assert "Traceback" not in err
    assert os.listdir() == []


def test_what_failed_or_had_arrived_is_in_the_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = FakeEngine(answer=one_fails)
    assert run(engine, "bench", "matmul", "selu", "--export", "out.csv") == 1
    rows = list(csv.DictReader(_lines("out.csv")))
    assert [row["failure"] for row in rows] == ["", "No room. Go smaller."]

    def interrupted(experiment: Experiment) -> list:
        os.kill(os.getpid(), signal.SIGINT)
        return [*complete(experiment)[:3]]

    engine = FakeEngine(answer=interrupted)
    assert run(engine, "bench", "matmul", "selu", "--export", "out.json") == 130
    document = json.loads(Path("out.json").read_text())
    assert [one["case"]["op"] for one in document["measurements"]] == ["matmul"]
    assert [one["case"]["op"] for one in document["failures"]] == ["selu"]


def test_before_anything_has_arrived_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(experiment: Experiment) -> list:
        os.kill(os.getpid(), signal.SIGINT)
        return []

    engine = FakeEngine(answer=interrupted)
    assert run(engine, "bench", "matmul", "--export", "out.json") == 130
    assert "no file was written" in capsys.readouterr().err
    assert os.listdir() == []


def test_a_picture_keeps_blanks_colours_and_every_character() -> None:
    rows = [
        (("a  <b> & ", None), ("⣿", (1, 2, 3)), (" {x}", None)),
        (),
        (("end", None),),
    ]
    document = as_svg(rows, "1 < {2}")
    assert "a  <b> &" in texts(document)
    assert "1 < {2}" in texts(document)
    assert "#010203" in document
    assert "http" not in document.replace("http://www.w3.org/2000/svg", "")


def _nothing(experiment: Experiment) -> list:
    failed = one_fails(experiment)[2]
    second = msgspec.structs.replace(
        failed,
        index=1,
        failure=msgspec.structs.replace(failed.failure, case=experiment.cases[1]),
    )
    return [*began(experiment), failed, second, complete(experiment)[-1]]


def _read(name: str) -> str:
    return Path(name).read_text()


def _lines(name: str) -> list[str]:
    return _read(name).splitlines()


# History.


@pytest.fixture
def _kept() -> None:
    assert run(FakeEngine(), *BOTH) == 0


@pytest.mark.usefixtures("_kept")
def test_the_list_of_the_history(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("list.csv", "list.md", "list.json")
    options = [part for name in names for part in ("--export", name)]
    assert cli.main(["history", "--mode", "jit", *options]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "selu" in line]
    (row,) = csv.DictReader(_lines("list.csv"))
    assert (row["op"], row["mode"], float(row["ready"])) == ("selu", "jit", 1.1e-3)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", row["date"])
    assert _read("list.md").splitlines()[0].startswith("| id | when | op |")
    assert json.loads(_read("list.json"))["count"] == 1
