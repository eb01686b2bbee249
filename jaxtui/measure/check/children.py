"""Runs a program that may hang or crash, for a limited time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from jaxtui.measure.turns import never

POLL_SECONDS = 0.05
REAP_SECONDS = 1.0
"""A killed process that waits for a driver does not die before the driver answers."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a program."""

    output: str
    errors: str
    """The end of what it wrote to stderr."""
    code: int | None
    """Its exit status, negative for a signal; ``None`` if it was ended by force."""


def run(
    command: Sequence[str],
    limit_seconds: float,
    *,
    environment: Mapping[str, str] | None = None,
    stop: Callable[[], bool] = never,
) -> Ended:
    """Wait for a program, but no longer than allowed.

    Args:
        command: The program and its arguments.
        limit_seconds: After that it is killed, and what it has started.
        environment: Its variables; by default those of this process.
        stop: Asked meanwhile; once true, the program is killed.

    Raises:
        OSError: It cannot be started.
    """
    # Files, not pipes: whatever it leaves behind may hold a pipe open for ever.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
        code = _wait(process, limit_seconds, stop)
        output.seek(0)
        errors.seek(0)
        return Ended(
            output.read().decode(errors="replace"),
            errors.read().decode(errors="replace")[-4000:],
            code,
        )


def _wait(
    process: subprocess.Popen[bytes], limit_seconds: float, stop: Callable[[], bool]
) -> int | None:
    end = monotonic() + limit_seconds
    try:
        while monotonic() < end and not stop():
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_SECONDS)
        return None
    finally:
        # Also what a process that has ended by itself may have left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(REAP_SECONDS)
