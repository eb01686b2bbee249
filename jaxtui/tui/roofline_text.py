"""The roofline in words: a row of the table for each case, and sentences about one."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.roofline import Place, words
from jaxtui.tui import results
from jaxtui.tui.results import Sentence
from jaxtui.tui.roofline_places import Placed, placed, verdict, waits
from jaxtui.tui.roofs_words import of_a_roof
from jaxtui.tui.state import State

POINT = " "
"""The column of what the case is called in the picture."""

WIDE = (
    POINT,
    "op",
    "size",
    "dtype",
    "device",
    "mode",
    "flops/byte",
    "rate",
    "of roof",
    "limited by",
)
"""Of the table of results while the roofline is shown."""

NARROW = tuple(column for column in WIDE if column != "device")
"""The same where there is no room for more."""


def rows(state: State) -> tuple[dict[str, str], ...]:
    """Every cell of every case, by column."""
    if state.run is None:
        return ()
    found, run = placed(state), state.run
    told = [results.row(case, run) for case in run.cases]
    return tuple(
        row | _cells(state, found, index, row["ready"])
        for index, row in enumerate(told)
    )


def sentences(state: State) -> tuple[Sentence, ...]:
    """What limits the selected case, and how the roofs became known."""
    found, index = placed(state), state.case_index
    if found is None:
        return ()
    said = verdict(state, found, index)
    told = [Sentence(found.letters[index] or "roofline", said)] if said else []
    roofs = found.roofs
    told += [Sentence(words.roof_name(one), of_a_roof(one)) for one in roofs.roofs]
    told += [Sentence("missing", words.missing_text(one)) for one in roofs.missing]
    cached = words.cache_text(roofs)
    return (*told, Sentence("cache", cached)) if cached else tuple(told)


def _cells(
    state: State, found: Placed | None, index: int, doing: str
) -> dict[str, str]:
    """What the roofline adds to a row; while it has no figures, what goes on instead.

    A column of times would say that in other views.
    """
    blank = dict.fromkeys((POINT, "flops/byte", "of roof", "limited by"), "")
    assert state.run is not None
    if state.run.cases[index].measurement is None:
        return blank | {"limited by": doing}
    where = None if found is None else found.places[index]
    if found is None or where is None or waits(state, found, index):
        return blank
    own = {
        POINT: found.letters[index],
        "flops/byte": words.intensity_text(where),
        "of roof": fmt.percent(where.share),
        "limited by": _limit(where),
    }
    return own | ({"rate": words.place_rate_text(where)} if where.rate else {})


def _limit(where: Place) -> str:
    """What the verdict says, in one or two words."""
    share = where.share
    if share is None:
        return "no place here"
    in_cache = where.bound == "memory" and where.cached
    if share > words.AT_THE_ROOF:
        return "cache" if in_cache else "over the roof"
    if share < words.NEAR or in_cache:
        return "something else"
    return "memory" if where.bound == "memory" else "arithmetic"
