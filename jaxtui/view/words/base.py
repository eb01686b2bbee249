"""What the table of words is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Facts = Mapping[str, Any]

Text = str | Callable[[Facts], str]
"""A sentence, or what makes one of a remark's facts."""


class Words(msgspec.Struct, frozen=True):
    """What people read for a code."""

    label: str
    """A noun phrase of one to three words; empty where the code is one."""
    text: Text
    advice: Text = ""
    """What to do, last; empty where there is nothing to do."""
    brief: Text = ""
    """The text without figures of single rows, in some fifty characters; empty where
    its first sentence will do."""
