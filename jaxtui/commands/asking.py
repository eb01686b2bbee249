"""Asking before a run that takes longer than anybody may expect."""

from __future__ import annotations

import sys

from jaxtui.commands.terminal import is_terminal, typed_line
from jaxtui.selection import Extent, SelectionError
from jaxtui.text import visible

DECLINED = "Nothing was measured."


async def may_start(extent: Extent, *, sure: bool) -> bool:
    """Whether to start what comes to so much; asks only if it is large.

    Args:
        extent: how much it is.
        sure: ``--yes`` was typed, so that nobody is asked.

    Raises:
        SelectionError: if nobody is there to be asked.
    """
    if sure or not extent.is_large:
        return True
    if not is_terminal(sys.stdin) or not is_terminal(sys.stderr):
        raise SelectionError(f"{extent.text}: add --yes if it is meant.")
    sys.stderr.write(visible(f"{extent.text}. Go on? [y/N] "))
    sys.stderr.flush()
    return (await typed_line()).strip().lower() in ("y", "yes")
