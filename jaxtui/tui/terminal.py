"""Giving a terminal back in order when the app that drew on it was killed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

if sys.platform != "win32":
    import termios

RESETS = (
    b"\x1b[?2026l"  # end a synchronised update
    b"\x1b[<u"  # kitty keys off; before the alternate screen, which has its own stack
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    b"\x1b[?2004l\x1b[?1004l\x1b[?2048l"  # paste, focus and resize reports
    b"\x1b[0m"
    b"\x1b[?7h"  # wrap lines
    b"\x1b[?1049l"  # leave the alternate screen
    b"\x1b[?25h"  # show the cursor
)
"""What undoes everything that Textual 8 switches on."""

_LFLAG = 3

_PARTING_SECONDS = 1.0


@contextlib.contextmanager
def restored_if_killed(fd: int) -> Iterator[None]:
    """Have the terminal restored if this process ends without leaving the block.

    A copy of this process waits for that, in a session of its own; it is no child of
    this one and holds nothing but the terminal and two pipes. Enter the block before
    there are threads, and before anything large is imported: what is loaded then is
    all that the copy weighs.

    Args:
        fd: The terminal, not changed yet; nothing happens where it is none.
    """
    try:
        ours, alive = _watched(fd)
    except (termios.error, OSError):  # no terminal, or no process to be had
        ours = alive = -1
    try:
        yield
    finally:
        if ours >= 0:
            with contextlib.suppress(OSError):
                os.write(ours, b".")
            select.select((alive,), (), (), _PARTING_SECONDS)
            os.close(ours)
            os.close(alive)


def when_gone(fd: int, act: Callable[[], object]) -> None:
    """Act once the terminal is gone.

    A signal says so, too, unless this process was started to ignore it; without one,
    what reads from such a terminal gets nothing again and again.

    Args:
        fd: The terminal.
        act: Called in a thread of its own, once.
    """

    def wait() -> None:
        watch = select.poll()
        watch.register(fd, 0)  # a hang-up is told in any case
        if any(told & select.POLLHUP for _, told in watch.poll()):
            act()

    threading.Thread(target=wait, name="terminal-end", daemon=True).start()


def _watched(fd: int) -> tuple[int, int]:
    """The pipe to write to when all is well, and one that ends with the copy."""
    saved = termios.tcgetattr(fd)
    alive, its_end = os.pipe()
    lasting, ours = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                _watch(fd, saved, lasting, its_end)
        finally:
            os._exit(0)
    os.close(its_end)
    os.close(lasting)
    os.waitpid(child, 0)
    return ours, alive


def _watch(fd: int, saved: list[Any], lasting: int, its_end: int) -> None:
    """In the copy: wait until a pipe ends; a byte from it means that all is well."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for place, kept in enumerate((fd, lasting, its_end)):
        os.dup2(kept, place)
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):
                os.close(int(name))
    # What ends everything called jaxtui leaves this to do its work. Linux only.
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as comm:
        comm.write("terminal-watch")
    if not os.read(1, 1):
        restore(0, saved)


def restore(fd: int, saved: list[Any]) -> None:
    """Undo what a full-screen app does; a terminal that is gone is left alone.

    One that is not read takes it once it is read again, or hangs up.
    """
    try:
        if _is_raw(fd, saved):
            termios.tcsetattr(fd, termios.TCSANOW, saved)
        rest = RESETS
        while rest:
            select.select((), (fd,), ())
            rest = rest[os.write(fd, rest) :]
    except (termios.error, OSError):
        return


def _is_raw(fd: int, saved: list[Any]) -> bool:
    # The shell may be back already and have set the terminal up for its prompt.
    # Line editors leave IEXTEN on; Textual switches it off.
    now: int = termios.tcgetattr(fd)[_LFLAG]
    return not now & termios.IEXTEN or not saved[_LFLAG] & termios.IEXTEN
