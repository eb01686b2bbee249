"""Several processes as one, over JAX's distributed runtime: what each of them says and
how it ends, whatever becomes of the others.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import pytest

import jaxtui
from jaxtui.core.model import CaseMeasured, Experiment
from tests import records
from tests.processes import (
    LIMIT_SECONDS,
    PROGRAM,
    Running,
    children,
    documents,
    marked,
    wait_until,
)

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

JAX = tuple(map(int, metadata.version("jax").split(".")[:3]))
SECOND = 2048 if JAX >= (0, 7) else 131_072
"""The first id of a CPU device of process 1."""

MARK = "JAXTUI_TEST_GROUP"

SLURM = {
    "SLURM_JOB_ID": str(os.getpid()),
    "SLURM_STEP_NODELIST": "localhost",
    "SLURM_NTASKS": "2",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURM_STEP_NUM_NODES": "1",
}
"""What Slurm leaves for one of two processes."""


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
        folder.mkdir(exist_ok=True)
        self.environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "JAX_NUM_CPU_DEVICES": "1",
            "XLA_FLAGS": "",
            "JAXTUI_HEARTBEAT": "2",
            MARK: self.mark,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: object, process: int, count: int = 2) -> None:
        """Start one that is told its place."""
        self.launch(name, *PROGRAM, *command, *self.place(process, count))

    def place(self, process: int, count: int = 2) -> tuple[str, ...]:
        """The options that say which of them a process is."""
        at = ("--coordinator", self.address, "--process-id", str(process))
        return (*at, "--num-processes", str(count))

    def launch(self, name: str, *command: object, **more: str) -> None:
        with (
            open(self._folder / f"{name}.out", "wb") as out,
            open(self._folder / f"{name}.err", "wb") as err,
        ):
            self.processes[name] = subprocess.Popen(
                [*map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**self.environment, **more},
            )

    def code(self, name: str) -> int:
        return self.processes[name].wait(LIMIT_SECONDS)

    def out(self, name: str) -> str:
        return (self._folder / f"{name}.out").read_text("utf-8")

    def err(self, name: str) -> str:
        return (self._folder / f"{name}.err").read_text("utf-8")

    def document(self, name: str) -> dict[str, Any]:
        (found,) = documents(self.out(name))
        return dict(found)

    def lead(self, *command: str, until: str = "at most") -> Running:
        """Process 0 of two on a terminal, until it measures."""
        running = Running(*command, *self.place(0), env=self.environment)
        self.processes["0"] = running.process
        running.until(until)
        return running

    def end(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
        wait_until(lambda: not marked(f"{MARK}={self.mark}"), "the end of all engines")


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    group = Group(tmp_path)
    yield group
    group.end()


PRECISE = """\
import jax

jax.config.update("jax_default_matmul_precision", "highest")


def product(x):
    return x @ x


def product_args():
    return (jax.numpy.ones((8, 8)),)
"""


def test_a_bench_of_two_that_slurm_started_is_one_document(
    group: Group, tmp_path: Path
) -> None:
    file = tmp_path / "precise.py"
    file.write_text(PRECISE)
    ops = ("selu:1000", "all_reduce:1000", f"{file}:product")
    command = ("bench", *ops, "--budget", "1")
    for process in ("1", "0"):
        words = (*command, "--device", "all", "--json", "--cpu-devices", "2")
        place = {"SLURM_PROCID": process, "SLURM_LOCALID": process}
        group.launch(process, *PROGRAM, *words, **{**SLURM, **place})
    assert [group.code("0"), group.code("1")] == [0, 0]
    assert (group.out("1"), group.err("1")) == ("", "")
    found = group.document("0")
    assert found["complete"]
    measured = found["measurements"]
    own = [one for one in measured if one["case"]["op"].endswith(":product")]
    *alone, together = [one for one in measured if one not in own]
    devices = [one["case"]["device"] for one in alone]
    groups = ["cpu:0-1", f"cpu:{SECOND}-{SECOND + 1}"]
    each = ["cpu:0", "cpu:1", f"cpu:{SECOND}", f"cpu:{SECOND + 1}"]
    assert devices == [*each, *groups]
    assert [one["case"]["device"] for one in own] == each
    # What a file sets holds in every process, and for its own functions alone.
    for one in measured:
        assert ("settings" in [note["flag"] for note in one["notes"]]) == (one in own)
    # A collective of both is one measurement.
    assert together["case"]["device"] == f"cpu:0-1,{SECOND}-{SECOND + 1}"
    assert together["collective"]["participants"] == 4
    assert together["collective"]["wrong"] == 0
    (spread,) = [one for one in together["notes"] if one["flag"] == "of-processes"]
    assert spread["facts"]["processes"] == 2


BENCH = ("bench", "selu", "--size", "1000", "--device", "all", "--budget", "60")
"""Over as soon as a test ends it."""

REDUCE = ("bench", "all_reduce", "--size", "1000", "--budget", "60")
CHECK = ("check",)


@pytest.mark.parametrize(
    ("work", "who", "what", "number", "codes"),
    [
        (BENCH, "1", "engine", signal.SIGKILL, (1, 1)),
        (REDUCE, "1", "engine", signal.SIGSTOP, (1, 1)),
        (BENCH, "1", "command", signal.SIGHUP, (1, 129)),
        (BENCH, "0", "command", signal.SIGHUP, (129, 1)),
        (BENCH, "0", "command", signal.SIGKILL, (-9, 1)),
        pytest.param(
            *(CHECK, "1", "engine", signal.SIGKILL, (1, 1)),
            marks=pytest.mark.skipif(JAX < (0, 7), reason="the heartbeat takes longer"),
        ),
    ],
)
def test_who_ends_during_a_work_ends_all_and_what_arrived_is_kept(
    group: Group,
    work: tuple[str, ...],
    who: str,
    what: str,
    number: int,
    codes: tuple[int, int],
) -> None:
    group.start("1", *work, "--json", process=1)
    until = "multiplying" if work == CHECK else "at most"
    leader = group.lead(*work, "--json", until=until)
    command = group.processes[who].pid
    (engine,) = children(command)
    os.kill(engine if what == "engine" else command, number)
    first, out = leader.ended()
    if number == signal.SIGSTOP:
        os.kill(engine, signal.SIGCONT)
    assert (first, group.code("1")) == codes, leader.said + group.err("1")
    assert group.out("1") == ""
    if first > 0:
        (found,) = documents(out)
        assert not found["complete"]
        # A death that is the host's own is not evidence of the case that it timed.
        ended = {one["code"] for one in found.get("failures", ())}
        assert ended <= {"engine-died", "broken-off", "stopped"}, ended
        if work == REDUCE:  # gloo may end the process that another leaves in one
            return
        assert "engine-died" not in ended


STUCK = """\
import threading

