"""From the command line of an engine process to its server."""

from __future__ import annotations

import argparse
import faulthandler
import io
import os
import signal
import sys
from collections.abc import Sequence

from jaxtui.engine.core import Core, JaxCore
from jaxtui.engine.environment import engine_environment
from jaxtui.engine.lifeline import die_with_parent
from jaxtui.engine.outbox import Outbox
from jaxtui.engine.server import Server


def main(arguments: Sequence[str] | None = None, core: Core | None = None) -> int:
    """Serve until the UI ends; returns the exit status.

    Args:
        arguments: The command line; ``sys.argv`` by default.
        core: What to serve; the real measuring core by default.
    """
    options = _parser().parse_args(arguments)
    # jax reads all of this when it is imported, so it comes first.
    os.environ.update(engine_environment(os.environ, options.cpu_devices))
    _prepare_process()
    for fd in (options.requests, options.events):
        # A child of the engine must not keep its pipes open when it is gone.
        os.set_inheritable(fd, False)
    # Nor must one that a user's file forks.
    os.register_at_fork(after_in_child=lambda: os.close(options.events))
    outbox = Outbox(options.events, options.generation)
    return Server(core or JaxCore(), options.requests, outbox).serve()


def _prepare_process() -> None:
    die_with_parent()
    faulthandler.enable()
    # A start that hangs is asked where it is before it is ended.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    # A KeyboardInterrupt in the middle of a case would be one more way to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="The process that measures; jaxtui starts it, people do not.",
    )
    parser.add_argument("--requests", type=int, required=True, metavar="FD")
    parser.add_argument("--events", type=int, required=True, metavar="FD")
    parser.add_argument("--cpu-devices", type=int, metavar="N")
    parser.add_argument("--generation", type=int, default=1, metavar="N")
    return parser
