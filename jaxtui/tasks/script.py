"""Runs someone's program in this process as ``python`` would, and knows when it ends.

The program has its own arguments, its own ``__main__`` and its own folder first on the
path. Nothing of jaxtui may have imported JAX before it does.

Signals that end a program end this one, and never what is written of it afterwards.
"""

from __future__ import annotations

import io
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

from jaxtui.core.engine.workers import signal_with_parent

BROKEN_OFF = -signal.SIGINT
"""Ctrl-C has ended it."""

ASKS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that would end the program before its report is written."""

REST_SECONDS, RESTS = 0.005, 4
"""Seconds between two looks, and the number of looks without a thread that computes.
The runtime writes that a kernel ended some 30 µs after its result is ready."""

DRAIN_SECONDS = 60.0
"""Seconds for work of the CPU whose results were dropped."""


def run(arguments: Sequence[str], ended: Callable[[], None]) -> int:
    """Run a program to its end and return its exit status.

    Args:
        arguments: those of ``python``: a path, or ``-m`` and a module, and what follows
            is the program's own.
        ended: called once when the program is over, but not by ``os._exit``, which runs
            nothing else, nor in a process that it has forked.
    """
    pid, over = os.getpid(), threading.Event()
    signal_with_parent()

    def end() -> None:
        if os.getpid() == pid and not over.is_set():
            over.set()
            hold()
            ended()
            for number in (signal.SIGINT, *defaults):
                signal.signal(number, signal.SIG_DFL)

    def hold() -> None:
        """Have no signal break off what follows, however often it comes."""
        for number in (signal.SIGINT, *defaults):
            signal.signal(number, signal.SIG_IGN)

    def on_signal(number: int, frame: FrameType | None) -> None:
        if over.is_set():  # one more, before they are held back
            return
        end()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    defaults = [ask for ask in ASKS if signal.getsignal(ask) is signal.SIG_DFL]
    for number in defaults:
        signal.signal(number, on_signal)
    try:
        try:
            status = _status(arguments)
            # What the program still runs in threads belongs to it.
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()
        except KeyboardInterrupt:
            status = BROKEN_OFF
        hold()
    except KeyboardInterrupt:  # one more, while the last one was caught
        status = BROKEN_OFF
        hold()
    end()
    if status == BROKEN_OFF:  # as Python itself ends then
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return status


def drain(jax: Any) -> None:
    """Wait for what a program has queued, also for work whose results were dropped.

    What the CPU client still computes has a thread that runs, or would if it had a
    core.
    """
    with suppress(Exception):  # what the program left behind may be anything
        for array in jax.live_arrays():
            with suppress(Exception):  # it failed, or it is deleted
                array.block_until_ready()
        jax.effects_barrier()
    limit, resting = time.monotonic() + DRAIN_SECONDS, 0
    while resting < RESTS and time.monotonic() < limit:
        before = time.process_time()
        time.sleep(REST_SECONDS)
        used = time.process_time() - before
        resting = 0 if _computes() or used > REST_SECONDS / 2 else resting + 1


def _computes() -> bool:
    """Return whether another thread computes or waits for a core; Linux only."""
    own = threading.get_native_id()
    for task in Path("/proc/self/task").glob("*/stat"):
        if task.parent.name != str(own):
            with suppress(OSError):  # it has ended
                if task.read_text().rpartition(")")[2].split()[0] == "R":
                    return True
    return False


def _status(arguments: Sequence[str]) -> int:
    try:
        # Whoever started this process has held signals back until here.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, *ASKS))
    except KeyboardInterrupt:
        return BROKEN_OFF
    try:
        if arguments[0] == "-m":
            sys.argv = [*arguments[1:]]
            sys.path.insert(0, os.getcwd())
            # What ``python -m`` itself calls, but for the module of that name here.
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            _run_file(arguments)
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        sys.stderr.write(f"{ending.code}\n")
        return 1
    except KeyboardInterrupt as interrupt:
        _show(interrupt)
        return BROKEN_OFF
    except BaseException as error:  # it is the program's
        _show(error)
        return 1
    return 0


def _run_file(arguments: Sequence[str]) -> None:
    path = arguments[0]
    sys.argv = [*arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    main = ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    with io.open_code(os.path.abspath(path)) as file:
        code = compile(file.read(), os.path.abspath(path), "exec")
    exec(code, main.__dict__)


def _show(error: BaseException) -> None:
    """The traceback as Python shows it, without the frames of who runs the program."""
    frames = error.__traceback__
    while frames is not None and _is_ours(frames):
        frames = frames.tb_next
    sys.excepthook(type(error), error.with_traceback(frames), frames)


def _is_ours(frames: TracebackType) -> bool:
    file = frames.tb_frame.f_code.co_filename
    return file in (__file__, runpy.__file__) or file == "<frozen runpy>"
