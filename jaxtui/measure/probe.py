"""Asking a plugin for what it may not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def probe(read: Callable[[], Any]) -> Any:
    """What ``read`` returns, or ``None`` where the device cannot answer.

    Devices come from plugins, which raise what they like for what they lack: an
    AttributeError with an empty message on CPU, UNIMPLEMENTED or INVALID_ARGUMENT as
    a runtime error on others.
    """
    try:
        return read()
    except Exception:  # the set of exceptions is open, see above
        return None
