"""Functions of the user's own, timed like ops of the catalogue.

Only ``timer`` runs their code, in the engine and as phases of their case, so that what
it does there (raise, print, hang, end the process) is that case's affair alone.
"""

from __future__ import annotations

from jaxtui.measure.own.functions import Source, source
from jaxtui.measure.own.planning import check, input_bytes
from jaxtui.measure.own.script import script, setup
from jaxtui.measure.own.timer import OwnTimer
from jaxtui.measure.own.troubles import OwnError, explain

__all__ = [
    "OwnError",
    "OwnTimer",
    "Source",
    "check",
    "explain",
    "input_bytes",
    "script",
    "setup",
    "source",
]
