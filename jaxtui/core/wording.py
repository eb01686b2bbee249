"""Words for a code, and the units of the facts in them."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from jaxtui.core import format as fmt
from jaxtui.core.model import LoopStyle
from jaxtui.core.text import ended

Facts = Mapping[str, Any]

Text = str | Callable[[Facts], str]
"""A template of ``written``; a function of the facts where the sentence branches."""

_UNITS: dict[str, Callable[[Any], str]] = {
    "s": fmt.seconds,
    "B": fmt.bytes_text,
    "B/s": lambda value: fmt.rate(value, "B/s"),
    "FLOP/s": fmt.rate,
    "%": fmt.percent,
    "x": fmt.ratio,
    "and": fmt.listed,
    "some": fmt.some,
    ".": ended,
}

WAITS: dict[LoopStyle, str] = {
    "never": "never block",
    "end": "block at the end",
    "each": "block every call",
}
"""The names of the host's waits."""


class _Template(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if (unit := _UNITS.get(format_spec)) is not None:
            return unit(value)
        if len(format_spec) > 1 and format_spec.replace(" ", "").isalpha():
            return fmt.plural(value, format_spec)
        if format_spec == "," and isinstance(value, (list, tuple)):
            return ", ".join(map(str, value))
        return format(value, format_spec)


_TEMPLATE = _Template()


def written(text: Text, facts: Facts) -> str:
    """A text with the facts in it.

    The format spec of a field is a unit (``{dispatch:s}``, ``{free:B}``,
    ``{peak:FLOP/s}``, ``{share:%}``, ``{ratio:x}``), a noun to count
    (``{calls:call}``), or a way to write several (``{names:,}``, ``{names:and}``,
    ``{names:some}``); ``{error:.}`` ends the sentence with a text of others.
    """
    return _TEMPLATE.vformat(text, (), facts) if isinstance(text, str) else text(facts)


class Words(msgspec.Struct, frozen=True):
    """The words of a code."""

    label: str
    """A noun phrase of one to three words; empty where the code is one."""
    text: Text
    advice: Text = ""
    """The advice; empty where there is nothing to do."""
    brief: Text = ""
    """The text without figures of single rows, in some fifty characters; empty where
    its first sentence will do."""
