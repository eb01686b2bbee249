"""The functions of a Python file; it is read and never run.

Importing a file may hang, end the process or take an accelerator, so that whoever only
wants to know what is in it reads its syntax tree.
"""

from __future__ import annotations

import ast
import difflib
import os
import stat
import warnings

from jaxtui.model.own import ARGS, MAKE_ARGS, NUMPY
from jaxtui.selection.definitions import functions
from jaxtui.selection.functions import Listing
from jaxtui.selection.sizes import SelectionError

LARGEST_BYTES = 4_000_000
"""Of a file that people have written; reading more would hold up whoever waits."""


def listing(path: str) -> Listing:
    """The functions of a file that can be timed, in the order of its lines.

    Args:
        path: as it was typed; ``~`` is the home directory.

    Raises:
        SelectionError: it is no file of Python that can be read; says why.
    """
    whole = whole_path(path)
    module = _tree(_content(whole, path), path)
    found = sorted(functions(module), key=lambda one: one.line)
    return Listing(
        path=whole,
        functions=tuple(one for one in found if not _is_helper(one.name)),
        helpers=tuple(one for one in found if _is_helper(one.name)),
    )


def whole_path(path: str) -> str:
    """The absolute path of what was typed; ``~`` is the home directory.

    Raises:
        SelectionError: there is no working directory any more, or the path is no text:
            cases, documents and the history are JSON, which has no other bytes.
    """
    try:
        whole = os.path.abspath(os.path.expanduser(path))
    except FileNotFoundError as error:
        raise SelectionError(
            f"{path} cannot be found: the working directory was deleted."
        ) from error
    shown = whole.encode("utf-8", "backslashreplace").decode()
    if shown != whole:
        raise SelectionError(
            f"The path {shown} is no text in UTF-8: rename its folder or file, or copy"
            " it elsewhere."
        )
    return whole


def near_file(path: str) -> str:
    """A file beside it with nearly that name, as a question; empty if there is none."""
    folder, name = os.path.split(path)
    try:
        others = [other for other in os.listdir(folder) if other.endswith(".py")]
    except OSError:
        return ""
    near = difflib.get_close_matches(name, others, n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _is_helper(name: str) -> bool:
    return name.startswith("_") or name.endswith((ARGS, NUMPY)) or name == MAKE_ARGS


def _content(whole: str, path: str) -> bytes:
    try:
        found = os.stat(whole)
        if stat.S_ISDIR(found.st_mode):
            raise SelectionError(f"{path} is a folder: name a file in it.")
        # A pipe or a device may never end, or never begin.
        if not stat.S_ISREG(found.st_mode):
            raise SelectionError(f"{path} is no ordinary file.")
        if not whole.endswith(".py"):
            raise SelectionError(f"{path} does not end in .py.")
        if found.st_size > LARGEST_BYTES:
            size = f"{found.st_size / 1e6:.0f} MB"
            raise SelectionError(f"{path} has {size}: that is no file of functions.")
        with open(whole, "rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError as error:
        raise SelectionError(f"There is no file {path}.{near_file(whole)}") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SelectionError(f"{path} cannot be read: {why}.") from error
    if b"\0" in content:
        raise SelectionError(f"{path} is no text.")
    return content


def _tree(content: bytes, path: str) -> ast.Module:
    name = os.path.basename(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except SyntaxError as error:
        where = f" line {error.lineno}" if error.lineno else ""
        raise SelectionError(f"{name}{where} is no Python: {error.msg}.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SelectionError(f"{name} cannot be read: {error}.") from error
