"""``jaxtui``: the app."""

from __future__ import annotations

import gc
import os
import sys

from jaxtui.ui.commands import CannotRun
from jaxtui.ui.commands.common import Common, spawn_process
from jaxtui.ui.commands.terminal import is_terminal


def run(
    common: Common,
    *,
    hold: bool = False,
    fps: float | None = None,
    classroom: bool = False,
) -> int:
    """Open the app, and return its exit code.

    The engine is started before Textual is imported: JAX takes longest to come up.

    Args:
        common: how to start the engine, and whether to keep what is measured.
        hold: keep the accelerator while idle.
        fps: redraws per second at most.
        classroom: open the class view.

    Raises:
        CannotRun: if there is no terminal to draw on, or no engine.
    """
    if common.several:
        raise CannotRun(
            "The app works on one host: open it with --this-host. A command, such as"
            " `jaxtui devices`, works on all."
        )
    for name, stream in (("stdin", sys.stdin), ("stderr", sys.stderr)):
        if not is_terminal(stream):
            raise CannotRun(
                f"The app needs a terminal, and {name} is not one: use `jaxtui devices`"
                " or `jaxtui bench matmul`, with --json for a program to read."
            )
    options = common.engine_options()
    options.alone = True
    process = common.process or spawn_process(options)
    for name in ("COLUMNS", "LINES"):
        # They would outweigh the terminal's own size, also when that changes.
        os.environ.pop(name, None)
    # What is imported stays: looking through it for garbage again and again would take
    # a tenth of the start, and hold the screen up later on.
    gc.disable()
    try:
        from jaxtui.ui.app.run import run_app
    finally:
        gc.freeze()
        gc.enable()

    _check_driver()
    return run_app(
        options,
        process,
        hold=hold,
        fps=fps,
        record=common.record,
        classroom=classroom,
    )


def _check_driver() -> None:
    """Raises ``CannotRun`` where ``TEXTUAL_DRIVER`` names none."""
    from textual.app import App

    try:
        App.get_driver_class(None)  # type: ignore[arg-type]
    except Exception as error:
        name = os.environ.get("TEXTUAL_DRIVER", "")
        text = f"TEXTUAL_DRIVER={name} is no driver of Textual ({error}): unset it."
        raise CannotRun(text) from error
