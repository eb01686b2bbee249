"""Giving a terminal back in order when the UI that drew on it has vanished.

The client captures the terminal before Textual changes it and hands a duplicate to
the engine, which outlives a UI that was killed.
"""

from __future__ import annotations

import json
import os
import select
import sys

if sys.platform != "win32":
    import termios

RESETS = (
    b"\x1b[?2026l"  # end a synchronised update
    b"\x1b[<u"  # kitty keys off; before the alternate screen, which has its own stack
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    b"\x1b[?2004l\x1b[?1004l\x1b[?2048l"  # paste, focus and resize reports
    b"\x1b[0m"
    b"\x1b[?7h"  # wrap lines
    b"\x1b[?1049l"  # leave the alternate screen
    b"\x1b[?25h"  # show the cursor
)
"""What undoes everything that Textual 8 switches on."""

_LFLAG = 3


class Terminal:
    """A duplicated terminal and the attributes that it had before the UI drew on it."""

    def __init__(self, fd: int, attributes: str) -> None:
        """Take a descriptor that stays open, and attributes as ``capture`` saved them.

        Raises:
            ValueError: The attributes are not the text of another ``Terminal``.
        """
        self.fd = fd
        self.attributes = attributes
        """As one word of JSON, which is how they travel to the engine."""
        self._saved = _decoded(attributes)
        self._local_flags = json.loads(attributes)[_LFLAG]

    @classmethod
    def capture(cls, fd: int | None) -> Terminal | None:
        """Duplicate ``fd`` and remember its attributes; ``None`` if it is no tty."""
        if fd is None:
            return None
        try:
            attributes = termios.tcgetattr(fd)
        except (termios.error, OSError):
            return None
        return cls(os.dup(fd), _encoded(attributes))

    def restore(self) -> None:
        """Undo what a full-screen UI does; a terminal that is gone is left alone."""
        try:
            # A tty that nobody reads must not keep the engine alive.
            if select.select((), (self.fd,), (), 0.2)[1]:
                os.write(self.fd, RESETS)
            if self._is_raw():
                termios.tcsetattr(self.fd, termios.TCSANOW, self._saved)
        except (termios.error, OSError, ValueError):
            return

    def _is_raw(self) -> bool:
        # The shell may be back already and have set the terminal up for its prompt.
        # Line editors leave IEXTEN on; Textual switches it off.
        now = termios.tcgetattr(self.fd)[_LFLAG]
        return not now & termios.IEXTEN or not self._local_flags & termios.IEXTEN


def _encoded(attributes: list[object]) -> str:
    *flags, characters = attributes
    assert isinstance(characters, list)
    numbers = [c[0] if isinstance(c, bytes) else c for c in characters]
    return json.dumps([*flags, numbers], separators=(",", ":"))


def _decoded(text: str) -> list[int | list[int | bytes]]:
    *flags, numbers = json.loads(text)
    # tcsetattr takes single bytes everywhere, also for VMIN and VTIME.
    return [*flags, [bytes((number,)) for number in numbers]]
