"""Loops and snippets: the timeline and the stopwatch."""

from __future__ import annotations

from jaxtui.view.words.base import Words

WORDS: dict[str, Words] = {}
