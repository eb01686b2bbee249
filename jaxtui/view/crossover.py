"""A search for crossings: sentences, tables, the plot and the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis.crossover import (
    BUDGET_SECONDS,
    SIDES,
    Answer,
    Crossing,
    Outcome,
    Payback,
    Point,
    Search,
    Side,
    begin,
    other,
    payback,
)
from jaxtui.model import Case, Failure, Host, Measurement, Record, Remark, run_notes
from jaxtui.model.own import short_name
from jaxtui.plot import COLORS, Mark, Picture
from jaxtui.state import CaseState, Job, State
from jaxtui.text import join_painted
from jaxtui.view import curves, words
from jaxtui.view.bench import failure_text
from jaxtui.view.curves import number, place, rounded
from jaxtui.view.document import SCHEMA, split_notes
from jaxtui.view.text import INCOMPLETE, first_fitting, table, wrap

FIELDS = ("mode", "dtype", "precision", "device", "inputs")
"""What two cases of one op and size can differ in, in the order in which it is said."""


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


# A search on the screen.


def of_run(run: Job, selected: int) -> Search | None:
    """A search for the crossing of two curves of a run: that of the selected case, and
    that of NumPy, or else of another way of running the op.

    What the run has measured is not measured again. ``None`` without such a curve, or
    without two sizes at which both were timed.
    """
    chosen = _curve(run.cases[selected].case)
    curves: dict[Case, dict[int, CaseState]] = {}
    for case in run.cases:
        curves.setdefault(_curve(case.case), {})[case.case.size] = case
    others = [one for one in curves if one.op == chosen.op and one != chosen]
    if not others:
        return None
    # NumPy comes first, as on the command line.
    rival = next((one for one in others if one.on_host), others[0])
    first, second = (chosen, rival) if chosen.on_host else (rival, chosen)
    points = []
    for size in sorted(curves[first].keys() & curves[second].keys() - {0}):
        one, two = curves[first][size], curves[second][size]
        if one.measurement and two.measurement and one.status == two.status == "done":
            rounds = one.rounds, two.rounds
            points.append(Point(size, one.measurement, two.measurement, rounds))
    if len(points) < 2:
        return None
    return begin(first, second, (), BUDGET_SECONDS, points=points)


def of_state(state: State) -> Search | None:
    """The last search, as long as its curves are those of the run that is shown."""
    search, run = state.series.get("crossover"), state.jobs.get("bench")
    if not isinstance(search, Search) or run is None:
        return None
    curves = {_curve(case.case) for case in run.cases}
    return search if {search.first, search.second} <= curves else None


def _curve(case: Case) -> Case:
    """What the cases of a curve have in common."""
    return msgspec.structs.replace(case, size=0)


# Sentences.


def sentence(search: Search) -> str:
    """Who is faster where, per call."""
    found, called = search.answer, names(search.first, search.second)
    if found is None:
        return "Nothing was measured at both."
    if found.crossing is not None:
        return _crossing_text(found.crossing, called)
    span = f"at every size from {number(found.low)} to {number(found.high)}"
    if found.low == found.high:
        span = f"at {number(found.low)}, the only size that was measured"
    if found.faster is None:
        return f"No difference between {called.first} and {called.second} seen {span}."
    but = f" (no difference seen at {fmt.listed(map(number, found.undecided))})"
    words = f"{called.of(found.faster)} is faster {span}{but * bool(found.undecided)}"
    if search.outcome == "incomplete":
        return f"{words}: whether they cross is not known."
    return f"{words}: no crossover."


def _crossing_text(crossing: Crossing, called: Names) -> str:
    ahead, behind = called.of(crossing.faster), called.of(other(crossing.faster))
    below, above = number(crossing.below), number(crossing.above)
    words = (
        f"{ahead} is faster from about {about(crossing)}: {behind} is still faster at "
        f"{below}, {ahead} at {above}"
    )
    if not crossing.undecided:
        return f"{words}."
    return f"{words}, no difference seen between."


def payback_sentence(search: Search) -> str:
    """After how many calls a first call is repaid; empty where nothing was compiled."""
    paybacks, called = search.paybacks, names(search.first, search.second)
    if not paybacks:
        return ""
    first = f"The first call of {called.of(paybacks[-1].side)}, compile included,"
    repaid = [(one.size, one.calls) for one in paybacks if one.calls is not None]
    if not repaid:
        return f"{first} is never repaid at these sizes: its calls are not faster."
    ends = [repaid[0]] if len(repaid) == 1 else [repaid[0], repaid[-1]]
    parts = [f"after {calls_text(calls)} at {number(size)}" for size, calls in ends]
    return f"{first} is repaid {' and '.join(parts)}."


def calls_text(calls: int | None) -> str:
    """``1 call``, ``27 calls``, ``never``."""
    if calls is None:
        return "never"
    if calls >= 10_000:
        # Its digits hang on a single observation of the compile.
        calls = rounded(calls)
    return fmt.plural(calls, "call")


def title_of(search: Search) -> str:
    """The crossing, or what was looked for."""
    called = names(search.first, search.second)
    found = search.answer
    if found is not None and found.crossing is not None:
        return wins(found.crossing, called)
    return f"no crossing of {called.first} and {called.second}"


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
            judged = "no difference seen"
            if point.faster is not None:
                judged = f"{called.of(point.faster)} is faster"
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
        parts.append(sizes_table(search))
    parts += [failure_text(failure) for failure in search.failures]
    parts += filter(None, (drawing,))
    parts += _doubts(search)
    answers = (sentence(search), payback_sentence(search), ending(search))
    parts.append(wrap(*filter(None, answers)))
    return join_painted(parts, "\n\n")


DOUBTS = ("contended", "few-rounds")
"""The flags of notes that question a verdict: the sides took turns, so that what slows
both of them cancels, but for these."""


def _doubts(search: Search) -> Iterator[str]:
    """Each with the sizes that it stands on, or with the whole run."""
    measured = measurements(search)
    for whole in run_notes(measured):
        if whole.code in DOUBTS:
            yield wrap(f"{words.label(whole)}: {words.text(whole)}") + (
                "\n  – the whole run"
            )
    sizes: dict[Remark, list[str]] = {}
    _, rest = split_notes(measured)
    for one in rest:
        for note in one.notes:
            if note.code in DOUBTS:
                at = sizes.setdefault(note, [])
                at.append(f"{number(one.case.size)} {one.case.mode}")
    for note, on in sizes.items():
        said = wrap(f"{words.label(note)}: {words.text(note)}")
        yield said + f"\n  – {fmt.some(on)}"


# The table, within the usual width.


def sizes_table(search: Search) -> str:
    """What a call takes on both sides at each size, who is faster, and after how many
    calls the first one is repaid.
    """
    called = names(search.first, search.second)
    ratios = [point.ratio for point in search.points]
    most = max((ratio.confidence for ratio in ratios if ratio), default=0.0)

    def drawn(called: Names, head: str) -> str:
        rows = [_cells(point, called, head, most) for point in search.points]
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


def _cells(
    point: Point, called: Names, head: str, confidence: float
) -> dict[str, fmt.Cell]:
    """The cells of one size, by column; ``confidence`` is that of most intervals."""
    ratio, ends = point.ratio, fmt.ABSENT
    if ratio is not None:
        ends = "…".join(fmt.significant(end, 2) for end in (ratio.low, ratio.high))
        if ratio.confidence != confidence:
            ends += f" ({_sure(ratio.confidence)})"
        # Who is faster may be sure all the same.
        ends = f"{fmt.UNCERTAIN} {ends}" if ratio.vague else ends
    repaid = payback(point)
    return {
        "size": fmt.size(point.size),
        called.first: fmt.median(point.first.ready),
        called.second: fmt.median(point.second.ready),
        head: fmt.ratio(ratio and ratio.median),
        _sure(confidence): ends,
        "faster": called.of(point.faster) if point.faster else "neither",
        "repaid after": calls_text(repaid.calls) if repaid else "",
    }


def _sure(confidence: float) -> str:
    """``98 %``; of few rounds the interval is no more than what was seen."""
    return fmt.interval_name(confidence).removesuffix(" interval")


def _table(rows: Sequence[Mapping[str, fmt.Cell]]) -> str:
    head = [*rows[0]]
    return table(head, [[*row.values()] for row in rows], head)


# The plot.


def picture(search: Search | None) -> Picture | None:
    """Both curves over size with their crossing.

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
    return replace(drawn, x=replace(drawn.x, ticks=()))


