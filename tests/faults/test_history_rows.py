"""A history that is damaged, misplaced or open to others, by the command line."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jaxtui.core.history.store import History
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.processes import PROGRAM, ended, environment, python

HELD_UP = """
import ctypes, os, sys
for capability in (1, 2):  # what lets root pass permissions
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "jaxtui", *sys.argv[1:]])
"""
"""Runs jaxtui as somebody whom permissions hold up, which they do not for root."""

MOMENTS = ("1e300", "9e999", "-9e999", "-1.0", "1e13", "'noon'", "x'00ff'")
"""Times in SQL that no measurement has; each damages one row."""

DOCUMENTS = ("", "{", "[" * 100_000, b"\xff")
"""What cannot be a measurement; the columns of such a row are sound."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a history of two measurements, made with every right given to everybody."""
    folder = tmp_path / "made"
    before = os.umask(0)
    try:
        for size in (8, 16):
            insert(History(folder / "history.db"), HOST, DEVICE, measurement(size=size))
    finally:
        os.umask(before)
    return folder


class Copies:
    """A connection that adds rows like the first one, and changes them."""

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "history.db", isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")
        table = self.connection.execute("PRAGMA table_info(entries)")
        self._same = ", ".join(row[1] for row in table if row[1] != "id")

    def add(self, change: str, *values: object) -> int:
        """The id of the new row, with ``change`` made to its columns."""
        number = self.connection.execute(
            f"INSERT INTO entries ({self._same}) SELECT {self._same}"
            " FROM entries WHERE id = 1"
        ).lastrowid
        query = f"UPDATE entries SET {change} WHERE id = ?"
        self.connection.execute(query, [*values, number])
        return int(number or 0)


def damaged(folder: Path) -> list[int]:
    """One row for each value that is odd; returns their ids."""
    copies = Copies(folder)
    numbers = [copies.add(f"at = {value}") for value in MOMENTS]
    return numbers + [copies.add("document = ?", value) for value in DOCUMENTS]


def test_a_damaged_row_costs_itself(folder: Path) -> None:
    files = [folder / f"list.{ending}" for ending in ("json", "csv", "md")]
    numbers = damaged(folder)
    exports = [text for file in files for text in ("--export", file)]
    done = ended("history", *exports, data=folder)
    assert done.returncode == 0, done.stderr
    assert f"{len(numbers)} rows of" in done.stdout
    assert "Traceback" not in done.stderr
    heads = [line.split()[0] for line in done.stdout.splitlines()[:3]]
    assert heads == ["id", "2", "1"]
    document = json.loads(files[0].read_text())
    assert [row["id"] for row in document["measurements"]] == [2, 1]
    assert document["count"] == len(numbers) + 2
    assert document["unreadable"] == len(numbers)
    assert [row["id"] for row in csv.DictReader(files[1].open())] == ["2", "1"]
    table = [line for line in files[2].read_text().splitlines() if line[:1] == "|"]
    assert len(table) == 4
    # Damaged ones take no places of others.
    done = ended("history", "--json", "--limit", "1", data=folder)
    assert [row["id"] for row in json.loads(done.stdout)["measurements"]] == [2]
    for number in (numbers[0], numbers[-1] + 1):
        done = ended("compare", 1, number, data=folder)
        assert done.returncode in (3, 64)
        assert f"easurement {number}" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert ended("compare", 1, 2, data=folder).returncode == 0
    # They can be deleted as any other.
    done = ended("history", "--since", "1970-01-01", "--delete", "--yes", data=folder)
    assert done.returncode == 0, done.stderr


def test_a_place_where_no_history_can_be(tmp_path: Path) -> None:
    file, loop, taken, closed = (tmp_path / name for name in ("f", "l", "t", "c"))
    file.write_text("")
    loop.symlink_to(loop)
    (taken / "history.db").mkdir(parents=True)
    closed.mkdir(mode=0)
    long = tmp_path / ("n" * 300)
    for folder in (file, loop, taken, closed, long):
        if folder == closed:
            done = python("-c", HELD_UP, "history", data=folder)
        else:
            done = ended("history", data=folder)
        assert done.returncode == 3, (folder, done.stderr)
        assert f"the history {folder}/history.db" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    # Nothing is there yet: that is no fault.
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "history.db").symlink_to("nowhere")
    assert ended("history", data=tmp_path / "e").returncode == 0
    closed.chmod(0o700)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_history_is_its_owner_s(folder: Path) -> None:
    assert rights(folder) == 0o700
    assert rights(folder / "history.db") == 0o600
    names = [folder / f"history.db{ending}" for ending in ("", "-journal")]
    names[1].write_bytes(b"")
    for name in names:
        name.chmod(0o666)
    folder.chmod(0o755)
    done = ended("history", data=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert {rights(name) for name in names if name.exists()} == {0o600}
    # It may serve others; only the one that the platform names is jaxtui's own.
    assert rights(folder) == 0o755


@pytest.mark.skipif(sys.platform != "linux", reason="the folder has another name")
def test_the_platform_s_folder_is_its_owner_s(folder: Path) -> None:
    place = folder.rename(folder.with_name("jaxtui"))
    place.chmod(0o755)
    variables = environment(XDG_DATA_HOME=place.parent)
    del variables["JAXTUI_DATA"]
    subprocess.run([*PROGRAM, "history"], env=variables, check=True)
    assert rights(place) == 0o700
