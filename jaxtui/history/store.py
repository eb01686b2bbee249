"""Every measurement of this user, in one SQLite file.

It is written one measurement at a time, by as many processes as there are. The columns
are what people filter by and what a list shows; the whole measurement stands as JSON in
a table of its own, so that a new field needs no new column and a list reads few pages.
Hosts and devices would be repeated in every row, so each has a table.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from jaxtui.model import (
    Case,
    Device,
    Host,
    Inputs,
    Measurement,
    Mode,
    Precision,
    Record,
    Remark,
)
from jaxtui.model.remark import Fact, RemarkError
from jaxtui.places import NoHomeError, data_folder, keep_private, make_private

try:
    import sqlite3
except ImportError:  # not every Python has it
    sqlite3 = None  # type: ignore[assignment]

FILE = "history.db"

WAIT_SECONDS = 5.0
"""How long another process that writes is waited for."""

_FAILURES = (OSError, OverflowError, UnicodeError)
"""Beside its own errors; the last two are of values that SQLite does not take."""

_T = TypeVar("_T")

VERSION = 1
"""Of ``PRAGMA user_version``; each step in ``STEPS`` raises it by one."""

APPLICATION_ID = 0x6A617874
"""``jaxt``: tells a history from any other SQLite file."""

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE hosts (
        id INTEGER PRIMARY KEY,
        hostname TEXT NOT NULL,
        document TEXT NOT NULL UNIQUE
    );
    CREATE TABLE devices (
        id INTEGER PRIMARY KEY,
        device_kind TEXT NOT NULL,
        document TEXT NOT NULL UNIQUE
    );
    CREATE TABLE measurements (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at REAL NOT NULL,
        host INTEGER NOT NULL REFERENCES hosts,
        kind INTEGER REFERENCES devices,
        op TEXT NOT NULL,
        size INTEGER NOT NULL,
        dtype TEXT NOT NULL,
        precision TEXT NOT NULL,
        device TEXT NOT NULL,
        mode TEXT NOT NULL,
        inputs TEXT NOT NULL,
        ready REAL,
        ci_low REAL,
        ci_high REAL,
        flops_per_second REAL,
        bytes_per_second REAL,
        words TEXT NOT NULL
    );
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY REFERENCES measurements ON DELETE CASCADE,
        document TEXT NOT NULL
    );
    CREATE INDEX by_time ON measurements (at);
    CREATE INDEX by_op ON measurements (op, at);
    """,
)
"""What takes an empty file, or one of the version before, to the next version."""

_FACTS = ("op", "size", "dtype", "precision", "mode", "inputs")
"""Fields of a case that have a column of the same name, and of a filter that mean
what is equal."""

_OF_OTHER_TABLES = {
    "hostname": "h.hostname",
    "device_kind": "coalesce(d.device_kind, '')",
}
"""Fields of ``Row`` that are no columns of the measurements."""

LAST_MOMENT = 253_370_764_800.0
"""9999-01-01, UTC: what no calendar of Python goes far beyond."""

TABLES = (
    "measurements m LEFT JOIN hosts h ON h.id = m.host"
    " LEFT JOIN devices d ON d.id = m.kind"
)


_WHOLE = (
    "SELECT m.id, m.at, m.kind, h.document, d.document, o.document"
    f" FROM {TABLES} LEFT JOIN documents o ON o.id = m.id"
)
"""Whole measurements; a condition follows."""

EARLIER = 20
"""Measurements of one case that are read at most, however often it was timed."""


class HistoryError(RemarkError):
    """The history cannot be read or written."""


def _check_moment(at: float) -> None:
    """Nothing, if it is a time that a calendar has.

    Raises:
        ValueError: It is none.
    """
    if not 0 <= at < LAST_MOMENT:
        raise ValueError(f"{at} is no time")


class Row(Record, frozen=True, kw_only=True):
    """One measurement as a list shows it. Times are seconds."""

    id: int
    at: float
    """Seconds since 1970, UTC."""
    hostname: str
    device_kind: str
    """Empty for NumPy."""
    op: str
    size: int
    dtype: str
    precision: Precision
    device: str
    mode: Mode
    inputs: Inputs
    ready: float | None
    """Median until the result was ready."""
    ci_low: float | None
    ci_high: float | None
    flops_per_second: float | None
    bytes_per_second: float | None

    def __post_init__(self) -> None:
        _check_moment(self.at)

    @property
    def case(self) -> Case:
        """As far as the list knows it: without ``params``."""
        facts = {name: getattr(self, name) for name in (*_FACTS, "device")}
        return Case(**facts)


