"""Crossings of two curves."""

from __future__ import annotations

from jaxtui.view.words.base import Words

WORDS: dict[str, Words] = {}
