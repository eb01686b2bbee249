"""``jaxtui bench --memory``: one end on purpose, said everywhere, or why not."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jaxtui.machine import malloc

SECONDS = 120
WORDS = ("bench", "sigmoid:250000", "--mode", "numpy", "--budget", "1")

pytestmark = pytest.mark.skipif(bool(malloc.why_unknown()), reason=malloc.why_unknown())


def jaxtui(folder: Path, *words: str, **variables: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxtui", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "JAXTUI_DATA": str(folder / "data"), **variables},
    )
    return done.returncode, done.stdout, done.stderr


def other_malloc(folder: Path) -> str:
    """A library with a malloc that is not glibc's, though it passes everything on."""
    source, made = folder / "other.c", folder / "other.so"
    source.write_text(
        "#include <stddef.h>\nextern void *__libc_malloc(size_t);\n"
        "void *malloc(size_t size) { return __libc_malloc(size); }\n"
    )
    command = ["gcc", "-shared", "-fPIC", "-o", str(made), str(source)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no C compiler: {error}")
    return str(made)


def notes(measurement: Any) -> dict[str, str]:
    return {note["flag"]: note["text"] for note in measurement["notes"]}


def test_every_row_and_record_says_which_end_it_is(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"

    def bench(end: str) -> tuple[int, str, str]:
        more = ("--export", str(table)) if end == "fresh" else ()
        return jaxtui(tmp_path, *WORDS, "--memory", end, "--json", *more)

    with ThreadPoolExecutor() as pool:
        runs = dict(zip(malloc.ENDS, pool.map(bench, malloc.ENDS), strict=True))
    for end, (code, out, _) in runs.items():
        assert code == 0
        document = json.loads(out)
        (one,) = document["measurements"]
        assert one["memory"] is None
        assert f"Memory is {end} on purpose" in notes(one)["memory"]
        assert "page-faults" not in notes(one)
        assert document["host"]["settings"] == malloc.ENVIRONMENT[end]
    assert "about 0 page faults" in runs["reused"][1]
    assert re.search("about (9[5-9]|10[0-2]). page faults", runs["fresh"][1])
    (row,) = csv.DictReader(table.read_text().splitlines())
    assert "memory" in row["notes"].split()
    assert row["memory_fresh"] == row["memory_reused"] == row["page_faults"] == ""
    _, out, _ = jaxtui(tmp_path, "compare", "1", "2")
    assert "MALLOC_TOP_PAD_" in out


def test_where_it_cannot_be_had_one_sentence_says_so(tmp_path: Path) -> None:
    other = other_malloc(tmp_path)
    words = (*WORDS, "--memory", "reused", "--json")
    code, out, said = jaxtui(tmp_path, *words, LD_PRELOAD=other)
    assert code == 0
    assert said.count("There is no choosing reused memory here") == 1
    assert "LD_PRELOAD" in said
    (one,) = json.loads(out)["measurements"]
    assert one["ready"]["median"] > 0
    assert "memory" not in notes(one)
    code, out, said = jaxtui(tmp_path, *WORDS, "--memory", "mine")
    assert (code, out) == (64, "")
    assert "'mine' is not one of 'fresh', 'reused'" in said
