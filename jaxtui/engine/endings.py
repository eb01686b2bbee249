"""How an engine ended, in a sentence for people."""

from __future__ import annotations

import signal

from jaxtui.model import Case


def describe_end(returncode: int | None, case: Case | None) -> str:
    """What happened to an engine that ended without being asked to.

    Args:
        returncode: As ``subprocess`` gives it, negative for a signal.
        case: The case that it was timing, if any.
    """
    doing = f" while timing {case.label}" if case else ""
    return f"The engine {how_ended(returncode)}{doing}."


def describe_outlook(restarts: bool, running: bool, again: bool = False) -> str:
    """What happens next, in one sentence.

    Args:
        restarts: Whether another engine is started.
        running: Whether a run is to go on in it.
        again: Whether that begins what was lost once more.
    """
    if not restarts:
        return (
            "It is not started again by itself;"
            " the next run tries once more, as R does in the app."
        )
    if running and again:
        return "It is tried once more in a new engine."
    if running:
        return "What had arrived is kept, the rest goes on in a new engine."
    return "A new one is started."


def how_ended(returncode: int | None) -> str:
    """The end of a process as the rest of a sentence: ``crashed (SIGABRT)``."""
    if returncode is None:
        return "stopped answering"
    if returncode >= 0:
        return f"ended by itself (exit code {returncode})"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    if -returncode == signal.SIGKILL:
        return f"was killed ({name}; when memory runs out, the kernel does this)"
    if -returncode in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        return f"was ended ({name})"
    return f"crashed ({name})"
