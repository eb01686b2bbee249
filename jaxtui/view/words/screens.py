"""What the screen of links answers to keys that cannot be done now."""

from __future__ import annotations

from jaxtui.view.words.base import Words

_TEXTS = {
    "no-links": "No links yet: r times them.",
    "largest-copy": "The largest copy is {size}.",
    "smallest-copy": "The smallest copy is {size}.",
}

WORDS = {code: Words("", text.format_map) for code, text in _TEXTS.items()}
"""Their label is nowhere to be seen."""
