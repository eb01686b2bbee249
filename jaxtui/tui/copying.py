"""Text that is taken away by one key."""

from __future__ import annotations

import tempfile
from pathlib import Path

from jaxtui.exports import ExportError, write
from jaxtui.exports.files import here
from jaxtui.exports.names import stamp, unused
from jaxtui.tui.report import overview
from jaxtui.tui.results import run_sentences, sentences
from jaxtui.tui.run_state import RunState


def results_text(run: RunState) -> str:
    """The table of a run, then the sentences about all of it and about each case."""
    lines = [overview(run), ""]
    lines += [f"{one.flag}: {one.text}" for one in run_sentences(run)]
    for case in run.cases:
        lines += ["", case.case.label]
        lines += [f"  {one.flag}: {one.text}" for one in sentences(case, run)]
    return "\n".join(lines) + "\n"


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
