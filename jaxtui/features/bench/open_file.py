"""The line in which functions of a Python file are named; only the engine reads it."""

from __future__ import annotations

from functools import partial

from jaxtui.core.model.own import parts
from jaxtui.core.selection import parse_own
from jaxtui.ui.app.line import LineScreen
from jaxtui.ui.app.threads import in_thread


class OpenFile(LineScreen):
    """Dismissed with an op such as ``/path/to/train.py:step,loss``.

    Args:
        last: what was opened before.
    """

    def __init__(self, last: str = "") -> None:
        example = "train.py:step, or train.py:step,loss"
        super().__init__("functions of a file", "take", last, placeholder=example)

    async def take(self, typed: str) -> str:
        ops, _ = await in_thread(partial(parse_own, typed))
        names = ",".join(parts(op)[1] for op in ops)
        return f"{parts(ops[0])[0]}:{names}"
