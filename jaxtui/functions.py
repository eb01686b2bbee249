"""Python files as they are typed, and their functions by their ``def`` lines; a file is
read and never run.

Importing a file may hang, end the process or take an accelerator. What only running it
tells, such as which arguments suit a function, the engine says.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import Any

from jaxtui.model import SelectionError
from jaxtui.model.own import ARGS, MAKE_ARGS, NUMPY, is_own, parts
from jaxtui.places import read_whole
from jaxtui.text import did_you_mean

LARGEST_BYTES = 4_000_000
"""Of a file that people have written; reading more would take too long."""

MOST = 200
"""Entries of a folder that are listed; typing on shows the others."""


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """A function of a file, as far as its ``def`` says."""

    name: str
    signature: str = "(…)"
    """``(params, batch)``, or ``(…)`` where the file does not say."""
    summary: str = ""
    """The first line of its docstring."""
    line: int = 0
    required: tuple[str, ...] = ()
    """The parameters without a default."""
    factory: str = ""
    """What makes its arguments, as it is called: ``make_args(size=256)``."""
    needs_size: bool = False
    """Its factory must be given a size."""
    has_numpy: bool = False
    """There is ``NAME_numpy`` beside it."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The functions of a file."""

    path: str
    """Absolute."""
    functions: tuple[OwnFunction, ...]
    """In the order of their lines, without what is private or makes arguments."""

    def find(self, name: str) -> OwnFunction:
        """The function of this name; one that has no ``def`` may exist."""
        for function in self.functions:
            if function.name == name:
                return function
        return OwnFunction(name, summary="Without a def of its own in this file.")


