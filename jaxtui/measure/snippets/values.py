"""What a shown expression gave, as a record."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import msgspec
import numpy as np

from jaxtui.measure.errors import full_text
from jaxtui.measure.snippets.code import NO_VALUE
from jaxtui.model import Value

TEXT_CHARACTERS = 2000
ERROR_CHARACTERS = 300
NUMBERS_AT_MOST = 1000


def show(name: str, run: Callable[[], object]) -> Value:
    """Run something, and say what came out: its value, its output or its error.

    Args:
        name: The part's.
        run: Gives the value when it is ready, or ``NO_VALUE``.
    """
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with contextlib.redirect_stdout(printed):
                value = run()
                # What jax.debug.print has to say is part of the output.
                jax.effects_barrier()
            made = _made(name, value, printed.getvalue())
        except Exception as error:
            made = failed(name, error)
    said = dict.fromkeys(str(warning.message) for warning in caught)
    return msgspec.structs.replace(made, warnings=tuple(said))


def failed(name: str, error: Exception) -> Value:
    """The value of an expression that raised."""
    return Value(name=name, text="", error=headline(error), detail=full_text(error))


def headline(error: Exception) -> str:
    """The type of an exception and the first line of its text."""
    lines = str(error).strip().splitlines() or [""]
    return _cut(f"{type(error).__name__}: {lines[0]}".rstrip(": "), ERROR_CHARACTERS)


def numbers(value: object) -> tuple[float, ...]:
    """A number, an array or a list of them as floats.

    Empty for everything else, for more than 1000, and where one is not finite, for
    which JSON has no number.
    """
    try:
        found = list(_floats(value))
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return ()
    return tuple(found) if all(map(math.isfinite, found)) else ()


def _made(name: str, value: object, printed: str) -> Value:
    # That a call of print gives None is not what it was written for.
    silent = value is NO_VALUE or (value is None and printed)
    text = printed if silent else f"{printed}{value}"
    return Value(
        name=name,
        text=_cut(text.rstrip("\n"), TEXT_CHARACTERS),
        numbers=numbers(value),
    )


def _floats(value: object) -> Iterator[float]:
    if isinstance(value, (list, tuple)):
        if len(value) > NUMBERS_AT_MOST:
            raise ValueError("too many")
        found = [number for each in value for number in _floats(each)]
        if len(found) > NUMBERS_AT_MOST:
            raise ValueError("too many")
        yield from found
    elif isinstance(value, (bool, int, float)):
        yield float(value)
    elif isinstance(value, complex):
        yield _real(value)
    elif isinstance(value, (np.ndarray, np.generic, jax.Array)):
        yield from _elements(value)
    else:
        raise TypeError("no number")


def _elements(
    value: np.ndarray[Any, Any] | np.generic | jax.Array,
) -> Iterator[float]:
    if value.size > NUMBERS_AT_MOST:
        raise ValueError("too many")
    flat = np.asarray(value).ravel()
    if flat.dtype.kind in "USOMm":
        raise TypeError("no numbers")
    if flat.dtype.kind == "c":
        yield from map(_real, flat.tolist())
    else:
        # Also for bfloat16 and its like, which NumPy does not know by itself.
        yield from flat.astype(np.float64).tolist()


def _real(value: complex) -> float:
    if value.imag:
        raise ValueError("not real")
    return value.real


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"
