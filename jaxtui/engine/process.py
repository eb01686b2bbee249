"""Starting and ending engine processes, without asyncio.

The command line imports this before anything else, so that the engine imports jax
while the UI imports textual. Hence it imports little: ``dataclasses`` and ``typing``
alone would double the time from starting Python to starting the engine.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping

from jaxtui import child

if sys.platform == "linux":
    import fcntl

DEFAULT_COMMAND = child.command("jaxtui.engine.entry")

START_LIMIT_SECONDS = 180.0
"""A start takes seconds, on a large TPU slice a minute or two."""

SLOW_SECONDS = (20.0, 60.0)
"""When people begin to wonder, and when JAX does."""

_PIPE_BYTES = 1 << 20
"""The largest pipe that Linux gives everybody; 64 KiB is less than one redraw."""


class EngineOptions:
    """How to start an engine and how patient to be with it."""

    def __init__(
        self,
        *,
        command: tuple[str, ...] | None = None,
        cpu_devices: int | None = None,
        grace_seconds: float = 2.0,
        start_limit_seconds: float = START_LIMIT_SECONDS,
        slow_seconds: tuple[float, ...] = SLOW_SECONDS,
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        """Keep what is asked for.

        Args:
            command: What starts it; by default the Python that runs this.
            cpu_devices: Simulate this many CPU devices and use no accelerator.
            grace_seconds: How long a stop or a goodbye may take before the engine is
                killed.
            start_limit_seconds: How long it may take until JAX is up before it is
                killed; 0 for as long as it takes.
            slow_seconds: After how long a start that goes on is commented upon.
            environment: Variables to set for it, beyond those of this process;
                ``None`` takes one away.
        """
        self.command = command
        self.cpu_devices = cpu_devices
        self.grace_seconds = grace_seconds
        self.start_limit_seconds = start_limit_seconds
        self.slow_seconds = slow_seconds
        self.environment = environment or {}


class EngineProcess:
    """A running engine process and this side's ends of its pipes."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        generation: int,
        requests_fd: int,
        events_fd: int,
        log_fd: int,
    ) -> None:
        """Use ``spawn``; this only keeps what that made."""
        self.popen = popen
        self.generation = generation
        self._requests_fd = requests_fd
        self._events_fd = events_fd
        self._log_fd = log_fd
        self._over = False

    @classmethod
    def spawn(
        cls, options: EngineOptions | None = None, generation: int = 1
    ) -> EngineProcess:
        """Start an engine; it begins to import jax at once.

        Call it from a thread that lives as long as the engine shall: on Linux the
        kernel ends the engine after the thread that started it.

        Args:
            options: How.
            generation: The number that its events carry.

        Raises:
            OSError: The command cannot be started.
        """
        options = options or EngineOptions()
        changed = {**os.environ, **options.environment}
        # Python makes pipes non-inheritable: no other child keeps this engine alive.
        requests, events, log = os.pipe(), os.pipe(), os.pipe()
        try:
            _widen(events[1], log[1])
            popen = subprocess.Popen(
                _command(options, generation, requests[0], events[1]),
                stdin=subprocess.DEVNULL,
                stdout=log[1],
                stderr=log[1],
                pass_fds=(requests[0], events[1]),
                start_new_session=True,
                env={
                    name: value for name, value in changed.items() if value is not None
                },
            )
        except BaseException:
            _close(requests[1], events[0], log[0])
            raise
        finally:
            _close(requests[0], events[1], log[1])
        return cls(popen, generation, requests[1], events[0], log[0])

    def take_pipes(self) -> tuple[int, int, int]:
        """This side's ends for requests, events and log lines; the taker closes them.

        When the one for requests is closed, the engine takes that for the end of the
        UI and ends too.
        """
        taken = self._requests_fd, self._events_fd, self._log_fd
        self._requests_fd = self._events_fd = self._log_fd = -1
        return taken

    def kill(self) -> None:
        """Kill the engine and all that a user's code has started in its group."""
        # Its number may be another's once it has been waited for and killed.
        if not self._over:
            self._over = self.popen.returncode is not None
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill the engine and wait for it; returns its exit status.

        For a UI that breaks off before it has an event loop: an engine that has been
        given to an ``EngineClient`` is ended by the client.
        """
        self.kill()
        returncode = self.popen.wait()
        _close(*self.take_pipes())
        return returncode


def _command(
    options: EngineOptions, generation: int, requests_fd: int, events_fd: int
) -> list[str]:
    command = [*(options.command or DEFAULT_COMMAND)]
    command += ["--requests", str(requests_fd), "--events", str(events_fd)]
    command += ["--generation", str(generation)]
    if options.cpu_devices is not None:
        command += ["--cpu-devices", str(options.cpu_devices)]
    return command


def _widen(*fds: int) -> None:
    if sys.platform == "linux":
        # Some kernels allow less; a smaller pipe works too.
        with contextlib.suppress(OSError):
            for fd in fds:
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _close(*fds: int) -> None:
    for fd in fds:
        if fd >= 0:
            os.close(fd)
