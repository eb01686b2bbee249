"""A search for the crossing of two curves: its report and its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from jaxtui import format as fmt
from jaxtui.analysis.crossing import Crossing, Side, about_text, other
from jaxtui.features.crossover.judge import (
    BUDGET_SECONDS,
    SIDES,
    Answer,
    Outcome,
    Payback,
    Point,
    Search,
    around,
    payback,
)
from jaxtui.features.crossover.words import calls_text
from jaxtui.model import Case, Host, Measurement, Record, Remark, run_notes
from jaxtui.model.measurement import Interval
from jaxtui.model.own import short_name
from jaxtui.plot import COLORS, Color, Mark, Picture
from jaxtui.state import CaseState, Job, State
from jaxtui.view import curves, words
from jaxtui.view.document import MACHINE, SCHEMA, FailureRow, machine, split_notes
from jaxtui.view.figures import figure
from jaxtui.view.report import Report, Statement, Table, gather
from jaxtui.view.text import Column, Line, Span

FIELDS = ("mode", "dtype", "precision", "device", "inputs")
"""The fields in which two cases of one op and size can differ, in the order of
mention."""


class Names(NamedTuple):
    first: str
    second: str

    def of(self, side: Side) -> str:
        return self.first if side == "first" else self.second


FIRST_AND_SECOND = Names("first", "second")
"""The names of the two where their own are too long for a table."""


def names(first: Case, second: Case) -> Names:
    """Name two cases in the fewest words: ``numpy`` and ``jit``."""
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
    partners = [curve for curve in curves if curve.op == chosen.op and curve != chosen]
    if not partners:
        return None
    # NumPy comes first, as on the command line.
    rival = next((curve for curve in partners if curve.on_host), partners[0])
    first, second = (chosen, rival) if chosen.on_host else (rival, chosen)
    points = []
    for size in sorted(curves[first].keys() & curves[second].keys() - {0}):
        left, right = curves[first][size], curves[second][size]
        if (
            left.measurement
            and right.measurement
            and left.status == right.status == "done"
        ):
            rounds = left.rounds, right.rounds
            points.append(Point(size, left.measurement, right.measurement, rounds))
    if len(points) < 2:
        return None
    return around(first, second, points, BUDGET_SECONDS)


def of_state(state: State) -> Search | None:
    """The last search, as long as its curves are those of the run that is shown."""
    search, run = state.series.get("crossover"), state.jobs.get("bench")
    if not isinstance(search, Search) or run is None:
        return None
    curves = {_curve(case.case) for case in run.cases}
    return search if {search.first, search.second} <= curves else None


def _curve(case: Case) -> Case:
    """Return the part that the cases of a curve share."""
    return msgspec.structs.replace(case, size=0)


# What it says.


def verdict(search: Search) -> Remark:
    """Return the faster side by size, per call."""
    answer, sides = search.answer, names(search.first, search.second)
    if answer is None:
        return Remark("no-common-size", severity="error")
    if (crossing := answer.crossing) is not None:
        return Remark(
            "crossing",
            {
                "faster": sides.of(crossing.faster),
                "slower": sides.of(other(crossing.faster)),
                "at": crossing.at,
                "below": crossing.below,
                "above": crossing.above,
                "undecided": crossing.undecided,
            },
        )
    if answer.faster is None:
        return Remark(
            "no-lead", {**sides._asdict(), "low": answer.low, "high": answer.high}
        )
    incomplete = search.outcome == "incomplete"
    return Remark(
        "crossing-unknown" if incomplete else "no-crossing",
        {
            "faster": sides.of(answer.faster),
            "slower": sides.of(other(answer.faster)),
            "low": answer.low,
            "high": answer.high,
            "sizes": len(search.points),
            "undecided": answer.undecided,
        },
        "warning" if incomplete else "info",
    )


def remarks(search: Search) -> Iterator[Remark]:
    """Yield the remarks besides the verdict."""
    sides, paybacks = names(search.first, search.second), search.paybacks
    if search.slow:
        yield Remark("sizes-left-out", {"sizes": search.slow})
    if search.outcome == "cancelled":
        yield Remark("search-stopped", severity="warning")
    elif search.outcome == "incomplete":
        yield Remark("incomplete", {"during": "search"}, "warning")
    repaid = [entry for entry in paybacks if entry.calls is not None]
    if repaid:
        ends = dict.fromkeys((repaid[0], repaid[-1]))
        yield Remark(
            "repaid",
            {
                "side": sides.of(repaid[-1].side),
                "sizes": tuple(entry.size for entry in ends),
                "calls": tuple(
                    entry.calls for entry in ends if entry.calls is not None
                ),
            },
        )
    elif paybacks:
        yield Remark("never-repaid", {"side": sides.of(paybacks[-1].side)})


def statements(search: Search) -> tuple[Statement, ...]:
    """Return verdict and remarks for the panel of notes."""
    return tuple(map(Statement, (verdict(search), *remarks(search))))


DOUBTS = ("contended",)
"""The codes of what questions a verdict: the sides took turns, so that what slows both
of them cancels, but for these."""


def report(search: Search, size_means: str, host: Host | None = None) -> Report:
    """The whole answer.

    Args:
        search: as far as it is.
        size_means: what the size of the op is.
        host: where it was measured.
    """
    first, second = (
        msgspec.structs.replace(case, op="", size=0).label.strip()
        for case in (search.first, search.second)
    )
    op = short_name(search.first.op)
    sides = Remark(
        "sides", {"op": op, "first": first, "second": second, "size": size_means}
    )
    measured = measurements(search)
    whole = [note for note in run_notes(measured) if note.code in DOUBTS]
    _, rest = split_notes(measured)
    rows = [
        (_row_name(each.case), [note for note in each.notes if note.code in DOUBTS])
        for each in rest
    ]
    rows += [(_row_name(each.case), [each.remark]) for each in search.failures]
    return Report(
        title=f"{op}: {title_of(search)}",
        verdict=(Span(words.sentence(verdict(search)), "strong"),),
        tables=(Table(columns(search)),) if search.points else (),
        remarks=gather(rows, [*remarks(search), *whole, sides]),
        picture=picture(search, COLORS),
        host=machine(host, *MACHINE, by=" · "),
    )


def _row_name(case: Case) -> str:
    return f"{fmt.size(case.size)} {case.mode}"


def title_of(search: Search) -> str:
    """The crossing, or what was looked for."""
    sides = names(search.first, search.second)
    crossing = search.answer and search.answer.crossing
    if crossing:
        return _mark_label(crossing, sides)
    return f"no crossing of {sides.first} and {sides.second}"


def _mark_label(crossing: Crossing, sides: Names) -> str:
    """The crossing as a mark on a plot has it: ``jit beats numpy from ~380``."""
    about = about_text(crossing.at, crossing.below, crossing.above)
    ahead, behind = sides.of(crossing.faster), sides.of(other(crossing.faster))
    return f"{ahead} beats {behind} from ~{about}"


# The table.

LONGEST_NAME = 10
"""The longest name of a side over a column: longer ones are called first and second
there."""


def columns(search: Search) -> tuple[Column, ...]:
    """Return the columns: the time of a call on both sides at each size, the faster
    side, and the calls after which the first one pays off.
    """
    sides, points = names(search.first, search.second), search.points
    heads = sides if max(map(len, sides)) <= LONGEST_NAME else FIRST_AND_SECOND
    clocks = {side: [point.of(side).ready for point in points] for side in SIDES}
    unit = fmt.shared(
        [entry.median for entries in clocks.values() for entry in entries if entry]
    )
    times = [
        Column(
            side,
            f"{heads.of(side)} {unit.name}".rstrip(),
            [figure(entry, unit) if entry else () for entry in clocks[side]],
            right=True,
        )
        for side in SIDES
    ]
    ratios = [point.ratio for point in points]
    most = max((ratio.confidence for ratio in ratios if ratio), default=0.0)
    repaid = [payback(point) for point in points]
    cold = [
        point.of(entry.side).phases.cold_seconds if entry else None
        for point, entry in zip(points, repaid, strict=True)
    ]
    starts = fmt.shared([seconds for seconds in cold if seconds])
    table = [
        Column(
            "size",
            "size",
            [(Span(fmt.size(point.size)),) for point in points],
            right=True,
        ),
        *times,
        Column(
            "ratio",
            f"{heads.first}/{heads.second}",
            [(Span(fmt.ratio(ratio and ratio.median)),) for ratio in ratios],
            rank=1,
            right=True,
        ),
        Column(
            "interval",
            fmt.interval_name(most).removesuffix(" interval"),
            [_ends(ratio, most) for ratio in ratios],
            rank=1,
            right=True,
        ),
        Column("faster", "faster", [_faster(point, heads) for point in points]),
    ]
    if any(repaid):
        table += [
            Column(
                "start",
                f"first call {starts.name}".rstrip(),
                [(Span(starts.text(seconds)),) if seconds else () for seconds in cold],
                rank=4,
                right=True,
            ),
            Column(
                "repaid",
                "pays off after",
                [
                    (Span(calls_text(entry.calls)),)
                    if entry and point.faster
                    else (Span(fmt.ABSENT, "muted"),)
                    for point, entry in zip(points, repaid, strict=True)
                ],
                rank=2,
                right=True,
            ),
        ]
    return tuple(table)


def _ends(ratio: Interval | None, most: float) -> Line:
    """The ends of a ratio; ``most`` is how sure most of them are."""
    if ratio is None:
        return ()
    ends = "–".join(fmt.significant(end, 2) for end in (ratio.low, ratio.high))
    name = fmt.interval_name(ratio.confidence)
    if name != fmt.interval_name(most):
        ends += f" ({name.removesuffix(' interval')})"
    return (Span(ends, "unknown" if ratio.vague else "muted"),)


def _faster(point: Point, sides: Names) -> Line:
    if point.faster is None:
        return (Span("no difference", "muted"),)
    return (Span(sides.of(point.faster), point.of(point.faster).case.mode),)


# The plot.


def picture(search: Search | None, colors: Sequence[Color]) -> Picture | None:
    """Draw both curves over size with their crossing.

    ``None`` unless two sizes were measured.
    """
    if search is None or len(search.points) < 2:
        return None
    run = Job(
        number=0,
        cases=tuple(
            CaseState(
                measurement.case,
                status="done",
                phases=measurement.phases,
                measurement=measurement,
            )
            for measurement in measurements(search)
        ),
        outcome="complete",
    )
    drawn = curves.picture(run, "time", colors, tuple(_marks(search)))
    if drawn is None:
        return None
    # The sizes around a crossing are no round numbers.
    return replace(drawn, x=replace(drawn.x, ticks=()))


def _marks(search: Search) -> Iterator[Mark]:
    crossing = search.answer and search.answer.crossing
    if crossing:
        label = _mark_label(crossing, names(search.first, search.second))
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
    """The probability that the ratio lies in the interval."""
    faster: str | None
    """``first`` or ``second``; ``None`` where that is not certain."""


class Document(Record, frozen=True, kw_only=True):
    """The document of ``jaxtui crossover --json``."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the search was interrupted before the engine had looked."""
    first: Case | None
    second: Case | None
    """The two sides, at the smallest size."""
    outcome: Outcome | None
    answer: Answer | None = None
    verdict: Remark | None = None
    remarks: tuple[Remark, ...] = ()
    sizes: tuple[SizeRow, ...] = ()
    paybacks: tuple[Payback, ...] = ()
    notes: tuple[Remark, ...] = ()
    """Notes on all measurements."""
    measurements: tuple[Measurement, ...] = ()
    """The measurements by size, the first side before the second."""
    failures: tuple[FailureRow, ...] = ()


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
        verdict=verdict(search),
        remarks=tuple(remarks(search)),
        sizes=tuple(map(_size_row, search.points)),
        paybacks=search.paybacks,
        notes=notes,
        measurements=measured,
        failures=tuple(map(FailureRow.of, search.failures)),
    )


def _size_row(point: Point) -> SizeRow:
    ratio = point.ratio
    return SizeRow(
        size=point.size,
        ratio=ratio and ratio.median,
        low=ratio and ratio.low,
        high=ratio and ratio.high,
        confidence=ratio and ratio.confidence,
        faster=point.faster,
    )


def measurements(search: Search) -> tuple[Measurement, ...]:
    return tuple(
        side for point in search.points for side in (point.first, point.second)
    )
