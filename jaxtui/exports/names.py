"""What a file is called if nobody says otherwise."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxtui.model import Case
from jaxtui.model.own import is_own, parts

MANY = 2
"""So many ops or dtypes are named; more are counted."""

_NOT_IN_NAMES = re.compile(r"[^\w.+-]+", re.ASCII)


def stamp(moment: float | None = None) -> str:
    """A moment as it stands in names, in the reader's own time.

    Args:
        moment: Seconds since 1970; now by default.
    """
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(moment))


def unused(path: Path) -> Path:
    """The path, with a number where there is such a file already."""
    number, found = 1, path
    while os.path.lexists(found):
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found


def named(*words: str) -> str:
    """Words as the beginning of a file's name: what shells want quoted is left out."""
    kept = (_NOT_IN_NAMES.sub("_", word).strip("_.-") for word in words)
    return "-".join(word for word in kept if word)


def of_cases(cases: Sequence[Case]) -> str:
    """Op, size and dtype of some cases: ``matmul-256-4096-float32``."""
    ops = _some((parts(one.op)[1] if is_own(one.op) else one.op for one in cases), "op")
    sizes = sorted({one.size for one in cases} - {0})
    # A range; a function of the user's own may have no size.
    span = "-".join(str(one) for one in sizes[:1] + sizes[1:][-1:])
    return named(ops, span, _some((one.dtype for one in cases), "dtype"))


def _some(words: Iterable[str], noun: str) -> str:
    """The words once each, or how many there are."""
    found = [word for word in dict.fromkeys(words) if word]
    return "-".join(found) if len(found) <= MANY else f"{len(found)}-{noun}s"