class Page(Record, frozen=True, kw_only=True):
    """The newest of the measurements that a filter means."""

    rows: tuple[Row, ...]
    unreadable: int
    """How many damaged rows were passed over on the way."""
    count: int
    """How many the filter means, damaged ones among them."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which measurements are meant; a field that is ``None`` lets all pass."""

    id: int | None = None
    since: float | None = None
    """Seconds since 1970; this moment is included."""
    until: float | None = None
    """Seconds since 1970; this moment is not."""
    text: str | None = None
    """Words that must all stand somewhere in op, size, dtype, device, its kind, mode or
    hostname."""


class Entry(Record, frozen=True, kw_only=True):
    """A measurement, and the machine that it was taken on."""

    id: int
    at: float
    """Seconds since 1970, UTC."""
    host: Host
    device: Device | None
    """``None`` for what ran in NumPy."""
    measurement: Measurement

    def __post_init__(self) -> None:
        _check_moment(self.at)


class History:
    """One file of measurements.

    Every call opens the file and closes it: nothing is held while the app is idle, and
    any thread may call. A measurement that ``add`` has returned for survives whatever
    happens to the process: SQLite's rollback journal sees to that, and unlike its
    write-ahead log it works on file systems that are shared over a network.

    A row that is damaged costs itself; a file that is damaged is left as it is.
    The file is for its owner only.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Take the file; by default ``history.db`` in the data directory."""
        self._path = path

    @property
    def path(self) -> Path:
        """Of the file.

        Raises:
            NoHomeError: No folder is known for it.
        """
        return self._path or data_folder() / FILE

    def add(
        self, entries: Iterable[tuple[Host, Device | None, Measurement, float]]
    ) -> list[int]:
        """Keep measurements: all of them or, if that fails, none.

        Args:
            entries: The machine, the device of the case (``None`` for NumPy), the
                measurement, whose samples are not kept, and seconds since 1970.

        Returns:
            The ids, once all are safe on disk.

        Raises:
            HistoryError: They cannot be written.
        """
        kept = tuple(entries)

        def add(connection: sqlite3.Connection) -> list[int]:
            return [_insert(connection, *entry) for entry in kept]

        return self._do(add, writes=True, makes=True) or []

    def page(self, wanted: Filter | None = None, *, limit: int = 100) -> Page:
        """The newest that can be read.

        Args:
            wanted: Which.
            limit: How many; -1 for all.

        Raises:
            HistoryError: The file cannot be read.
        """
        condition, arguments = where(wanted or Filter())
        fields = Row.__struct_fields__
        columns = (_OF_OTHER_TABLES.get(name, f"m.{name}") for name in fields)
        counted = f"SELECT count(*) FROM {TABLES} WHERE {condition}"
        listed = (
            f"SELECT {', '.join(columns)} FROM {TABLES} WHERE {condition}"
            " ORDER BY m.at DESC, m.id DESC"
        )

        def read(connection: sqlite3.Connection) -> Page:
            (count,) = connection.execute(counted, arguments).fetchone()
            rows: list[Row] = []
            unreadable = 0
            # Damaged ones must not take the places of others.
            for values in connection.execute(listed, arguments):
                named = dict(zip(fields, values, strict=True))
                try:
                    rows.append(msgspec.convert(named, Row))
                except msgspec.ValidationError:
                    unreadable += 1
                if len(rows) == limit:
                    break
            return Page(rows=tuple(rows), unreadable=unreadable, count=count)

        return self._do(read) or Page(rows=(), unreadable=0, count=0)

    def count(self, wanted: Filter | None = None) -> int:
        """How many there are, damaged ones among them.

        Raises:
            HistoryError: The file cannot be read.
        """
        return self.page(wanted, limit=1).count

    def entry(self, number: int) -> Entry:
        """One measurement, whole.

        Raises:
            HistoryError: There is none with this id, it is damaged, or the file cannot
                be read.
        """
        query = f"{_WHOLE} WHERE m.id = ?"
        values = self._do(lambda file: file.execute(query, [number]).fetchone())
        if values is None:
            raise HistoryError.of("no-measurement", id=number)
        return _entry(*values)

    def earlier(
        self, cases: Iterable[Case], hostname: str, until: float | None = None
    ) -> dict[Case, tuple[Entry, ...]]:
        """The newest measurements of some cases on a host; a damaged one is left out.

        Args:
            cases: which.
            hostname: where.
            until: only what was measured before, seconds since 1970.

        Raises:
            HistoryError: The file cannot be read.
        """

        def read(connection: sqlite3.Connection) -> dict[Case, tuple[Entry, ...]]:
            past: dict[Case, tuple[Entry, ...]] = {}
            names = (*_FACTS, "device")
            same = " AND ".join(f"m.{name} = ?" for name in names)
            query = (
                f"{_WHOLE} WHERE {same} AND h.hostname = ? AND m.at < ?"
                f" ORDER BY m.at DESC LIMIT {EARLIER}"
            )
            before = LAST_MOMENT if until is None else until
            for case in cases:
                arguments = [getattr(case, name) for name in names]
                entries: list[Entry] = []
                for values in connection.execute(
                    query, [*map(_utf8, arguments), hostname, before]
                ):
                    with suppress(HistoryError):
                        entries.append(_entry(*values))
                past[case] = tuple(entries)
            return past

        return self._do(read) or {}

    def before(self, entry: Entry) -> tuple[Entry, ...]:
        """The newest measurements of a case on its host when this one was taken.

        Raises:
            HistoryError: The file cannot be read.
        """
        case = entry.measurement.case
        return self.earlier([case], entry.host.hostname, entry.at).get(case, ())

    def delete(self, wanted: Filter) -> int:
        """Forget measurements; returns how many.

        Raises:
            HistoryError: The file cannot be written.
        """
        condition, arguments = where(wanted)
        query = (
            "DELETE FROM measurements WHERE id IN"
            f" (SELECT m.id FROM {TABLES} WHERE {condition})"
        )
        deleted = self._do(
            lambda file: file.execute(query, arguments).rowcount, writes=True
        )
        return deleted or 0

    @contextmanager
    def _connection(self, writes: bool) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on disk when the block is left, or nothing."""
        make_private(self.path.parent)
        if writes:
            # SQLite would make it as the umask says. Closing a file that exists would
            # take the locks of this process's other connections away.
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
        for ending in ("", "-journal", "-wal", "-shm"):
            keep_private(self.path.with_name(self.path.name + ending))
        connection = sqlite3.connect(
            self.path, timeout=WAIT_SECONDS, isolation_level=None
        )
        connection.text_factory = _text_or_bytes
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            _bring_up_to_date(connection, self.path)
            # A reader that became a writer half-way would not be waited for by others.
            with _transaction(connection, "BEGIN IMMEDIATE" if writes else "BEGIN"):
                yield connection
        finally:
            connection.close()

    def _do(
        self,
        act: Callable[[sqlite3.Connection], _T],
        *,
        writes: bool = False,
        makes: bool = False,
    ) -> _T | None:
        """Do it in a transaction.

        Args:
            act: What to do.
            writes: Whether it changes anything.
            makes: Whether it makes the file. Looking must not: it yields ``None``
                where there is none.

        Raises:
            HistoryError: It cannot be done.
        """
        if sqlite3 is None:
            raise HistoryError.of("no-sqlite")
        try:
            if not makes and not _exists(self.path):
                return None
            with self._connection(writes) as connection:
                return act(connection)
        except NoHomeError as error:
            raise HistoryError.of("no-home") from error
        except (sqlite3.Error, *_FAILURES) as error:
            raise _cannot(self.path, error) from error


def _entry(
    number: int, at: Any, kind: Any, host: Any, device: Any, measurement: Any
) -> Entry:
    """One measurement of what ``_WHOLE`` selects.

    Raises:
        HistoryError: It is damaged.
    """
    try:
        return Entry(
            id=number,
            at=msgspec.convert(at, float),
            host=msgspec.json.decode(host, type=Host),
            device=None if kind is None else msgspec.json.decode(device, type=Device),
            measurement=msgspec.json.decode(measurement, type=Measurement),
        )
    except (ValueError, TypeError, RecursionError) as error:
        remark = Remark("damaged-measurement", {"id": number}, "error", str(error))
        raise HistoryError(remark) from error


def _insert(
    connection: sqlite3.Connection,
    host: Host,
    device: Device | None,
    measurement: Measurement,
    at: float,
) -> int:
    case, ready = measurement.case, measurement.ready
    kind = device.device_kind if device else ""
    values = {
        "at": at,
        "host": _number_of(connection, "hosts", "hostname", host.hostname, host),
        "kind": None
        if device is None
        # Without what changes from moment to moment.
        else _number_of(
            connection,
            "devices",
            "device_kind",
            kind,
            msgspec.structs.replace(device, memory=None),
        ),
        **{name: getattr(case, name) for name in _FACTS},
        "device": case.device,
        "ready": ready.median if ready else None,
        "ci_low": ready.ci_low if ready else None,
        "ci_high": ready.ci_high if ready else None,
        "flops_per_second": measurement.flops_per_second,
        "bytes_per_second": measurement.bytes_per_second,
        # What people read of a measurement, to be searched.
        "words": f"{case.label} {kind} {host.hostname}".lower(),
    }
    marks = ", ".join("?" * len(values))
    query = f"INSERT INTO measurements ({', '.join(values)}) VALUES ({marks})"
    number = int(connection.execute(query, list(values.values())).lastrowid or 0)
    kept = _text(msgspec.structs.replace(measurement, samples=msgspec.UNSET))
    connection.execute("INSERT INTO documents VALUES (?, ?)", [number, kept])
    return number


def _number_of(
    connection: sqlite3.Connection, table: str, column: str, label: str, record: Record
) -> int:
    """The id of a host or device, which is written down when it is new."""
    document = _text(record)
    connection.execute(
        f"INSERT OR IGNORE INTO {table} ({column}, document) VALUES (?, ?)",
        [label, document],
    )
    query = f"SELECT id FROM {table} WHERE document = ?"
    return int(connection.execute(query, [document]).fetchone()[0])


def _text(record: Record) -> str:
    return msgspec.json.encode(record, order="deterministic").decode()


def _exists(path: Path) -> bool:
    """Whether there is a file; what keeps one from being there is an ``OSError``."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _text_or_bytes(value: bytes) -> str | bytes:
    """What SQLite takes for a text; bytes where it is none, so that no row has it."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def busy(path: Path, why: str = "") -> Remark:
    """That somebody else keeps a history locked, or nobody can lock it."""
    code = "history-no-locks" if _lacks_locks(path.parent) else "history-busy"
    return Remark(code, {"path": str(path)}, "error", why)


def _lacks_locks(folder: Path) -> bool:
    """Whether its file system has none, as some of networks and of clusters."""
    try:
        # Not the history: closing it would give up the locks of this process.
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
    return False


def _cannot(path: Path, error: Exception) -> HistoryError:
    """What an error of SQLite or the system means."""
    facts: dict[str, Fact] = {"path": str(path)}
    why = (isinstance(error, OSError) and error.strerror) or str(error)
    if "locked" in why or (
        re.search("lock|disk I/O", why) and _lacks_locks(path.parent)
    ):
        return HistoryError(busy(path, why))
    # Its subclasses are what a full disk, a missing permission or a value raises.
    if type(error) is sqlite3.DatabaseError:
        return HistoryError(Remark("history-damaged", facts, "error", why))
    return HistoryError(Remark("history-unusable", {**facts, "why": why}, "error"))


# SQL.


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables that are missing, in one transaction.

    Raises:
        HistoryError: A newer jaxtui has written the file, which is left alone.
        sqlite3.DatabaseError: It is no history, or it is damaged.
    """
    if _version(connection) == VERSION:
        return
    # Another process may be doing the same: whoever has the lock looks again.
    with _transaction(connection, "BEGIN IMMEDIATE"):
        version = _version(connection)
        if version > VERSION:
            raise HistoryError.of("history-newer", path=str(path), version=version)
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version == 0 and tables:
            raise sqlite3.DatabaseError("another database")
        for step in STEPS[version:]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
    except BaseException:
        # SQLite has done it by itself where the disk is full.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def where(wanted: Filter) -> tuple[str, list[Any]]:
    """The condition in SQL and its arguments."""
    conditions: list[tuple[str, object]] = [
        (condition, value)
        for condition, value in (
            ("m.id = ?", wanted.id),
            ("m.at >= ?", wanted.since),
            ("m.at < ?", wanted.until),
        )
        if value is not None
    ]
    words = (wanted.text or "").lower().split()
    conditions += [("instr(m.words, ?)", _utf8(word)) for word in words]
    joined = " AND ".join(condition for condition, _ in conditions) or "1"
    return joined, [value for _, value in conditions]


def _utf8(value: object) -> object:
    """SQLite takes no text that is not UTF-8, and none of the file's is like it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value
