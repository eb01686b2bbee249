"""The last words after a mistake of the app's own."""

from __future__ import annotations

import os
import tempfile
import traceback


def report(error: BaseException) -> str:
    """One sentence; the traceback goes to a file that it names."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    sentence = f"jaxtui: internal error: {type(error).__name__}: {error}."
    try:
        # Of a name that nobody can have taken, and for its owner only.
        descriptor, path = tempfile.mkstemp(prefix="jaxtui-crash-", suffix=".log")
        with os.fdopen(
            descriptor, "w", encoding="utf-8", errors="backslashreplace"
        ) as log:
            log.write(trace)
    except OSError:
        return f"{sentence}\n{trace}"
    return f"{sentence} The traceback is in {path}."
