"""Functions of the user's own, timed like ops of the catalogue.

Only ``workload``, the loops and who looks into a case run their code, in the engine and
as phases of the case, so that what it does there (raise, print, hang, end the process)
is the affair of that case alone.
"""

from __future__ import annotations

from jaxtui.measure.own.functions import Source, load, source
from jaxtui.measure.own.planning import check, input_bytes
from jaxtui.measure.own.replaced import replaced
from jaxtui.measure.own.troubles import OwnError, explain

__all__ = [
    "OwnError",
    "Source",
    "check",
    "explain",
    "input_bytes",
    "load",
    "replaced",
    "source",
]
