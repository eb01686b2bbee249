"""Free memory, and who else uses it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from jaxtui.measure import host
from jaxtui.measure.checks import memory, smi
from jaxtui.model import Holder
from tests.measure.checks.faults import check, done, events, readings

GIB = 1024**3

# From public logs: a v4 chip (jax#1491), and a GPU whose pool is 75 % of the card.
TPU = {
    "num_allocs": 30,
    "bytes_in_use": 2 * GIB,
    "bytes_limit": 33014415360,
    "bytes_reserved": GIB,
    "largest_free_block_bytes": 29000000000,
}
GPU = {
    "bytes_in_use": 1024,
    "bytes_limit": 110 * GIB,
    "bytes_reserved": 0,
    "largest_free_block_bytes": 0,
    "pool_bytes": 2 * 1024**2,
}
HOLDER = Holder(pid=77, user="eve", command="python train.py", paths=("/dev/accel0",))

GPUS_TEXT = """\
0, GPU-5f1b1a3e-0000-0000-0000-000000000000, 42000, 143771
1, GPU-77c0a9d2-0000-0000-0000-000000000001, 600, 143771
2, GPU-77c0a9d3-0000-0000-0000-000000000002, [N/A], [N/A]
"""
PROCESSES_TEXT = """\
GPU-5f1b1a3e-0000-0000-0000-000000000000, 4242, 41000
GPU-5f1b1a3e-0000-0000-0000-000000000000, 17, 500
GPU-77c0a9d2-0000-0000-0000-000000000001, 17, [Insufficient Permissions]
GPU-77c0a9d2-0000-0000-0000-000000000001, 18, [N/A]
"""


def report() -> smi.Report:
    return smi.Report(smi.parse_gpus(GPUS_TEXT), smi.parse_processes(PROCESSES_TEXT))


def test_every_device_has_the_memory_of_the_host() -> None:
    found = events(check("memory"))
    assert done(found) == ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
    read = readings(found)
    assert [one.device for one in read] == done(found)
    for one in read:
        assert one.measured is not None
        assert 0 < one.measured <= (host.total_host_bytes() or 0)
        assert one.unit == "bytes"
        assert "share it" in one.said


@pytest.mark.parametrize(
    ("available", "total", "doubted"),
    [
        (50 * GIB, 100 * GIB, False),
        (10 * GIB, 100 * GIB, False),
        (9 * GIB, 100 * GIB, True),
        (GIB, None, False),
    ],
)
def test_a_host_with_little_left(
    available: int, total: int | None, doubted: bool
) -> None:
    reading = memory.of_host("cpu:0", available, total)
    assert reading.measured == available
    assert bool(reading.doubt) == doubted


def test_a_host_that_does_not_say() -> None:
    assert memory.of_host("cpu:0", None, None).skipped


def test_the_limit_of_a_container_is_the_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "CGROUP", tmp_path)
    whole = host.total_host_bytes()
    assert whole is not None
    (tmp_path / "memory.max").write_text("max\n")
    assert host.total_host_bytes() == whole
    (tmp_path / "memory.max").write_text("1073741824\n")
    assert host.total_host_bytes() == GIB


def test_a_tpu_counts_what_is_reserved_as_used() -> None:
    reading = memory.of_device("tpu:0", TPU)
    assert reading.measured == TPU["bytes_limit"] - 3 * GIB
    assert reading.said == (
        "3.00 GiB of 30.7 GiB in use, 1.00 GiB of that reserved,"
        " largest free block 27.0 GiB."
    )
    assert not reading.doubt


def test_a_pool_that_has_taken_nothing_has_no_largest_block() -> None:
    assert "largest" not in memory.of_device("gpu:0", GPU).said


def test_a_device_without_statistics_is_skipped() -> None:
    reading = memory.of_device("gpu:0", {})
    assert reading.measured is None
    assert reading.skipped


@pytest.mark.parametrize(
    ("device", "used", "holders", "doubted"),
    [
        ("tpu:0", 4 * GIB, (HOLDER,), True),
        ("tpu:0", 3 * GIB, (HOLDER,), False),
        ("tpu:0", 4 * GIB, (), False),
        # Who holds the TPU is not on the GPU.
        ("gpu:0", 4 * GIB, (HOLDER,), False),
    ],
)
def test_much_in_use_while_somebody_holds_the_device(
    device: str, used: int, holders: tuple[Holder, ...], doubted: bool
) -> None:
    stats = {"bytes_in_use": used, "bytes_limit": 32 * GIB}
    doubt = memory.of_device(device, stats, holders).doubt
    assert bool(doubt) == doubted
    if doubted:
        assert "process 77 (python train.py)" in doubt


def test_what_nvidia_smi_says_is_understood() -> None:
    first, second, third = report().gpus
    assert (first.index, first.used_bytes) == (0, 42000 * 1024**2)
    assert (third.used_bytes, third.total_bytes) == (None, None)
    assert second.uuid.endswith("01")
    assert [one.pid for one in report().processes] == [4242, 17, 17, 18]
    assert [one.used_bytes for one in report().processes[2:]] == [None, None]


@pytest.mark.parametrize(
    "text",
    ["", "No devices were found\n", "No running processes found\n", "a, b\n1, 2, 3, 4"],
)
def test_what_is_no_answer_is_nothing(text: str) -> None:
    assert smi.parse_processes(text) == ()
    assert smi.parse_gpus("No devices were found\n") == ()


@pytest.mark.parametrize(
    ("ordinal", "visible", "index"),
    [
        (0, None, 0),
        (1, None, 1),
        (1, "1,0", 0),
        (0, "GPU-77c0a9d2", 1),
        (3, None, None),
        (2, "1,0", None),
        (0, "MIG-7a1b", None),
        (None, None, None),
        (0, "", None),
    ],
)
def test_which_gpu_a_device_is(
    ordinal: int | None, visible: str | None, index: int | None
) -> None:
    found = report().gpu(ordinal, visible)
    assert (found.index if found else None) == index


@pytest.mark.parametrize(
    ("own_pid", "own_bytes", "used_mib"),
    [
        # Listed: what is listed counts, and what JAX has taken if that is more.
        (17, 0, 42000 - 500),
        # Not listed, as in a container: JAX's own figure and room for a context.
        (99, 40 * GIB, 42000 - 41 * 1024),
        (99, 90 * GIB, 0),
    ],
)
def test_what_others_use(own_pid: int, own_bytes: int, used_mib: int) -> None:
    found = smi.others(report(), report().gpus[0], own_pid, own_bytes)
    assert found is not None
    assert found.used_bytes == used_mib * 1024**2
    assert found.processes[0].pid == 4242


def test_a_gpu_that_does_not_say_what_is_used() -> None:
    assert smi.others(report(), report().gpus[2], 17, 0) is None


@pytest.mark.parametrize(("used", "doubted"), [(14 * GIB, False), (15 * GIB, True)])
def test_a_gpu_that_others_use_much_of(used: int, doubted: bool) -> None:
    others = smi.Others(used, (smi.Process("GPU-5", 4242, 13 * GIB),))
    reading = memory.of_device("gpu:0", GPU, others=(others, 140 * GIB))
    assert bool(reading.doubt) == doubted
    if doubted:
        assert "process 4242 (13.0 GiB)" in reading.doubt
        assert "15.0 GiB of the 140 GiB" in reading.doubt


def program(tmp_path: Path, script: str) -> str:
    path = tmp_path / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_nvidia_smi_is_asked_for_both(tmp_path: Path) -> None:
    answers = 'case "$1" in *query-gpu*) cat <<E\n' + GPUS_TEXT
    answers += "E\n;; *) cat <<E\n" + PROCESSES_TEXT + "E\n;; esac"
    assert smi.query(program(tmp_path, answers)) == report()


def test_without_nvidia_smi_nothing_is_known(tmp_path: Path) -> None:
    assert smi.query(str(tmp_path / "missing")) is None


def test_a_driver_that_fails(tmp_path: Path) -> None:
    failing = "echo 'NVIDIA-SMI has failed because it could not communicate'; exit 9"
    assert smi.query(program(tmp_path, failing)) is None


def test_a_driver_that_hangs_is_given_up(tmp_path: Path) -> None:
    hanging = program(tmp_path, "echo $$ >> pids; exec sleep 600")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert smi.query(hanging, limit_seconds=0.5) is None
    finally:
        os.chdir(before)
    for pid in (tmp_path / "pids").read_text().split():
        assert not Path(f"/proc/{pid}").exists()
