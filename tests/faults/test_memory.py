"""``jaxtui bench --memory``: one end on purpose, said everywhere, or why not."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jaxtui.machine import malloc
from tests.processes import jaxtui

WORDS = ("bench", "sigmoid:250000", "--mode", "numpy", "--budget", "1")

pytestmark = pytest.mark.skipif(bool(malloc.why_unknown()), reason=malloc.why_unknown())


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
    table, data = tmp_path / "table.csv", tmp_path / "data"

    def bench(end: str) -> subprocess.CompletedProcess[str]:
        more = ("--export", str(table)) if end == "fresh" else ()
        return jaxtui(*WORDS, "--memory", end, "--json", *more, data=data)

    with ThreadPoolExecutor() as pool:
        runs = dict(zip(malloc.ENDS, pool.map(bench, malloc.ENDS), strict=True))
    for end, done in runs.items():
        assert done.returncode == 0
        document = json.loads(done.stdout)
        (one,) = document["measurements"]
        assert one["memory"] is None
        assert f"Memory is {end} on purpose" in notes(one)["memory"]
        assert "page-faults" not in notes(one)
        assert document["host"]["settings"] == malloc.ENVIRONMENT[end]
    assert "about 0 page faults" in runs["reused"].stdout
    assert re.search("about (9[5-9]|10[0-2]). page faults", runs["fresh"].stdout)
    (row,) = csv.DictReader(table.read_text().splitlines())
    assert "memory" in row["notes"].split()
    assert row["memory_fresh"] == row["memory_reused"] == row["page_faults"] == ""
    assert "MALLOC_TOP_PAD_" in jaxtui("compare", "1", "2", data=data).stdout


def test_where_it_cannot_be_had_one_sentence_says_so(tmp_path: Path) -> None:
    other = other_malloc(tmp_path)
    words = (*WORDS, "--memory", "reused", "--json")
    done = jaxtui(*words, data=tmp_path, LD_PRELOAD=other)
    assert done.returncode == 0
    assert done.stderr.count("There is no choosing reused memory here") == 1
    assert "LD_PRELOAD" in done.stderr
    (one,) = json.loads(done.stdout)["measurements"]
    assert one["ready"]["median"] > 0
    assert "memory" not in notes(one)
    done = jaxtui(*WORDS, "--memory", "mine", data=tmp_path)
    assert (done.returncode, done.stdout) == (64, "")
    assert "'mine' is not one of 'fresh', 'reused'" in done.stderr
