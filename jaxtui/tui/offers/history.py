"""What the tab History has to export."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxtui.analysis.comparison import pairs
from jaxtui.document import Results, encode
from jaxtui.export import named, of_cases, stamp
from jaxtui.tui.aside import in_thread
from jaxtui.tui.history_text import below, side_of
from jaxtui.tui.offers.offer import Content, Format, Offer, at_once, formats
from jaxtui.tui.offers.scripts import Planner, script_of
from jaxtui.view import history as view
from jaxtui.view.compare import Pairs

if TYPE_CHECKING:
    from jaxtui.history.store import Page
    from jaxtui.tui.history_state import HistoryState

Reader = Callable[[], Awaitable["Page"]]
"""Reads all that the words mean."""

COLUMNS = 1_000
"""Of a measurement as text: nothing of it is cut."""


def of_past(past: HistoryState, read: Reader, plan: Planner) -> Offer:
    """What the tab lists, what is marked, and what is at the cursor.

    Args:
        past: what the tab shows.
        read: reads what is listed.
        plan: for the scripts.
    """
    every = (*_pair(past), *_list(past, read), *_measurement(past, plan))
    return Offer(what="the history", formats=every)


def _list(past: HistoryState, read: Reader) -> tuple[Format, ...]:
    def content(ending: str) -> Content:
        async def written() -> str:

            make = view.files(await read())[ending]
            # It may be a hundred thousand rows.
            return await in_thread(make)

        return written

    count = (past.count or past.read) - past.unreadable
    listed = f"all {count} that are listed" if count > 1 else "the one that is listed"
    holds = {
        ".csv": f"{listed}, a row each in base units",
        ".md": f"{listed}, as a table for people",
        ".json": f"{listed}, as jaxtui history --json",
    }
    stem = named("history", *past.text.split(), stamp())
    return formats(stem, *((one, said, content(one)) for one, said in holds.items()))


def _pair(past: HistoryState) -> tuple[Format, ...]:
    found, entries = past.comparison, past.compared
    if found is None or len(entries) != 2:
        return ()

    def document() -> str:
        sides = [[side_of(one, str(one.id))] for one in entries]
        return encode(Pairs(pairs=pairs(*sides))).decode()

    every = "the two that are marked, as jaxtui compare --json"
    words = "the two that are marked, in words"
    return formats(
        named("compare", *(str(one.id) for one in entries), stamp()),
        (".json", every, at_once(document)),
        (".txt", words, at_once(lambda: _below(past))),
    )


def _measurement(past: HistoryState, plan: Planner) -> tuple[Format, ...]:
    entry = past.detail
    if entry is None:
        return ()
    one, alone = (
        entry.measurement,
        replace(past, compared=(), comparison=None, marked=()),
    )

    def document() -> str:
        results = Results.of(entry.host, (one,), ())
        return encode(results).decode()

    whole = formats(
        named(of_cases((one.case,)), stamp(entry.at)),
        (".json", "the one at the cursor, for jaxtui compare", at_once(document)),
        (".txt", "the one at the cursor, in words", at_once(lambda: _below(alone))),
    )
    return (*whole, script_of(one.case, plan))


def _below(past: HistoryState) -> str:
    return below(past, COLUMNS, brief=False).plain + "\n"
