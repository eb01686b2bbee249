"""Free memory, and who else uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.machine.gpu_memory import nvidia, processes
from jaxtui.measure import host
from jaxtui.measure.check import memory
from jaxtui.model import Holder
from tests.measure.check.faults import NAMES, check, done, events, readings

GIB = 1024**3
MIB = 1024**2

# From a public log of a v4 chip (jax#1491).
TPU = {
    "bytes_in_use": 2 * GIB,
    "bytes_limit": 33014415360,
    "bytes_reserved": GIB,
    "largest_free_block_bytes": 29000000000,
}
HOLDER = Holder(pid=77, user="eve", command="python train.py", paths=("/dev/accel0",))

GPUS_TEXT = """\
0, GPU-5f1b1a3e-0000-0000-0000-000000000000, 42000, 143771
1, GPU-77c0a9d2-0000-0000-0000-000000000001, 600, 143771
2, GPU-77c0a9d3-0000-0000-0000-000000000002, [N/A], [N/A]
"""
PROCESSES_TEXT = """\
GPU-5f1b1a3e-0000-0000-0000-000000000000, 17, 500
GPU-5f1b1a3e-0000-0000-0000-000000000000, 4242, 41000
GPU-77c0a9d2-0000-0000-0000-000000000001, 17, [Insufficient Permissions]
GPU-77c0a9d2-0000-0000-0000-000000000001, 18, [N/A]
"""
SMI = memory.SmiReport((*nvidia(GPUS_TEXT),), (*processes(PROCESSES_TEXT),))


def test_every_device_has_the_memory_of_the_host() -> None:
    found = events(check("memory"))
    read = readings(found)
    assert done(found) == [one.device for one in read] == NAMES
    for one in read:
        assert 0 < (one.measured or 0) <= (host.total_host_bytes() or 0)
        assert one.unit == "bytes"
        assert "share it" in one.said


@pytest.mark.parametrize(
    ("available", "total", "doubted"),
    [
        (10 * GIB, 100 * GIB, False),
        (9 * GIB, 100 * GIB, True),
        (GIB, None, False),
        (None, None, False),
    ],
)
def test_a_host_with_little_left(
    available: int | None, total: int | None, doubted: bool
) -> None:
    reading = memory.of_host("cpu:0", available, total)
    assert reading.measured == available
    assert bool(reading.doubt) == doubted
    assert bool(reading.skipped) == (available is None)


def test_the_limit_of_a_container_is_the_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "CGROUP", tmp_path)
    whole = host.total_host_bytes()
    assert whole is not None
    for limit, total in (("max", whole), (str(GIB), GIB)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert host.total_host_bytes() == total


def test_what_statistics_say() -> None:
    reading = memory.of_device("tpu:0", TPU)
    assert reading.measured == TPU["bytes_limit"] - 3 * GIB
    assert reading.said == (
        "3.00 GiB of 30.7 GiB in use, 1.00 GiB of that reserved,"
        " largest free block 27.0 GiB."
    )
    assert not reading.doubt
    # A pool that has taken nothing has no largest block.
    empty = TPU | {"largest_free_block_bytes": 0}
    assert "largest" not in memory.of_device("gpu:0", empty).said
    silent = memory.of_device("gpu:0", {})
    assert (silent.measured, bool(silent.skipped)) == (None, True)


def others(used: int) -> memory.Others:
    return memory.Others(used, 140 * GIB, SMI.processes[1:2])


@pytest.mark.parametrize(
    ("device", "used", "holders", "others", "says"),
    [
        ("tpu:0", 4 * GIB, (HOLDER,), None, "process 77 (python train.py)"),
        ("tpu:0", 3 * GIB, (HOLDER,), None, ""),
        ("tpu:0", 4 * GIB, (), None, ""),
        # Who holds the TPU is not on the GPU.
        ("gpu:0", 4 * GIB, (HOLDER,), None, ""),
        ("gpu:0", 0, (), others(14 * GIB), ""),
        (
            "gpu:0",
            0,
            (),
            others(15 * GIB),
            "15.0 GiB of the 140 GiB of this GPU, says nvidia-smi: process 4242 (40.0",
        ),
    ],
)
def test_much_that_others_use(
    device: str,
    used: int,
    holders: tuple[Holder, ...],
    others: memory.Others | None,
    says: str,
) -> None:
    stats = {"bytes_in_use": used, "bytes_limit": 32 * GIB}
    doubt = memory.of_device(device, stats, holders, others).doubt
    assert says in doubt
    assert bool(says) == bool(doubt)


# nvidia-smi.


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
    found = SMI.gpu(ordinal, visible)
    assert (found.index if found else None) == index


@pytest.mark.parametrize(
    ("own_pid", "own_bytes", "used_mib"),
    [
        # Listed: what is listed counts, and what JAX has taken if that is more.
        (17, 0, 42000 - 500),
        (17, GIB, 42000 - 1024),
        # Not listed, as in a container: JAX's own figure and room for a context.
        (99, 40 * GIB, 42000 - 41 * 1024),
        (99, 90 * GIB, 0),
    ],
)
def test_what_others_use(own_pid: int, own_bytes: int, used_mib: int) -> None:
    found = SMI.others(SMI.gpus[0], own_pid, own_bytes)
    assert found is not None
    assert (found.used_bytes, found.total_bytes) == (used_mib * MIB, 143771 * MIB)
    # The largest is first.
    assert found.processes[0].pid == 4242
    # What nvidia-smi does not say is not known.
    assert SMI.others(SMI.gpus[2], own_pid, own_bytes) is None


def test_other_words_of_nvidia_smi_are_left_out() -> None:
    for text in ("", "No devices were found\n", "a, b\n1, 2, 3, 4, 5"):
        assert not [*nvidia(text), *processes(text)]


def test_the_program_itself(tmp_path: Path) -> None:
    path = tmp_path / "nvidia-smi"
    assert memory.query_smi(program=str(path)) is None
    both = 'case "$1" in *query-gpu*) cat <<E\n' + GPUS_TEXT
    both += "E\n;; *) cat <<E\n" + PROCESSES_TEXT + "E\n;; esac"
    path.write_text(f"#!/bin/sh\n{both}\n")
    path.chmod(0o755)
    assert memory.query_smi(program=str(path)) == SMI
