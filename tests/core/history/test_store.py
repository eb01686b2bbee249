"""The history file: what is kept survives, whatever happens to it or around it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from jaxtui import cli
from jaxtui.core.history import store
from jaxtui.core.history.store import (
    EARLIER,
    VERSION,
    Filter,
    History,
    HistoryError,
    UnknownEntryError,
)
from jaxtui.core.model import Device, Host, Measurement, Remark
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.fake_engine import FakeEngine
from tests.processes import LIMIT_SECONDS, environment
from tests.ui.commands.fakes import complete

NOBODY = 65534
RECORDED = Path(__file__).parents[2] / "golden" / "kept" / "history.db"
"""A history of version 1."""

NONSENSE = "nonsense " * 200

BEGIN = """
import json, resource, sys
from pathlib import Path
from jaxtui.core.history.recording import Recording
from jaxtui.core.history.store import (History, HistoryError)
from jaxtui.core.model import CaseMeasured
from tests.core.history.making import (DEVICE, HOST, READY, insert, measurement)
history = History(Path(sys.argv[1]))
"""

WRITE = """
sys.stdin.readline()
for size in range(int(sys.argv[2])):
    print(insert(history, HOST, DEVICE, measurement(size=size)), flush=True)
"""

FILL = """
said, acknowledged = [], []
acknowledged.append(insert(history, HOST, DEVICE, measurement(size=1)))
before = history.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (before, resource.RLIM_INFINITY))
try:
    while True:
        acknowledged.append(insert(history, HOST, DEVICE, measurement(size=2)))
except HistoryError as error:
    said.append(str(error))
keeper = Recording(said.append, history=history)
keeper.observe(READY)
for size in range(50):
    keeper.observe(CaseMeasured(index=0, measurement=measurement(size=size)))
keeper.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
print(json.dumps([said, acknowledged]))
"""


def python(code: str, path: Path, *arguments: object) -> subprocess.Popen[str]:
    """A process that begins to write when it gets a line."""
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN + code, str(path), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
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


@contextmanager
def refused(part: str) -> Iterator[None]:
    """What is done cannot be, and these words say why."""
    with pytest.raises(HistoryError) as raised:
        yield
    assert part in str(raised.value)


@pytest.fixture
def history() -> Iterator[History]:
    """In a folder that everybody may read, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield History(folder / "history.db")
        folder.chmod(0o755)


# What is kept.


def test_what_was_added_comes_back_whole(history: History) -> None:
    note = Remark("drift", text="It drifts.")
    kept = msgspec.structs.replace(measurement(size=512), notes=(note,))
    number = insert(history, HOST, DEVICE, kept, at=1000.0)
    entry = history.entry(number)
    assert entry.measurement == kept
    assert (entry.host, entry.device, entry.at) == (HOST, DEVICE, 1000.0)
    (row,) = history.page().rows
    assert (row.id, row.op, row.size, row.ready) == (number, "matmul", 512, 0.002)
    assert kept.ready
    assert (row.ci_low, row.ci_high) == (kept.ready.ci_low, kept.ready.ci_high)
    assert (row.hostname, row.device_kind, row.device) == ("box", "cpu", "cpu:0")
    # Samples are not kept, and NumPy has no device.
    number = insert(
        history, HOST, None, measurement(mode="numpy", device="host", samples=True)
    )
    assert not history.entry(number).measurement.samples
    assert history.entry(number).device is None
    assert history.page().rows[0].device_kind == ""


def test_looking_makes_no_file(tmp_path: Path) -> None:
    history = History(tmp_path / "folder" / "history.db")
    assert history.page().rows == ()
    assert history.count() == 0
    assert history.delete(Filter()) == 0
    with pytest.raises(UnknownEntryError, match="no measurement"):
        history.entry(7)
    assert not history.path.parent.exists()


