"""What the commands write, and how much of it the other end can show."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO, TypedDict

from jaxtui.text import visible


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream; a closed one has nobody."""
    return stream is not None and not stream.closed and stream.isatty()


def in_colour(stream: TextIO) -> bool:
    """Whether to write colours: to a terminal, unless ``NO_COLOR`` or a dumb one."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(stream) and not plain


def is_ascii(stream: TextIO) -> bool:
    """Whether the stream's encoding has no box drawing, Braille or ``±``."""
    try:
        "█⣿±µ".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


class Look(TypedDict):
    """What a plot has to know of the terminal that it is drawn for."""

    width: int
    """Columns."""
    colour: bool
    ascii_only: bool


def look(stream: TextIO) -> Look:
    """How to draw for this stream."""
    return Look(
        width=shutil.get_terminal_size().columns,
        colour=in_colour(stream),
        ascii_only=is_ascii(stream),
    )


def say(text: str) -> None:
    """Writes a line to stderr, where narration goes."""
    if sys.stderr is not None:
        print(visible(text), file=sys.stderr, flush=True)  # noqa: T201


def put(text: str) -> None:
    """Writes a result to stdout; characters that it lacks become ``?``."""
    text = visible(text)
    put_bytes(text.encode(sys.stdout.encoding or "ascii", errors="replace") + b"\n")


def put_bytes(data: bytes) -> None:
    """Writes a result to stdout as it is; quiet when the reader has gone (``| head``).

    The descriptor is pointed at nothing then, so that Python's own flush at exit stays
    quiet too.
    """
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
