"""Several processes as one, over JAX's distributed runtime: what each of them says and
how it ends, whatever becomes of the others.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import LIMIT_SECONDS, PROGRAM, documents, marked

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

MARK = "JAXTUI_TEST_GROUP"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Group:
    """Processes that work as one, and what each of them prints."""

    def __init__(self, folder: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.mark = str(folder)
        self._folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self, name: str, *command: object, process: int, count: int = 2, **more: str
    ) -> subprocess.Popen[bytes]:
        """Start one; without ``process`` it stands alone."""
        place = ("--coordinator", self.address, "--num-processes", str(count))
        return self.spawn(name, *command, *place, "--process-id", str(process), **more)

    def spawn(
        self, name: str, *command: object, **more: str
    ) -> subprocess.Popen[bytes]:
        variables = {"JAX_PLATFORMS": "cpu", "JAXTUI_HEARTBEAT": "2", MARK: self.mark}
        with (
            open(self._folder / f"{name}.out", "wb") as out,
            open(self._folder / f"{name}.err", "wb") as err,
        ):
            self.processes[name] = subprocess.Popen(
                [*PROGRAM, *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **variables, **more},
            )
        return self.processes[name]

    def code(self, name: str) -> int:
        return self.processes[name].wait(LIMIT_SECONDS)

    def out(self, name: str) -> str:
        return (self._folder / f"{name}.out").read_text("utf-8")

    def err(self, name: str) -> str:
        return (self._folder / f"{name}.err").read_text("utf-8")

    def document(self, name: str) -> dict[str, Any]:
        (found,) = documents(self.out(name))
        return dict(found)

    @property
    def left(self) -> list[int]:
        """Whatever of them is still there."""
        return marked(f"{MARK}={self.mark}")


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path)
    yield group
    for process in group.processes.values():
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
    assert group.left == []


def test_a_bench_over_two_processes_is_one_document(group: Group) -> None:
    command = ("bench", "selu", "--size", "1000", "--device", "all", "--budget", "1")
    for process in (1, 0):
        group.start(
            f"{process}", *command, "--json", "--cpu-devices", "2", process=process
        )
    assert [group.code("0"), group.code("1")] == [0, 0]
    assert (group.out("1"), group.err("1")) == ("", "")
    found = group.document("0")
    assert found["outcome"] == "complete"
    devices = [one["case"]["device"] for one in found["measurements"]]
    assert devices == ["cpu:0", "cpu:1", "cpu:2048", "cpu:2049"]


def test_different_versions_are_refused_on_both_sides(group: Group) -> None:
    group.start("0", "devices", process=0, count=2)
    group.start("1", "devices", process=1, count=3)
    assert [group.code("0"), group.code("1")] == [3, 3]
    assert group.out("0") == group.out("1") == ""
