"""Keeps what is measured, and opens the history no sooner than that.

SQLite is not imported before the first measurement has arrived: nobody who starts the
app, or mistypes an option, waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jaxtui.model import CaseMeasured, Event, Ready

if TYPE_CHECKING:
    from jaxtui.history import Keeper

NO_SQLITE = (
    "This Python was built without SQLite, so nothing is kept in the history. "
    "Measuring goes on."
)


class Recording:
    """Takes in every event of an engine, and keeps its finished measurements."""

    def __init__(
        self, warn: Callable[[str], None], written: Callable[[], None] = lambda: None
    ) -> None:
        """Take what to do with a sentence about the history, and with its growth.

        Args:
            warn: Called from whichever thread finds out, seldom more than once.
            written: Called from another thread after each measurement that is kept.
        """
        self._warn = warn
        self._written = written
        self._ready: Ready | None = None
        self._keeper: Keeper | None = None
        self._possible = True

    def observe(self, event: Event) -> None:
        """Keep it, if it is a finished measurement."""
        if isinstance(event, Ready):
            self._ready = event
        elif isinstance(event, CaseMeasured) and self._possible:
            self._keeper = self._keeper or self._opened()
        if self._keeper is not None:
            self._keeper.observe(event)

    def close(self, patience: float | None = None) -> bool:
        """Wait until everything is written; returns whether it is.

        Args:
            patience: Seconds to wait at most; ``None`` is as long as it takes.
        """
        return self._keeper is None or self._keeper.close(patience)

    def _opened(self) -> Keeper | None:
        try:
            from jaxtui.history import History, Keeper
        except ImportError:
            self._possible = False
            self._warn(NO_SQLITE)
            return None
        keeper = Keeper(History(), self._warn, self._written)
        if self._ready is not None:
            keeper.observe(self._ready)
        return keeper
