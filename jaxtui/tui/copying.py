"""Results as text to take away."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from jaxtui.tui import results
from jaxtui.tui.state import RunState


def results_text(run: RunState) -> str:
    """The results table as aligned text, then the sentences about each case."""
    rows = [results.row(case, run) for case in run.cases]
    widths = {
        column: max(len(column), *(len(row[column]) for row in rows))
        for column in results.WIDE
    }
    header = dict(zip(results.WIDE, results.WIDE, strict=True))
    lines = [
        "  ".join(row[column].ljust(widths[column]) for column in results.WIDE).rstrip()
        for row in (header, *rows)
    ]
    for case in run.cases:
        lines += ["", case.case.label]
        lines += [f"  {one.flag}: {one.text}" for one in results.sentences(case)]
    return "\n".join(lines) + "\n"


def keep(text: str, name: str) -> str:
    """Write a text to a new file, and say where.

    The clipboard escape is swallowed by many a terminal (tmux's default does), and
    nothing tells whether it arrived; so the file is written whatever happened to it.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = Path.cwd() / f"jaxtui-{stamp}-{name}"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        path = Path(tempfile.gettempdir()) / path.name
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            return f"Copied if the terminal allows it; no file: {error}"
    return f"Copied if the terminal allows it, and written to {path}"