def listing(path: str) -> Listing:
    """The functions of a file that can be timed.

    Args:
        path: as it was typed; ``~`` is the home directory.

    Raises:
        SelectionError: it is no file of Python that can be read; says why.
    """
    whole = whole_path(path)
    defs = {
        node.name: node
        for node in _module(whole, path).body
        if isinstance(node, ast.FunctionDef)
    }
    found = [
        _function(node, defs)
        for name, node in defs.items()
        if not (name.startswith("_") or name.endswith((ARGS, NUMPY)))
        and name != MAKE_ARGS
    ]
    return Listing(whole, tuple(sorted(found, key=lambda one: one.line)))


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
            f"The path {shown} is not text in UTF-8: rename its folder or file, or copy"
            " it elsewhere."
        )
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
        raise SelectionError(f"There is no file {path}.{near_file(whole)}") from error
    except IsADirectoryError as error:
        raise SelectionError(f"{path} is a folder: name a file in it.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SelectionError(f"{path} cannot be read: {why}.") from error


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
        found = inspect.getsourcefile(inside) or ""
        if found.endswith(".py") and os.path.isfile(found):
            file = os.path.abspath(found)
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


def near_file(path: str) -> str:
    """A file beside it with nearly that name, as a question; empty if there is none."""
    folder, name = os.path.split(path)
    try:
        others = [other for other in os.listdir(folder) if other.endswith(".py")]
    except OSError:
        return ""
    return did_you_mean(name, others)


def _function(node: ast.FunctionDef, defs: dict[str, ast.FunctionDef]) -> OwnFunction:
    maker = defs.get(node.name + ARGS) or defs.get(MAKE_ARGS)
    sized = next((one for one in _positional(maker) if one != "seed"), None)
    return OwnFunction(
        name=node.name,
        signature=f"({_written(node.args)})",
        summary=(ast.get_docstring(node) or "").strip().partition("\n")[0],
        line=node.lineno,
        required=_required(node),
        factory=f"{maker.name}({_written(maker.args)})" if maker else "",
        needs_size=maker is not None and sized in _required(maker),
        has_numpy=node.name + NUMPY in defs,
    )


def _positional(node: ast.FunctionDef | None) -> list[str]:
    if node is None:
        return []
    return [one.arg for one in (*node.args.posonlyargs, *node.args.args)]


def _required(node: ast.FunctionDef) -> tuple[str, ...]:
    positional = _positional(node)
    return tuple(positional[: len(positional) - len(node.args.defaults)])


def _written(taken: ast.arguments) -> str:
    """The parameters without their annotations, which may be long."""
    bare = ast.arguments(
        posonlyargs=[ast.arg(one.arg) for one in taken.posonlyargs],
        args=[ast.arg(one.arg) for one in taken.args],
        vararg=taken.vararg and ast.arg(taken.vararg.arg),
        kwonlyargs=[ast.arg(one.arg) for one in taken.kwonlyargs],
        kw_defaults=taken.kw_defaults,
        kwarg=taken.kwarg and ast.arg(taken.kwarg.arg),
        defaults=taken.defaults,
    )
    return ast.unparse(bare)


def _module(whole: str, path: str) -> ast.Module:
    content = read(whole, path)
    if not whole.endswith(".py"):
        raise SelectionError(f"{path} does not end in .py.")
    if b"\0" in content:
        raise SelectionError(f"{path} is not text.")
    name = os.path.basename(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except SyntaxError as error:
        where = f" line {error.lineno}" if error.lineno else ""
        raise SelectionError(f"{name}{where} is not Python: {error.msg}.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SelectionError(f"{name} cannot be read: {error}.") from error


# Paths as they are typed.


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a text may become."""

    paths: tuple[str, ...] = ()
    """As they would be typed; folders end in a slash."""
    more: int = 0
    """How many others there are."""
    trouble: str = ""
    """Why there is nothing, in a sentence."""

    @property
    def common(self) -> str:
        """What all of them begin with."""
        # Letters and not whole names: it is what the Tab of a shell completes.
        return os.path.commonprefix(self.paths)  # noqa: RUF071


def split_names(text: str) -> tuple[str, tuple[str, ...]]:
    """The path and the functions of ``train.py:step,loss``."""
    text = text.strip()
    if not is_own(text):
        return text, ()
    path, names = parts(text)
    return path, tuple(filter(None, map(str.strip, names.split(","))))


def candidates(text: str) -> Candidates:
    """Folders and Python files that a path may go on with; reads one folder.

    Names that begin with what was typed come alone, or else those that contain it.
    Hidden ones come when the dot is typed.

    Args:
        text: relative to the working directory; ``~`` is the home directory.
    """
    folder, _, start = text.rpartition("/")
    shown = f"{folder}/" if "/" in text else ""
    if text == "~":
        return Candidates(("~/",))
    try:
        whole = os.path.abspath(os.path.expanduser(shown or "."))
        with os.scandir(whole) as entries:
            names = [name for entry in entries if (name := _entry_name(entry))]
    except FileNotFoundError:
        return Candidates(trouble=f"There is no folder {shown}.")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Candidates(trouble=f"{shown or '.'} cannot be read: {why}.")
    if not start.startswith("."):
        names = [name for name in names if not name.startswith(".")]
    found = [name for name in names if name.startswith(start)] or [
        name for name in names if start.lower() in name.lower()
    ]
    found.sort(key=lambda name: (name.endswith("/"), name.lower()))
    trouble, where = "", shown or "the working directory"
    if not found and start:
        trouble = f'Nothing in {where} matches "{start}".'
    elif not found:
        trouble = f"There is no Python file and no folder in {where}."
    paths = tuple(shown + name for name in found[:MOST])
    return Candidates(paths, max(0, len(found) - MOST), trouble)


def _entry_name(entry: os.DirEntry[str]) -> str:
    """The name of a folder, with a slash, or of a Python file; else nothing."""
    try:
        if entry.is_dir():
            return f"{entry.name}/" if entry.name != "__pycache__" else ""
        return entry.name if entry.name.endswith(".py") else ""
    except OSError:  # a link that leads nowhere
        return ""


def short_path(path: str) -> str:
    """A path from the working directory where that is shorter, or from home."""
    relative = os.path.relpath(path)
    if not relative.startswith(".."):
        return relative
    home = os.path.expanduser("~")
    if home != "/" and path.startswith(home + "/"):
        return "~" + path[len(home) :]
    return path
