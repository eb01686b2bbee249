"""The process of a snippet that chooses its number of CPU devices for itself.

It reads the snippet, one line of JSON, and writes its events, a line each. It ends when
the pipe that it reads from is closed.
"""

from __future__ import annotations

import os
import sys

import msgspec

from jaxtui.measure.orphans import end_with_input, signal_with_parent
from jaxtui.measure.snippets.run import run_snippet
from jaxtui.model import Snippet


def main() -> None:
    """Run the snippet on standard input."""
    signal_with_parent()
    # Whatever C code or a snippet writes to fd 1 must not come between the events.
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    end_with_input()
    snippet = msgspec.json.decode(line, type=Snippet)
    for event in run_snippet(snippet):
        events.write(msgspec.json.encode(event) + b"\n")
        events.flush()
    os._exit(0)
