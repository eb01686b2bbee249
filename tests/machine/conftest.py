"""A made-up machine under a temporary root."""

from __future__ import annotations

from pathlib import Path

import pytest


class Machine:
    """Adds chips, device files, processes and locks to a root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "proc").mkdir()
        (root / "proc/uptime").write_text("5000.00 9000.00\n")
        (root / "sys/bus/pci/devices").mkdir(parents=True)
        (root / "dev").mkdir()
        self._slots = 0

    def chip(self, vendor: str, device: str, **facts: str) -> None:
        folder = self.root / f"sys/bus/pci/devices/0000:00:{self._slots:02x}.0"
        folder.mkdir()
        self._slots += 1
        for name, value in {"vendor": vendor, "device": device, **facts}.items():
            (folder / name).write_text(f"{value}\n")

    def node(self, name: str, mode: int = 0o666) -> Path:
        path = self.root / "dev" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(mode)
        return path

    def process(self, pid: int, command: str, *opened: str) -> None:
        folder = self.root / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "cmdline").write_bytes(command.replace(" ", "\0").encode())
        before = " ".join(["1"] * 18)
        (folder / "stat").write_text(f"{pid} (a ) b) S {before} 100000 0\n")
        for number, path in enumerate(opened):
            (folder / "fd" / str(number)).symlink_to(path)

    def lock(self, pid: int) -> None:
        file = self.root / "tmp/libtpu_lockfile"
        file.parent.mkdir(exist_ok=True)
        file.touch()
        inode = file.stat().st_ino
        line = f"1: POSIX  ADVISORY  WRITE {pid} fe:00:{inode} 0 EOF\n"
        (self.root / "proc/locks").write_text(line)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
