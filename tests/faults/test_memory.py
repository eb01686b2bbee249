"""``jaxtui bench --memory``: one end on purpose, said everywhere, or why not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jaxtui.machine import malloc
from tests.processes import ended as jaxtui

WORDS = ("bench", "sigmoid:250000", "--mode", "numpy", "--budget", "0.5", "--json")

OTHER_MALLOC = """
#include <stddef.h>
extern void *__libc_malloc(size_t);
void *malloc(size_t size) { return __libc_malloc(size); }
"""
"""It is not glibc's, though it passes everything on."""

pytestmark = pytest.mark.skipif(bool(malloc.why_unknown()), reason=malloc.why_unknown())


def notes(measurement: Any) -> dict[str, str]:
    return {note["flag"]: note["text"] for note in measurement["notes"]}


def test_both_ends_are_two_engines_and_one_document() -> None:
    done = jaxtui(*WORDS, "--memory", "fresh,reused")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["memory"] == ["fresh", "reused"]
    faults = {"fresh": "(9[5-9]|10[0-2]). page faults", "reused": ": 0 page faults"}
    for end, side in zip(document["memory"], document["sides"], strict=True):
        (one,) = side["measurements"]
        assert end in notes(one)["memory"]
        assert re.search(faults[end], notes(one)["memory"])
        assert "page-faults" not in notes(one)
        assert side["host"]["settings"] == malloc.ENVIRONMENT[end]
    (found,) = document["comparisons"]
    assert found["comparison"]["ratio"] > 0
    # The history has both, and what differs.
    assert "MALLOC_TOP_PAD_" in jaxtui("compare", "1", "2").stdout


def test_where_it_cannot_be_had_one_sentence_says_so(tmp_path: Path) -> None:
    Path("other.c").write_text(OTHER_MALLOC)
    command = ["gcc", "-shared", "-fPIC", "-o", "other.so", "other.c"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no C compiler: {error}")
    done = jaxtui(*WORDS, "--memory", "reused", LD_PRELOAD=tmp_path / "other.so")
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert "LD_PRELOAD" in done.stderr
    (one,) = json.loads(done.stdout)["measurements"]
    assert one["ready"]["median"] > 0
    assert "memory" not in notes(one)
