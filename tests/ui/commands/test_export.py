"""``--export``: every kind of file, whole or not there, and said beforehand."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest

from jaxtui.core.model import Case, Event, Experiment, Failure, PlannedCase
from tests.fake_engine import RECIPE, FakeEngine
from tests.features.crossover import test_command as test_crossover
from tests.features.roofline import test_command as test_roofline
from tests.records import planned, told
from tests.ui.commands.fakes import complete, one_fails, run

BOTH = ("bench", "selu", "--mode", "jit,numpy")
KINDS = (".json", ".csv", ".md", ".svg")


def to(*names: str) -> list[str]:
    return [part for name in names for part in ("--export", name)]


def texts(document: str) -> str:
    """What stands in an SVG."""
    nodes = minidom.parseString(document).getElementsByTagName("text")
    parts = [node.firstChild for node in nodes]
    joined = "\n".join(part.data for part in parts if isinstance(part, minidom.Text))
    return joined.replace("\xa0", " ")


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(name).read_text().splitlines()))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("typed", "answer", "drawn"),
    [
        ("bench selu --mode jit,numpy --size 256,512", complete, "time per call over"),
        ("crossover selu --size 16..1M", test_crossover.machine, "beats"),
        ("roofline matmul:1k copy:1M", test_roofline.machine(), "cpu:0 reaches"),
    ],
    ids=["bench", "crossover", "roofline"],
)
def test_every_kind_of_file(
    capsys: pytest.CaptureFixture[str], typed: str, answer: Any, drawn: str
) -> None:
    kinds = [kind for kind in KINDS if kind != ".csv" or typed.startswith("bench")]
    names = [f"out{kind}" for kind in kinds]
    engine = answer if isinstance(answer, FakeEngine) else FakeEngine(answer)
    assert run(engine, *typed.split(), *to(*names)) == 0
    err = capsys.readouterr().err
    assert err.endswith("".join(f"Wrote {name}.\n" for name in names))
    assert sorted(os.listdir()) == sorted(names)
    whole = json.loads(Path("out.json").read_text())
    if "out.csv" in names:
        assert len(rows("out.csv")) == len(whole["measurements"]) > 1
    assert Path("out.md").read_text().startswith("**")
    assert all(one in texts(Path("out.svg").read_text()) for one in (drawn, " · vm"))


def test_a_run_without_a_plot_is_a_picture_of_its_table() -> None:
    def nothing(experiment: Experiment) -> list[Event]:
        begun, _, failed, *_, ended = one_fails(experiment)
        return [begun, failed, ended]

    Path("out.svg").write_text("old")
    assert run(FakeEngine(complete), *BOTH, *to("out.svg"), "--force") == 0
    shown = texts(Path("out.svg").read_text())
    assert shown.count("selu") == 2
    # A plot of nothing must not be asked of Rich.
    typed = ("bench", "selu", *to("nothing.svg"))
    assert run(FakeEngine(nothing), *typed) == 1
    assert "not run" in texts(Path("nothing.svg").read_text())


def test_one_case_is_its_script_and_several_have_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def engine() -> FakeEngine:
        return FakeEngine(complete, plan=lambda case: planned(case, recipe=RECIPE))

    assert run(engine(), "bench", "selu", *to("one.py")) == 0
    script = Path("one.py").read_text()
    assert script.startswith("# selu 1000000 float32 jit on cpu:0\n")
    assert "\nf, wait = np.zeros, str\n" in script
    capsys.readouterr()

    def unable(case: Case) -> PlannedCase:
        return planned(case, problem=Failure(case=case, remark=told("No.")))

    # Said before anything is measured.
    for refusing, typed, why in (
        (engine(), BOTH, ""),
        (FakeEngine(complete, plan=unable), ("bench", "selu"), " No."),
    ):
        assert run(refusing, *typed, *to("out.py", "out.csv")) == 64
        out, err = capsys.readouterr()
        assert f"A script measures one case: {ONE}{why}" in " ".join(err.split())
        assert (out, refusing.works) == ("", [])
    assert os.listdir() == ["one.py"]


ONE = "jit, eager or numpy on JAX's default device."


def test_what_cannot_be_written_at_the_end_is_still_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("folder").mkdir()

    def vanishing(experiment: Experiment) -> list[Event]:
        Path("folder").rmdir()
        return complete(experiment)

    paths = to("folder/a.csv", "b.csv")
    assert run(FakeEngine(vanishing), "bench", "selu", *paths) == 3
    out, err = capsys.readouterr()
    assert "selu" in out
    assert "folder/a.csv" in err
    assert os.listdir() == ["b.csv"]

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert run(FakeEngine(complete), "bench", "selu", *to("out.csv")) == 3
    out, err = capsys.readouterr()
    assert "selu" in out
    assert os.strerror(errno.ENOSPC) in err
    assert "Traceback" not in err
    assert os.listdir() == ["b.csv"]


def test_the_list_of_the_history(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeEngine(complete), *BOTH) == 0
    names = ("list.csv", "list.md", "list.json")
    assert run(FakeEngine(complete), "history", "jit", *to(*names)) == 0
    (row,) = rows("list.csv")
    assert (row["op"], row["mode"], float(row["ready"])) == ("selu", "jit", 1.1e-3)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", row["date"])
    assert Path("list.md").read_text().startswith("| id | when | op |")
    assert json.loads(Path("list.json").read_text())["count"] == 1
