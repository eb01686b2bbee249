"""Python files and functions as they are typed; a file is read and never run.

Importing a file may hang, end the process or take an accelerator. What is in it, the
engine says.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import MethodType
from typing import Any

from jaxtui.core.model import SelectionError
from jaxtui.core.places import read_whole
from jaxtui.core.text import ended, nearest

LARGEST_BYTES = 4_000_000
"""Bytes of the largest file that people have written; reading more would take
too long."""


def whole_path(path: str) -> str:
    """The absolute path of what was typed; ``~`` is the home directory.

    Raises:
        SelectionError: there is no working directory any more, or the path is no text:
            cases, documents and the history are JSON, which has no other bytes.
    """
    try:
        whole = os.path.abspath(os.path.expanduser(path))
        whole.encode()
    except (OSError, UnicodeEncodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SelectionError(f"Cannot read {path}: {ended(why)}") from error
    return whole


def read(whole: str, path: str) -> bytes:
    """The content of a file of functions.

    Args:
        whole: its absolute path.
        path: as it was typed.

    Raises:
        SelectionError: it cannot be read; says why.
    """
    try:
        return read_whole(whole, LARGEST_BYTES)
    except FileNotFoundError as error:
        near = _near_file(whole)
        question = f" Did you mean {near}?" if near else ""
        raise SelectionError(
            f"There is no file {path}.{question} Name a Python file and a function, as"
            " in train.py:step."
        ) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SelectionError(f"Cannot read {path}: {ended(why)}") from error


def op_of(function: Callable[..., Any]) -> str:
    """The op that stands for a function of this process: ``/path/to/file.py:name``.

    One that no file has, such as that of a notebook, is ``__main__.py:name``.
    """
    inside: Any = function
    while isinstance(inside, (partial, MethodType)):
        inside = inside.func if isinstance(inside, partial) else inside.__func__
    inside = inspect.unwrap(inside)
    file = f"{getattr(inside, '__module__', None) or '__main__'}.py"
    with suppress(TypeError, OSError):
        source = inspect.getsourcefile(inside) or ""
        if source.endswith(".py") and os.path.isfile(source):
            file = os.path.abspath(source)
    name = str(getattr(inside, "__name__", type(inside).__name__))
    name = re.sub(r"\W", "", name) or "function"
    return f"{file}:{name}"


def module_file(name: str) -> str | None:
    """The file of a module in the working directory, or where Python looks for it.

    Nothing is imported: of a package of several parts only the folders are looked at.
    """
    first, *rest = name.split(".")
    folders: list[str] = []
    with suppress(OSError):
        folders.append(os.path.join(os.getcwd(), first))
    # A broken entry of the path may raise anything.
    with suppress(Exception):
        spec = importlib.util.find_spec(first)
        folders += (spec and spec.submodule_search_locations) or ()
        if spec and spec.origin and not rest:
            folders.append(spec.origin.removesuffix(".py"))
    for folder in folders:
        path = os.path.join(folder, *rest)
        for file in (f"{path}.py", os.path.join(path, "__init__.py")):
            if os.path.isfile(file):
                return file
    return None


def _near_file(path: str) -> str:
    """A file of the same folder with nearly that name; empty if there is none."""
    folder, name = os.path.split(path)
    try:
        files = [entry for entry in os.listdir(folder) if entry.endswith(".py")]
    except OSError:
        return ""
    return nearest(name, files)
