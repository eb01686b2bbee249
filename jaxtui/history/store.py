"""The file: written one measurement at a time, by as many processes as there are."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from jaxtui.history.query import COLUMNS, TABLES, Filter, Page, Row, check_moment, where
from jaxtui.history.schema import TooNewError, bring_up_to_date
from jaxtui.model import Device, Host, Measurement, Record
from jaxtui.places import data_folder, keep_private, make_private, put_aside

FILE = "history.db"

WAIT_SECONDS = 5.0
"""How long another process that writes is waited for."""

_FAILURES = (OSError, OverflowError, UnicodeError)
"""Beside its own errors; the last two are of values that SQLite does not take."""

_T = TypeVar("_T")


class HistoryError(Exception):
    """The history cannot be read or written; the text is for people."""


class HistoryBusyError(HistoryError):
    """Another process writes and does not let go; it may later."""


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
        check_moment(self.at)


class History:
    """One file of measurements.

    Every call opens the file and closes it: nothing is held while the app is idle, and
    any thread may call. A measurement that ``add`` has returned for survives whatever
    happens to the process: SQLite's rollback journal sees to that, and unlike its
    write-ahead log it works on file systems that are shared over a network.

    A file that is damaged is put aside, and a new one begun; ``moved`` says so. A row
    that is damaged costs itself. The file is for its owner only.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Take the file; by default ``history.db`` in the data directory."""
        self.path = path or data_folder() / FILE
        self.moved: str = ""
        """What happened to a damaged file, one sentence; empty if there was none."""

    def add(
        self,
        host: Host,
        device: Device | None,
        measurement: Measurement,
        at: float | None = None,
    ) -> int:
        """Keep a measurement; returns its id when it is safe on disk.

        Args:
            host: The machine.
            device: The device of the case; ``None`` for NumPy.
            measurement: A finished one. Its samples, if it has any, are not kept.
            at: Seconds since 1970; now by default.

        Raises:
            HistoryError: It cannot be written.
        """
        moment = time.time() if at is None else at
        return self.add_all([(host, device, measurement, moment)])[0]

    def add_all(
        self, entries: Iterable[tuple[Host, Device | None, Measurement, float]]
    ) -> list[int]:
        """Keep many at once: all of them or, if that fails, none.

        Raises:
            HistoryError: They cannot be written.
        """
        kept = tuple(entries)

        def add() -> list[int]:
            with self._connection(writes=True) as connection:
                return [_insert(connection, *entry) for entry in kept]

        return self._safely(add, makes=True) or []

    def rows(
        self, wanted: Filter | None = None, *, limit: int = 100, offset: int = 0
    ) -> list[Row]:
        """The newest first, as far as they can be read.

        Raises:
            HistoryError: The file cannot be read.
        """
        return list(self.page(wanted, limit=limit, offset=offset).rows)

    def page(
        self, wanted: Filter | None = None, *, limit: int = 100, offset: int = 0
    ) -> Page:
        """So many that can be read, the newest first.

        Args:
            wanted: Which.
            limit: How many; -1 for all.
            offset: How many to pass over, damaged ones among them.

        Raises:
            HistoryError: The file cannot be read.
        """
        condition, arguments = where(wanted or Filter())
        counted = f"SELECT count(*) FROM {TABLES} WHERE {condition}"
        listed = (
            f"SELECT {', '.join(COLUMNS)} FROM {TABLES} WHERE {condition}"
            " ORDER BY m.at DESC, m.id DESC LIMIT -1 OFFSET ?"
        )

        def read(connection: sqlite3.Connection) -> Page:
            (count,) = connection.execute(counted, arguments).fetchone()
            rows: list[Row] = []
            unreadable = 0
            # Damaged ones must not take the places of others.
            for values in connection.execute(listed, [*arguments, offset]):
                named = dict(zip(Row.__struct_fields__, values, strict=True))
                try:
                    rows.append(msgspec.convert(named, Row))
                except msgspec.ValidationError:
                    unreadable += 1
                if len(rows) == limit:
                    break
            return Page(rows=tuple(rows), unreadable=unreadable, count=count)

        return self._read(read) or Page(rows=(), unreadable=0, count=0)

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
        query = (
            "SELECT m.at, m.kind, h.document, d.document, o.document"
            f" FROM {TABLES} LEFT JOIN documents o ON o.id = m.id WHERE m.id = ?"
        )
        found = self._read(lambda one: one.execute(query, [number]).fetchone())
        if found is None:
            raise HistoryError(f"There is no measurement {number} in the history.")
        at, kind, host, device, measurement = found
        try:
            return Entry(
                id=number,
                at=msgspec.convert(at, float),
                host=msgspec.json.decode(host, type=Host),
                device=None
                if kind is None
                else msgspec.json.decode(device, type=Device),
                measurement=msgspec.json.decode(measurement, type=Measurement),
            )
        except (ValueError, TypeError, RecursionError) as error:
            raise HistoryError(
                f"Measurement {number} of the history is damaged, or was written by"
                f" another version: {error}."
            ) from error

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

        def delete() -> int:
            with self._connection(writes=True) as connection:
                return connection.execute(query, arguments).rowcount

        return self._safely(delete) or 0

    def delete_entry(self, number: int) -> bool:
        """Forget one measurement; returns whether there was one.

        Raises:
            HistoryError: The file cannot be written.
        """

        def delete() -> bool:
            with self._connection(writes=True) as connection:
                query = "DELETE FROM measurements WHERE id = ?"
                return bool(connection.execute(query, [number]).rowcount)

        return bool(self._safely(delete))

    def _read(self, act: Callable[[sqlite3.Connection], _T]) -> _T | None:
        def read() -> _T:
            with self._connection() as connection:
                return act(connection)

        return self._safely(read)

    @contextmanager
    def _connection(self, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on disk when the block is left, or nothing."""
        # A reader that became a writer half-way would not be waited for by others.
        begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
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
            bring_up_to_date(connection)
            connection.execute(begin)
            try:
                yield connection
            except BaseException:
                # SQLite has done it by itself where the disk is full.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        finally:
            connection.close()

    def _safely(self, act: Callable[[], _T], *, makes: bool = False) -> _T | None:
        """Do it; once more with a new file where the old one is damaged.

        Args:
            act: What to do.
            makes: Whether it makes the file. Looking must not: it yields ``None``
                where there is none.

        Raises:
            HistoryError: It cannot be done.
        """
        seen = None
        try:
            seen = _identity(self.path)
            return act() if makes or seen is not None else None
        except TooNewError as error:
            raise HistoryError(
                f"{self.path} was written by a newer jaxtui ({error}):"
                " upgrade this one to read it."
            ) from error
        except sqlite3.DatabaseError as error:
            if not _damaged(error):
                raise _cannot(self.path, error) from error
            self._begin_anew(seen, error)
        except _FAILURES as error:
            raise _cannot(self.path, error) from error
        try:
            return act()
        except (sqlite3.Error, *_FAILURES) as error:
            raise _cannot(self.path, error) from error

    def _begin_anew(self, seen: int | None, error: sqlite3.DatabaseError) -> None:
        """Put the file aside that was seen to be damaged, unless somebody has."""
        try:
            with _alone_in(self.path.parent):
                if _identity(self.path) != seen:
                    return
                aside = put_aside(self.path)
        except OSError as failed:
            raise _cannot(self.path, failed) from failed
        self.moved = (
            f"The history could not be read ({error}); it was kept as {aside},"
            " and a new one begins."
        )


