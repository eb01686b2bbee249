"""The features by name: a feature is added with its folder and its line here."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

FEATURES = ("links",)


def part(feature: str, trade: str) -> ModuleType:
    """The module of a feature with this trade, such as ``screen``, imported now."""
    return import_module(f"jaxtui.features.{feature}.{trade}")
