"""stdout and stderr that are full, closed or read by nobody."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.processes import FAKE_PYTHON, LIMIT_SECONDS, PROGRAM


def shell(
    command: str, before: str = "", **options: int
) -> subprocess.CompletedProcess[str]:
    """``jaxtui`` with these arguments and redirections."""
    streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        f"{before}{shlex.join(PROGRAM)} {command}",
        shell=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_SECONDS,
        **streams,
    )
    return done


def assert_says_so(done: subprocess.CompletedProcess[str], why: str) -> None:
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1].startswith("jaxtui: ")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_printed_is_said_in_a_sentence() -> None:
    full = shell("learn --json > /dev/full")
    assert_says_so(full, "No space left")
    assert full.stderr.count("\n") == 1
    assert_says_so(shell("bench --help > /dev/full"), "No space left")
    assert_says_so(shell("learn --json >&-"), "stdout is closed")
    read, write = os.pipe()
    os.close(read)
    assert_says_so(shell("learn", stdout=write), "Broken pipe")
    os.close(write)


@pytest.mark.parametrize("redirection", ["> /dev/full", ">&- 2>&- <&-"])
def test_a_bench_that_cannot_print_still_exports_and_keeps(redirection: str) -> None:
    bench = f"bench quick:1 --export out.json --python '{FAKE_PYTHON}'"
    assert shell(f"{bench} {redirection}").returncode == 3
    assert len(json.loads(Path("out.json").read_text())["measurements"]) == 1
    assert len(json.loads(shell("history --json").stdout)["measurements"]) == 1


@pytest.mark.parametrize("redirection", ["2> /dev/full", "2>&-"])
def test_without_a_stderr_the_result_is_still_printed(redirection: str) -> None:
    done = shell(f"devices --json --python '{FAKE_PYTHON}' {redirection}")
    assert done.returncode == 0
    assert json.loads(done.stdout)["devices"]


def test_a_stderr_that_nobody_reads_changes_no_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With this Python keeps nothing back, and has nothing to complain of at its end.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    for redirection in ("2> /dev/full", "2>&-", "2> >(exec true)"):
        words = f"{shlex.join(PROGRAM)} --no-such-option {redirection}; exit $?"
        assert subprocess.run(["bash", "-c", words], check=False).returncode == 64


def test_too_few_files_are_a_sentence() -> None:
    done = shell(f"devices --python '{FAKE_PYTHON}'", before="ulimit -n 6; exec ")
    assert_says_so(done, os.strerror(errno.EMFILE))
    assert "6" in done.stderr
    assert done.stderr.count("\n") == 1
