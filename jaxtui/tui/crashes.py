"""The last words after a mistake of the app's own."""

from __future__ import annotations

import os
import tempfile
import traceback
from pathlib import Path


def report(error: BaseException) -> str:
    """One sentence; the traceback goes to a file that it names."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    path = Path(tempfile.gettempdir()) / f"jaxtui-crash-{os.getpid()}.log"
    sentence = f"jaxtui: internal error: {type(error).__name__}: {error}."
    try:
        path.write_text(trace, encoding="utf-8")
    except OSError:
        return f"{sentence}\n{trace}"
    return f"{sentence} The traceback is in {path}."
