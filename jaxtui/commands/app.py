"""``jaxtui``: the app."""

from __future__ import annotations

import gc
import os
import sys

from jaxtui.commands.launch import CannotRun, engine_options, spawn_process
from jaxtui.commands.terminal import is_terminal
from jaxtui.engine.process import EngineOptions, EngineProcess
from jaxtui.tui.terminal import restored_if_killed


def run(
    python: str | None,
    cpu_devices: int | None,
    *,
    hold: bool,
    fps: float | None,
    start_limit: float | None = None,
    record: bool = False,
) -> int:
    """Opens the app and gives its exit code.

    The engine is started before Textual is imported: JAX takes longest to come up.

    Args:
        python: the interpreter of the engine; ``None`` is this one.
        cpu_devices: how many CPU devices to simulate.
        hold: keep the accelerator while idle.
        fps: redraws per second at most.
        start_limit: seconds that JAX may take to start, 0 for any.
        record: keep what is measured in the history.

    Raises:
        CannotRun: if there is no terminal to draw on, or no engine.
    """
    for name, stream in (("stdin", sys.stdin), ("stderr", sys.stderr)):
        if not is_terminal(stream):
            raise CannotRun(
                f"The app needs a terminal, and {name} is not one: "
                "use `jaxtui devices` or `jaxtui bench matmul`, with --json for "
                "a program to read."
            )
    options = engine_options(python, cpu_devices, start_limit)
    return _open(options, spawn_process(options), hold=hold, fps=fps, record=record)


def open_on(process: EngineProcess) -> int:
    """Opens the app that a bare ``jaxtui`` means, on an engine that was started."""
    return _open(EngineOptions(), process, record=True)


def _open(
    options: EngineOptions,
    process: EngineProcess,
    *,
    hold: bool = False,
    fps: float | None = None,
    record: bool,
) -> int:
    for name in ("COLUMNS", "LINES"):
        # They would outweigh the terminal's own size, also when that changes.
        os.environ.pop(name, None)
    # What is imported now stays; the app collects garbage from its first frame on.
    gc.disable()
    with restored_if_killed(sys.stderr.fileno()):
        from jaxtui.tui.run import run_app

        return run_app(options, process, hold=hold, fps=fps, record=record)
