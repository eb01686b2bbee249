"""Functions of the user's own as people type them: ``train.py:step``.

The file is read and never run here: that is the engine's affair.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from jaxtui.model import OpInfo
from jaxtui.model.own import dtype_of, is_own, parse_spec, parse_specs, written
from jaxtui.selection.listing import listing, near_file, whole_path
from jaxtui.selection.sizes import SelectionError, parse_sizes

_TYPED = re.compile(
    r"(?P<path>.+\.py)(?::(?P<names>[^:]*)(?::(?P<sizes>.*))?)?", re.DOTALL
)
_ARGUMENT = re.compile(r"(?:[^\s,\[]|\[[^\]]*\]?)+")

ARGUMENTS_ARE_OWN = (
    "--arg describes the arguments of a function of your own: name one, as in "
    "train.py:step."
)
"""Said where it was typed for an op of the catalogue."""

_OWN_DTYPES = ("",)
"""What decides it is only known when the arguments are made."""


def looks_own(text: str) -> bool:
    """Whether a text means a function of a file, however it is misspelt."""
    return _TYPED.fullmatch(text.strip()) is not None or "/" in text


def parse_own(text: str) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    """The ops that ``path/to/file.py:name`` or ``file.py:one,two:2k`` names.

    Returns:
        Each as ``/path/to/file.py:name``, and the sizes, if any.

    Raises:
        SelectionError: There is no such file, or no function is named.
    """
    match = _TYPED.fullmatch(text.strip())
    if match is None:
        raise SelectionError(
            f'"{text}" is neither an op nor a function of a file: '
            "write that as path/to/file.py:name."
        )
    path = whole_path(match["path"])
    if not os.path.isfile(path):
        raise SelectionError(f"There is no file {match['path']}.{near_file(path)}")
    names = [name.strip() for name in (match["names"] or "").split(",")]
    if not all(names):
        raise SelectionError(
            f"Name a function of {match['path']}, as in {match['path']}:"
            f"{_example(path)}."
        )
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise SelectionError(f'"{name}" is no name of a function in "{text}".')
    sizes = None if match["sizes"] is None else parse_sizes(match["sizes"])
    return tuple(f"{path}:{name}" for name in names), sizes


def parse_arguments(texts: Iterable[str]) -> str:
    """Typed arguments such as ``f32[1024,1024]``, as a case keeps them.

    Raises:
        SelectionError: One of them makes no sense.
    """
    try:
        return written(tuple(map(parse_spec, texts)))
    except ValueError as error:
        raise SelectionError(str(error)) from error


def split_arguments(text: str) -> tuple[str, ...]:
    """The texts of several arguments on one line, separated by blanks or commas.

    Blanks and commas inside of brackets belong to a shape.
    """
    return tuple(_ARGUMENT.findall(text))


def own_dtypes(arguments: str) -> tuple[str, ...]:
    """The dtype of a case with these typed arguments; empty where none are typed."""
    return (dtype_of(parse_specs(arguments)),) if arguments else _OWN_DTYPES


def described(op: str) -> OpInfo:
    """What there is to say of ``/path/to/file.py:name`` before it has run."""
    assert is_own(op), op
    return OpInfo(
        name=op,
        summary=f"The function {op}.",
        size_means="what its factory makes of it",
        dtypes=(),
        flops="as XLA counts them",
        bytes="as XLA counts them",
        minimum=0,
        default=0,
        maximum=0,
        own=True,
    )


def _example(path: str) -> str:
    """The functions that a file defines, or a made-up one."""
    try:
        names = [function.name for function in listing(path).functions]
    except SelectionError:
        names = []
    if not names:
        return "step"
    others = f" (there is also {', '.join(names[1:])})" if names[1:] else ""
    return names[0] + others
