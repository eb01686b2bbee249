"""Lines on stderr beside a progress line."""

from __future__ import annotations

import sys

from jaxtui.commands.progress import wipe
from jaxtui.commands.terminal import say


def narrate(text: str) -> None:
    """Lines on stderr, where a progress line may be."""
    wipe(sys.stderr)
    say(text)
