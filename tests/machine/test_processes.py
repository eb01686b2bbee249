"""Who has a device open, who holds libtpu's lock, and what that means for a start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxtui.core.engine.core import Core
from jaxtui.machine import processes
from jaxtui.machine.processes import Lock, holders, lock
from tests.machine.conftest import Machine

HOLD = (
    "import fcntl, sys; file = open(sys.argv[1], 'w');"
    "fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
)


def test_whoever_has_a_device_file_open_is_found(machine: Machine) -> None:
    machine.process(
        41, "python train.py --big", "/dev/accel1", "/dev/accel0", "/dev/null"
    )
    machine.process(7, "", "/dev/vfio/3")
    (machine.root / "proc/7/comm").write_text("named\n")
    machine.process(8, "sh", "/dev/accel0x", "/dev/vfio/vfio", "/dev/nvidiactl", "pipe")
    machine.process(os.getpid(), "this", "/dev/accel0")
    (machine.root / "proc/9").mkdir()  # it ends meanwhile
    (machine.root / "proc/self").mkdir()
    first, second = holders(machine.root / "proc")
    assert (first.pid, first.command, first.paths) == (7, "named", ("/dev/vfio/3",))
    assert second.command == "python train.py --big"
    assert second.paths == ("/dev/accel0", "/dev/accel1")
    assert second.user
    ticks = os.sysconf("SC_CLK_TCK")
    assert second.age_seconds == pytest.approx(5000 - 100000 / ticks)
    assert holders(machine.root / "nothing") == ()


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() == 0, reason="root may look anywhere"
)
def test_processes_that_may_not_be_looked_into_are_left_out(machine: Machine) -> None:
    machine.process(5, "secret", "/dev/accel0")
    (machine.root / "proc/5/fd").chmod(0)
    machine.process(6, "open", "/dev/accel1")
    (found,) = holders(machine.root / "proc")
    assert found.pid == 6


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / processes.LOCK_FILE
    path.parent.mkdir()
    path.touch()
    (tmp_path / "proc").symlink_to("/proc")
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux's kernel")
def test_a_lock_of_a_real_process_is_told_with_it(file: Path, tmp_path: Path) -> None:
    """libtpu's text, a real holder: it is named, and deleting is not advised."""
    refused = RuntimeError(
        "Unable to initialize backend 'tpu': ABORTED: Internal error when accessing"
        ' libtpu multi-process lockfile. Run "$ sudo rm /tmp/libtpu_lockfile".'
    )
    core = Core(tmp_path)
    assert lock(tmp_path) == Lock()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert [one.pid for one in lock(tmp_path).holders] == [child.pid]
        failed = core._explained(refused)
        child.communicate()
    assert failed.remark.code == "tpu-locked"
    assert failed.remark.facts["pid"] == child.pid
    assert [holder.pid for holder in failed.holders] == [child.pid]
    # Once it has ended, the file may go; libtpu's words alone do not say so.
    assert lock(tmp_path) == Lock()
    assert core._explained(refused).remark.facts == {"lock": True}


def test_the_process_that_libtpu_names_is_looked_up(file: Path, tmp_path: Path) -> None:
    refused = RuntimeError(
        "ABORTED: The TPU is already in use by process with pid"
        f" {os.getpid()}. Not attempting to load libtpu.so in this process."
    )
    failed = Core(tmp_path)._explained(refused)
    facts = failed.remark.facts
    assert (failed.remark.code, facts["pid"]) == ("held", os.getpid())
    assert facts["command"] == failed.holders[0].command != ""


def test_what_can_be_seen_of_a_lock(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lock(machine.root) == Lock()
    machine.lock(4242)
    assert [one.pid for one in lock(machine.root).holders] == [4242]
    machine.lock(os.getpid())
    assert lock(machine.root) == Lock()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    owner = (machine.root / processes.LOCK_FILE).owner()
    assert lock(machine.root) == Lock(closed_by=owner)
