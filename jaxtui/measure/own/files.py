"""The user's file as a module: imported where it lies, once for each content."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
from types import ModuleType

from jaxtui.measure.own.replaced import watched
from jaxtui.measure.own.troubles import OwnError

_loaded: dict[str, tuple[bytes, ModuleType]] = {}
"""By path: the content that was imported, and what came of it."""


def load(path: str) -> ModuleType:
    """The module of a file.

    Its folder comes first on ``sys.path``, as with ``python file.py``, so that it finds
    what lies beside it. Its ``__name__`` is not ``__main__``. A file that has changed
    is imported afresh; what it imports itself is as old as this process.

    Raises:
        OwnError: The file cannot be read.
        BaseException: Whatever the file raises.
    """
    content = read(path)
    known = _loaded.get(path)
    if known is not None and known[0] == content:
        return known[1]
    linecache.checkcache(path)
    code = compile(content, path, "exec")
    module = ModuleType(_module_name(path, content))
    module.__file__ = path
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # Where dataclasses and others look for the module of a class.
    sys.modules[module.__name__] = module
    try:
        with watched(path):
            exec(code, module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    _loaded[path] = content, module
    return module


def read(path: str) -> bytes:
    """The content of a file.

    Raises:
        OwnError: It is not there, no file, or may not be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise OwnError(
            f"{path} cannot be read: {error.strerror}.",
            "Name a Python file, as in train.py:step.",
        ) from error


def _module_name(path: str, content: bytes) -> str:
    """A name that hides no other module, whatever the file is called."""
    stem = os.path.basename(path).removesuffix(".py")
    digest = hashlib.sha256(path.encode(errors="replace") + b"\0" + content)
    return f"own_{stem}_{digest.hexdigest()[:8]}"
