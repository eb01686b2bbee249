"""Engines and commands of the tests begin as copies of a process that has imported JAX.

Importing it is most of what a start costs. A copy is a child of whoever asked for it,
with its own session, environment, directory and pipes; no backend has been started in
what it is a copy of. What JAX reads of the environment when it is imported is part of
what the copied process was started with: there is one for each such environment, from
the second start on, so that the first of each is a process like any user's. A command
that is a copy makes its engine as a copy of itself.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import inspect
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ENGINE = "jaxtui.core.engine.server"
COMMAND = (sys.executable, "-m", "jaxtui")
SCRIPT = (sys.executable, "-s")
"""Begins the command of a file that needs JAX and shall not find jaxtui."""
OF_A_TEST = ("JAXTUI_", "PYTEST_", "SLURM_")
"""Beginnings of variables that nothing reads while it is imported."""
ALIKE = {
    "--requests",
    "--events",
    "--generation",
    "--wait",
    "--alone",
    "--cpu-devices",
    "--coordinator",
    "--num-processes",
    "--process-id",
}
"""Options of engines that are copied; others change more before JAX is imported."""
_SET_CHILD_SUBREAPER = 36
_HIGH = 500
"""Above all numbers that a file has in a process of the tests."""

Key = tuple[tuple[str, str], ...]

_execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_parameters = inspect.signature(_execute)


class Start:
    """What ``subprocess`` is asked for, if a copy can be it."""

    def __init__(self, popen: Any, given: Sequence[Any]) -> None:
        self.options = _parameters.bind(popen, *given).arguments
        self._popen = popen
        self.environment: Mapping[str, str] = self.options["env"] or os.environ
        words = self.options["args"]
        words = [] if isinstance(words, str | bytes) else [*map(str, words)]
        kinds = {"engine": _engine(), "command": COMMAND, "script": SCRIPT}
        self.kind, begin = next(
            (one for one in kinds.items() if (*words[: len(one[1])],) == one[1]),
            ("", ()),
        )
        self.arguments = words[len(begin) :]
        options = {one for one in self.arguments if one.startswith("--")}
        self.can_be_copy = (
            self.kind != ""
            and (self.kind != "engine" or options <= ALIKE)
            and self.options["preexec_fn"] is None
        )

    @property
    def read(self) -> dict[str, str]:
        """The environment that JAX reads in an engine that is started so."""
        from jaxtui.core.engine.server import engine_environment

        count = None
        if "--cpu-devices" in self.arguments:
            count = int(self.arguments[self.arguments.index("--cpu-devices") + 1])
        return engine_environment(self.environment, count)

    @property
    def key(self) -> Key:
        read = self.read.items()
        return tuple(sorted(one for one in read if not one[0].startswith(OF_A_TEST)))

    @property
    def files(self) -> list[int]:
        """What becomes stdin, stdout and stderr, and more files after them."""
        pipes = (self.options[name] for name in ("p2cread", "c2pwrite", "errwrite"))
        streams = [number if pipe == -1 else pipe for number, pipe in enumerate(pipes)]
        return [*streams, *self.options["pass_fds"]]

    @property
    def request(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "arguments": self.arguments,
            "environment": dict(self.environment),
            "folder": os.fspath(self.options["cwd"] or os.getcwd()),
            "session": self.options["start_new_session"],
            "numbers": [0, 1, 2, *self.options["pass_fds"]],
        }

    def is_process(self, pid: int) -> None:
        """Let it be that of the ``Popen``."""
        self._popen.pid = pid
        self._popen._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._popen._close_pipe_fds(*(self.options[name] for name in ends))


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
    """Within it what this process starts are copies. Linux only."""
    if sys.platform != "linux":
        yield
        return

    _engine()  # before a test changes what makes it
    originals: dict[Key, Original] = {}
    starts = Counter[tuple[Key, str]]()

    def copied(start: Start) -> int | None:
        key = start.key
        starts[key, start.kind] += 1
        if starts[key, start.kind] == 1:
            return None
        if key not in originals:
            originals[key] = Original(dict(key), subprocess.Popen)
        return originals[key].copy(start.request, start.files)

    with tempfile.TemporaryDirectory() as folder, _patched(copied):
        os.environ[COPIES] = folder
        try:
            yield
        finally:
            del os.environ[COPIES]
            for original in originals.values():
                original.close()


@contextlib.contextmanager
def _patched(copied: Callable[[Start], int | None]) -> Iterator[None]:
    """Within it ``subprocess`` takes copies where there are some."""

    def execute(popen: Any, *given: Any) -> None:
        start = Start(popen, given)
        pid = copied(start) if start.can_be_copy else None
        if pid is None:
            _execute(popen, *given)
        else:
            start.is_process(pid)

    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess.Popen._execute_child = _execute  # type: ignore[attr-defined]


COPIES = "PYTEST_COPIES"
"""The folder in which each copy has a file with its environment: the kernel knows only
that of the process which it is a copy of."""


def copies(text: str) -> list[int]:
    """The numbers of the copies that have or had this in their environment."""
    files = Path(os.environ[COPIES]).iterdir() if COPIES in os.environ else ()
    return [int(one.name) for one in files if text in one.read_text().split("\0")]


@cache
def _engine() -> tuple[str, ...]:
    from jaxtui.core import child

    return child.command(ENGINE)


def main() -> int:
    """Be copied until whoever asks is gone; in a copy, serve as what was asked for."""
    gc.disable()
    for name in ("jax", "jaxtui.features.bench.measure.experiment", ENGINE):
        importlib.import_module(name)
    for name in ("jaxtui.cli", "jaxtui.__main__"):
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
            serve = {"engine": _serve, "command": _command, "script": _script}
            return serve[request["kind"]](request)
        os.waitpid(between, 0)
        for file in files:
            os.close(file)
    return 0


def _serve(request: Mapping[str, Any]) -> int:
    return int(importlib.import_module(ENGINE).main(request["arguments"]))


def _command(request: Mapping[str, Any]) -> int:
    """Run a command, with an engine that is a copy of this process."""
    # What JAX read here when it was imported.
    read = {**_READ}

    def copied(start: Start) -> int | None:
        if start.kind != "engine" or {**_alike(start.read)} != read:
            return None
        files = [os.dup(file) for file in start.files]
        if pid := os.fork():
            for file in files:
                os.close(file)
            return pid
        code = 1
        try:
            subprocess.Popen._execute_child = _execute  # type: ignore[attr-defined]
            _as_started()
            _become(start.request, files)
            code = _serve(start.request)
            atexit._run_exitfuncs()
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError):
                    stream.flush()
            os._exit(code)

    from jaxtui import __main__

    sys.argv = [__main__.__file__, *request["arguments"]]
    with _patched(copied):
        return __main__.main()


def _script(request: Mapping[str, Any]) -> int:
    """Run a file as Python does, where jaxtui is not."""
    sys.argv = request["arguments"]
    for name in list(sys.modules):
        if name.partition(".")[0] in ("jaxtui", "tests"):
            del sys.modules[name]
    sys.modules["jaxtui"] = None  # type: ignore[assignment]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


def _as_started() -> None:
    """What signals do is as at the start of Python."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _alike(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(OF_A_TEST)
    }


_READ = _alike(os.environ)


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
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        before = getattr(sys, name)
        number = ("stdin", "stdout", "stderr").index(name)
        stream: Any = open(  # noqa: SIM115
            number,
            mode,
            encoding=before.encoding,
            errors=before.errors,
            newline=None if mode == "r" else "\n",
            closefd=False,
        )
        if mode == "w":
            stream.reconfigure(line_buffering=name == "stderr" or os.isatty(number))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if folder := os.environ.get(COPIES):
        known = "\0".join(f"{name}={value}" for name, value in os.environ.items())
        Path(folder, str(os.getpid())).write_text(known)
