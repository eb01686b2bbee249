"""The engine: how it starts, ends, refuses, and what a case raised."""

from __future__ import annotations

from jaxtui.view.words.base import Words

WORDS: dict[str, Words] = {}
