from __future__ import annotations

import os
import sys

import pytest

from jaxtui.machine.holders import blocking, holders, tpu_present


@pytest.fixture
def proc(tmp_path):
    """A made-up /proc: ``add(pid, command, *paths that it has open)``."""
    root = tmp_path / "proc"
    root.mkdir()
    (root / "self").mkdir()
    (root / "meminfo").write_text("MemTotal: 1 kB\n")

    def add(pid, command, *paths):
        fds = root / str(pid) / "fd"
        fds.mkdir(parents=True)
        (root / str(pid) / "cmdline").write_bytes(command)
        (root / str(pid) / "comm").write_text("named\n")
        for number, path in enumerate(paths):
            (fds / str(number)).symlink_to(path)

    add.root = root
    return add


@pytest.fixture
def pci(tmp_path):
    root = tmp_path / "sys"

    def add(slot, vendor, device):
        directory = root / "bus/pci/devices" / slot
        directory.mkdir(parents=True)
        (directory / "vendor").write_text(vendor + "\n")
        (directory / "device").write_text(device + "\n")

    add.root = root
    return add


@pytest.fixture
def dev(tmp_path):
    """A made-up /dev: ``add("accel0")``."""
    root = tmp_path / "dev"

    def add(name):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()

    add.root = root
    return add


def test_whoever_has_a_device_file_open_is_found(proc):
    proc(41, b"python\0train.py\0--big\0", "/dev/accel1", "/dev/accel0", "/dev/null")
    proc(7, b"", "/dev/vfio/3")
    proc(8, b"sh\0", "/dev/accel0x", "/dev/vfio/vfio", "/tmp/dev/accel0", "socket:[1]")
    first, second = holders(proc.root)
    assert (first.pid, first.command, first.paths) == (7, "named", ("/dev/vfio/3",))
    assert second.command == "python train.py --big"
    assert second.paths == ("/dev/accel0", "/dev/accel1")
    assert second.user


def test_this_process_does_not_hold_up_itself(proc):
    proc(os.getpid(), b"me\0", "/dev/accel0")
    assert holders(proc.root) == ()


def test_without_proc_nobody_is_found(tmp_path):
    assert holders(tmp_path / "nothing") == ()


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() == 0, reason="root may look anywhere"
)
def test_processes_that_may_not_be_looked_into_are_left_out(proc):
    proc(5, b"secret\0", "/dev/accel0")
    (proc.root / "5/fd").chmod(0)
    proc(6, b"open\0", "/dev/accel1")
    assert [holder.pid for holder in holders(proc.root)] == [6]


def test_a_process_that_ends_meanwhile_is_left_out(proc):
    (proc.root / "9").mkdir()
    assert holders(proc.root) == ()


@pytest.mark.parametrize(
    ("device", "present"), [("0x0063", True), ("0x0042", False), ("0x001f", False)]
)
def test_googles_network_card_is_no_tpu(pci, device, present):
    pci("0000:00:04.0", "0x1ae0", device)
    pci("0000:00:05.0", "0x8086", "0x0063")
    assert tpu_present(pci.root) is present


@pytest.mark.parametrize(
    ("environment", "blocked"),
    [
        ({}, True),
        ({"JAX_PLATFORMS": ""}, True),
        ({"JAX_PLATFORMS": "tpu,cpu"}, True),
        ({"JAX_PLATFORMS": "cpu"}, False),
        ({"JAX_PLATFORMS": "cuda,cpu"}, False),
        ({"TPU_VISIBLE_CHIPS": "1"}, False),
        ({"TPU_VISIBLE_DEVICES": "1"}, False),
    ],
)
def test_a_holder_blocks_only_who_wants_the_whole_tpu(
    proc, pci, dev, environment, blocked
):
    dev("accel0")
    proc(41, b"python\0", "/dev/accel0")
    assert bool(blocking(environment, proc.root, pci.root, dev.root)) is blocked


def test_vfio_counts_only_where_a_tpu_is(proc, pci, dev):
    dev("vfio/1")
    proc(41, b"qemu\0", "/dev/vfio/1")
    roots = (proc.root, pci.root, dev.root)
    assert blocking({}, *roots) == ()
    pci("0000:00:04.0", "0x1ae0", "0x006f")
    assert [holder.pid for holder in blocking({}, *roots)] == [41]


def test_without_device_files_nobody_blocks(proc, pci, dev):
    proc(41, b"python\0", "/dev/accel0")
    assert blocking({}, proc.root, pci.root, dev.root) == ()