def _marks(search: Search) -> Iterator[Mark]:
    crossing = search.answer and search.answer.crossing
    if crossing:
        label = wins(crossing, names(search.first, search.second))
        yield Mark(crossing.at, label)


# The document.


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
    """``first`` or ``second``; ``None`` where that is not certain."""


class Document(Record, frozen=True, kw_only=True):
    """What ``jaxtui crossover --json`` prints."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the search was interrupted before the engine had looked."""
    first: Case | None
    second: Case | None
    """The two sides, at the smallest size."""
    outcome: Outcome | None
    answer: Answer | None = None
    sentence: str = ""
    sizes: tuple[SizeRow, ...] = ()
    paybacks: tuple[Payback, ...] = ()
    notes: tuple[Remark, ...] = ()
    """What is true of all measurements."""
    measurements: tuple[Measurement, ...] = ()
    """By size, the first side before the second."""
    failures: tuple[Failure, ...] = ()


def document(host: Host | None, search: Search | None) -> Document:
    if search is None:
        return Document(host=host, first=None, second=None, outcome=None)
    notes, measured = split_notes(measurements(search))
    return Document(
        host=host,
        first=search.first,
        second=search.second,
        outcome=search.outcome,
        answer=search.answer,
        sentence=sentence(search),
        sizes=tuple(map(_size_row, search.points)),
        paybacks=search.paybacks,
        notes=notes,
        measurements=measured,
        failures=search.failures,
    )


def _size_row(point: Point) -> SizeRow:
    found = point.ratio
    return SizeRow(
        size=point.size,
        ratio=found and found.median,
        low=found and found.low,
        high=found and found.high,
        confidence=found and found.confidence,
        faster=point.faster,
    )


def measurements(search: Search) -> tuple[Measurement, ...]:
    return tuple(one for point in search.points for one in (point.first, point.second))
