"""Two measurements of the past side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.analysis.comparison import Comparison, Pair, Side, allowance, unlike
from jaxtui.analysis.processes import same_machine, spread
from jaxtui.history.store import Entry
from jaxtui.model import Case, Device, Host, Measurement, Record, Summary
from jaxtui.model.measurement import is_uncertain
from jaxtui.plot.axes import Axis, Scale, fit, ticks
from jaxtui.plot.axes import plain as number
from jaxtui.text import visible
from jaxtui.view.document import SCHEMA, Outcome, Results
from jaxtui.view.text import Line, Span, first_fitting, fold, plain, table, wrap


class Pairs(Record, frozen=True, kw_only=True):
    schema: int = SCHEMA
    pairs: tuple[Pair, ...]


LABELS = ("A", "B")
"""What two measurements, or two Pythons, are called."""


class CaseComparison(Record, frozen=True, kw_only=True):
    case: Case
    comparison: Comparison


class Turns(Record, frozen=True, kw_only=True):
    """Two Pythons whose engines took turns."""

    schema: int = SCHEMA
    pythons: tuple[str, str]
    """A and B, as they were typed."""
    sides: tuple[Results, Results]
    """What either has measured."""
    comparisons: tuple[CaseComparison, ...]
    """B over A, of what both have."""
    outcome: Outcome


def side(
    label: str,
    host: Host | None,
    device: Device | None,
    measurement: Measurement,
    earlier: Iterable[Entry] = (),
) -> Side:
    """A measurement with what the history has of its case, on its machine or others."""
    kind = device and device.device_kind
    alike = [
        entry.measurement
        for entry in earlier
        if host is not None
        and same_machine(host, entry.host)
        # A document does not say which chip it was.
        and (device is None or kind == (entry.device and entry.device.device_kind))
        # Of a document it may be the entry.
        and entry.measurement.ready != measurement.ready
    ]
    return Side(
        label=label,
        host=host,
        device=device,
        measurement=measurement,
        earlier=tuple(spread(measurement, alike)),
    )


def lines(found: Comparison) -> Iterator[Line]:
    yield (Span(found.sentence, found.answer),)
    yield from differing(found)


def differing(found: Comparison) -> Iterator[Line]:
    differences = [visible(one, line=True) for one in found.differences]
    if not differences:
        yield (Span("Case, chip, host and versions are the same."),)
    else:
        yield (Span("Not the same:"),)
        yield from ((Span(f"  {one}"),) for one in differences)


# On a screen.

ANSWERS = {
    "faster": "B is faster",
    "slower": "B is slower",
    "no difference": "no difference: intervals overlap",
    "cannot tell": "cannot tell",
}
"""What is said beside the ratio."""

FAR = 30.0
"""Times that differ by more than this factor stand on a logarithmic scale."""


def on_screen(pair: Pair, width: int) -> Iterator[Line]:
    """Two measurements."""
    yield from answer(pair)
    yield from bars((pair.first, pair.second), width)
    for line in differing(pair.comparison):
        yield from fold(line, width, later="    ")


def answer(pair: Pair) -> Iterator[Line]:
    """Whether they may be compared at all, or else which is faster, and how sure."""
    found = pair.comparison
    if found.answer == "not comparable":
        sides = pair.first, pair.second
        works = " and ".join(f"another {name}" for name in unlike(*sides))
        yield (Span(" not comparable ", "badge-low"), Span(f"  {works}", found.answer))
        return
    if found.ratio is None or found.low is None or found.high is None:
        yield (Span(found.sentence, found.answer),)
        return
    uncertain = is_uncertain(found.low, found.high, found.confidence or 0.0)
    known = found.answer in ("faster", "slower") and not uncertain
    head = [Span(f"{fmt.ratio(found.ratio)}  ", "hero" if known else "unknown")]
    if uncertain:
        head.append(Span(f"{fmt.UNCERTAIN}  ", "unknown"))
    yield (*head, Span(ANSWERS[found.answer], found.answer))
    name = fmt.interval_name(found.confidence or 0.0)
    ends = f"{fmt.significant(found.low)}–{fmt.significant(found.high)}"
    chance = ""
    if found.answer == "cannot tell":
        least = max(allowance(pair.first), allowance(pair.second))
        chance = f" · up to {least:.0%} may be chance: time both in 6 processes"
    yield (Span(f"{ends}×  {name}{chance}", "muted"),)


def bars(sides: Sequence[Side], width: int) -> Iterator[Line]:
    """The interval of each side on one scale, and the scale below them."""
    clocks = [one.measurement.ready for one in sides]
    known = [one for one in clocks if one is not None]
    if not known or width < LEAST_WIDTH:
        return
    ends = [end for one in known for end in (one.ci_low, one.median, one.ci_high)]
    unit = fmt.shared((one.median for one in known), ends=ends)
    figures = [
        (unit.text(one.median), fmt.ends_beside(one, unit)) if one else (fmt.ABSENT, "")
        for one in clocks
    ]
    margins = [max(map(len, column)) for column in zip(*figures, strict=True)]
    room = max(LEAST_ROOM, width - sum(margins) - 7)
    positive = min(ends) > 0
    axis = Axis(
        log=positive and max(ends) > FAR * min(ends),
        format=lambda value: (
            number(value / unit.of(value).factor)
            if unit.name
            else fmt.tick_seconds(value)
        ),
    )
    scale = fit(ends, axis, padded=True)
    for side, clock, (median, span) in zip(sides, clocks, figures, strict=True):
        role = side.label.lower()
        head = f"{median.rjust(margins[0])}  {span.ljust(margins[1])}  "
        drawn = "" if clock is None else _segment(clock, scale, room)
        yield (Span(f"{side.label}  ", role), Span(head), Span(drawn, role))
    labels = ticks(scale, axis, room, along=True)
    rule = ""
    for tick in labels:
        rule = rule.ljust(tick.start) + tick.label
    name = f"{unit.name}{' log' if axis.log else ''}".strip()
    yield (Span(name.rjust(sum(margins) + 5) + "  " + rule, "muted"),)


LEAST_WIDTH, LEAST_ROOM = 36, 12
"""Cells of a line with bars, and of the bars."""


def _segment(clock: Summary, scale: Scale, room: int) -> str:
    """``├──•─┤``: both ends of the interval, and the median."""
    places = (clock.ci_low, clock.median, clock.ci_high)
    low, middle, high = (
        max(0, min(room - 1, int(place))) for place in scale.cells(places, room)
    )
    cells = [" "] * low + ["─"] * (high - low + 1)
    cells[low], cells[high] = "├", "┤"
    cells[middle] = "•"
    return "".join(cells)


def text(pairs: Sequence[Pair]) -> str:
    if len(pairs) > 1:
        return _table(pairs)
    (pair,) = pairs
    sides = (pair.first, pair.second)
    labels = (f"{side.label}: {side.measurement.case.label}" for side in sides)
    answer, *rest = map(plain, lines(pair.comparison))
    return "\n\n".join([wrap(*labels), wrap(answer), wrap(*rest)])


def turns_text(found: Turns, remarks: Sequence[Sequence[str]]) -> str:
    """The ratio of each case first; then the figures, and what there is to say of them.

    Args:
        found: what was measured.
        remarks: of A and of B.
    """
    named = len(found.comparisons) > 1
    headlines = [
        f"{one.case.label}: {one.comparison.sentence}"
        if named
        else one.comparison.sentence
        for one in found.comparisons
    ]
    versions = [
        f"{label} is {visible(python, line=True)}"
        + (f": {_versions(side.host)}." if side.host else ".")
        for label, python, side in zip(LABELS, found.pythons, found.sides, strict=True)
    ]
    rows = [
        (one.case.label, label, *_clock(one.ready))
        for label, side in zip(LABELS, found.sides, strict=True)
        for one in side.measurements
    ]
    order = [row[0] for row in rows]
    rows.sort(key=lambda row: order.index(row[0]))
    parts = [wrap(*headlines), wrap(*versions)] if headlines else [wrap(*versions)]
    parts.append(table(("case", "", "ready", ""), rows, ("ready",)))
    for remark in dict.fromkeys(one for side in remarks for one in side):
        having = [
            label for label, side in zip(LABELS, remarks, strict=True) if remark in side
        ]
        of_one = f"{having[0]}: " * (len(having) == 1)
        parts.append(f"{of_one}{remark}")
    return "\n\n".join(parts)


def _versions(host: Host) -> str:
    return (
        f"Python {host.python}, jax {host.jax}, jaxlib {host.jaxlib},"
        f" numpy {host.numpy}"
    )


def _clock(clock: Summary | None) -> tuple[str, str]:
    if clock is None:
        return fmt.ABSENT, ""
    return fmt.seconds(clock.median), fmt.interval(clock)


def _table(pairs: Sequence[Pair]) -> str:
    """A row per pair, without a line that is broken: with what there is room for."""
    first, second = pairs[0].first.label, pairs[0].second.label
    clocks = [
        one.measurement.ready for pair in pairs for one in (pair.first, pair.second)
    ]
    unit = fmt.shared(clock.median for clock in clocks if clock)
    rows = [_cells(pair, unit) for pair in pairs]

    def drawn(a: str, b: str, *columns: int) -> str:
        head = [("case", a, b, "ratio", "", "")[column] for column in columns]
        cells = [[row[column] for column in columns] for row in rows]
        return table(head, cells, (a, b, "ratio"))

    whole = drawn(first, second, 0, 1, 2, 3, 4, 5)
    short = (drawn("A", "B", *range(6)), drawn("A", "B", 0, 3, 4, 5))
    parts = [first_fitting((whole, *short))]
    if parts != [whole]:
        parts.insert(0, wrap(f"A is {first}, B is {second}."))
    shared = [
        f"  {visible(one, line=True)}"
        for one in pairs[0].comparison.differences
        if all(one in pair.comparison.differences for pair in pairs)
    ]
    if shared:
        parts.append(wrap("Not the same:", *shared))
    return "\n\n".join(parts)


def _cells(pair: Pair, unit: fmt.Unit | fmt.OwnUnits) -> tuple[str, ...]:
    clocks = pair.first.measurement.ready, pair.second.measurement.ready
    found = pair.comparison
    ratio = ends = ""
    if found.ratio is not None and found.low is not None and found.high is not None:
        ratio, ends = f"{found.ratio:.3g}", f"[{found.low:.3g}, {found.high:.3g}]"
        if is_uncertain(found.low, found.high, found.confidence or 0.0):
            ratio = f"{fmt.UNCERTAIN} {ratio}"
    return (
        pair.first.measurement.case.label,
        *(unit.whole(clock.median) if clock else fmt.ABSENT for clock in clocks),
        ratio,
        ends,
        found.answer,
    )
