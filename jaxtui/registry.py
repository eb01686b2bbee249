"""The features by name: a feature is added with its folder and its line here.

Whatever is common to all features reaches their parts through this table, so that only
a feature imports itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

FEATURES = (
    "audit",
    "check",
    "crossover",
    "history",
    "lessons",
    "links",
    "profile",
    "program",
    "roofline",
    "timeline",
)

COMMANDS = {
    "audit": "audit.command",
    "check": "check.command",
    "compare": "history.comparing",
    "compile": "program.compiling",
    "crossover": "crossover.command",
    "history": "history.command",
    "hlo": "program.command",
    "learn": "lessons.command",
    "links": "links.command",
    "profile": "profile.command",
    "roofline": "roofline.command",
}
"""The modules of the commands."""


def part(feature: str, trade: str) -> ModuleType:
    """The module of a feature with this trade, such as ``screen``, imported now."""
    return import_module(f"jaxtui.features.{feature}.{trade}")


def parts(trade: str) -> Iterator[ModuleType]:
    """The modules with this trade of all features that have one."""
    for feature in FEATURES:
        if find_spec(f"jaxtui.features.{feature}.{trade}") is not None:
            yield part(feature, trade)