import jax


def total(x):
    if jax.process_index() == 1:
        threading.Event().wait()
    return x.sum()
"""


def test_who_does_not_enter_a_collective_is_named(group: Group, tmp_path: Path) -> None:
    """It lives, so that no heartbeat is missing."""
    function = tmp_path / "stuck.py"
    function.write_text(STUCK)
    command = ("bench", f"{function}:total", "--arg", "f32[8]@x", "--mesh", "2")
    group.environment["JAXTUI_HEARTBEAT"] = "1"
    for process in (1, 0):
        group.start(f"{process}", *command, "--json", process=process)
    assert [group.code("0"), group.code("1")] == [1, 1]
    assert not group.document("0")["complete"]
    assert f"1 ({socket.gethostname()})" in group.err("0")


def other_version(folder: Path) -> Path:
    """Where jaxtui is one of another version."""
    package = folder / "other" / "jaxtui"
    package.mkdir(parents=True)
    for each in Path(jaxtui.__file__).parent.iterdir():
        if each.name == "__init__.py":
            text = each.read_text("utf-8")
            version = re.sub(r'__version__ = ".*"', '__version__ = "0.0.7"', text)
            (package / each.name).write_text(version, "utf-8")
        else:
            (package / each.name).symlink_to(each)
    return package.parent


def test_who_does_not_come_or_does_not_fit_is_named(tmp_path: Path) -> None:
    """Every group at once, as most of it is waiting; the others: test_meeting."""
    names = ("nobody", "versions", "dies", "waits")
    groups = {name: Group(tmp_path / name) for name in names}
    limit = ("devices", "--start-limit", "15")
    with contextlib.ExitStack() as stack:
        for group in groups.values():
            stack.callback(group.end)
        nobody, versions, dies, waits = groups.values()
        for process in (0, 1):
            for group in (dies, waits):
                group.start(f"{process}", *limit, process=process, count=3)
        wait_until(lambda: dies.err("0") and waits.err("0"), "a word of who waits")
        for waiting in waits.processes.values():
            waiting.send_signal(signal.SIGINT)
        (engine,) = children(dies.processes["1"].pid)
        os.kill(engine, signal.SIGKILL)
        dies.start("2", *limit, process=2, count=3)
        nodes = {"SLURM_STEP_NODELIST": "localhost,node9"}
        nobody.launch(
            "0", *PROGRAM, "devices", "--start-limit", "8", **{**SLURM, **nodes}
        )
        older = {"PYTHONPATH": str(other_version(tmp_path))}
        versions.start("0", *limit, process=0)
        versions.launch("1", *PROGRAM, *limit, *versions.place(1), **older)
        for name, group in groups.items():
            codes = {each: group.code(each) for each in group.processes}
            assert set(codes.values()) == {130 if name == "waits" else 3}, (name, codes)
            assert not any(map(group.out, group.processes))
        assert waits.err("1") == ""
        assert "node9" in nobody.err("0")
        assert "process 1 (" not in dies.err("0")
        assert re.search("rocess(es)? 1.* did not join", dies.err("0"))
        assert "0.0.7" in versions.err("0")
        assert "0.0.7" in versions.err("1")


ATTACK = """\
import os, sys, time
from jax._src import distributed
client = distributed._jax.get_distributed_runtime_client(
    sys.argv[1], 7, init_timeout=5, use_compression=True
)
end = time.monotonic() + 5
while time.monotonic() < end:
    for key, value in zip(sys.argv[2::2], sys.argv[3::2]):
        client.key_value_set_bytes("jaxtui/" + key, value.encode(), True)
