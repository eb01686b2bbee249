"""What a compiled program consists of, read from the text of its optimised HLO."""

from __future__ import annotations

import re
from collections import Counter

_ENTRY = re.compile(r"^ENTRY [^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = .*? ([a-z][\w\-]*)\(")

IDLE = frozenset(
    {
        "after-all",
        "bitcast",
        "constant",
        "get-tuple-element",
        "parameter",
        "partition-id",
        "replica-id",
        "tuple",
    }
)
"""Instructions that name or rearrange values and do nothing on the device."""


def instructions(text: str) -> dict[str, int] | None:
    """The instructions of the entry computation that do something, by their opcode.

    Each is a kernel of its own, or a copy; what XLA fused lies inside a ``fusion``. The
    two halves of an asynchronous one, such as ``copy-start`` and ``copy-done``, count
    once, under the name of both. A loop counts once, whatever its body holds.

    Args:
        text: of ``Compiled.as_text()``.

    Returns:
        The most frequent first; ``None`` where there is no entry computation.
    """
    entry = _ENTRY.search(text)
    if entry is None:
        return None
    counted: Counter[str] = Counter()
    for line in entry[1].splitlines():
        found = _INSTRUCTION.match(line)
        if found and found[1] not in IDLE and not found[1].endswith("-done"):
            counted[found[1].removesuffix("-start")] += 1
    return dict(counted.most_common())
