"""``jaxtui`` and ``python -m jaxtui``."""

from __future__ import annotations

import os
import signal
import sys

# See ``jaxtui``: ``typing`` takes too long here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from jaxtui.core.engine.process import EngineProcess

if __name__ == "__main__":
    # ``-m`` has put the working directory first. What Python had to import until here
    # came from there already; the command ``jaxtui`` is free of that.
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        if sys.path[0] == os.getcwd() != home:
            del sys.path[0]
    except OSError:  # it is deleted
        pass


PARSED = ("JAXTUI_START_LIMIT", "_JAXTUI_COMPLETE")
"""Variables that click reads as if they had been typed."""


def main() -> int:
    """Run the command line of this process, and return its exit code."""
    early: list[int] = []

    def arrived(number: int, _: object) -> None:
        # ``cli`` heeds it, unless importing that hangs.
        early.append(number)
        signal.alarm(10)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Whoever started this may have some ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, arrived)
    # Where stdin, stdout or stderr is closed, no pipe of an engine may take its number.
    while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(spare)
    engine = _start_engine()
    # Only now: it takes as long as a tenth of JAX.
    try:
        from jaxtui import cli
    except Exception as error:
        return _unimportable(error)
    return cli.main(process=engine, early=early)


def _unimportable(error: Exception) -> int:
    """Say which file on PYTHONPATH hides a module, if that is why.

    Raises:
        Exception: It is not.
    """
    import traceback

    from jaxtui.core import child

    text = "".join(traceback.format_exception(error))
    modules = child.hiding(text, os.environ.get("PYTHONPATH", ""))
    if not modules:
        raise error
    path = next(iter(modules.values()))
    sys.stderr.write(f"jaxtui: {child.hides((*modules,), path)} {child.RENAME}\n")
    return 3


def _start_engine() -> EngineProcess | None:
    """Start the app's engine where nothing was typed that could change how.

    JAX takes longest to come up, and there is nothing to parse. It ends with this
    process, whatever becomes of that.
    """
    if len(sys.argv) > 1 or any(name in os.environ for name in PARSED):
        return None
    for stream in (sys.stdin, sys.stderr):
        if stream is None or stream.closed or not stream.isatty():
            return None
    from jaxtui.core.engine.process import EngineOptions, EngineProcess
    from jaxtui.machine.hosts import is_launched

    if is_launched(os.environ):
        return None
    try:
        return EngineProcess.spawn(EngineOptions(alone=True))
    except OSError:
        return None  # the app starts one, and says what is wrong


if __name__ == "__main__":
    sys.exit(main())