os._exit(0)
"""
"""A process with nothing but the client of jaxlib, which knows port and protocol."""

EVIL = """\
import pathlib
pathlib.Path(__file__).with_suffix(".ran").touch()


def f(x):
    return x
"""


@pytest.mark.skipif(JAX >= (0, 7), reason="jaxlib's client then asks who it is")
def test_nothing_that_is_put_into_the_store_is_run(
    group: Group, tmp_path: Path
) -> None:
    file = tmp_path / "evil.py"
    file.write_text(EVIL)
    case = records.case(op=f"{file}:f", device=f"cpu:{SECOND}")
    experiment = msgspec.json.encode(Experiment(cases=(case,))).decode()
    # As a follower of 1.0 awaited it, and as an outcome, a result and a decision.
    task = f'{{"to": [1], "work": {experiment}}}'
    measured = CaseMeasured(index=1, measurement=records.measurement(case))
    outcome = msgspec.json.encode([measured]).decode()
    puts = {f"task/{number}": task for number in range(4)}
    puts |= {f"{number}/outcome/1/9": outcome for number in (2, 3)}
    command = ("bench", "selu:1000", "--device", "all", "--budget", "8", "--json")
    group.start("1", *command, process=1)
    leader = group.lead(*command)
    pairs = [text for pair in puts.items() for text in pair]
    subprocess.run(
        [sys.executable, "-c", ATTACK, group.address, *pairs], check=True, timeout=60
    )
    code, out = leader.ended()
    assert (code, group.code("1")) == (0, 0)
    (found,) = documents(out)
    assert {one["case"]["op"] for one in found["measurements"]} == {"selu"}
    assert not file.with_suffix(".ran").exists()


@pytest.fixture
def other_host(group: Group) -> Iterator[tuple[str, str]]:
    """A network namespace with an address of its own, and the link to it."""
    number = os.getpid() % 250 + 1
    host, link = f"jaxtui-{os.getpid()}", f"jaxtui{os.getpid()}"
    far = ("link", "add", link, "type", "veth", "peer", "name", "far", "netns", host)
    steps = (
        ("netns", "add", host),
        far,
        ("addr", "add", f"10.213.{number}.1/24", "dev", link),
        ("link", "set", link, "up"),
        ("-n", host, "addr", "add", f"10.213.{number}.2/24", "dev", "far"),
        ("-n", host, "link", "set", "far", "up"),
        ("-n", host, "link", "set", "lo", "up"),
    )
    done = 0
    try:
        for step in steps:
            subprocess.run(["ip", *step], check=True, capture_output=True)
            done += 1
        port = group.address.rpartition(":")[2]
        group.address = f"10.213.{number}.1:{port}"
        yield host, link
    except (OSError, subprocess.CalledProcessError) as error:
        if done == len(steps):
            raise
        pytest.skip(f"network namespaces cannot be made here: {error}")
    finally:
        if done:
            subprocess.run(["ip", "netns", "del", host], check=True)


def test_a_link_that_is_cut_ends_both_sides(
    group: Group, other_host: tuple[str, str]
) -> None:
    host, link = other_host
    inside = ("ip", "netns", "exec", host)
    group.launch("1", *inside, *PROGRAM, *BENCH, "--json", *group.place(1))
    leader = group.lead(*BENCH, "--json")
    subprocess.run(["ip", "link", "set", link, "down"], check=True)
    code, out = leader.ended()
    assert (code, group.code("1")) == (1, 1)
    (found,) = documents(out)
    assert not found["complete"]
    assert socket.gethostname() in group.err("1")


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI")
def test_open_mpi_prints_one_document(group: Group) -> None:
    run = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2")
    command = ("devices", "--json", "--cpu-devices", "2")
    group.launch("mpi", *run, *PROGRAM, *command)
    assert group.code("mpi") == 0
    # Version 4 and version 5, of which JAX knows the first.
    devices = group.document("mpi")["devices"]
    assert [one["id"] for one in devices] == [0, 1, SECOND, SECOND + 1]


def test_who_works_alone_prints_whatever_its_launcher_calls_it(
    group: Group, tmp_path: Path
) -> None:
    table = tmp_path / "r.csv"
    alone = ("--num-processes", "1", "--export", str(table))
    command = ("bench", "selu:1000", "--budget", "1", "--json", *alone)
    group.launch("3", *PROGRAM, *command, **{**SLURM, "SLURM_PROCID": "1"})
    group.launch("app", *PROGRAM, **{**SLURM, "SLURM_PROCID": "1"})
    assert group.code("3") == 0
    assert len(group.document("3")["measurements"]) == 1
    assert table.exists()
    assert group.code("app") == 3
    assert "--this-host" in group.err("app")
