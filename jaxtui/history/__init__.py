"""Every finished measurement of this user, in one SQLite file."""

from jaxtui.history.keeper import Keeper
from jaxtui.history.query import Filter, Page, Row
from jaxtui.history.store import Entry, History, HistoryBusyError, HistoryError

__all__ = [
    "Entry",
    "Filter",
    "History",
    "HistoryBusyError",
    "HistoryError",
    "Keeper",
    "Page",
    "Row",
]
