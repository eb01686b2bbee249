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
    "devices",
    "audit",
    "bench",
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
    "audit": "features.audit.command",
    "bench": "features.bench.command",
    "check": "features.check.command",
    "compare": "features.history.comparing",
    "crossover": "features.crossover.command",
    "devices": "features.devices.command",
    "history": "features.history.command",
    "hlo": "features.program.command",
    "learn": "features.lessons.command",
    "lie": "features.bench.lie",
    "links": "features.links.command",
    "ops": "features.bench.ops",
    "profile": "features.profile.command",
    "roofline": "features.roofline.command",
    "schema": "ui.commands.schema",
}
"""The modules of the commands."""

FORMER = {"compile": "hlo"}
"""The commands that older names stand for."""


def part(feature: str, trade: str) -> ModuleType:
    """The module of a feature with this trade, such as ``screen``, imported now."""
    return import_module(f"jaxtui.features.{feature}.{trade}")


def parts(trade: str) -> Iterator[ModuleType]:
    """The modules with this trade of all features that have one."""
    for feature in FEATURES:
        if find_spec(f"jaxtui.features.{feature}.{trade}") is not None:
            yield part(feature, trade)
