"""Starting the engine, before anything else is imported: JAX takes longest."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from jaxtui.engine.process import (
    DEFAULT_COMMAND,
    START_LIMIT_SECONDS,
    EngineOptions,
    EngineProcess,
)


class CannotRun(Exception):  # noqa: N818  (it is an answer, not a programming error)
    """The engine cannot serve; the text is what to tell the user."""


FOR_CLICK = ("_JAXTUI_COMPLETE", "JAXTUI_START_LIMIT")
"""What it reads where nothing was typed: a shell that completes, a default of ours."""


def spawn_at_once(arguments: Sequence[str]) -> EngineProcess | None:
    """The engine of the app if a bare ``jaxtui`` was typed into a terminal.

    Whatever else was typed must be read first: it may be wrong, or ask for another
    Python. ``None`` as well where the engine cannot be started, which is told later.
    """
    at_terminal = all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    )
    if arguments or not at_terminal or any(name in os.environ for name in FOR_CLICK):
        return None
    try:
        return EngineProcess.spawn(EngineOptions())
    except OSError:
        return None


def engine_options(
    python: str | None,
    cpu_devices: int | None,
    start_limit: float | None = None,
    environment: Mapping[str, str | None] | None = None,
) -> EngineOptions:
    """How to start the engine.

    Args:
        python: the interpreter, with arguments if it needs any; ``None`` is this one.
        cpu_devices: how many CPU devices to simulate.
        start_limit: seconds that JAX may take to start, 0 for any; ``None`` for the
            usual.
        environment: variables to set for it; ``None`` takes one away.
    """
    import shlex

    return EngineOptions(
        command=(*shlex.split(python), *DEFAULT_COMMAND[1:]) if python else None,
        cpu_devices=cpu_devices,
        start_limit_seconds=START_LIMIT_SECONDS if start_limit is None else start_limit,
        environment=environment,
    )


def spawn_process(options: EngineOptions) -> EngineProcess:
    """The engine process alone.

    Raises:
        CannotRun: if the command that starts it is not there.
    """
    try:
        return EngineProcess.spawn(options)
    except OSError as error:
        import shlex

        command = shlex.join(options.command or ())
        raise CannotRun(
            f'The engine could not be started with "{command}": {error.strerror}. '
            "Name a Python that has jax and msgspec with --python."
        ) from error
