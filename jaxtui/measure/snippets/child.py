"""The process of a snippet that chooses its number of CPU devices for itself.

``python -m jaxtui.measure.snippets.child`` reads the snippet, one line of JSON, and
writes its events, a line each. It ends when the pipe that it reads from is closed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

import msgspec

from jaxtui.measure.snippets.run import run_snippet
from jaxtui.model import Snippet

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Run the snippet on standard input."""
    _die_with_parent()
    # Whatever C code or a snippet writes to fd 1 must not come between the events.
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    threading.Thread(target=_end_with_input, daemon=True).start()
    snippet = msgspec.json.decode(line, type=Snippet)
    for event in run_snippet(snippet):
        events.write(msgspec.json.encode(event) + b"\n")
        events.flush()
    os._exit(0)


def _end_with_input() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _die_with_parent() -> None:
    """Have the kernel do it, in case that C code holds the GIL. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


if __name__ == "__main__":
    main()
