"""A history that is damaged, misplaced or open to others, by the command line."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import (
    FAKE_PYTHON,
    PROGRAM,
    Shell,
    ended,
    environment,
    jaxtui,
    python,
)

HELD_UP = """
import ctypes, os, sys
for capability in (1, 2):  # what lets root pass permissions
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-m", "jaxtui", *sys.argv[1:]])
"""
"""Runs jaxtui as somebody whom permissions hold up, which they do not for root."""

ODD: dict[str, tuple[object, ...]] = {
    "at": (1e300, float("inf"), float("-inf"), -1.0, 1e13, "noon", b"\x00\xff"),
    "host": (99,),
    "op": (b"\x00\xff",),
    "size": ("large", 1.5, 1e300, b"\x01"),
    "mode": ("strange", b"\x01"),
    "ready": ("slow", b"\x01"),
    "flops_per_second": ("many",),
}
"""Values that no measurement has, by column; each damages one row."""

NO_TEXT = ("op", "dtype", "device")
"""Columns that get bytes that are no UTF-8 as a text."""

DOCUMENTS = ("", "{", "[" * 100_000, b"\xff")
"""What cannot be a measurement; the columns of such a row are sound."""


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two measurements, made with every right given to everybody."""
    folder = tmp_path_factory.mktemp("data") / "made"
    before = os.umask(0)
    try:
        words = ("bench", "selu", "--size", "8,16", "--budget", "0.2")
        done = jaxtui(*words, data=folder)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured, tmp_path / "data"))


def copied(connection: sqlite3.Connection) -> int:
    """The id of a new row that is the same as the first."""
    names = [row[1] for row in connection.execute("PRAGMA table_info(measurements)")]
    same = ", ".join(name for name in names if name != "id")
    number = connection.execute(
        f"INSERT INTO measurements ({same}) SELECT {same} FROM measurements"
        " WHERE id = 1"
    ).lastrowid
    connection.execute(
        "INSERT INTO documents SELECT ?, document FROM documents WHERE id = 1",
        [number],
    )
    return int(number or 0)


def changed(
    folder: Path, change: Callable[[sqlite3.Connection], list[int]]
) -> list[int]:
    connection = sqlite3.connect(folder / "history.db")
    numbers = change(connection)
    connection.commit()
    connection.close()
    return numbers


def damaged(connection: sqlite3.Connection) -> list[int]:
    """One row for each value that is odd; returns their ids."""
    numbers = []
    for column, values in ODD.items():
        for value in values:
            numbers.append(copied(connection))
            query = f"UPDATE measurements SET {column} = ? WHERE id = ?"
            connection.execute(query, [value, numbers[-1]])
    for column in NO_TEXT:
        for code in ("ff", "edb2a9"):  # the latter is a lone surrogate
            numbers.append(copied(connection))
            connection.execute(
                f"UPDATE measurements SET {column} = CAST(x'{code}' AS TEXT)"
                " WHERE id = ?",
                [numbers[-1]],
            )
    return numbers


def test_a_damaged_row_costs_itself(folder: Path) -> None:
    files = [folder / f"list.{ending}" for ending in ("json", "csv", "md")]
    good = [
        line.split()[0] for line in ended(folder, "history").stdout.splitlines()[1:]
    ]
    numbers = changed(folder, damaged)
    exports = [text for file in files for text in ("--export", file)]
    said = f"{len(numbers)} rows of the history could not be read."
    done = ended(folder, "history", *exports)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["id", *good]
    document = json.loads(files[0].read_text())
    assert [str(row["id"]) for row in document["measurements"]] == good
    assert document["count"] == len(numbers) + 2
    assert document["unreadable"] == len(numbers)
    assert [row["id"] for row in csv.DictReader(files[1].open())] == good
    assert len(files[2].read_text().splitlines()) == 4
    # Damaged ones take no places of others.
    done = ended(folder, "history", "--json", "--limit", "1")
    assert [str(row["id"]) for row in json.loads(done.stdout)["measurements"]] == good[
        :1
    ]
    for number in (numbers[0], numbers[-1] + 1):
        done = ended(folder, "compare", 1, number)
        assert done.returncode in (3, 64)
        assert f"easurement {number}" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert ended(folder, "compare", 1, 2).returncode == 0
    # They can be deleted as any other.
    done = ended(folder, "history", "--since", "1970-01-01", "--delete", "--yes")
    assert done.returncode == 0, done.stderr


def test_a_damaged_document_is_listed_and_not_compared(folder: Path) -> None:
    def damage(connection: sqlite3.Connection) -> list[int]:
        numbers = [copied(connection) for _ in DOCUMENTS]
        for number, document in zip(numbers, DOCUMENTS, strict=True):
            query = "UPDATE documents SET document = ? WHERE id = ?"
            connection.execute(query, [document, number])
        connection.execute("DELETE FROM documents WHERE id = ?", [numbers[0]])
        return numbers

    numbers = changed(folder, damage)
    done = ended(folder, "history", "--json")
    assert json.loads(done.stdout)["unreadable"] == 0
    assert len(json.loads(done.stdout)["measurements"]) == 2 + len(numbers)
    for number in numbers:
        done = ended(folder, "compare", number, 1)
        assert done.returncode == 3, done.stderr
        assert done.stderr.startswith(f"jaxtui: Measurement {number} of the history is")
        assert len(done.stderr.splitlines()) == 1


