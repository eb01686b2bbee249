"""The history file: what is kept survives, whatever happens to it or around it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from jaxtui.history.store import VERSION, Filter, History, HistoryError
from tests.history.making import DEVICE, HOST, measurement

WRITER = """
import sys
from pathlib import Path
from jaxtui.history.store import History
from tests.history.making import HOST, DEVICE, measurement
history = History(Path(sys.argv[1]))
first, count = int(sys.argv[2]), int(sys.argv[3])
for size in range(first, first + count):
    history.add(HOST, DEVICE, measurement(size=size))
    print(size, flush=True)
"""
ROOT = Path(__file__).parents[2]


def writer(path: Path, first: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(first), str(count)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "folder" / "history.db")


def test_what_was_added_comes_back_whole(history: History) -> None:
    kept = measurement(size=512)
    number = history.add(HOST, DEVICE, kept, at=1000.0)
    entry = history.entry(number)
    assert entry.measurement == kept
    assert entry.host == HOST
    assert entry.device == DEVICE
    assert entry.at == 1000.0
    (row,) = history.rows()
    assert (row.id, row.op, row.size, row.ready) == (number, "matmul", 512, 0.002)
    assert row.device_kind == "cpu"


def test_looking_makes_no_file(history: History) -> None:
    assert history.rows() == []
    assert history.count() == 0
    assert history.delete(Filter()) == 0
    with pytest.raises(HistoryError, match="no measurement 7"):
        history.entry(7)
    assert not history.path.parent.exists()


def test_numpy_has_no_device(history: History) -> None:
    history.add(HOST, None, measurement(mode="numpy", device="host"))
    (row,) = history.rows()
    assert row.device_kind == ""
    assert history.entry(row.id).device is None


def test_samples_are_not_kept(history: History) -> None:
    number = history.add(HOST, DEVICE, measurement(samples=True))
    assert not history.entry(number).measurement.samples


def test_newest_first_and_in_pages(history: History) -> None:
    for at in (3.0, 1.0, 2.0):
        history.add(HOST, DEVICE, measurement(), at=at)
    assert [row.at for row in history.rows()] == [3.0, 2.0, 1.0]
    assert [row.at for row in history.rows(limit=1, offset=1)] == [2.0]


@pytest.mark.parametrize(
    ("wanted", "sizes"),
    [
        (Filter(op="matmul"), {1, 2}),
        (Filter(op="matmul", size=2), {2}),
        (Filter(dtype="bfloat16"), {2}),
        (Filter(device="cpu"), {1, 2}),
        (Filter(device="cpu:0"), {1, 2}),
        (Filter(device="cp"), set()),
        (Filter(mode="numpy"), {3}),
        (Filter(host="box"), {1, 2, 3}),
        (Filter(host="other"), set()),
        (Filter(since=20.0), {2, 3}),
        (Filter(until=20.0), {1}),
        (Filter(text="MATMUL bfl"), {2}),
        (Filter(text="matmul selu"), set()),
        (Filter(text="%"), set()),
        (Filter(text="box Selu"), {3}),
    ],
)
def test_filters(history: History, wanted: Filter, sizes: set[int]) -> None:
    history.add(HOST, DEVICE, measurement(size=1), at=10.0)
    history.add(HOST, DEVICE, measurement(size=2, dtype="bfloat16"), at=20.0)
    history.add(
        HOST, None, measurement("selu", 3, mode="numpy", device="host"), at=30.0
    )
    assert {row.size for row in history.rows(wanted)} == sizes
    assert history.count(wanted) == len(sizes)
    assert history.delete(wanted) == len(sizes)
    assert history.count() == 3 - len(sizes)


def test_one_entry_is_deleted(history: History) -> None:
    number = history.add(HOST, DEVICE, measurement())
    assert history.delete_entry(number)
    assert not history.delete_entry(number)
    assert history.count() == 0


def test_ids_are_never_used_twice(history: History) -> None:
    first = history.add(HOST, DEVICE, measurement())
    history.delete_entry(first)
    assert history.add(HOST, DEVICE, measurement()) > first


def test_every_acknowledged_measurement_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    acknowledged: set[int] = set()
    for number in range(5):
        process = writer(path, 100 * number, 100)
        assert process.stdout
        # Killed while it is writing the one after.
        for _ in range(3 + number):
            acknowledged.add(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        acknowledged.update(map(int, process.stdout.read().split()))
        process.wait()
    kept = {row.size for row in History(path).rows(limit=1000)}
    assert acknowledged <= kept
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    processes = [writer(path, first, 25) for first in (0, 100)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    sizes = {row.size for row in History(path).rows(limit=1000)}
    assert sizes == {*range(25), *range(100, 125)}


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b""])
def test_a_damaged_file_is_kept_aside(history: History, content: bytes) -> None:
    history.path.parent.mkdir()
    history.path.write_bytes(content)
    history.add(HOST, DEVICE, measurement())
    assert history.count() == 1
    aside = list(history.path.parent.glob("*.broken-*"))
    # SQLite takes an empty file for an empty database.
    assert [file.read_bytes() for file in aside] == ([content] if content else [])
    assert bool(history.moved) == bool(content)
    assert str(aside[0]) in history.moved if content else True


def test_a_page_that_was_overwritten(history: History) -> None:
    history.add_all([(HOST, DEVICE, measurement(size=n), 0.0) for n in range(1, 200)])
    content = bytearray(history.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    history.path.write_bytes(content)
    history.add(HOST, DEVICE, measurement())
    assert "kept as" in history.moved
    assert history.count() == 1


def test_another_program_s_database_is_not_touched(history: History) -> None:
    history.path.parent.mkdir()
    other = sqlite3.connect(history.path)
    other.execute("CREATE TABLE notes (text TEXT)")
    other.commit()
    other.close()
    history.add(HOST, DEVICE, measurement())
    (aside,) = history.path.parent.glob("*.broken-*")
    kept = sqlite3.connect(aside)
    assert kept.execute("SELECT name FROM sqlite_master").fetchall() == [("notes",)]
    kept.close()


def test_a_newer_version_s_file_is_left_alone(history: History) -> None:
    history.add(HOST, DEVICE, measurement())
    newer = sqlite3.connect(history.path)
    newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    newer.close()
    before = history.path.read_bytes()
    for act in (history.rows, lambda: history.add(HOST, DEVICE, measurement())):
        with pytest.raises(HistoryError, match="newer jaxtui"):
            act()
    assert history.path.read_bytes() == before
    assert not history.moved


def test_a_lock_that_is_not_let_go(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.add(HOST, DEVICE, measurement())
    monkeypatch.setattr("jaxtui.history.store.WAIT_SECONDS", 0.0)
    other = sqlite3.connect(history.path)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(HistoryError, match="in use by another process"):
        history.add(HOST, DEVICE, measurement())
    other.rollback()
    other.close()
    assert history.count() == 1


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "history.db")
    with pytest.raises(HistoryError, match="cannot be used"):
        history.add(HOST, DEVICE, measurement())


def test_no_room_on_the_disk(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    history.add(HOST, DEVICE, measurement())
    connect = sqlite3.connect

    def small(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = connect(*arguments, **options)  # type: ignore[arg-type]
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    many = [(HOST, DEVICE, measurement(size=n), 0.0) for n in range(1, 200)]
    with pytest.raises(HistoryError, match="no room left"):
        history.add_all(many)
    assert history.count() == 1
