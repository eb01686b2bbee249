"""What is to be known of a machine: the doctor."""

from __future__ import annotations

from jaxtui.view.words.base import Words

WORDS: dict[str, Words] = {}
