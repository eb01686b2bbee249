"""What the tab History shows: one immutable part of the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxtui.analysis.comparison import Comparison
    from jaxtui.history.store import Entry, Row

# SQLite is imported when the tab is first shown: the first frame has no use for it.

PAGE = 200
"""Rows that are read at once."""

NEAR = 50
"""So many rows before the last one that was read the next are asked for."""

KEPT = 1_000
"""Rows that are read again at most when the list is refreshed."""

LABELS = ("A", "B")
"""What the two marked measurements are called."""


@dataclass(frozen=True, slots=True)
class HistoryState:
    """Everything that the tab History shows."""

    text: str = ""
    """The words that are filtered by, as they were typed."""
    rows: tuple[Row, ...] = ()
    """The newest first, as far as they were read."""
    count: int | None = None
    """How many the words mean; ``None`` before the first answer."""
    unreadable: int = 0
    """How many damaged ones were passed over so far."""
    cursor: int | None = None
    """Id of the row under the cursor."""
    entry: Entry | None = None
    """The whole measurement of a row that the cursor was at."""
    marked: tuple[int, ...] = ()
    """Ids, two at most, in the order in which they were marked."""
    compared: tuple[Entry, ...] = ()
    """The whole measurements of what is marked, as far as they were read."""
    comparison: Comparison | None = None
    """Of the two that are marked."""
    trouble: str = ""
    """Why nothing can be listed, one sentence."""

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return next((one for one in self.rows if one.id == self.cursor), None)

    @property
    def detail(self) -> Entry | None:
        """The whole measurement under the cursor, once it is read."""
        entry = self.entry
        return entry if entry is not None and entry.id == self.cursor else None

    @property
    def has_more(self) -> bool:
        """Whether there are rows that were not read yet."""
        return self.count is not None and self.read < self.count

    @property
    def read(self) -> int:
        """How many were read, damaged ones among them."""
        return len(self.rows) + self.unreadable


NO_HISTORY = HistoryState()
"""The tab was not shown yet."""
