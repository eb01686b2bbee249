"""Every measurement of this user, in one SQLite file.

It is written one measurement at a time, by as many processes as there are. A row is a
document, JSON, of the measurement and its machine; beside it stand the columns by which
rows are found, so that a new field needs no new column.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from jaxtui.core.model import (
    Case,
    Device,
    Host,
    Inputs,
    Interval,
    Measurement,
    Mode,
    Precision,
    Record,
)
from jaxtui.core.places import NoHomeError, data_folder, keep_private, make_private
from jaxtui.core.text import ended

try:
    import sqlite3
except ImportError:  # not every Python has it
    sqlite3 = None  # type: ignore[assignment]

FILE = "history.db"

WAIT_SECONDS = 5.0
"""Seconds to wait for another process that writes."""

_T = TypeVar("_T")

VERSION = 2
"""The version in ``PRAGMA user_version``."""

APPLICATION_ID = 0x6A617874
"""``jaxt``: tells a history from any other SQLite file."""

MAKE = (
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at REAL NOT NULL,
        op TEXT NOT NULL,
        size INTEGER NOT NULL,
        hostname TEXT NOT NULL,
        words TEXT NOT NULL,
        document TEXT NOT NULL
    )""",
    # What filters read, so that they read no documents.
    "CREATE INDEX by_moment ON entries (at, id, words)",
    "CREATE INDEX by_case ON entries (op, size, hostname, at)",
)

TAKE_OVER = (
    """INSERT INTO entries SELECT
        m.id, m.at, m.op, m.size, coalesce(h.hostname, ''), m.words,
        '{"host":' || coalesce(h.document, '') || ',"device":'
        || CASE WHEN m.kind IS NULL THEN 'null' ELSE coalesce(d.document, '') END
        || ',"measurement":' || coalesce(o.document, '') || '}'
        FROM measurements m LEFT JOIN hosts h ON h.id = m.host
        LEFT JOIN devices d ON d.id = m.kind LEFT JOIN documents o ON o.id = m.id""",
    *(
        f"DROP TABLE {name}"
        for name in ("documents", "measurements", "devices", "hosts")
    ),
)
"""The statement that takes over the four tables of version 1."""

LAST_MOMENT = 253_370_764_800.0
"""9999-01-01, UTC: what no calendar of Python goes far beyond."""

_WHOLE = "SELECT id, at, document FROM entries"
"""Whole measurements; a condition follows."""

EARLIER = 20
"""Measurements of one case that are read at most, however often it was timed."""


class HistoryError(Exception):
    """The history cannot be read or written; the text tells the user why."""


class UnknownEntryError(HistoryError):
    """An error: no measurement has this id."""


class BusyError(HistoryError):
    """An error: another process keeps the file locked."""


class _Document(Record, frozen=True, kw_only=True):
    host: Host
    device: Device | None
    measurement: Measurement


class Entry(_Document, frozen=True, kw_only=True):
    """A measurement, and the machine that it was taken on.

    ``device`` is ``None`` for what ran in NumPy.
    """

    id: int
    at: float
    """Seconds since 1970, UTC."""

    def __post_init__(self) -> None:
        if not 0 <= self.at < LAST_MOMENT:
            raise ValueError(f"{self.at} is no time")


class Row(Record, frozen=True, kw_only=True):
    """A measurement as a list shows it. Times are seconds."""

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
    params: dict[str, int | float | str] | None
    """Of an op with arguments of its own, or the mesh."""
    ready: float | None
    """Median until the result was ready."""
    ci_low: float | None
    ci_high: float | None
    confidence: float | None
    """How sure the interval is; 0 of a single round."""
    flops_per_second: float | None
    bytes_per_second: float | None

    @classmethod
    def of(cls, entry: Entry) -> Row:
        """List an entry."""
        measured, ready = entry.measurement, entry.measurement.ready
        facts = {name: getattr(measured.case, name) for name in _FACTS}
        return cls(
            id=entry.id,
            at=entry.at,
            hostname=entry.host.hostname,
            device_kind=entry.device.device_kind if entry.device else "",
            ready=ready.median if ready else None,
            ci_low=ready.ci_low if ready else None,
            ci_high=ready.ci_high if ready else None,
            confidence=ready.confidence if ready else None,
            flops_per_second=measured.flops_per_second,
            bytes_per_second=measured.bytes_per_second,
            **facts,
        )

    @property
    def interval(self) -> Interval | None:
        """The interval of ``ready``; ``None`` without samples."""
        if self.ready is None or self.ci_low is None or self.ci_high is None:
            return None
        return Interval(self.ci_low, self.ready, self.ci_high, self.confidence or 0.0)

    @property
    def case(self) -> Case:
        """The case that was timed."""
        return Case(**{name: getattr(self, name) for name in _FACTS})


_FACTS = Case.__struct_fields__
"""Fields of a row that are those of its case."""


