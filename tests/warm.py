"""Engines of the tests begin as copies of a process that has imported JAX.

Importing it is most of what a start costs. A copy is a child of whoever asked for it,
with its own session, environment, directory and pipes; no backend has been started in
what it is a copy of. What JAX reads of the environment when it is imported is part of
what the copied process was started with: there is one for each such environment, from
the second start on.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import inspect
import json
import os
import socket
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ENGINE = "jaxtui.core.engine.server"
OF_A_TEST = ("JAXTUI_", "PYTEST_")
"""Beginnings of variables that nothing reads while it is imported."""
ALIKE = {
    "--requests",
    "--events",
    "--generation",
    "--wait",
    "--alone",
    "--cpu-devices",
}
"""Options of engines that are copied; others change more before JAX is imported."""
_SET_CHILD_SUBREAPER = 36
_HIGH = 500
"""Above all numbers that a file has in a process of the tests."""

Key = tuple[tuple[str, str], ...]


class Original:
    """A process that is copied."""

    def __init__(self, environment: Mapping[str, str], start: Any) -> None:
        from jaxtui.core import child

        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = start(
                [*child.command("tests.warm"), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                # As an engine has: Python's streams differ for files.
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
            )

    def copy(self, request: Mapping[str, Any], files: list[int]) -> int:
        """Return the number of a new child of this process."""
        libc = ctypes.CDLL(None)
        # It is the child of a child that ends, and is handed on to this process.
        libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            data = json.dumps({**request, "parent": os.getpid()}).encode()
            self._socket.sendall(len(data).to_bytes(4, "big"))
            socket.send_fds(self._socket, [b"f"], files)
            self._socket.sendall(data)
            pid = self._socket.recv(16)
            assert pid, "the process that is copied has ended"
            return int(pid)
        finally:
            libc.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def close(self) -> None:
        with self._process:
            self._socket.close()


@contextlib.contextmanager
def engines() -> Iterator[None]:
    """Within it the engines that this process starts are copies. Linux only."""
    from jaxtui.core import child

    if sys.platform != "linux":
        yield
        return

    start = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    parameters = inspect.signature(start)
    originals: dict[Key, Original] = {}
    starts = Counter[Key]()
    beginning = [*child.command(ENGINE)]

    def execute(popen: Any, *given: Any) -> None:
        options = parameters.bind(popen, *given).arguments
        command = [*options["args"]]
        arguments = command[len(beginning) :]
        alike = {one for one in arguments if one.startswith("--")} <= ALIKE
        if command[: len(beginning)] != beginning or not alike:
            start(popen, *given)
            return
        environment = options["env"] or os.environ
        read = read_at_import(environment, arguments)
        key = tuple(
            sorted(one for one in read.items() if not one[0].startswith(OF_A_TEST))
        )
        starts[key] += 1
        if starts[key] == 1:
            start(popen, *given)
            return
        if key not in originals:
            originals[key] = Original(read, subprocess.Popen)
        pipes = [options[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        passed = [*options["pass_fds"]]
        request = {
            "arguments": arguments,
            "environment": dict(environment),
            "folder": os.fspath(options["cwd"] or os.getcwd()),
            "session": options["start_new_session"],
            "numbers": [0, 1, 2, *passed],
        }
        popen.pid = originals[key].copy(request, [*pipes, *passed])
        popen._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        popen._close_pipe_fds(*(options[name] for name in ends))

    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess.Popen._execute_child = start  # type: ignore[attr-defined]
        for original in originals.values():
            original.close()


def read_at_import(
    environment: Mapping[str, str], arguments: Sequence[str]
) -> dict[str, str]:
    """Return the environment that JAX reads in an engine that is started so."""
    from jaxtui.core.engine.server import engine_environment

    count = None
    if "--cpu-devices" in arguments:
        count = int(arguments[arguments.index("--cpu-devices") + 1])
    return engine_environment(environment, count)


def main() -> int:
    """Be copied until whoever asks is gone; in a copy, serve as an engine."""
    gc.disable()
    server = importlib.import_module(ENGINE)
    for name in ("jax", "jaxtui.features.bench.measure.experiment"):
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    warnings.filterwarnings("ignore", message=r"os\.fork\(\)")
    asked = socket.socket(fileno=int(sys.argv[1]))
    while size := asked.recv(4):
        _, files, _, _ = socket.recv_fds(asked, 1, 16)
        data = asked.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        request = json.loads(data)
        if (between := os.fork()) == 0:
            if os.fork():
                os._exit(0)
            while os.getppid() != request["parent"]:
                pass
            asked.send(str(os.getpid()).encode())
            asked.detach()
            _become(request, files)
            return int(server.main(request["arguments"]))
        os.waitpid(between, 0)
        for file in files:
            os.close(file)
    return 0


def _become(request: Mapping[str, Any], files: list[int]) -> None:
    if request["session"]:
        os.setsid()
    high = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _HIGH) for file in files]
    os.closerange(3, _HIGH)
    for file, number in zip(high, request["numbers"], strict=True):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
