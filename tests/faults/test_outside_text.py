"""Text from outside never reaches a terminal as anything but text."""

from __future__ import annotations

import ast
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.text import literal, visible, visible_json
from tests.processes import LIMIT_SECONDS, Shell, ended

CLIPBOARD = "\x1b]52;c;cHduZWQ=\x07"
"""What writes to the clipboard of a terminal."""

HOSTILE = f"ho{CLIPBOARD}\x9b31m\u202e\u2066\u2028[red]st[/nope]"
"""With markup that has no beginning, and so is an error where it is read as such."""

SHOWN = r"ho\x1b]52;c;cHduZWQ=\x07\x9b31m\u202e\u2066\u2028[red]st[/nope]"
FIRST_LINE = SHOWN.partition(r"\u2028")[0]
"""Python ends a line at that character."""

ACTED_ON = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)

RUNS = "open('pwned', 'w')"
NAME = f'{CLIPBOARD}\u202e"""\n{RUNS}\n""".v2.py'
"""Of a file: it would end a docstring, and is no name of a module."""

FUNCTION = """
import jax.numpy as jnp

def step(x):
    return x * 2 + 1

def step_args():
    return (jnp.ones(1000),)
"""

BROKEN_JAX = f"""
import sys
sys.stderr.write({"printed " + HOSTILE!r} + "\\n")
raise ImportError({HOSTILE!r})
"""

ENDINGS = (".md", ".csv", ".svg", ".py", ".json")


def jaxtui(folder: Path, *arguments: object, **variables: str) -> Any:
    """A command whose output is compared as it would reach a terminal."""
    done = ended(*arguments, data=folder / "data", cwd=folder, **variables)
    assert not ACTED_ON.search(done.stdout + done.stderr), ascii(done.stdout)
    assert "Traceback" not in done.stderr, done.stderr
    return done


# The filter.

texts = st.text(st.characters(codec=None))  # surrogates, too


