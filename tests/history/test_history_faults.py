"""A history that cannot be written is said once, and loses nothing that it has."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jaxtui import cli
from jaxtui.history.recording import Recording
from jaxtui.history.store import History, HistoryError
from jaxtui.model import CaseMeasured, Ready
from tests.commands.fakes import FakeEngine
from tests.history.making import DEVICE, HOST, measurement

ROOT = Path(__file__).parents[2]
NOBODY = 65534
READY = Ready(host=HOST, devices=(DEVICE,), ops=())

FULL = """
import json
import resource
import sys
from pathlib import Path
from jaxtui.history.recording import Recording
from jaxtui.history.store import History, HistoryError
from jaxtui.model import CaseMeasured, Ready
from tests.history.making import DEVICE, HOST, measurement

history, said, acknowledged = History(Path(sys.argv[1])), [], []
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

WRITER = """
import sys
from pathlib import Path
from jaxtui.history.store import History
from tests.history.making import DEVICE, HOST, measurement

history = History(Path(sys.argv[1]))
sys.stdin.readline()
for size in range(5):
    print(history.add(HOST, DEVICE, measurement(size=size)), flush=True)
"""


def python(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


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


def forbid(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)


def test_a_disk_that_is_full(folder: Path) -> None:
    path = folder / "history.db"
    out, _ = python(FULL, path).communicate(timeout=180)
    said, acknowledged = json.loads(out)
    first, of_the_keeper = said
    assert str(path) in first
    assert of_the_keeper.endswith("Measuring goes on; nothing more is kept.")
    history = History(path)
    assert {row.id for row in history.rows(limit=1000)} >= set(acknowledged)
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
        assert [row.id for row in history.rows()] == [number]


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


def test_a_damaged_file_that_may_not_be_renamed(folder: Path) -> None:
    history = History(folder / "history.db")
    history.path.write_text("nonsense " * 200)
    forbid(history.path)
    with without_rights(), pytest.raises(HistoryError, match=r"history\.db"):
        history.add(HOST, DEVICE, measurement())
    assert history.path.read_text() == "nonsense " * 200
    assert not history.moved


def locked(history: History) -> sqlite3.Connection:
    other = sqlite3.connect(history.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    return other


def observed(history: History, said: list[str], *sizes: int) -> Recording:
    keeper = Recording(said.append, history=history)
    keeper.observe(READY)
    for size in sizes:
        one = CaseMeasured(index=0, measurement=measurement(size=size))
        keeper.observe(one)
    return keeper


def test_what_was_measured_meanwhile_is_kept_when_the_lock_is_let_go(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxtui.history.store.WAIT_SECONDS", 0.0)
    history = History(folder / "history.db")
    history.add(HOST, DEVICE, measurement(size=1))
    other = locked(history)
    told = threading.Event()
    said: list[str] = []

    def warn(sentence: str) -> None:
        said.append(sentence)
        told.set()

    keeper = Recording(warn, history=history)
    keeper.observe(READY)
    keeper.observe(CaseMeasured(index=0, measurement=measurement(size=2)))
    assert told.wait(180)
    other.rollback()
    other.close()
    keeper.observe(CaseMeasured(index=0, measurement=measurement(size=3)))
    assert keeper.close()
    (sentence,) = said
    assert sentence.endswith("does not let go. Measuring goes on; it is tried again.")
    assert [row.size for row in history.rows()] == [3, 2, 1]


def test_a_lock_that_is_never_let_go_costs_a_few_attempts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []
    add_all = History.add_all

    def counted(self: History, entries: Any) -> list[int]:
        attempts.append(1)
        return add_all(self, entries)

    monkeypatch.setattr("jaxtui.history.store.WAIT_SECONDS", 0.2)
    monkeypatch.setattr(History, "add_all", counted)
    history, said = History(folder / "history.db"), []
    history.add(HOST, DEVICE, measurement(size=1))
    other = locked(history)
    attempts.clear()
    keeper = observed(history, said, *range(2, 102))
    assert keeper.close()
    other.close()
    assert len(attempts) <= 3
    first, last = said
    assert "in use by another process" in first
    assert last.endswith("to the end: 100 measurements could not be kept.")
    assert history.count() == 1


def test_many_processes_put_a_damaged_file_aside_once(folder: Path) -> None:
    path = folder / "history.db"
    path.write_text("nonsense " * 200)
    processes = [python(WRITER, path) for _ in range(4)]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    acknowledged: list[int] = []
    for process in processes:
        out, _ = process.communicate(timeout=180)
        assert process.returncode == 0
        acknowledged += map(int, out.split())
    assert len(acknowledged) == 20
    assert {row.id for row in History(path).rows(limit=100)} == set(acknowledged)
    assert len(list(folder.glob("*.broken-*"))) == 1