def test_newest_first_and_ids_are_never_used_twice(history: History) -> None:
    for at in (3.0, 1.0, 2.0):
        insert(history, HOST, DEVICE, measurement(), at=at)
    assert [row.at for row in history.page().rows] == [3.0, 2.0, 1.0]
    assert [row.at for row in history.page(limit=1).rows] == [3.0]
    last = max(row.id for row in history.page().rows)
    assert history.delete(Filter(id=last)) == 1
    assert history.delete(Filter(id=last)) == 0
    assert history.count() == 2
    assert insert(history, HOST, DEVICE, measurement()) > last


@pytest.mark.parametrize(
    ("wanted", "sizes"),
    [
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
    insert(history, HOST, DEVICE, measurement(size=1), at=10.0)
    insert(history, HOST, DEVICE, measurement(size=2, dtype="bfloat16"), at=20.0)
    insert(history, HOST, None, numpy, at=30.0)
    assert {row.size for row in history.page(wanted).rows} == sizes
    assert history.count(wanted) == len(sizes)
    assert history.delete(wanted) == len(sizes)
    assert history.count() == 3 - len(sizes)


def test_the_past_of_a_case_is_what_its_host_measured_before_the_newest_first(
    history: History,
) -> None:
    elsewhere = msgspec.structs.replace(HOST, hostname="elsewhere")
    ids = [
        insert(history, HOST, DEVICE, measurement(), at) for at in range(1, EARLIER + 4)
    ]
    insert(history, elsewhere, DEVICE, measurement(), 2.0)
    insert(history, HOST, DEVICE, measurement(size=9), 2.0)
    case = measurement().case
    past = history.earlier([case], HOST.hostname)[case]
    assert [entry.id for entry in past] == ids[: -EARLIER - 1 : -1]
    # One that is looked at is not part of its own past.
    third = history.entry(ids[2])
    assert [entry.id for entry in history.before(third)] == [ids[1], ids[0]]
    assert history.before(history.entry(ids[0])) == ()


def test_the_past_of_a_case_is_not_hidden_by_runs_with_other_parameters(
    history: History,
) -> None:
    def meshed(mesh: str) -> Measurement:
        one = measurement("all_reduce")
        case = msgspec.structs.replace(one.case, params={"mesh": mesh})
        return msgspec.structs.replace(one, case=case)

    number = insert(history, HOST, DEVICE, meshed("2x4"), 1.0)
    for at in range(2, EARLIER + 4):
        insert(history, HOST, DEVICE, meshed("4x2"), at)
    case = meshed("2x4").case
    (entry,) = history.earlier([case], HOST.hostname)[case]
    assert entry.id == number


def test_a_history_of_the_version_before_is_taken_over_whole(history: History) -> None:
    shutil.copy(RECORDED, history.path)
    before = sqlite3.connect(RECORDED)
    kept = before.execute(
        "SELECT m.id, m.at, h.document, d.document, o.document FROM measurements m"
        " JOIN hosts h ON h.id = m.host LEFT JOIN devices d ON d.id = m.kind"
        " JOIN documents o ON o.id = m.id ORDER BY m.at DESC, m.id DESC"
    ).fetchall()
    before.close()
    page = history.page(limit=-1)
    assert [(row.id, row.at) for row in page.rows] == [row[:2] for row in kept]
    assert (page.count, page.unreadable) == (len(kept), 0)
    assert history.count(Filter(text="numpy")) > 0
    for number, at, host, device, document in kept:
        entry = history.entry(number)
        assert entry.at == at
        assert entry.host == msgspec.json.decode(host, type=Host)
        assert entry.device == msgspec.json.decode(device or "null", type=Device | None)
        assert entry.measurement == msgspec.json.decode(document, type=Measurement)
        case = entry.measurement.case
        assert entry in history.earlier([case], entry.host.hostname)[case]
    assert insert(history, HOST, DEVICE, measurement()) > max(row[0] for row in kept)
    assert history.delete(Filter(id=kept[0][0])) == 1


def test_of_several_all_are_kept_or_none(history: History) -> None:
    ones = [measurement(size=size) for size in (1, 2**70)]
    with refused("too large"):
        history.add([(HOST, DEVICE, one, 0.0) for one in ones])
    assert history.count() == 0


# Processes that die, and several at once.


def test_every_acknowledged_measurement_survives_kill_9(history: History) -> None:
    acknowledged: set[int] = set()
    for number in range(3):
        process = python(WRITE, history.path, 100)
        assert process.stdin
        assert process.stdout
        process.stdin.write("go\n")
        process.stdin.flush()
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


# Files that are damaged, or of others.


def overwritten(path: Path) -> None:
    """A history of which only the first page is left."""
    many = [(HOST, DEVICE, measurement(size=n), 0.0) for n in range(1, 200)]
    History(path).add(many)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def another_program(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (text TEXT)")
    other.commit()
    other.close()


def of_a_newer_version(path: Path) -> None:
    insert(History(path), HOST, DEVICE, measurement())
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    newer.close()


NO_HISTORY = "damaged or not a history"


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: path.write_text(NONSENSE), NO_HISTORY),
        (overwritten, NO_HISTORY),
        (another_program, NO_HISTORY),
        (of_a_newer_version, "newer jaxtui"),
    ],
)
def test_what_is_no_history_is_left_alone(
    history: History, damage: Callable[[Path], object], why: str
) -> None:
    damage(history.path)
    content = history.path.read_bytes()
    for act in (history.page, lambda: insert(history, HOST, DEVICE, measurement())):
        with pytest.raises(HistoryError, match=why):
            act()
    assert history.path.read_bytes() == content


