"""Text that is taken away by one key."""

from __future__ import annotations

import tempfile
from pathlib import Path

from jaxtui.export import ExportError, here, stamp, unused, write


def keep(text: str, name: str) -> str:
    """Write a text to a new file, and say where.

    The clipboard escape is swallowed by many a terminal (tmux's default does), and
    nothing tells whether it arrived; so the file is written whatever happened to it.
    """
    for folder in (here(), Path(tempfile.gettempdir())):
        path = unused(folder / f"jaxtui-{stamp()}-{name}")
        try:
            write(path, text)
        except ExportError as error:
            trouble = error
        else:
            return f"Copied if the terminal allows it, and written to {path}"
    return f"Copied if the terminal allows it; no file: {trouble}"
