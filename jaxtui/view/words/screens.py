"""What the app answers to keys that cannot be done now, and says of itself."""

from __future__ import annotations

from jaxtui.view.words.base import Words

_TEXTS: dict[str, str] = {}

WORDS = {code: Words("", text.format_map) for code, text in _TEXTS.items()}
"""Their label is nowhere to be seen."""