def test_an_empty_file_is_a_history_without_measurements(history: History) -> None:
    history.path.touch()
    insert(history, HOST, DEVICE, measurement())
    assert history.count() == 1


def test_a_table_that_another_process_made_meanwhile_stays(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(history, HOST, DEVICE, measurement())
    before, look = [0], store._version
    monkeypatch.setattr(
        store, "_version", lambda file: before.pop() if before else look(file)
    )
    insert(history, HOST, DEVICE, measurement())
    assert history.count() == 2


# What cannot be written.


def forbid(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)


def test_a_disk_that_is_full(history: History) -> None:
    out, _ = python(FILL, history.path).communicate(timeout=LIMIT_SECONDS)
    said, acknowledged = json.loads(out)
    first, of_the_keeper = said
    assert first == of_the_keeper
    assert str(history.path) in first
    assert {row.id for row in history.page(limit=1000).rows} >= set(acknowledged)
    assert insert(history, HOST, DEVICE, measurement()) > max(acknowledged)


def test_a_file_that_may_only_be_read(history: History) -> None:
    number = insert(history, HOST, DEVICE, measurement())
    forbid(history.path)
    with without_rights():
        with refused("readonly"):
            insert(history, HOST, DEVICE, measurement())
        with refused("readonly"):
            history.delete(Filter(id=number))
        assert [row.id for row in history.page().rows] == [number]
    history.path.parent.chmod(0o755)
    history.path.chmod(0o644)
    history.path.write_text(NONSENSE)
    forbid(history.path)
    with without_rights(), refused("history.db"):
        insert(history, HOST, DEVICE, measurement())
    assert history.path.read_text() == NONSENSE


@pytest.mark.parametrize("there", [True, False])
def test_bench_measures_all_the_same_and_says_it_once(
    history: History,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    there: bool,
) -> None:
    monkeypatch.setenv("JAXTUI_DATA", str(history.path.parent))
    if there:
        insert(history, HOST, DEVICE, measurement())
        forbid(history.path)
    history.path.parent.chmod(0o555)
    # Somebody without rights may not even import what this needs.
    assert cli.main(["bench", "selu", "--no-history"], engine=FakeEngine(complete)) == 0
    capsys.readouterr()
    with without_rights():
        code = cli.main(["bench", "selu", "matmul"], engine=FakeEngine(complete))
    out, err = capsys.readouterr()
    assert code == 0
    assert "matmul" in out
    assert err.count(str(history.path)) == 1
    assert len(err.splitlines()) == 2
    assert history.count() == there
