"""What the table of words is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from jaxtui.text import nearest

Facts = Mapping[str, Any]

Text = str | Callable[[Facts], str]
"""A sentence, or what makes one of a remark's facts."""


def ended(text: str) -> str:
    """A text of others as the end of a sentence."""
    return f"{text.rstrip('.:')}."


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The nearest name as a question after a blank; empty if none is near."""
    near = nearest(name, known, cutoff)
    return f" Did you mean {near}?" if near else ""


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
