"""Evaluates the texts of a snippet, and says what came out as a record."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import jax
import msgspec
import numpy as np

from jaxtui.measure.errors import full_text, headline
from jaxtui.model import SNIPPET_IMPORTS, Value

TEXT_CHARACTERS = 2000
NUMBERS_AT_MOST = 1000

NO_VALUE = object()
"""What running a statement gives."""


class Namespace:
    """The global names of one run of a snippet."""

    def __init__(self, title: str) -> None:
        """Take the title, which tracebacks name."""
        self._title = title
        self._names: dict[str, Any] = {"__name__": "snippet"}

    def set_up(self, setup: str) -> None:
        """Run the imports of every snippet, then ``setup``."""
        self._execute(SNIPPET_IMPORTS, "imports")
        self._execute(setup, "setup")

    def function(self, code: str, name: str) -> Callable[[], object]:
        """A function without arguments that evaluates the expression ``code``.

        Raises:
            SyntaxError: It is no expression.
        """
        tree = self._parsed(code, name)
        # ``lambda: …`` around the expression, without moving its lines.
        none = ast.arguments(
            posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        tree.body = ast.Lambda(args=none, body=tree.body)
        made = self._evaluate(ast.fix_missing_locations(tree), name)
        return cast("Callable[[], object]", made)

    def run(self, code: str, name: str) -> object:
        """The value of an expression; ``NO_VALUE`` of a statement, which is run."""
        try:
            tree = self._parsed(code, name)
        except SyntaxError:
            self._execute(code, name)
            return NO_VALUE
        return self._evaluate(tree, name)

    def _parsed(self, code: str, name: str) -> ast.Expression:
        filename = self._registered(code, name)
        return ast.parse(code, filename, mode="eval")

    def _evaluate(self, tree: ast.Expression, name: str) -> object:
        compiled = compile(tree, self._filename(name), "eval", dont_inherit=True)
        return eval(compiled, self._names)

    def _execute(self, code: str, name: str) -> None:
        filename = self._registered(code, name)
        exec(compile(code, filename, "exec", dont_inherit=True), self._names)

    def _filename(self, name: str) -> str:
        return f"<{self._title}: {name}>"

    def _registered(self, code: str, name: str) -> str:
        """The file name of a text, under which ``linecache`` finds its lines."""
        filename, lines = self._filename(name), code.splitlines(keepends=True)
        # Without a time of change the entry is never taken for outdated.
        linecache.cache[filename] = len(code), None, lines, filename
        return filename


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
            made = Value(
                name=name, text="", error=headline(error), detail=full_text(error)
            )
    said = dict.fromkeys(str(warning.message) for warning in caught)
    return msgspec.structs.replace(made, warnings=tuple(said))


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