class Page(Record, frozen=True, kw_only=True):
    """The newest of the measurements that a filter means."""

    rows: tuple[Row, ...]
    unreadable: int
    """Damaged rows that were skipped on the way."""
    count: int
    """Rows that match the filter, damaged ones included."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects measurements; a field that is ``None`` lets all pass."""

    id: int | None = None
    since: float | None = None
    """Seconds since 1970; this moment is included."""
    until: float | None = None
    """Seconds since 1970; this moment is not."""
    text: str | None = None
    """Words that must all stand somewhere in op, size, dtype, device, its kind, mode or
    hostname."""


class History:
    """A file of measurements.

    Every call opens the file and closes it: nothing is held while the app is idle, and
    any thread may call. A measurement that ``add`` has returned for survives whatever
    happens to the process: SQLite's rollback journal sees to that, and unlike its
    write-ahead log it works on file systems that are shared over a network.

    A row that is damaged costs itself; a file that is damaged is left as it is.
    The file is for its owner only. Each method raises ``HistoryError`` where the file
    cannot be read or written.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Take the file; by default ``history.db`` in the data directory."""
        self._path = path

    @property
    def path(self) -> Path:
        """The path of the file.

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
        """
        rows = tuple(entries)

        def add(connection: sqlite3.Connection) -> list[int]:
            return [_insert(connection, *entry) for entry in rows]

        return self._do(add, writes=True) or []

    def page(self, selected: Filter | None = None, *, limit: int = 100) -> Page:
        """The newest that can be read.

        Args:
            selected: The measurements to list.
            limit: How many; -1 for all.
        """
        condition, arguments = where(selected or Filter())
        listed = f"{_WHOLE} WHERE {condition} ORDER BY at DESC, id DESC"

        def read(connection: sqlite3.Connection) -> Page:
            counted = f"SELECT count(*) FROM entries WHERE {condition}"
            (count,) = connection.execute(counted, arguments).fetchone()
            rows: list[Row] = []
            unreadable = 0
            # Damaged ones must not take the places of others.
            for values in connection.execute(listed, arguments):
                try:
                    rows.append(Row.of(_entry(*values)))
                except HistoryError:
                    unreadable += 1
                if len(rows) == limit:
                    break
            return Page(rows=tuple(rows), unreadable=unreadable, count=count)

        return self._do(read) or Page(rows=(), unreadable=0, count=0)

    def count(self, selected: Filter | None = None) -> int:
        """Count them, damaged ones too."""
        return self.page(selected, limit=1).count

    def entry(self, number: int) -> Entry:
        """Return a measurement, whole.

        Raises:
            UnknownEntryError: There is none with this id.
            HistoryError: It is damaged.
        """
        query = f"{_WHOLE} WHERE id = ?"
        values = self._do(lambda file: file.execute(query, [number]).fetchone())
        if values is None:
            raise UnknownEntryError(
                f"There is no measurement {number} in the history. `jaxtui history`"
                " lists them."
            )
        return _entry(*values)

    def earlier(
        self, cases: Iterable[Case], hostname: str, until: float | None = None
    ) -> dict[Case, tuple[Entry, ...]]:
        """The newest measurements of some cases on a host; a damaged one is left out.

        Args:
            cases: which.
            hostname: where.
            until: only what was measured before, seconds since 1970.
        """
        before = LAST_MOMENT if until is None else until
        same = "op = ? AND size = ? AND hostname = ? AND at < ?"
        query = f"{_WHOLE} WHERE {same} ORDER BY at DESC"

        def of_case(connection: sqlite3.Connection, case: Case) -> Iterator[Entry]:
            arguments = [case.op, case.size, hostname, before]
            for values in connection.execute(query, arguments):
                with suppress(HistoryError):
                    entry = _entry(*values)
                    if entry.measurement.case == case:
                        yield entry

        def read(connection: sqlite3.Connection) -> dict[Case, tuple[Entry, ...]]:
            return {
                case: tuple(islice(of_case(connection, case), EARLIER))
                for case in cases
            }

        return self._do(read) or {}

    def before(self, entry: Entry) -> tuple[Entry, ...]:
        """The newest measurements of a case on its host when this one was taken."""
        case = entry.measurement.case
        return self.earlier([case], entry.host.hostname, entry.at).get(case, ())

    def delete(self, selected: Filter) -> int:
        """Forget measurements; returns how many."""
        if not self.count(selected):
            return 0  # there may be no file
        condition, arguments = where(selected)
        query = f"DELETE FROM entries WHERE {condition}"

        def delete(connection: sqlite3.Connection) -> int:
            return connection.execute(query, arguments).rowcount

        return self._do(delete, writes=True) or 0

    @contextmanager
    def _connection(self, writes: bool) -> Iterator[sqlite3.Connection]:
        """Open a transaction: all of it is on disk when the block is left, or
        nothing.
        """
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
            _bring_up_to_date(connection, self.path)
            # A reader that became a writer half-way would not be waited for by others.
            with _transaction(connection, "BEGIN IMMEDIATE" if writes else "BEGIN"):
                yield connection
        finally:
            connection.close()

    def _do(
        self, act: Callable[[sqlite3.Connection], _T], *, writes: bool = False
    ) -> _T | None:
        """Act in a transaction; ``None`` where there is no file to look into."""
        if sqlite3 is None:
            raise HistoryError(
                "This Python was built without SQLite, so there is no history."
            )
        try:
            if not writes:
                try:
                    self.path.stat()
                except FileNotFoundError:
                    return None
            with self._connection(writes) as connection:
                return act(connection)
        except NoHomeError as error:
            raise HistoryError(str(error)) from error
        # The last two are of values that SQLite does not take.
        except (sqlite3.Error, OSError, OverflowError, UnicodeError) as error:
            raise _cannot(self.path, error) from error


