"""Functions of the user's own, timed like ops of the catalogue.

Only ``timer``, the loops and who looks into a case run their code, in the engine and as
phases of the case, so that what it does there (raise, print, hang, end the process) is
the affair of that case alone.
"""

from __future__ import annotations

from jaxtui.measure.own.functions import Source, source
from jaxtui.measure.own.making import cold_path, load, peak_of
from jaxtui.measure.own.planning import check, input_bytes
from jaxtui.measure.own.programs import subject
from jaxtui.measure.own.replaced import replaced
from jaxtui.measure.own.script import script, setup
from jaxtui.measure.own.timer import OwnTimer
from jaxtui.measure.own.troubles import OwnError, explain

__all__ = [
    "OwnError",
    "OwnTimer",
    "Source",
    "check",
    "cold_path",
    "explain",
    "input_bytes",
    "load",
    "peak_of",
    "replaced",
    "script",
    "setup",
    "source",
    "subject",
]
