"""Starting and ending engine processes, without asyncio.

The command line imports this before anything else, so that the engine imports jax
while the UI imports textual. Hence it imports little.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from jaxtui.core import child

if sys.platform == "linux":
    import fcntl


def engine_command(python: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the command that starts an engine.

    Args:
        python: as for ``child.command``.
    """
    return child.command("jaxtui.core.engine.server", python)


DEFAULT_COMMAND = engine_command()

MOST_CPU_DEVICES = 1024
"""Most simulated devices: 4096 take 7 s to start, and a million hang (measured)."""

START_LIMIT_SECONDS = 180.0
"""A start takes seconds, on a large TPU slice a minute or two."""

SLOW_SECONDS = 20.0
"""Seconds after which a start counts as slow."""

KILL_SECONDS = 30.0
"""A driver may keep even a killed process for a while, until the chips are free; one
that hangs keeps it for ever."""

_PIPE_BYTES = 1 << 20
"""The largest pipe that Linux gives everybody; 64 KiB is less than one redraw."""


@dataclass(kw_only=True)
class EngineOptions:
    """The start of an engine, and the patience with it."""

    command: tuple[str, ...] | None = None
    """The command; by default the Python that runs this."""
    cpu_devices: int | None = None
    """Simulate this many CPU devices and use no accelerator."""
    topology: str | None = None
    """The name of a TPU topology that is not here: it is compiled for, and nothing
    runs."""
    grace_seconds: float = 2.0
    """Seconds that a stop or a goodbye may take before the engine is killed."""
    start_limit_seconds: float = START_LIMIT_SECONDS
    """Seconds until JAX must be up, or the engine is killed; 0 for any time."""
    slow_seconds: float = SLOW_SECONDS
    """After how long a start that lasts is commented upon."""
    hosts_seconds: float = 5.0
    """Seconds after which those that others keep waiting learn who is missing."""
    coordinator: str = ""
    """``HOST:PORT`` of process 0 of several; without it JAX detects a cluster."""
    processes: int = 0
    """The number of processes; 0 for what JAX detects, 1 for this one alone."""
    process: int = 0
    """The number of this one among them."""
    this_host: bool = False
    """Use this host alone, though it is one of several."""
    alone: bool = False
    """Join no others, whatever has started this."""
    environment: Mapping[str, str | None] | None = None
    """Variables to set beyond those of this process; ``None`` takes one away."""


class EngineProcess:
    """A running engine process and this side's ends of its pipes; see ``spawn``."""

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        generation: int,
        pipes: tuple[int, ...],
        *,
        waits: bool = False,
    ) -> None:
        self.popen = popen
        self.waits = waits
        """True if it starts JAX's backend with its first run only."""
        self.generation = generation
        self._pipes = pipes
        self._over = False

    @classmethod
    def spawn(
        cls,
        options: EngineOptions | None = None,
        generation: int = 1,
        *,
        waits: bool = False,
    ) -> EngineProcess:
        """Start an engine; it begins to import jax at once.

        Call it from a thread that lives as long as the engine shall: on Linux the
        kernel ends the engine after the thread that started it.

        Args:
            options: How.
            generation: The number that its events carry.
            waits: It starts JAX's backend only with its first run, after the files
                whose functions that times.

        Raises:
            OSError: The command cannot be started.
        """
        options = options or EngineOptions()
        changed = {**os.environ, **(options.environment or {})}
        # Python makes pipes non-inheritable: no other child keeps this engine alive.
        requests, events, log = os.pipe(), os.pipe(), os.pipe()
        command = [*(options.command or DEFAULT_COMMAND)]
        command += ["--requests", str(requests[0]), "--events", str(events[1])]
        command += ["--generation", str(generation)]
        if waits:
            command.append("--wait")
        if options.cpu_devices is not None:
            command += ["--cpu-devices", str(options.cpu_devices)]
        if options.topology is not None:
            command.append(f"--topology={options.topology}")
        if options.processes:
            command += ["--num-processes", str(options.processes)]
            command += ["--process-id", str(options.process)]
            command += ["--coordinator", options.coordinator]
        if options.this_host:
            command.append("--this-host")
        if options.alone:
            command.append("--alone")
        try:
            if sys.platform == "linux":
                # Some kernels allow less; a smaller pipe works too.
                with contextlib.suppress(OSError):
                    for fd in (events[1], log[1]):
                        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            popen = subprocess.Popen(
                command,
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
        return cls(popen, generation, (requests[1], events[0], log[0]), waits=waits)

    def take_pipes(self) -> tuple[int, ...]:
        """Return this side's ends for requests, events and log lines; the taker closes
        them.

        When the one for requests is closed, the engine takes that for the end of the
        UI and ends too.
        """
        pipes, self._pipes = self._pipes, ()
        return pipes

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
        # A driver that hangs keeps even a killed process.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(KILL_SECONDS)
        _close(*self.take_pipes())
        return self.popen.returncode or 0


def _close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)
