"""Baselines of ``jaxtui check``: kept, compared with, refused."""

from __future__ import annotations

import json
from pathlib import Path

from jaxtui.model import Ready
from tests.commands.checking import engine, run, with_trouble
from tests.commands.fakes import HOST, OPS, UP
from tests.tui.fake_engine import tpu_devices


def test_a_baseline_is_saved_and_compared_with(capsys) -> None:
    assert run(engine(), "--save-baseline", "new") == 0
    err = capsys.readouterr().err
    assert 'Saved as baseline "new" in ' in err
    assert Path(err.rpartition(" in ")[2].strip().rstrip(".")).is_file()
    assert run(engine(), "--baseline", "new", "--json") == 0
    out, err = capsys.readouterr()
    assert "Compared with the baseline new of " in err
    document = json.loads(out)
    assert document["baseline"] == "new"
    assert {one["share"] for one in document["tests"]} == {1.0}
    slower = engine(with_trouble("compute", "cpu:1", measured=6e10))
    assert run(slower, "--baseline", "new") == 1
    out = capsys.readouterr().out
    assert "60.0 of 100 GFLOP/s" in out
    assert "baseline new" in out


def test_a_few_devices_are_compared_with_a_baseline_of_all(capsys) -> None:
    assert run(engine(), "--save-baseline", "all") == 0
    capsys.readouterr()
    assert run(engine(), "--devices", "cpu:1", "--baseline", "all", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    sources = {one["source"] for one in document["tests"] if one["test"] == "compute"}
    assert any("baseline all" in source for source in sources)


def test_a_baseline_of_other_hardware_is_refused_with_the_difference(capsys) -> None:
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


def test_a_broken_baseline_is_kept_aside(capsys, data: Path) -> None:
    assert run(engine(), "--save-baseline", "mine") == 0
    (file,) = data.rglob("mine.json")
    file.write_text("{", encoding="utf-8")
    capsys.readouterr()
    assert run(engine(), "--baseline", "mine") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "is broken" in err
    assert "moved aside" in err
    assert not file.exists()
    assert list(file.parent.glob("mine.json.*"))


def test_figures_of_a_machine_that_fails_are_no_baseline(capsys, data: Path) -> None:
    failing = with_trouble("compute", "cpu:1", fault="Wrong.", measured=None)
    assert run(engine(failing), "--save-baseline", "bad") == 2
    assert 'Not saved as baseline "bad"' in capsys.readouterr().err
    assert not list(data.rglob("*.json"))
    low = with_trouble("memory", "cpu:1", doubt="Others use it.")
    assert run(engine(low), "--save-baseline", "poor") == 1
    err = capsys.readouterr().err
    assert "Mind that the verdict is low" in err
    assert 'Saved as baseline "poor"' in err


def test_a_baseline_that_cannot_be_written_is_said_with_3(
    capsys, data: Path, monkeypatch
) -> None:
    blocked = data / "a file"
    blocked.touch()
    monkeypatch.setenv("JAXTUI_DATA", str(blocked))
    assert run(engine(), "--save-baseline", "new") == 3
    out, err = capsys.readouterr()
    assert "Verdict: pass" in out
    assert "cannot be" in err
    assert "Traceback" not in err
