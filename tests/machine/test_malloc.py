"""glibc's malloc: its ends by page faults, which depend on nothing else; its name."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from jaxtui.machine import malloc

known = pytest.mark.skipif(bool(malloc.why_unknown()), reason=malloc.why_unknown())

COUNT = """
import resource

import numpy as np

x = np.ones(250_000, np.float32)
def faults(calls=20):
    counted = []
    for _ in range(2 * calls):
        counted.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        1 / (1 + np.exp(-x))
    return (counted[-1] - counted[calls]) / (calls - 1)
"""
PAGES = 4 * 1_000_000 / 4096
"""Of the four results of a call."""


def python(code: str, **variables: str | None) -> str:
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in environment.items() if value is not None},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in malloc.settings():
        monkeypatch.delenv(name)


@known
def test_a_plain_script_has_the_end_that_its_environment_chooses() -> None:
    code = f"{COUNT}\nprint(faults())"
    fresh, reused = (
        float(python(code, **malloc.environment(end))) for end in malloc.ENDS
    )
    assert fresh == pytest.approx(PAGES, rel=0.1)
    assert reused < 0.01 * PAGES


@known
def test_what_was_set_before_does_not_contradict_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert malloc.settings() == {}
    monkeypatch.setenv("MALLOC_PERTURB_", "1")
    assert (malloc.settings(), malloc.chosen_end()) == ({}, None)
    monkeypatch.setenv("MALLOC_MMAP_MAX_", "0")
    monkeypatch.setenv(
        "GLIBC_TUNABLES", "glibc.malloc.arena_max=1:glibc.cpu.x86_rep_movsb=2"
    )
    assert [*malloc.settings()] == ["GLIBC_TUNABLES", "MALLOC_MMAP_MAX_"]
    assert malloc.chosen_end() is None
    for end in malloc.ENDS:
        changed = malloc.environment(end)
        assert changed["GLIBC_TUNABLES"] == "glibc.cpu.x86_rep_movsb=2"
        for name, value in changed.items():
            if value is None:
                monkeypatch.delenv(name)
            else:
                monkeypatch.setenv(name, value)
        assert malloc.chosen_end() == end
        assert malloc.setting(end) == " ".join(
            f"{name}={value}" for name, value in malloc.settings().items()
        )
        assert [*malloc.remarks()] == []