@given(texts)
def test_whatever_a_terminal_acts_on_is_shown(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not ACTED_ON.search(shown)
    assert "\r" not in shown
    assert visible(shown) == shown
    in_a_line = visible(text, line=True)
    assert not re.search(r"[\t\n]", in_a_line)
    assert not ACTED_ON.search(in_a_line)
    assert ast.literal_eval(literal(text)) == text


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Cn", "Zl", "Zp"])))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert visible(f"{text}\n\t{text}") == f"{text}\n\t{text}"


@given(st.text())
def test_a_json_document_stays_the_same_document(text: str) -> None:
    document = json.dumps({text: text}, ensure_ascii=False).encode()
    shown = visible_json(document)
    assert json.loads(shown) == {text: text}
    assert not ACTED_ON.search(shown.decode())


# Commands.


@pytest.mark.parametrize(
    "arguments",
    [
        (HOSTILE,),
        ("bench", HOSTILE),
        ("bench", "matmul", "--dtype", HOSTILE),
        ("bench", f"--{HOSTILE}"),
        ("bench", "matmul", "--export", f"{HOSTILE}.zip"),
        ("bench", f"{HOSTILE}.py:step"),
        ("compare", f"{HOSTILE}.json", b"\xff.json"),
    ],
)
def test_what_was_typed_is_repeated_as_text(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = jaxtui(tmp_path, *arguments)
    assert done.returncode == 64
    assert r"\x1b]52;c;cHduZWQ" in done.stderr


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a file with a hostile name was measured and exported.

    The history and a document say that the machine was called something hostile.
    """
    folder = tmp_path_factory.mktemp("measured")
    (folder / NAME).write_text(FUNCTION)
    exports = (f"--export=out{ending}" for ending in ENDINGS)
    options = (f"{NAME}:step", "--budget=1", *exports)
    done = jaxtui(folder, "bench", *options)
    assert done.returncode == 0, done.stderr
    assert r"\x1b]52;c;cHduZWQ=\x07\u202e" in done.stdout
    found = json.loads((folder / "out.json").read_text())
    assert found["measurements"][0]["case"]["op"].endswith(f"{NAME}:step")
    found["host"] |= {"hostname": HOSTILE, "cpu_model": HOSTILE}
    (folder / "other.json").write_text(json.dumps(found, ensure_ascii=False))
    with sqlite3.connect(folder / "data" / "history.db") as database:
        ((document,),) = database.execute("SELECT document FROM entries")
        whole = json.dumps(json.loads(document) | {"host": found["host"]})
        database.execute("UPDATE entries SET document = ?", (whole,))
    database.close()
    return folder


def test_documents_history_and_files_are_text(measured: Path) -> None:
    def printed(*arguments: str) -> str:
        return str(jaxtui(measured, *arguments).stdout)

    assert SHOWN in printed("compare", "out.json", "other.json")
    written = printed("compare", "out.json", "other.json", "--json")
    assert json.loads(written)["pairs"][0]["second"]["host"]["hostname"] == HOSTILE
    exports = (f"--export=list{ending}" for ending in (".md", ".csv"))
    assert SHOWN in printed("history", *exports)
    rows = json.loads(printed("history", "--json"))["measurements"]
    assert {row["hostname"] for row in rows} == {HOSTILE}
    for name in ("list.md", "list.csv", *(f"out{ending}" for ending in ENDINGS)):
        text = (measured / name).read_text(encoding="utf-8")
        assert not ACTED_ON.search(text), name
    ElementTree.fromstring((measured / "out.svg").read_text(encoding="utf-8"))


def test_an_exported_script_runs_only_what_it_says(measured: Path) -> None:
    done = subprocess.run(
        [sys.executable, measured / "out.py"],
        capture_output=True,
        timeout=LIMIT_SECONDS,
        cwd=measured,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"ready") == 1
    assert b"\x1b" not in done.stdout
    assert not (measured / "pwned").exists()


def test_a_broken_jax_is_described_as_text(tmp_path: Path) -> None:
    (tmp_path / "jax.py").write_text(BROKEN_JAX)
    done = jaxtui(tmp_path, "devices", PYTHONPATH=str(tmp_path))
    assert done.returncode == 3
    assert FIRST_LINE in done.stderr


def test_a_function_in_a_folder_that_is_no_text_is_refused(tmp_path: Path) -> None:
    here = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    here.mkdir()
    (here / "mine.py").write_text(FUNCTION)
    for command in ("bench", "hlo"):
        done = jaxtui(tmp_path, command, f"{here}/mine.py:step")
        assert done.returncode == 64, done.stderr
        assert "utf-8" in done.stderr
        assert len(done.stderr.splitlines()) == 1


# The app.


def test_the_app_shows_exceptions_names_of_files_and_history_as_text(
    measured: Path,
) -> None:
    (measured / "site").mkdir()
    (measured / "site" / "jax.py").write_text(BROKEN_JAX)
    here = Path(os.fsdecode(os.fsencode(measured) + b"/caf\xe9"))
    here.mkdir()
    for name in (NAME, os.fsdecode(b"m\xff.py")):
        (here / name).write_text(FUNCTION)
    site = measured / "site"
    app = f"PYTHONPATH={site}:$PYTHONPATH {sys.executable} -m jaxtui; echo rc=$?"
    shell = Shell(40, 120, script=f"{app}; read end", cwd=here, data=measured / "data")
    shell.shows("hides the package jax", f"ImportError: {FIRST_LINE}")
    for key, texts in (
        ("4", (SHOWN[:12], "1 measure")),
        ("2", ("budget",)),
        ("d", (f"printed {SHOWN}",)),
        ("f", ("Enter take",)),
    ):
        shell.type(key)
        shell.shows(*texts)
    shell.type("\x1b")
    shell.until(lambda: "Enter take" not in shell.text, "the tab")
    shell.type("q")
    shell.writes("rc=0")
    shell.close()
    # An app sends sequences of its own, but not these.
    assert CLIPBOARD.encode() not in shell.written
    assert not re.search("[\x80-\x9f\u202e\u2066\u2028]", shell.written.decode())
