"""What was recorded: lists of devices of TPU slices, and messages of JAX and below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

RECORD = Path(__file__).with_name("tpu_topologies.json")
"""Nineteen lists of devices, of libtpu's topology descriptions."""


class Recorded(msgspec.Struct):
    """A text, and what is understood of it."""

    source: str
    """As in ``jaxtui.machine.messages``; ``import`` for what JAX's import raises."""
    code: str
    text: str
    facts: dict[str, Any] = {}
    environment: dict[str, str] = {}
    sentence: str = ""
    """A part of what is said about it."""


def messages(*sources: str) -> list[Recorded]:
    lines = Path(__file__).with_name("messages.jsonl").read_bytes().splitlines()
    decoded = (msgspec.json.decode(line, type=Recorded) for line in lines)
    return [message for message in decoded if message.source in sources]


def plain(facts: Any) -> Any:
    """Facts as they are written in JSON: a tuple is a list."""
    return msgspec.json.decode(msgspec.json.encode(facts))
