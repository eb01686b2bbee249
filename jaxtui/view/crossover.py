"""A search for crossings: sentences, tables, the plot and the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis.crossover import (
    SIDES,
    Answer,
    Clock,
    Crossing,
    Outcome,
    Payback,
    Point,
    Search,
    Side,
    cost,
    faster,
    has_few_rounds,
    other,
    paybacks,
    ratio,
)
from jaxtui.model import Case, Failure, Host, Measurement, Note, Record, run_notes
from jaxtui.model.own import short_name
from jaxtui.plot import COLORS, Mark, Picture, Series
from jaxtui.state import CaseState, Job
from jaxtui.stats import Interval
from jaxtui.text import join_painted
from jaxtui.view import curves
from jaxtui.view.bench import failure_text
from jaxtui.view.curves import number, place, rounded
from jaxtui.view.document import SCHEMA, split_notes
from jaxtui.view.text import INCOMPLETE, first_fitting, table, wrap

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
    first: str
    second: str

    def of(self, side: Side) -> str:
        return self.first if side == "first" else self.second


FIRST_AND_SECOND = Names("first", "second")
"""What the two are called where their names are too long for a table."""


def names(first: Case, second: Case) -> Names:
    """As few words as tell the two apart: ``numpy`` and ``jit``."""
    differ = [name for name in FIELDS if getattr(first, name) != getattr(second, name)]
    if "mode" in differ and (first.on_host or second.on_host):
        # Device and inputs of NumPy follow from its mode, and it takes no precision.
        differ = [name for name in differ if name in ("mode", "dtype")]

    def word(case: Case, name: str) -> str:
        return f"{case.inputs} inputs" if name == "inputs" else getattr(case, name)

    return Names(
        *(
            " ".join(word(case, name) for name in differ) or case.mode
            for case in (first, second)
        )
    )


# Sentences.


def sentences(search: Search) -> Iterator[str]:
    called = names(search.first, search.second)
    for found in search.answers:
        yield sentence(found, called, whole=search.outcome != "incomplete")


def sentence(found: Answer, called: Names, *, whole: bool = True) -> str:
    """Who is faster where, by one clock.

    Only the whole search can have found no crossing.
    """
    counted = _COUNTED[found.clock]
    if found.low is None or found.high is None:
        return f"{counted}: nothing was measured at both."
    crossing = found.crossing
    if crossing is not None:
        earlier = _earlier(found.crossings[:-1], called)
        return f"{counted}, {_crossing_text(crossing, called, found.few)}{earlier}"
    low, high = number(found.low), number(found.high)
    span = f"at every size from {low} to {high}"
    if low == high:
        span = f"at {low}, the only size that was measured"
    even = undecided(found.even, found.few)
    if found.faster is None:
        if even == FEW_ROUNDS:
            return f"{counted}, {even} {span}."
        return (
            f"{counted}, no difference between {called.first} and {called.second} can "
            f"be measured {span}."
        )
    ahead = called.of(found.faster)
    none = f"no crossover up to {high}."
    if not whole:
        none = "whether they cross is not known."
    if not found.even:
        return f"{counted}, {ahead} is faster {span}: {none}"
    if found.sure is not None and found.even[0] > found.sure:
        return (
            f"{counted}, {ahead} is faster up to {number(found.sure)}, and above "
            f"that, up to {high}, {even}: {none}"
        )
    sizes = fmt.listed(map(number, found.even))
    return f"{counted}, {ahead} is faster {span}, but for {sizes}, where {even}: {none}"


NO_DIFFERENCE = "no difference can be measured"
FEW_ROUNDS = "there are too few rounds to tell"


def undecided(sizes: Sequence[int], few: Sequence[int]) -> str:
    """Why nobody is faster at some sizes; ``few`` had too few rounds."""
    return FEW_ROUNDS if {*sizes} <= {*few} else NO_DIFFERENCE


def _crossing_text(crossing: Crossing, called: Names, few: Sequence[int]) -> str:
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
    what = undecided(crossing.undecided, few)
    if crossing.mixed:
        what = "it was now the one, now the other"
    return (
        f"{behind} is faster up to {below} and {ahead} from {above} on; {where} {what}."
    )


def _earlier(crossings: Sequence[Crossing], called: Names) -> str:
    """Those below the last one, which the search has not closed in on."""
    if not crossings:
        return ""
    places = [
        f"between {number(one.below)} and {number(one.above)} "
        f"({called.of(one.faster)} ahead above)"
        for one in crossings
    ]
    return f" They cross before that, too: {fmt.listed(places)}."


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
    parts = [f"after {calls_text(calls)} at {number(size)}" for size, calls in ends]
    return f"{start} pays {' and '.join(parts)}."


def calls_text(calls: int | None) -> str:
    """``1 call``, ``27 calls``, ``never``."""
    if calls is None:
        return "never"
    if calls >= 10_000:
        # Its digits hang on a single observation of the compile.
        calls = rounded(calls)
    return fmt.plural(calls, "call")


def wins(crossing: Crossing, called: Names) -> str:
    """The crossing as a mark on a plot has it: ``jit beats numpy from ~380``."""
    ahead, behind = called.of(crossing.faster), called.of(other(crossing.faster))
    return f"{ahead} beats {behind} from ~{about(crossing)}"


def about(crossing: Crossing) -> str:
    """The place of a crossing: ``380``, ``31,000``."""
    return place(crossing.at, crossing.below, crossing.above)


def ending(search: Search) -> str:
    """Why there is no more; empty if nothing is missing."""
    if search.outcome == "budget":
        return (
            f"The budget of {fmt.seconds(search.budget_seconds)} ended before the "
            "search had closed in: a larger --budget gives narrower answers."
        )
    if search.outcome == "cancelled":
        return "The search was interrupted: these answers are from what had arrived."
    if search.outcome == "incomplete":
        return INCOMPLETE
    return ""


def size_line(search: Search, size: int) -> str:
    called = names(search.first, search.second)
    for point in search.points:
        if point.size == size:
            figures = ", ".join(
                f"{called.of(side)} {fmt.median(point.of(side).ready)}"
                for side in SIDES
            )
            who = faster(point, "call")
            judged = FEW_ROUNDS if has_few_rounds(point) else NO_DIFFERENCE
            if who is not None and who != "even":
                judged = f"{called.of(who)} is faster"
            return f"{fmt.size(size)}: {figures}; {judged}"
    failed = [one for one in search.failures if one.case.size == size]
    why = failed[-1].error if failed else "not finished"
    return f"{fmt.size(size)}: {why}"


def text(search: Search, size_means: str, drawing: str = "") -> str:
    """The tables, what did not work, the plot, and last the answers."""
    first, second = (
        msgspec.structs.replace(case, op="", size=0).label.strip()
        for case in (search.first, search.second)
    )
    op = short_name(search.first.op)
    head = f"{op}, {first} against {second}; the size is the {size_means}"
    parts = [wrap(head)]
    if search.points:
        parts += filter(None, (calls_table(search), starts_table(search)))
    parts += [failure_text(failure) for failure in search.failures]
    parts += filter(None, (drawing,))
    parts += _doubts(search)
    answers = [*sentences(search)]
    # Two sides that both live on the host have nothing to start.
    if not (search.first.on_host and search.second.on_host):
        called = names(search.first, search.second)
        answers.append(payback_sentence(paybacks(search.points), called))
    answers.append(ending(search))
    parts.append(wrap(*answers))
    return join_painted(parts, "\n\n")


DOUBTS = ("contended", "few-rounds")
"""The flags of notes that question a verdict: the sides took turns, so that what slows
both of them cancels, but for these."""


def _doubts(search: Search) -> Iterator[str]:
    """Each with the sizes that it stands on, or with the whole run."""
    measured = measurements(search)
    for whole in run_notes(measured):
        if whole.flag in DOUBTS:
            yield wrap(f"{whole.flag}: {whole.text}") + "\n  – the whole run"
    sizes: dict[str, list[str]] = {}
    _, rest = split_notes(measured)
    for one in rest:
        for note in one.notes:
            if note.flag in DOUBTS:
                at = sizes.setdefault(f"{note.flag}: {note.text}", [])
                at.append(f"{number(one.case.size)} {one.case.mode}")
    for words, on in sizes.items():
        yield wrap(words) + f"\n  – {fmt.some(on)}"


# Tables, each within the usual width.


def calls_table(search: Search) -> str:
    """What a call takes on both sides at each size, and who is faster."""
    called = names(search.first, search.second)
    ratios = [ratio(point, "call") for point in search.points]
    most = max((one.confidence for one in ratios if one), default=0.0)

    def drawn(called: Names, head: str) -> str:
        rows = [
            _call_cells(point, called, head, found, most)
            for point, found in zip(search.points, ratios, strict=True)
        ]
        # Both sides stand together, so that all times are in one unit.
        write = fmt.alike(cell for row in rows for cell in row.values())
        return _table([{k: write(cell) for k, cell in row.items()} for row in rows])

    return first_fitting(
        (
            drawn(called, f"{called.first}/{called.second}"),
            drawn(called, "ratio"),
            drawn(FIRST_AND_SECOND, "first/second"),
        )
    )


def _call_cells(
    point: Point, called: Names, head: str, found: Interval | None, confidence: float
) -> dict[str, fmt.Cell]:
    """The cells of one size, by column; ``confidence`` is that of most intervals."""
    ends = fmt.ABSENT
    if found is not None:
        ends = "…".join(fmt.significant(end, 2) for end in (found.low, found.high))
        if found.confidence != confidence:
            ends += f" ({_sure(found.confidence)})"
        # Who is faster may be sure all the same.
        ends = f"{fmt.UNCERTAIN} {ends}" if found.vague else ends
    who = faster(point, "call")
    ahead = "neither" if who == "even" else called.of(who) if who else fmt.ABSENT
    if has_few_rounds(point):
        ahead = "few rounds"
    return {
        "size": fmt.size(point.size),
        called.first: fmt.median(point.first.ready),
        called.second: fmt.median(point.second.ready),
        head: fmt.ratio(found and found.median),
        _sure(confidence): ends,
        "faster": ahead,
    }


def _sure(confidence: float) -> str:
    """``98 %``; of few rounds the interval is no more than what was seen."""
    return fmt.interval_name(confidence).removesuffix(" interval")


def starts_table(search: Search) -> str:
    """What JAX takes once, at each size; empty for two that live on the host."""
    jax = [side for side in SIDES if not getattr(search, side).on_host]
    if not jax or not search.points:
        return ""
    paid = {one.size: one for one in paybacks(search.points)}

    def drawn(called: Names) -> str:
        rows = [
            _start_cells(point, side, called if len(jax) > 1 else None, paid)
            for point in search.points
            for side in jax
        ]
        return _table(rows)

    called = names(search.first, search.second)
    return first_fitting((drawn(called), drawn(FIRST_AND_SECOND)))


def _start_cells(
    point: Point, side: Side, called: Names | None, paid: dict[int, Payback]
) -> dict[str, fmt.Cell]:
    """The cells of one side at one size, by column; ``called`` if there are two."""
    phases, found = point.of(side).phases, paid.get(point.size)
    sent = [one for one in (phases.transfer, phases.fetch) if one is not None]
    first = None if phases.first_call is None else phases.cold_seconds
    return {
        "size": fmt.size(point.size),
        **({} if called is None else {"of": called.of(side)}),
        "transfers": fmt.figure(sum(sent) if sent else None, digits=2),
        "first call": fmt.figure(first, digits=2),
        "pays after": calls_text(found.calls) if found and found.side == side else "",
    }


def _table(rows: Sequence[Mapping[str, fmt.Cell]]) -> str:
    head = [*rows[0]]
    return table(head, [[*row.values()] for row in rows], head)


# The plot.


def picture(search: Search | None) -> Picture | None:
    """Both curves over size with their crossing, and the one with transfers, too.

    ``None`` unless two sizes were measured.
    """
    if search is None or len(search.points) < 2:
        return None
    run = Job(
        number=0,
        cases=tuple(
            CaseState(one.case, status="done", phases=one.phases, measurement=one)
            for one in measurements(search)
        ),
        outcome="complete",
    )
    drawn = curves.picture(run, "time", COLORS, tuple(_marks(search)))
    if drawn is None:
        return None
    # The sizes of a bisection are no round numbers, and too many.
    return replace(
        drawn,
        x=replace(drawn.x, ticks=()),
        series=(*drawn.series, *_with_transfers(search)),
    )


def _marks(search: Search) -> Iterator[Mark]:
    called = names(search.first, search.second)
    for found in search.answers:
        crossing = found.crossing
        if crossing is None or "first" in found.clock:
            continue
        label = wins(crossing, called)
        if "transfers" in found.clock:
            label = f"~{about(crossing)} with transfers"
        yield Mark(crossing.at, label)


def _with_transfers(search: Search) -> Iterator[Series]:
    """A curve for each side whose transfers can move the crossing."""
    if "call_and_transfers" not in [found.clock for found in search.answers]:
        return
    called = names(search.first, search.second)
    for index, side in enumerate(SIDES, start=2):
        if getattr(search, side).on_host:
            continue
        costs = [
            (float(point.size), found.median)
            for point in search.points
            if (found := cost(point.of(side), "call_and_transfers"))
        ]
        x, y = [size for size, _ in costs], [seconds for _, seconds in costs]
        yield Series(f"{called.of(side)} with transfers", x, y, COLORS[index])


# The document.


class AnswerRow(Record, frozen=True, kw_only=True):
    answer: Answer
    sentence: str


class SizeRow(Record, frozen=True, kw_only=True):
    """A size at which both were measured."""

    size: int
    ratio: float | None
    """Seconds per call of the first side over those of the second."""
    low: float | None
    high: float | None
    """The interval of the ratio."""
    confidence: float | None
    """That the ratio lies in it."""
    faster: str | None
    """``first``, ``second``, or ``even`` where the interval contains 1."""


class Document(Record, frozen=True, kw_only=True):
    """What ``jaxtui crossover --json`` prints."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the search was interrupted before the engine had looked."""
    first: Case | None
    second: Case | None
    """The two sides, at the smallest size."""
    outcome: Outcome | None
    answers: tuple[AnswerRow, ...] = ()
    sizes: tuple[SizeRow, ...] = ()
    paybacks: tuple[Payback, ...] = ()
    notes: tuple[Note, ...] = ()
    """What is true of all measurements."""
    measurements: tuple[Measurement, ...] = ()
    """By size, the first side before the second."""
    failures: tuple[Failure, ...] = ()


def document(host: Host | None, search: Search | None) -> Document:
    if search is None:
        return Document(host=host, first=None, second=None, outcome=None)
    rows = zip(search.answers, sentences(search), strict=True)
    notes, measured = split_notes(measurements(search))
    return Document(
        host=host,
        first=search.first,
        second=search.second,
        outcome=search.outcome,
        answers=tuple(AnswerRow(answer=one, sentence=words) for one, words in rows),
        sizes=tuple(map(_size_row, search.points)),
        paybacks=paybacks(search.points),
        notes=notes,
        measurements=measured,
        failures=search.failures,
    )


def _size_row(point: Point) -> SizeRow:
    found = ratio(point, "call")
    return SizeRow(
        size=point.size,
        ratio=found and found.median,
        low=found and found.low,
        high=found and found.high,
        confidence=found and found.confidence,
        faster=faster(point, "call"),
    )


def measurements(search: Search) -> tuple[Measurement, ...]:
    return tuple(one for point in search.points for one in (point.first, point.second))
