"""What XLA makes of a case; compiling ahead of time; files of functions."""

from __future__ import annotations

from jaxtui.view.words.base import Words

WORDS: dict[str, Words] = {}
