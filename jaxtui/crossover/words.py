"""The answers in sentences, and what the two sides are called in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxtui import format as fmt
from jaxtui.crossover.answer import Answer, Crossing, Payback
from jaxtui.crossover.costs import Clock
from jaxtui.crossover.points import Side, other
from jaxtui.crossover.search import Search
from jaxtui.model import Case

FIELDS = ("mode", "dtype", "precision", "device", "inputs")
"""What two cases of one op and size can differ in, in the order in which it is said."""

_COUNTED: dict[Clock, str] = {
    "call": "Per call",
    "call_and_transfers": "Per call, arguments sent and result fetched each time",
    "first_call": "For one single call, compile included",
    "first_call_and_transfers": "For one single call, compile, sending and fetching "
    "included",
}


class Names(NamedTuple):
    """What the two sides are called."""

    first: str
    second: str

    def of(self, side: Side) -> str:
        """The name of one of them."""
        return self.first if side == "first" else self.second


def names(first: Case, second: Case) -> Names:
    """As few words as tell the two apart: ``numpy`` and ``jit``."""
    differ = [name for name in FIELDS if getattr(first, name) != getattr(second, name)]
    if "mode" in differ:
        # Device and inputs of NumPy follow from its mode, and it takes no precision.
        hosted = ("mode", "dtype") if first.on_host or second.on_host else FIELDS
        differ = [name for name in differ if name in hosted]
    return Names(
        *(
            " ".join(_word(case, name) for name in differ) or case.mode
            for case in (first, second)
        )
    )


def _word(case: Case, name: str) -> str:
    return f"{case.inputs} inputs" if name == "inputs" else str(getattr(case, name))


def sentences(search: Search) -> Iterator[str]:
    """A sentence or two for each question that was asked."""
    called = names(search.first, search.second)
    for found in search.answers:
        yield sentence(found, called, whole=search.outcome != "incomplete")


def sentence(found: Answer, called: Names, *, whole: bool = True) -> str:
    """Who is faster where, by one clock.

    Args:
        found: the answer.
        called: what the two are called.
        whole: the search has come to its end, so that it can have found no crossing.
    """
    counted = _COUNTED[found.clock]
    if found.low is None or found.high is None:
        return f"{counted}: nothing was measured at both."
    crossing = found.crossing
    if crossing is not None:
        said = f"{counted}, {_crossed(crossing, called)}"
        return " ".join([said, *_others(found.crossings[:-1], called)])
    span = _span(found.low, found.high)
    if found.faster is None:
        return (
            f"{counted}, no difference between {called.first} and {called.second} can "
            f"be measured {span}."
        )
    ahead = called.of(found.faster)
    none = f"no crossover up to {number(found.high)}."
    if not whole:
        none = "whether they cross is not known."
    if not found.even:
        return f"{counted}, {ahead} is faster {span}: {none}"
    sizes = [number(size) for size in found.even]
    if found.sure is not None and found.even[0] > found.sure:
        return (
            f"{counted}, {ahead} is faster up to {number(found.sure)}, and above "
            f"that, up to {number(found.high)}, no difference can be measured: {none}"
        )
    return (
        f"{counted}, {ahead} is faster {span}, but for {_listed(sizes)}, where no "
        f"difference can be measured: {none}"
    )


def _span(low: int, high: int) -> str:
    if low == high:
        return f"at {number(low)}, the only size that was measured"
    return f"at every size from {number(low)} to {number(high)}"


def _crossed(crossing: Crossing, called: Names) -> str:
    ahead, behind = called.of(crossing.faster), called.of(other(crossing.faster))
    below, above = number(crossing.below), number(crossing.above)
    if not crossing.undecided:
        return (
            f"{ahead} is faster from about {about(crossing)} on: "
            f"{behind} is still ahead at {below}, {ahead} at {above}."
        )
    first, last = crossing.undecided[0], crossing.undecided[-1]
    where = f"at {number(first)}"
    if first != last:
        where = f"between {number(first)} and {number(last)}"
    what = "no difference can be measured"
    if crossing.mixed:
        what = "it was now the one, now the other"
    return (
        f"{behind} is faster up to {below} and {ahead} from {above} on; {where} {what}."
    )


def _others(crossings: Sequence[Crossing], called: Names) -> Iterator[str]:
    """Those below the last one, which the search has not closed in on."""
    if not crossings:
        return
    said = [
        f"between {number(one.below)} and {number(one.above)} "
        f"({called.of(one.faster)} ahead above)"
        for one in crossings
    ]
    yield f"They cross before that, too: {_listed(said)}."


def payback_sentence(found: Sequence[Payback], called: Names) -> str:
    """After how many calls the start has paid; empty where nothing was measured."""
    if not found:
        return ""
    side = found[-1].side
    paid = [(one.size, one.calls) for one in found if one.calls is not None]
    start = f"The start of {called.of(side)}, compile and first transfer,"
    if not paid:
        return (
            f"{start} never pays at the sizes that were measured: its calls are not "
            f"faster than those of {called.of(other(side))}."
        )
    ends = [paid[0]] if len(paid) == 1 else [paid[0], paid[-1]]
    said = [f"after {calls_text(calls)} at {number(size)}" for size, calls in ends]
    return f"{start} pays {' and '.join(said)}."


def calls_text(calls: int | None) -> str:
    """``1 call``, ``27 calls``, ``never``."""
    if calls is None:
        return "never"
    if calls >= 10_000:
        # Its digits hang on a single observation of the compile.
        calls = rounded(calls)
    return f"{fmt.count(calls)} call{'s' if calls != 1 else ''}"


def wins(crossing: Crossing, called: Names) -> str:
    """The crossing as a mark on a plot has it: ``jit beats numpy from ~380``."""
    faster, slower = called.of(crossing.faster), called.of(other(crossing.faster))
    return f"{faster} beats {slower} from ~{about(crossing)}"


def about(crossing: Crossing) -> str:
    """The place of a crossing: ``380``, ``31,000``."""
    return place(crossing.at, crossing.below, crossing.above)


def place(size: float, low: int, high: int) -> str:
    """A size with two digits, or as many as keep it between its neighbours.

    It is not known better, and interpolation is no measuring.
    """
    for digits in (2, 3, 4):
        short = rounded(size, digits)
        if low <= short <= high:
            return number(short)
    return number(round(size))


def number(size: int) -> str:
    """A size in a sentence: ``8192``, ``163,840``."""
    return str(size) if size < 10_000 else fmt.count(size)


def rounded(value: float, digits: int = 2) -> int:
    """To so many digits."""
    return round(float(f"{value:.{digits - 1}e}"))


def how_it_ended(search: Search) -> str:
    """Why there is no more; empty if nothing is missing."""
    if search.outcome == "budget":
        return (
            f"The budget of {fmt.seconds(search.budget_seconds)} ended before the "
            "search had closed in: a larger --budget gives narrower answers."
        )
    if search.outcome == "cancelled":
        return "The search was interrupted: these answers are from what had arrived."
    if search.outcome == "incomplete":
        return (
            "Incomplete: the engine was lost on the way. Larger sizes and those in "
            "between are missing: these answers are from what had arrived."
        )
    return ""


def _listed(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