def _insert(
    connection: sqlite3.Connection,
    host: Host,
    device: Device | None,
    measurement: Measurement,
    at: float,
) -> int:
    case, ready = measurement.case, measurement.ready
    values = {
        "at": at,
        "host": _known(connection, "hosts", "hostname", host.hostname, host),
        "kind": None
        if device is None
        else _known(
            connection, "devices", "device_kind", device.device_kind, _fixed(device)
        ),
        "op": case.op,
        "size": case.size,
        "dtype": case.dtype,
        "precision": case.precision,
        "device": case.device,
        "mode": case.mode,
        "inputs": case.inputs,
        "ready": ready.median if ready else None,
        "ci_low": ready.ci_low if ready else None,
        "ci_high": ready.ci_high if ready else None,
        "flops_per_second": measurement.flops_per_second,
        "bytes_per_second": measurement.bytes_per_second,
        "words": _words(host, device, measurement),
    }
    marks = ", ".join("?" * len(values))
    query = f"INSERT INTO measurements ({', '.join(values)}) VALUES ({marks})"
    number = int(connection.execute(query, list(values.values())).lastrowid or 0)
    kept = _text(msgspec.structs.replace(measurement, samples=msgspec.UNSET))
    connection.execute("INSERT INTO documents VALUES (?, ?)", [number, kept])
    return number


def _words(host: Host, device: Device | None, measurement: Measurement) -> str:
    """What people read of a measurement, to be searched."""
    kind = device.device_kind if device else ""
    return f"{measurement.case.label} {kind} {host.hostname}".lower()


def _fixed(device: Device) -> Device:
    """Without what changes from moment to moment."""
    return msgspec.structs.replace(device, memory=None)


def _known(
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


def _identity(path: Path) -> int | None:
    """Which file it is now; ``None`` where there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _text_or_bytes(value: bytes) -> str | bytes:
    """What SQLite takes for a text; bytes where it is none, so that no row has it."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _damaged(error: sqlite3.DatabaseError) -> bool:
    # Its subclasses are what a lock, a full disk, a missing permission or a value that
    # does not fit raises.
    return type(error) is sqlite3.DatabaseError


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block for this folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Not every file system that is shared over a network can lock.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _cannot(path: Path, error: Exception) -> HistoryError:
    """What an error means, in words."""
    said = (isinstance(error, OSError) and error.strerror) or str(error)
    if "locked" in said:
        return HistoryBusyError(
            f"The history {path} is in use by another process that does not let go."
        )
    if "readonly" in said or "read-only" in said.lower():
        return HistoryError(f"The history {path} may not be written to.")
    if "full" in said or "No space" in said:
        return HistoryError(f"There is no room left on the disk of the history {path}.")
    return HistoryError(f"The history {path} cannot be used: {said}.")
