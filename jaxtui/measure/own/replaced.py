"""What a file of the user's own has put in the place of parts of Python, NumPy or JAX.

They are everybody's in this process: whatever is measured after it is not what it is
called. The client runs nothing else in this process afterwards; within the run it is
said.
"""

from __future__ import annotations

import builtins
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import jax
import jax.numpy
import numpy as np

WATCHED: tuple[ModuleType, ...] = (
    builtins,
    time,
    np,
    np.linalg,
    np.random,
    jax,
    jax.lax,
    jax.nn,
    jax.numpy,
    jax.random,
)

MOST = 3
"""Names in a sentence."""

_found: dict[str, tuple[str, ...]] = {}
"""By path of the file: what it replaced when it was imported."""


@contextmanager
def watched(path: str) -> Iterator[None]:
    """Note what a file replaces while it is imported in this block."""
    before = [dict(vars(module)) for module in WATCHED]
    try:
        yield
    finally:
        # Before anything else: a builtin may be among them.
        names = tuple(
            f"{module.__name__}.{name}"
            for module, then in zip(WATCHED, before, strict=True)
            for name, value in then.items()
            if vars(module).get(name) is not value
        )
        if names:
            _found[path] = names


def replaced(apart_from: str = "") -> str:
    """What was replaced by files, as a sentence; empty if nothing was.

    Args:
        apart_from: the path of a file that may do what it likes, for its own case.
    """
    sentences = []
    for path, names in _found.items():
        if path != apart_from:
            more = " and more" if len(names) > MOST else ""
            what = ", ".join(names[:MOST]) + more
            sentences.append(f"{os.path.basename(path)} has replaced {what}.")
    return " ".join(sentences)
