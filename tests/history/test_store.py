"""The history file: what is kept survives, whatever happens to it or around it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui import cli
from jaxtui.history.recording import Recording
from jaxtui.history.store import VERSION, Filter, History, HistoryError
from jaxtui.model import CaseMeasured, Note, Ready
from tests.commands.fakes import FakeEngine
from tests.history.making import DEVICE, HOST, measurement
from tests.processes import LIMIT_SECONDS, environment

NOBODY = 65534
READY = Ready(host=HOST, devices=(DEVICE,), ops=())

BEGIN = """
import json, resource, sys
from pathlib import Path
from jaxtui.history.recording import Recording
from jaxtui.history.store import History, HistoryError
from jaxtui.model import CaseMeasured, Ready
from tests.history.making import DEVICE, HOST, measurement
history = History(Path(sys.argv[1]))
"""

WRITE = """
sys.stdin.readline()
for size in range(int(sys.argv[2])):
    print(history.add(HOST, DEVICE, measurement(size=size)), flush=True)
"""

FILL = """
said, acknowledged = [], []
acknowledged.append(history.add(HOST, DEVICE, measurement(size=1)))
before = history.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (before, resource.RLIM_INFINITY))
try:
    while True:
        acknowledged.append(history.add(HOST, DEVICE, measurement(size=2)))
except HistoryError as error:
    said.append(str(error))
keeper = Recording(said.append, history=history)
keeper.observe(Ready(host=HOST, devices=(DEVICE,), ops=()))
for size in range(50):
    keeper.observe(CaseMeasured(index=0, measurement=measurement(size=size)))
keeper.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
print(json.dumps([said, acknowledged]))
"""


def python(code: str, path: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + code, str(path), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("go\n")
    process.stdin.flush()


@contextmanager
def without_rights() -> Iterator[None]:
    """Be somebody whom permissions hold up, which they do not for root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may read, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


@pytest.fixture
def history(folder: Path) -> History:
    return History(folder / "folder" / "history.db")


# What is kept.


def test_what_was_added_comes_back_whole(history: History) -> None:
    note = Note(flag="drift", text="It drifts.")
    kept = msgspec.structs.replace(measurement(size=512), notes=(note,))
    number = history.add(HOST, DEVICE, kept, at=1000.0)
    entry = history.entry(number)
    assert entry.measurement == kept
    assert (entry.host, entry.device, entry.at) == (HOST, DEVICE, 1000.0)
    (row,) = history.page().rows
    assert (row.id, row.op, row.size, row.ready) == (number, "matmul", 512, 0.002)
    assert row.device_kind == "cpu"
    # Samples are not kept, and NumPy has no device.
    number = history.add(
        HOST, None, measurement(mode="numpy", device="host", samples=True)
    )
    assert not history.entry(number).measurement.samples
    assert history.entry(number).device is None
    assert history.page().rows[0].device_kind == ""


def test_looking_makes_no_file(history: History) -> None:
    assert history.page().rows == ()
    assert history.count() == 0
    assert history.delete(Filter()) == 0
    with pytest.raises(HistoryError, match="no measurement 7"):
        history.entry(7)
    assert not history.path.parent.exists()


def test_newest_first_in_pages_and_ids_are_never_used_twice(history: History) -> None:
    for at in (3.0, 1.0, 2.0):
        history.add(HOST, DEVICE, measurement(), at=at)
    assert [row.at for row in history.page().rows] == [3.0, 2.0, 1.0]
    assert [row.at for row in history.page(limit=1, offset=1).rows] == [2.0]
    last = max(row.id for row in history.page().rows)
    assert history.delete_entry(last)
    assert not history.delete_entry(last)
    assert history.count() == 2
    assert history.add(HOST, DEVICE, measurement()) > last


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
    numpy = measurement("selu", 3, mode="numpy", device="host")
    history.add(HOST, DEVICE, measurement(size=1), at=10.0)
    history.add(HOST, DEVICE, measurement(size=2, dtype="bfloat16"), at=20.0)
    history.add(HOST, None, numpy, at=30.0)
    assert {row.size for row in history.page(wanted).rows} == sizes
    assert history.count(wanted) == len(sizes)
    assert history.delete(wanted) == len(sizes)
    assert history.count() == 3 - len(sizes)


# Processes that die, and several at once.


def test_every_acknowledged_measurement_survives_kill_9(history: History) -> None:
    acknowledged: set[int] = set()
    for number in range(3):
        process = python(WRITE, history.path, 100)
        go(process)
        assert process.stdout
        # Killed while it is writing the one after.
        for _ in range(3 + number):
            acknowledged.add(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        acknowledged.update(map(int, process.stdout.read().split()))
        process.wait()
    assert acknowledged <= {row.id for row in history.page(limit=1000).rows}
    check = sqlite3.connect(history.path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


def test_many_processes_put_a_damaged_file_aside_once_and_lose_nothing(
    folder: Path,
) -> None:
    path = folder / "history.db"
    path.write_text("nonsense " * 200)
    processes = [python(WRITE, path, 5) for _ in range(4)]
    for process in processes:
        go(process)
    acknowledged: list[int] = []
    for process in processes:
        out, _ = process.communicate(timeout=LIMIT_SECONDS)
        assert process.returncode == 0
        acknowledged += map(int, out.split())
    assert len(acknowledged) == 20
    assert {row.id for row in History(path).page(limit=100).rows} == set(acknowledged)
    assert len(list(folder.glob("*.broken-*"))) == 1


# Files that are damaged, or of others.


def overwritten(path: Path) -> None:
    """A history of which only the first page is left."""
    many = [(HOST, DEVICE, measurement(size=n), 0.0) for n in range(1, 200)]
    History(path).add_all(many)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def another_program(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (text TEXT)")
    other.commit()
    other.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"not a database at all" * 100),
        overwritten,
        another_program,
    ],
)
def test_what_is_no_history_is_kept_aside(
    history: History, damage: Callable[[Path], object]
) -> None:
    history.path.parent.mkdir()
    damage(history.path)
    content = history.path.read_bytes()
    history.add(HOST, DEVICE, measurement())
    assert history.count() == 1
    (aside,) = history.path.parent.glob("*.broken-*")
    assert aside.read_bytes() == content
    assert "kept as" in history.moved
    assert str(aside) in history.moved


