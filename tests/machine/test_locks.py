from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from jaxtui.machine import locks
from jaxtui.machine.locks import Lock

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(file: Path):
    """Another process holds the lock, as libtpu would; gives its number."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"locked\n"
        try:
            yield child.pid
        finally:
            child.communicate()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / locks.LOCK_FILE
    path.parent.mkdir()
    path.touch()
    return path


def test_without_the_file_there_is_no_lock(tmp_path):
    assert locks.lock(tmp_path) == Lock()


def test_a_file_that_nobody_holds_does_no_harm(file, tmp_path):
    assert locks.lock(tmp_path) == Lock()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux's kernel")
def test_a_real_holder_is_named_by_the_kernel_alone(file, tmp_path):
    with held(file) as pid:
        assert locks.lock(tmp_path) == Lock((pid,))
    assert locks.lock(tmp_path) == Lock()


def test_the_list_of_the_kernel_names_the_holder(machine):
    machine.lock(4242)
    assert locks.lock(machine.root) == Lock((4242,))
    assert locks.lock_holders(machine.root) == (4242,)


def test_this_process_does_not_hold_up_itself(machine):
    machine.lock(os.getpid())
    assert locks.lock(machine.root) == Lock()


def test_a_holder_in_another_container_has_no_number(file, tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_asked", lambda file: 0)
    assert locks.lock(tmp_path) == Lock(unseen=True)


def test_a_left_over_file_of_another_user_is_told(file, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert locks.lock(tmp_path) == Lock(closed_by=file.owner())
