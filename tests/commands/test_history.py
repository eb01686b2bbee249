"""``jaxtui history`` and ``jaxtui compare``, as people type them."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui.cli import main
from jaxtui.commands.history import moment
from jaxtui.document import Results, encode
from jaxtui.history.store import History
from jaxtui.selection import SelectionError
from tests.history.making import DEVICE, HOST, measurement


@pytest.fixture
def kept() -> list[int]:
    history = History()
    return [
        history.add(HOST, DEVICE, measurement(size=256), at=1_000_000.0),
        history.add(HOST, DEVICE, measurement(size=512, median=0.01), at=2_000_000.0),
        history.add(
            HOST,
            None,
            measurement("selu", 4096, mode="numpy", device="host"),
            at=3_000_000.0,
        ),
    ]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_an_empty_history_says_how_to_fill_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, "history")
    assert code == 0
    assert "history is empty" in out
    assert "history.db" in out


def test_the_list_and_its_filters(
    capsys: pytest.CaptureFixture[str], kept: list[int]
) -> None:
    code, out, _ = run(capsys, "history")
    assert code == 0
    head, *lines = out.splitlines()
    assert head.split()[:4] == ["id", "when", "op", "size"]
    assert [line.split()[3] for line in lines] == ["selu", "matmul", "matmul"]
    assert "ready ms" in head
    assert "2.00" in lines[0]
    assert "host inputs" not in lines[0]
    _, out, _ = run(capsys, "history", "--limit", "1")
    assert "1 of 3" in out
    _, out, _ = run(capsys, "history", "--op", "matmul", "--size", "512", "--json")
    assert [one["id"] for one in json.loads(out)["measurements"]] == [kept[1]]
    _, out, _ = run(capsys, "history", "numpy", "box")
    assert "selu" in out
    _, out, _ = run(capsys, "history", "--op", "fft")
    assert "no such measurement" in out


def test_delete(capsys: pytest.CaptureFixture[str], kept: list[int]) -> None:
    code, _, err = run(capsys, "history", "--op", "selu", "--delete")
    assert code == 64
    assert "add --yes" in err
    assert History().count() == 3
    code, out, _ = run(capsys, "history", "--op", "selu", "--delete", "--yes")
    assert code == 0
    assert out.startswith("Deleted 1 ")
    assert History().count() == 2


def test_a_newer_file_is_named(
    capsys: pytest.CaptureFixture[str], kept: list[int]
) -> None:
    import sqlite3

    newer = sqlite3.connect(History().path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    code, _, err = run(capsys, "history")
    assert code == 3
    assert "newer jaxtui" in err


def test_moments() -> None:
    now = datetime(2026, 11, 21, 15, 30)
    day = datetime(2026, 11, 21)
    assert moment("today", now) == day.timestamp()
    assert moment("2d", now) == datetime(2026, 11, 19, 15, 30).timestamp()
    assert moment("2026-11-21", now) == day.timestamp()
    with pytest.raises(SelectionError):
        moment("3 fortnights", now)


def test_two_of_the_history(
    capsys: pytest.CaptureFixture[str], kept: list[int]
) -> None:
    slower = str(History().add(HOST, DEVICE, measurement(size=256, median=0.01)))
    code, out, _ = run(capsys, "compare", str(kept[0]), slower)
    assert code == 0
    assert "really slower, 5 times" in " ".join(out.split())
    assert "Case, chip, host and versions are the same." in out
    code, out, _ = run(capsys, "compare", str(kept[0]), str(kept[2]))
    assert code == 0
    assert out.split("\n\n")[1].startswith("1 and 3 are not comparable: ")
    assert "op: matmul and selu" in out


@pytest.mark.parametrize("hosts", [1, 2])
def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kept: list[int],
    tmp_path: Path,
    hosts: int,
) -> None:
    other = msgspec.structs.replace(HOST, hostname="tpu-vm-with-a-long-name")
    own = measurement("/home/somebody/models/training.py:train_step", 163_840)
    History().add(other if hosts == 2 else HOST, DEVICE, own)
    file = written(tmp_path / f"{'long' * 9}.json", measurement(), measurement(size=9))
    long = written(tmp_path / "other.json", measurement(), measurement(size=9))
    monkeypatch.setattr("jaxtui.commands.history.is_terminal", lambda _: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 24)))
    _, listed, _ = run(capsys, "history")
    _, one, _ = run(capsys, "compare", str(kept[0]), long)
    _, several, _ = run(capsys, "compare", file, long)
    for line in (listed + one + several).splitlines():
        assert len(line) <= 80
    assert ("All on box." in listed) == (hosts == 1)
    assert ":train_step" in listed
    assert f"A is {'long' * 9}.json, B is other.json." in " ".join(several.split())
    # Whoever pipes it somewhere gets every column.
    monkeypatch.setattr("jaxtui.commands.history.is_terminal", lambda _: False)
    _, listed, _ = run(capsys, "history")
    assert "models/training.py:train_step" in listed
    assert listed.split("\n")[0].endswith("host")


def written(path: Path, *ones: Any) -> str:
    results = Results(host=HOST, measurements=ones, failures=())
    path.write_bytes(encode(results))
    return str(path)


def test_against_another_machine_s_file(
    capsys: pytest.CaptureFixture[str], kept: list[int], tmp_path: Path
) -> None:
    there = measurement(size=256, device="tpu:0", median=0.0001, width=0.000001)
    file = written(tmp_path / "there.json", there, measurement(size=7))
    code, out, _ = run(capsys, "compare", str(kept[0]), file)
    assert code == 0
    assert "there.json is really faster, 20 times" in " ".join(out.split())
    assert "device: cpu:0 and tpu:0" in out


def test_two_files_are_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sizes = (1, 2, 3)
    first = written(tmp_path / "a.json", *(measurement(size=n) for n in sizes))
    second = written(
        tmp_path / "b.json", *(measurement(size=n, median=0.004) for n in sizes[1:])
    )
    code, out, _ = run(capsys, "compare", first, second)
    assert code == 0
    assert out.count("slower") == 2
    _, out, _ = run(capsys, "compare", first, second, "--json")
    pairs = json.loads(out)["pairs"]
    assert [one["comparison"]["answer"] for one in pairs] == ["slower"] * 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "neither an id"),
        ("{", "no document"),
        ("empty", "no measurements"),
        ('{"schema": 2, "measurements": []}', "schema is 2"),
    ],
)
def test_files_that_do_not_serve(
    capsys: pytest.CaptureFixture[str],
    kept: list[int],
    tmp_path: Path,
    content: str | None,
    said: str,
) -> None:
    path = tmp_path / "file.json"
    if content == "empty":
        written(path)
    elif content is not None:
        path.write_text(content)
    code, _, err = run(capsys, "compare", "1", str(path))
    assert code == 64
    assert said in err
    assert "Traceback" not in err


def test_nothing_in_common(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = written(tmp_path / "a.json", measurement(size=1), measurement(size=2))
    second = written(tmp_path / "b.json", measurement(size=3), measurement(size=4))
    code, _, err = run(capsys, "compare", first, second)
    assert code == 64
    assert "no case in common" in err
    assert msgspec.json.decode(Path(first).read_bytes())
