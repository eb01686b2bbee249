"""The result of a feature's last run: the same for its command and its screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from jaxtui.core.model.document import Document
from jaxtui.core.state import State
from jaxtui.ui.documents import encode
from jaxtui.ui.export import Contents
from jaxtui.ui.report import Report, markdown, svg

Result = TypeVar("Result", bound=Document)


class Outcome(msgspec.Struct, Generic[Result], frozen=True):
    """The functions by which a feature reads the state."""

    document: type[Result]
    result: Callable[[State, bool], Result]
    """The document; the flag says whether everything that was asked for arrived."""
    report: Callable[[Result, State], Report]
    count: Callable[[Result], tuple[int, int]]
    """Returns the number of figures, and of those requested."""
    code: Callable[[Result], int] | None = None
    """Returns the exit code; ``None`` if that depends on the numbers alone."""

    def files(self, result: Result, state: State) -> Contents:
        """Every kind of file that there is."""
        return {
            ".json": lambda: encode(result).decode(),
            ".md": lambda: markdown(self.report(result, state)),
            ".svg": lambda: svg(self.report(result, state)),
        }