def test_a_place_where_no_history_can_be(tmp_path: Path) -> None:
    file, loop, taken, closed = (tmp_path / name for name in ("f", "l", "t", "c"))
    file.write_text("")
    loop.symlink_to(loop)
    (taken / "history.db").mkdir(parents=True)
    closed.mkdir(mode=0)
    long = tmp_path / ("n" * 300)
    for folder in (file, loop, taken, closed, long):
        done = python("-c", HELD_UP, "history", data=folder)
        assert done.returncode == 3, (folder, done.stderr)
        assert done.stderr.startswith(f"jaxtui: The history {folder}/history.db ")
        assert len(done.stderr.splitlines()) == 1
    assert python("-c", HELD_UP, "compare", 1, 2, data=closed).returncode == 3
    # Nothing is there yet: that is no fault.
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "history.db").symlink_to("nowhere")
    assert ended(tmp_path / "e", "history").returncode == 0
    closed.chmod(0o700)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_history_is_its_owner_s(measured: Path, folder: Path) -> None:
    assert rights(measured) == 0o700
    assert rights(measured / "history.db") == 0o600
    names = [folder / f"history.db{ending}" for ending in ("", "-journal")]
    names[1].write_bytes(b"")
    for name in names:
        name.chmod(0o666)
    folder.chmod(0o755)
    done = ended(folder, "history")
    assert (done.returncode, done.stderr) == (0, "")
    assert {rights(name) for name in names if name.exists()} == {0o600}
    # It may serve others; only the one that the platform names is jaxtui's own.
    assert rights(folder) == 0o755


@pytest.mark.skipif(sys.platform != "linux", reason="the folder has another name")
def test_the_platform_s_folder_is_its_owner_s(measured: Path, tmp_path: Path) -> None:
    folder = tmp_path / "jaxtui"
    shutil.copytree(measured, folder)
    folder.chmod(0o755)
    variables = environment(XDG_DATA_HOME=tmp_path)
    del variables["JAXTUI_DATA"]
    subprocess.run([*PROGRAM, "history"], env=variables, check=True)
    assert rights(folder) == 0o700


@pytest.mark.parametrize(
    "arguments",
    [
        ("history", "--since", "99999999999w"),
        ("compare", "9" * 5000, "1"),
        ("compare", "²", "1"),
    ],
)
def test_a_number_beyond_all_measure(folder: Path, arguments: tuple[str, ...]) -> None:
    done = ended(folder, *arguments)
    assert done.returncode == 64
    assert len(done.stderr.splitlines()) == 1


def test_the_tab_outlives_whatever_happens_to_the_file(
    folder: Path, tmp_path: Path
) -> None:
    numbers = changed(folder, damaged)
    here = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(here)
    with open(here + b"/mine.py", "w") as file:
        file.write("def f():\n    return 1\n")
    script = tmp_path / "held_up.py"
    script.write_text(HELD_UP)
    shell = Shell(columns=160)
    try:
        python = f"JAXTUI_DATA={folder} {sys.executable}"
        app = f"{python} {script} --python '{FAKE_PYTHON}'"
        shell.run(f"cd {tmp_path}/caf*; {app}; echo ended with $?")
        shell.shows("CPU only")
        shell.type("4")
        shell.shows(f"{len(numbers)} could not be read", "selu")
        # The path of the copy cannot be written as it is.
        shell.type("y")
        shell.shows("written to")
        file = folder / "history.db"
        for break_it, said in (
            (lambda: folder.chmod(0), "cannot be used: Permission denied"),
            (lambda: link(file), "cannot be used: Too many levels"),
        ):
            break_it()
            shell.type("1")
            shell.shows("devices")
            shell.type("4")
            shell.shows(said)
            folder.chmod(0o700)
        shell.type("2f")
        shell.shows("Tab complete")
        shell.type("mine.py:f\r")
        shell.shows("caf\\udce9", "UTF-8")
        shell.type("\x1b")
        shell.until(lambda: "Tab complete" not in shell.text, "the tab Bench")
        shell.type("q")
        shell.shows("ended with 0")
    finally:
        folder.chmod(0o700)
        shell.close()


def link(file: Path) -> None:
    """To itself."""
    file.unlink()
    file.symlink_to(file)


def test_a_function_in_a_folder_that_is_no_text(measured: Path, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/neighbour.py", "w") as file:
        file.write("def fail(x):\n    raise ValueError('odd \\udce9')\n")
    neighbour, own = os.fsdecode(folder), tmp_path / "own.py"
    own.write_text(
        f"""import sys; sys.path.append({neighbour!a})
import neighbour, jax.numpy
def f(x): return neighbour.fail(x)
def make_args(): return (jax.numpy.ones(8),)
"""
    )
    for command in ("bench", "hlo"):
        done = ended(measured, command, f"{neighbour}/neighbour.py:fail")
        assert done.returncode == 64, done.stderr
        assert "is not text in UTF-8" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = jaxtui("bench", f"{own}:f", "--budget", "1", "--json", data=measured)
    (failure,) = json.loads(done.stdout)["failures"]
    assert "ValueError: odd" in failure["error"]