def test_an_empty_file_is_a_history_without_measurements(history: History) -> None:
    history.path.parent.mkdir()
    history.path.touch()
    history.add(HOST, DEVICE, measurement())
    assert (history.count(), history.moved) == (1, "")


def test_a_newer_version_s_file_is_left_alone(history: History) -> None:
    history.add(HOST, DEVICE, measurement())
    newer = sqlite3.connect(history.path)
    newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    newer.close()
    before = history.path.read_bytes()
    for act in (history.page, lambda: history.add(HOST, DEVICE, measurement())):
        with pytest.raises(HistoryError, match="newer jaxtui"):
            act()
    assert history.path.read_bytes() == before
    assert not history.moved


# What cannot be written, or not now.


def forbid(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "history.db")
    with pytest.raises(HistoryError, match="cannot be used"):
        history.add(HOST, DEVICE, measurement())


def test_a_disk_that_is_full(folder: Path) -> None:
    path = folder / "history.db"
    out, _ = python(FILL, path).communicate(timeout=LIMIT_SECONDS)
    said, acknowledged = json.loads(out)
    first, of_the_keeper = said
    assert str(path) in first
    assert of_the_keeper.endswith("Measuring goes on; nothing more is kept.")
    history = History(path)
    assert {row.id for row in history.page(limit=1000).rows} >= set(acknowledged)
    assert history.add(HOST, DEVICE, measurement()) > max(acknowledged)
    assert not history.moved


def test_a_file_that_may_only_be_read(folder: Path) -> None:
    history = History(folder / "history.db")
    number = history.add(HOST, DEVICE, measurement())
    forbid(history.path)
    with without_rights():
        with pytest.raises(HistoryError, match="may not be written to"):
            history.add(HOST, DEVICE, measurement())
        with pytest.raises(HistoryError, match="may not be written to"):
            history.delete_entry(number)
        assert [row.id for row in history.page().rows] == [number]
    folder.chmod(0o755)
    history.path.chmod(0o644)
    history.path.write_text("nonsense " * 200)
    forbid(history.path)
    with without_rights(), pytest.raises(HistoryError, match=r"history\.db"):
        history.add(HOST, DEVICE, measurement())
    assert history.path.read_text() == "nonsense " * 200
    assert not history.moved


@pytest.mark.parametrize("there", [True, False])
def test_bench_measures_all_the_same_and_says_it_once(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    there: bool,
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(folder))
    history = History()
    if there:
        history.add(HOST, DEVICE, measurement())
        forbid(history.path)
    folder.chmod(0o555)
    # Somebody without rights may not even import what this needs.
    assert cli.main(["bench", "selu", "--no-history"], engine=FakeEngine()) == 0
    capsys.readouterr()
    with without_rights():
        code = cli.main(["bench", "selu", "matmul"], engine=FakeEngine())
    out, err = capsys.readouterr()
    assert code == 0
    assert "matmul" in out
    assert err.count("Measuring goes on; nothing more is kept.") == 1
    assert len(err.splitlines()) == 1
    assert history.count() == there


def locked(history: History) -> sqlite3.Connection:
    other = sqlite3.connect(history.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other


def measured(size: int) -> CaseMeasured:
    return CaseMeasured(index=0, measurement=measurement(size=size))


def test_what_was_measured_meanwhile_is_kept_when_the_lock_is_let_go(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxtui.history.store.WAIT_SECONDS", 0.0)
    history.add(HOST, DEVICE, measurement(size=1))
    other = locked(history)
    told = threading.Event()
    said: list[str] = []

    def warn(sentence: str) -> None:
        said.append(sentence)
        told.set()

    keeper = Recording(warn, history=history)
    keeper.observe(READY)
    keeper.observe(measured(2))
    assert told.wait(LIMIT_SECONDS)
    other.rollback()
    other.close()
    keeper.observe(measured(3))
    assert keeper.close()
    (sentence,) = said
    assert sentence.endswith("does not let go. Measuring goes on; it is tried again.")
    assert [row.size for row in history.page().rows] == [3, 2, 1]


def test_a_lock_that_is_never_let_go_costs_a_few_attempts(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []
    add_all = History.add_all

    def counted(self: History, entries: Any) -> list[int]:
        attempts.append(1)
        return add_all(self, entries)

    monkeypatch.setattr("jaxtui.history.store.WAIT_SECONDS", 0.2)
    monkeypatch.setattr(History, "add_all", counted)
    history.add(HOST, DEVICE, measurement(size=1))
    other, said = locked(history), list[str]()
    attempts.clear()
    keeper = Recording(said.append, history=history)
    keeper.observe(READY)
    for size in range(2, 102):
        keeper.observe(measured(size))
    assert keeper.close()
    other.close()
    assert len(attempts) <= 3
    first, last = said
    assert "in use by another process" in first
    assert last.endswith("to the end: 100 measurements could not be kept.")
    assert history.count() == 1
