from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from jaxtui.core.model import Host
from jaxtui.features.devices.report import explain
from jaxtui.machine import limits
from tests.records import device

V1, V2 = "9:name=systemd:/\n4:cpu,cpuacct:/docker/a\n3:memory:/docker/a\n", "0::/a/b\n"
NONE_OF_V1 = 2**63 - 4096


def machine(root: Path, group: str, files: dict[str, object]) -> Path:
    """A root of a machine with these control groups."""
    for name, text in {"proc/self/cgroup": group, **files}.items():
        path = root / (name if name[:4] == "proc" else f"sys/fs/cgroup/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


@pytest.mark.parametrize(
    ("group", "files", "cores"),
    [
        (V2, {}, 16),
        (V2, {"a/b/cpu.max": "max 100000"}, 16),
        (V2, {"a/b/cpu.max": "150000 100000"}, 1.5),
        # The group around it has less.
        (V2, {"a/b/cpu.max": "400000 100000", "a/cpu.max": "200000 100000"}, 2),
        # In a container, whose own group is the outermost that it sees.
        ("0::/\n", {"cpu.max": "50000 100000"}, 0.5),
        ("0::/../x\n", {"cpu.max": "50000 100000"}, 0.5),
        (V2, {"unified/a/cpu.max": "100000 100000"}, 1),
        (V2, {"a/cpu.max": "broken"}, 16),
        (
            V1,
            {
                "cpu,cpuacct/cpu.cfs_quota_us": 300_000,
                "cpu,cpuacct/cpu.cfs_period_us": 100_000,
            },
            3,
        ),
        (
            V1,
            {
                "cpu/docker/a/cpu.cfs_quota_us": -1,
                "cpu/docker/a/cpu.cfs_period_us": 100_000,
            },
            16,
        ),
    ],
)
def test_cores_of_a_control_group(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    group: str,
    files: dict[str, object],
    cores: float,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16), raising=False)
    assert limits.cores(machine(tmp_path, group, files)) == cores


@pytest.mark.parametrize(
    ("group", "files", "free"),
    [
        (V2, {}, None),
        (V2, {"a/b/memory.max": "max", "a/b/memory.current": 600}, None),
        (V2, {"a/b/memory.max": 1000, "a/b/memory.current": 600}, 400),
        (
            "0::/\n",
            {
                "memory.max": 1000,
                "memory.current": 600,
                "memory.stat": "anon 5\ninactive_file 150",
            },
            550,
        ),
        (
            V1,
            {
                "memory/memory.limit_in_bytes": 1000,
                "memory/memory.usage_in_bytes": 600,
                "memory/memory.stat": "inactive_file 1\ntotal_inactive_file 150",
            },
            550,
        ),
        (
            V1,
            {
                "memory/memory.limit_in_bytes": NONE_OF_V1,
                "memory/memory.usage_in_bytes": 600,
            },
            None,
        ),
        # ``ulimit -v``, of which the process has taken a page.
        (V2, {"proc/self/statm": "1 1 1"}, 2**20),
    ],
)
def test_free_memory_of_a_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    group: str,
    files: dict[str, object],
    free: int | None,
) -> None:
    most = 2**20 + resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    assert limits.free_memory(machine(tmp_path, group, files)) == free


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("ImportError: a.so: failed to map segment from shared object", "ulimit -v"),
        ("MemoryError:", "ulimit -v"),
        ("OpenBLAS error: Memory allocation still failed after 10", "ulimit -v"),
        ("RuntimeError: can't start new thread", "ulimit -u"),
        ("OSError: [Errno 24] Too many open files", "ulimit -n"),
        ("ValueError: 3", None),
    ],
)
def test_a_message_tells_of_a_limit(
    monkeypatch: pytest.MonkeyPatch, text: str, limit: str | None
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**20, 2**20))
    reached = limits.reached(text)
    assert (reached and reached[0]) == limit
    free = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _: (free, free))
    assert limits.reached(text) is None


@pytest.mark.parametrize(
    ("usable", "cores"),
    [(None, "2"), (2, "2"), (1, "1 of 2"), (0.5, "0.5 of 2"), (1.25, "1.25 of 2")],
)
def test_cores_in_words(usable: float | None, cores: str) -> None:
    host = Host(
        hostname="box",
        python="3",
        jax="1",
        jaxlib="1",
        numpy="1",
        platform_version="",
        cpu_count=2,
        usable_cores=usable,
    )
    assert host.cores == cores
    assert f"uses {cores} cores as" in explain([device("cpu:0")], host)