def _entry(number: int, at: Any, document: Any) -> Entry:
    """Read what ``_WHOLE`` selects.

    Raises:
        HistoryError: It is damaged.
    """
    try:
        parts = msgspec.json.decode(document, type=_Document)
        moment = msgspec.convert(at, float)
        return Entry(id=number, at=moment, **msgspec.structs.asdict(parts))
    except (ValueError, TypeError, RecursionError) as error:
        raise HistoryError(
            f"Measurement {number} of the history is damaged, or another version wrote"
            " it."
        ) from error


def _insert(
    connection: sqlite3.Connection,
    host: Host,
    device: Device | None,
    measurement: Measurement,
    at: float,
) -> int:
    case, kind = measurement.case, device.device_kind if device else ""
    document = _Document(
        host=host,
        # Without what changes from moment to moment.
        device=device and msgspec.structs.replace(device, memory=None),
        measurement=msgspec.structs.replace(measurement, samples=msgspec.UNSET),
    )
    # What people read of a measurement, to be searched.
    words = f"{case.label} {kind} {host.hostname}".lower()
    text = msgspec.json.encode(document).decode()
    values = [at, case.op, case.size, host.hostname, words, text]
    query = (
        "INSERT INTO entries (at, op, size, hostname, words, document)"
        " VALUES (?, ?, ?, ?, ?, ?)"
    )
    return int(connection.execute(query, values).lastrowid or 0)


def _text_or_bytes(value: bytes) -> str | bytes:
    """Decode a text of SQLite; keep the bytes where it is none, so that no row
    has it.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def busy(path: Path) -> HistoryError:
    """Return the error that somebody else keeps a history locked, or nobody can lock
    it.
    """
    if _lacks_locks(path.parent):
        return HistoryError(
            f"The file system of {path} has no locks, and without them a history would"
            " be damaged. JAXTUI_DATA names another folder."
        )
    return BusyError(
        f"Another process is writing to the history {path} and keeps it locked."
    )


def _lacks_locks(folder: Path) -> bool:
    """Return whether the file system has no locks, as some of networks and of
    clusters.
    """
    try:
        # Not the history: closing it would give up the locks of this process.
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
    return False


def _cannot(path: Path, error: Exception) -> HistoryError:
    """Translate an error of SQLite or the system."""
    why = (isinstance(error, OSError) and error.strerror) or str(error)
    if "locked" in why or (
        re.search("lock|disk I/O", why) and _lacks_locks(path.parent)
    ):
        return busy(path)
    # Its subclasses are what a full disk, a missing permission or a value raises.
    if type(error) is sqlite3.DatabaseError:
        return HistoryError(
            f"The file {path} is damaged or not a history. Move it away; jaxtui then"
            " starts a new one."
        )
    return HistoryError(
        f"Cannot use the history {path}: {ended(why)} JAXTUI_DATA names another folder."
    )


# SQL.


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    """Make the table, or take over those of version 1, in one transaction.

    Raises:
        HistoryError: A newer jaxtui has written the file, which is left alone.
        sqlite3.DatabaseError: It is no history, or it is damaged.
    """
    if _version(connection) == VERSION:
        return
    # Another process may be doing the same: whoever has the lock looks again.
    with _transaction(connection, "BEGIN IMMEDIATE"):
        version = _version(connection)
        if version == VERSION:
            return
        if version > VERSION:
            raise HistoryError(
                f"A newer jaxtui wrote {path} (version {version}). Upgrade this one to"
                " read it."
            )
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version == 0 and tables:
            raise sqlite3.DatabaseError("another database")
        for statement in (*MAKE, *(TAKE_OVER if version else ())):
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


def where(selected: Filter) -> tuple[str, list[Any]]:
    """The condition in SQL and its arguments."""
    conditions: list[tuple[str, object]] = [
        (condition, value)
        for condition, value in (
            ("id = ?", selected.id),
            ("at >= ?", selected.since),
            ("at < ?", selected.until),
        )
        if value is not None
    ]
    # SQLite takes no text that is not UTF-8, and none of the file's is like it.
    text = (selected.text or "").lower().encode("utf-8", "backslashreplace").decode()
    conditions += [("instr(words, ?)", word) for word in text.split()]
    joined = " AND ".join(condition for condition, _ in conditions) or "1"
    return joined, [value for _, value in conditions]
