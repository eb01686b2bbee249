"""The tables of the history, and how a file of an older version gets them.

The columns are what people filter by and what a list shows; the whole measurement
stands as JSON in a table of its own, so that a new field needs no new column and a list
reads few pages. Hosts and devices would be repeated in every row, so each has a table.
"""

from __future__ import annotations

import sqlite3

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


class TooNewError(Exception):
    """A newer jaxtui has written the file; this one must not touch it."""


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Make the tables that are missing, in one transaction.

    Raises:
        TooNewError: The file is of a newer version.
        sqlite3.DatabaseError: It is no history, or it is damaged.
    """
    if _version(connection) == VERSION:
        return
    # Another process may be doing the same: whoever has the lock looks again.
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > VERSION:
            raise TooNewError(f"version {version}")
        if version == 0 and _has_tables(connection):
            raise sqlite3.DatabaseError("file is not a history of jaxtui")
        for step in STEPS[version:]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _has_tables(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(row[0])
