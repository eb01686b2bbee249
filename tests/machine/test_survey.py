from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxtui.machine import locks, pci
from jaxtui.machine.survey import Survey, survey


def test_a_machine_without_accelerators_is_not_looked_through(machine):
    machine.chip("0x8086", "0x1237", **{"class": "0x060000"})
    machine.process(41, "python train.py", "/dev/accel0")
    assert survey({"JAX_PLATFORMS": "cpu", "HOME": "/"}, machine.root) == Survey(
        environment={"JAX_PLATFORMS": "cpu"}
    )


@pytest.mark.parametrize(
    ("vendor", "device", "facts", "maker", "kind"),
    [
        ("0x1ae0", "0x0063", {}, "tpu", "TPU v5e"),
        ("0x1ae0", "0x0027", {"subsystem_device": "0x004f"}, "tpu", "TPU v3"),
        ("0x1ae0", "0x0027", {}, "tpu", "TPU v2 or v3"),
        ("0x10de", "0x2335", {"class": "0x030200"}, "cuda", "NVIDIA 0x2335"),
        ("0x1002", "0x74a1", {"class": "0x120000"}, "rocm", "AMD 0x74a1"),
    ],
)
def test_chips_are_known_by_their_ids(machine, vendor, device, facts, maker, kind):
    machine.chip(vendor, device, **facts)
    (chip,) = pci.chips(machine.root / "sys")
    assert (chip.maker, chip.kind) == (maker, kind)


@pytest.mark.parametrize(
    ("vendor", "device", "kind"),
    [
        ("0x1ae0", "0x0042", "0x020000"),  # Google's network card
        ("0x10de", "0x22b9", "0x040300"),  # the sound of an NVIDIA card
        ("0x8086", "0x3e92", "0x030000"),  # another maker's display
    ],
)
def test_other_devices_are_no_chips(machine, vendor, device, kind):
    machine.chip(vendor, device, **{"class": kind})
    assert pci.chips(machine.root / "sys") == ()


def test_chips_in_words(machine):
    for _ in range(8):
        machine.chip("0x1ae0", "0x0063")
    machine.chip("0x10de", "0x2335", **{"class": "0x030200"})
    words = pci.in_words(pci.chips(machine.root / "sys"))
    assert words == "8 chips TPU v5e and 1 GPU NVIDIA 0x2335"


def test_everything_at_once(machine):
    machine.chip("0x1ae0", "0x0063")
    machine.node("accel0")
    machine.node("vfio/3")
    machine.process(41, "python train.py", "/dev/accel0", "/dev/null")
    machine.hugepages("always [madvise] never")
    seen = survey({}, machine.root)
    assert [node.path for node in seen.nodes] == ["/dev/accel0", "/dev/vfio/3"]
    assert all(node.usable and ":" in node.owner for node in seen.nodes)
    (holder,) = seen.holders
    assert (holder.pid, holder.paths) == (41, ("/dev/accel0",))
    ticks = os.sysconf("SC_CLK_TCK")
    assert holder.age_seconds == pytest.approx(5000 - 100000 / ticks)
    assert seen.hugepages == "madvise"
    assert seen.packages is not None
    assert seen.packages.jax


def test_a_recorded_lock_names_its_holder(machine):
    assert locks.lock_holders(machine.root) == ()
    machine.lock(4242)
    assert locks.lock_holders(machine.root) == (4242,)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks is Linux's")
def test_a_real_lock_of_a_real_process_is_found(tmp_path: Path):
    file = tmp_path / locks.LOCK_FILE
    file.parent.mkdir()
    file.touch()
    (tmp_path / "proc").symlink_to("/proc")
    code = (
        "import fcntl, sys\n"
        f"file = open({str(file)!r}, 'w')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"locked\n"
        found = locks.lock_holders(tmp_path)
        child.communicate()
    if not found:
        pytest.skip("this kernel does not show the locks of others")
    assert found == (child.pid,)
    with file.open("w") as mine:
        fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
