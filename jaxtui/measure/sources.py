"""Which source a function of a file was timed with: a digest, and its packages."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from jaxtui.measure import own
from jaxtui.measure.failures import INSTALLED
from jaxtui.model import SourceCode
from jaxtui.places import read_whole

ELSEWHERE = {*sys.stdlib_module_names, "jaxtui", "jax", "jaxlib", "numpy"}
"""Packages whose versions a document has among the facts of its host."""

IMPORTERS = ("import_module", "__import__")
"""Functions that import what they are told."""

DIGITS = 16
"""Of a digest: enough for billions of versions."""


def of_op(op: str) -> SourceCode | None:
    """The source of a case's function; ``None`` for an op of the catalogue.

    The digest is that of the file, and of the files outside of ``site-packages`` that
    it imports, and those in turn, whatever folder they lie in. What is imported under
    a name that only running tells, and what is read and not imported, is not in it.
    Call it once the function has run: it may have imported something itself.
    """
    source = own.source(op)
    module = None if source is None else own.module_of(source)
    if module is None:
        return None
    files: dict[str, bytes] = {}
    packages: dict[str, str] = {}
    waiting = [("", module)]
    while waiting:
        name, module = waiting.pop()
        files[name] = content = _content(module)
        for imported in _imports(content, module.__package__ or ""):
            top, other = imported.partition(".")[0], sys.modules.get(imported)
            if other is None or top in ELSEWHERE or imported in files:
                continue
            if _is_installed(other):
                packages[top] = _version(top)
            else:
                waiting.append((imported, other))
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(content), content))
    return SourceCode(
        digest=digest.hexdigest()[:DIGITS], packages=dict(sorted(packages.items()))
    )


def _content(module: ModuleType) -> bytes:
    """Empty for a package that is no file."""
    path = getattr(module, "__file__", None)
    try:
        return own.content_of(path) or read_whole(path) if path else b""
    except OSError:  # it was imported out of an archive, or was deleted meanwhile
        return b""


def _imports(content: bytes, package: str) -> Iterator[str]:
    """The full names of all modules that a file may import, packages first."""
    try:
        nodes = [*ast.walk(ast.parse(content))]
    except (SyntaxError, ValueError):  # a compiled one
        return
    for node in nodes:
        names: list[str] = []
        match node:
            case ast.Import():
                names = [each.name for each in node.names]
            case ast.ImportFrom():
                base = "." * node.level + (node.module or "")
                try:
                    base = importlib.util.resolve_name(base, package)
                except ImportError:  # it leaves its package, and would have failed
                    continue
                names = [f"{base}.{each.name}" for each in node.names]
            case ast.Call(args=[ast.Constant(value=str(name)), *_]):
                if (
                    getattr(node.func, "attr", getattr(node.func, "id", ""))
                    in IMPORTERS
                ):
                    names = [name]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: n + 1]) for n in range(len(parts)))


def _is_installed(module: ModuleType) -> bool:
    # A folder without an __init__.py has no file.
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    parts = {part for place in places if place for part in Path(place).parts}
    return not parts or not parts.isdisjoint(INSTALLED)


def _version(package: str) -> str:
    """As the package says it, or else its distribution; empty if neither does."""
    said = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(said, str):
        return said
    names = importlib.metadata.packages_distributions().get(package, ())
    return importlib.metadata.version(names[0]) if names else ""
