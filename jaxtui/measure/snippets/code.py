"""The names of one snippet, and its texts compiled so that tracebacks quote them."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any, cast

from jaxtui.model import SNIPPET_IMPORTS

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
        made = self._evaluate(_as_function(self._parsed(code, name)), name)
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
        compiled: CodeType = compile(code, filename, "exec", dont_inherit=True)
        exec(compiled, self._names)

    def _filename(self, name: str) -> str:
        return f"<{self._title}: {name}>"

    def _registered(self, code: str, name: str) -> str:
        """The file name of a text, under which ``linecache`` finds its lines."""
        filename, lines = self._filename(name), code.splitlines(keepends=True)
        # Without a time of change the entry is never taken for outdated.
        linecache.cache[filename] = len(code), None, lines, filename
        return filename


def _as_function(tree: ast.Expression) -> ast.Expression:
    """``lambda: …`` around an expression, without moving its lines."""
    none = ast.arguments(
        posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    wrapped = ast.Expression(body=ast.Lambda(args=none, body=tree.body))
    return ast.fix_missing_locations(wrapped)
