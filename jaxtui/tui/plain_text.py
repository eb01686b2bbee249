"""Stand-ins for characters that the terminal's encoding lacks."""

from __future__ import annotations

import codecs
from typing import TextIO

_STAND_INS = str.maketrans(
    "µ×±—…·▾▶■█▏▎▍▌▋▊▉│─²³°–✓✗●○“”", 'ux~-..v>##||||||||-23o-+x*o""'
)
"""One cell for one cell; whatever else is lacking becomes a question mark."""

_HANDLER = "jaxtui-plain"


def stand_in(error: UnicodeError) -> tuple[str, int]:
    """An error handler for encoding: one ASCII character for each that is lacking.

    Raises:
        UnicodeError: the error itself, if it is not about encoding.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].translate(_STAND_INS)
    plain = "".join(one if one.isascii() else "?" for one in lacking)
    return plain, error.end


def prepare(stream: TextIO | None) -> None:
    """Let a stream that cannot encode everything write stand-ins.

    Python's own way for stderr, a backslash and the character's number, is several
    cells wide and would shift the whole screen.
    """
    reconfigure = getattr(stream, "reconfigure", None)
    encoding = getattr(stream, "encoding", None) or ""
    if reconfigure is not None and not encoding.lower().startswith("utf"):
        codecs.register_error(_HANDLER, stand_in)
        reconfigure(errors=_HANDLER)
