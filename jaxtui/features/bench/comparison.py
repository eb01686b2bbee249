"""Two measurements of the past, or what two engines took turns with, side by side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.comparison import Answer, Comparison, Difference, Pair, Side, is_slower
from jaxtui.core.history.store import Entry
from jaxtui.core.model import Case, Device, Host, Measurement, Record, Remark, Summary
from jaxtui.core.model.document import Document
from jaxtui.core.model.measurement import Interval, is_uncertain, is_vague
from jaxtui.core.processes import same_machine, spread
from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.messages import Results
from jaxtui.machine.malloc import End
from jaxtui.ui.plot.axes import Axis, Scale, fit, ticks
from jaxtui.ui.report import (
    Column,
    Report,
    Rows,
    Statement,
    escaped,
    gather,
    styled,
    table,
)

LABELS = ("A", "B")
"""The names of two measurements, or two Pythons."""

# Documents.


class ComparisonRow(Record, frozen=True, kw_only=True):
    """The second measurement over the first."""

    ratio: float | None
    """Seconds over seconds: below 1 the second is faster."""
    low: float | None
    high: float | None
    confidence: float | None
    answer: Answer
    sentence: str
    """The answer with its figures, in words."""
    remarks: tuple[Remark, ...]
    """The reasons why nothing follows from the ratio."""
    differences: tuple[str, ...]
    """The other differences: case, hardware, versions."""
    differing: tuple[Difference, ...]
    """The differences as facts."""


class PairRow(Record, frozen=True, kw_only=True):
    first: Side
    second: Side
    comparison: ComparisonRow


class Pairs(Document, frozen=True, kw_only=True):
    """The document of ``jaxtui compare --json``; each side has its host."""

    command: str = "compare"
    host: None = None
    complete: bool = True
    pairs: tuple[PairRow, ...]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Pairs:
        return cls(
            pairs=tuple(
                PairRow(first=pair.first, second=pair.second, comparison=_row(pair))
                for pair in pairs
            )
        )


class CaseComparison(Record, frozen=True, kw_only=True):
    case: Case
    comparison: ComparisonRow


class Turns(Document, frozen=True, kw_only=True):
    """Two Pythons, or both ends of memory, whose engines took turns."""

    command: str = "bench"
    host: Host | None = None
    pythons: tuple[str, str] | msgspec.UnsetType = msgspec.UNSET
    """A and B, as they were typed."""
    memory: tuple[End, End] | msgspec.UnsetType = msgspec.UNSET
    """The memory that malloc gives to results, where the two differ in that."""
    sides: tuple[Results, Results]
    """The results of either side."""
    comparisons: tuple[CaseComparison, ...]
    """B over A, of what both have."""

    @classmethod
    def of(
        cls,
        sides: tuple[Results, Results],
        pairs: Sequence[Pair],
        *,
        complete: bool,
        **names: Any,
    ) -> Turns:
        comparisons = (
            CaseComparison(case=pair.first.measurement.case, comparison=_row(pair))
            for pair in pairs
        )
        return cls(
            sides=sides,
            comparisons=tuple(comparisons),
            complete=complete,
            **names,
        )


def _row(pair: Pair) -> ComparisonRow:
    judged = pair.comparison
    return ComparisonRow(
        ratio=judged.ratio,
        low=judged.low,
        high=judged.high,
        confidence=judged.confidence,
        answer=judged.answer,
        sentence=headline(pair),
        remarks=judged.remarks,
        differences=tuple(
            f"{d.name}: {d.first or fmt.ABSENT} and {d.second or fmt.ABSENT}"
            for d in judged.differences
        ),
        differing=judged.differences,
    )


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


# The report.

ROLES: dict[Answer, str] = {
    "faster": "pass",
    "slower": "low",
    "no difference": "strong",
    "cannot tell": "low",
    "not comparable": "low",
}
"""The role of an answer."""


def headline(pair: Pair) -> str:
    """Write the answer with its figures."""
    first, second, judged = pair.first.label, pair.second.label, pair.comparison
    if judged.answer == "not comparable":
        names = next(e.facts["of"] for e in judged.remarks if e.code == "other-work")
        assert isinstance(names, tuple)
        works = " and ".join(f"the {name}" for name in names)
        return f"{first} and {second} differ in {works}: not comparable."
    if judged.ratio is None or judged.low is None or judged.high is None:
        return "Cannot tell."
    low, ratio, high = judged.low, judged.ratio, judged.high
    confidence = judged.confidence or 0.0
    if judged.answer == "faster":
        low, ratio, high = 1 / high, 1 / ratio, 1 / low if low > 0 else math.inf
    name = fmt.interval_name(confidence)
    than = f"{judged.answer} than {first}"
    if judged.answer in ("faster", "slower") and high == math.inf:
        return f"{second} is at least {fmt.ratio(low)} {than}."
    span = fmt.ratio_ends(Interval(low, ratio, high))
    if judged.answer in ("faster", "slower"):
        if is_vague(low, high, confidence):
            return f"{second} is {span}× {than} ({name})."
        return f"{second} is {fmt.ratio(ratio)} {than} ({span}×, {name})."
    seen = "No difference seen:" if judged.answer == "no difference" else "Cannot tell."
    taken = f"{second} takes {fmt.ratio(ratio)} the time of {first}"
    return f"{seen} {taken} ({span}×, {name})."


class Gate(NamedTuple):
    """The verdict of a gate: the second side must not be slower by more than a
    share.
    """

    slower: bool | None
    """True if it is slower in some case; ``None`` where it is in none, but some are
    undecided."""
    text: str


def gate(pairs: Sequence[Pair], limit: float, missing: Sequence[Side] = ()) -> Gate:
    """Judge all cases of the first side.

    Args:
        pairs: at least one.
        limit: the share.
        missing: what the second side has not measured.
    """
    run = _run(pairs)
    answers: dict[bool | None, list[str]] = {True: [], None: [], False: []}
    for case, pair in zip(run.cases, pairs, strict=True):
        label = bench.row_label(case, run)
        answers[is_slower(pair.comparison, limit)].append(label)
    answers[None] += [side.measurement.case.label for side in missing]
    slower = True if answers[True] else None if answers[None] else False
    first, second = pairs[0].first.label, pairs[0].second.label
    slower_than = f"slower than {first} by more than {fmt.percent(limit)}"
    cases = fmt.some(answers[slower])
    match slower:
        case True:
            return Gate(slower, f"{second} is {slower_than}: {cases}.")
        case None:
            return Gate(
                slower, f"Cannot tell whether {second} is {slower_than}: {cases}."
            )
    return Gate(slower, f"{second} is not {slower_than}.")


SIGNS = {True: "✗ ", None: "? ", False: "✓ "}
"""The signs of a gate."""


def markdown_line(pairs: Sequence[Pair], judged: Gate | None = None) -> str:
    """All of it in a line for a pull request."""
    sign = SIGNS[judged.slower] if judged else ""
    sentences = [judged.text] if judged else []
    if len(pairs) == 1:
        (pair,) = pairs
        sign += f"**{pair.first.measurement.case.label}**: "
        sentences.append(headline(pair))
    elif judged is None or _differ(pairs):
        sentences.append(_counted(pairs))
    return escaped(f"{sign}{' '.join(sentences)}")


def report(
    pairs: Sequence[Pair], title: str = "comparison", judged: Gate | None = None
) -> Report:
    """Return the report: which of each pair is faster, and how else they differ.

    Args:
        pairs: at least one; those of two files.
        title: of the report.
        judged: whether the second is slower than it may be.
    """
    heads = [side.label for side in (pairs[0].first, pairs[0].second)]
    if len(pairs) == 1:
        (pair,) = pairs
        comparison = pair.comparison
        verdict = Text(headline(pair), ROLES[comparison.answer])
        tables = [_intervals(pair)]
        # Not comparable says the verdict.
        remarks = [
            remark for remark in comparison.remarks if remark.code != "other-work"
        ]
        if not comparison.differences:
            remarks.append(Remark("same-setting"))
        notes = gather((), remarks)
    else:
        verdict = Text(_counted(pairs), "strong")
        tables = [_cases(pairs)]
        run = _run(pairs)
        notes = gather(
            (bench.row_label(case, run), pair.comparison.remarks)
            for case, pair in zip(run.cases, pairs, strict=True)
        )
    shared = [
        difference
        for difference in pairs[0].comparison.differences
        if all(difference in pair.comparison.differences for pair in pairs)
    ]
    if shared:
        rows = [
            (fact.name, fact.first or fmt.ABSENT, fact.second or fmt.ABSENT)
            for fact in shared
        ]
        tables.append(table(("not the same", *heads), rows))
    if judged is not None:
        role = {True: "danger", None: "low", False: "pass"}[judged.slower]
        text = Text(judged.text, role)
        both = len(pairs) == 1 or _differ(pairs)
        verdict = Text(" ").join([text, verdict]) if both else text
    return Report(title, verdict, tables, notes)


def _differ(pairs: Sequence[Pair]) -> bool:
    """Return whether the second is faster or slower in some case."""
    return any(pair.comparison.answer in ("faster", "slower") for pair in pairs)


def _counted(pairs: Sequence[Pair]) -> str:
    answers = Counter(pair.comparison.answer for pair in pairs)
    cases, second = fmt.plural(len(pairs), "case"), pairs[0].second.label
    differing = [
        f"{word} in {answers[word]}" for word in ("faster", "slower") if answers[word]
    ]
    if differing:
        return f"{second} is {fmt.listed(differing)} of {cases}."
    if same := answers["no difference"]:
        return f"No difference seen in {same} of {cases}."
    return f"Cannot tell in {cases}."


def _intervals(pair: Pair) -> Rows:
    """The medians of both and their intervals, drawn on one scale."""
    sides, roles = (pair.first, pair.second), [label.lower() for label in LABELS]
    clocks = [side.measurement.ready for side in sides]
    labels = [styled(side.label, role) for side, role in zip(sides, roles, strict=True)]
    cases = [side.measurement.case.label for side in sides]
    medians = [str(fmt.median(clock)) if clock else fmt.ABSENT for clock in clocks]
    ends = [str(fmt.ends(clock)) if clock else "" for clock in clocks]
    columns = [
        Column("", labels),
        Column("case", cases, rank=3, least=16, grows=True),
        Column("ready", medians, right=True),
        Column("interval", ends, rank=2),
    ]
    if max((clock.ci_high for clock in clocks if clock), default=0) > 0:
        head, bars = _bars(clocks)
        cells = [Text(bar, role) for bar, role in zip(bars, roles, strict=True)]
        columns.append(Column(head, cells, rank=1))
    return Rows(columns)


BAR = 20
"""Cells of the bars of intervals."""

FAR = 10.0
"""Times that differ by more than this factor stand on a logarithmic scale."""


def _bars(clocks: Sequence[Summary | None]) -> tuple[str, list[str]]:
    """The scale, and the interval of each on it."""
    timed = [clock for clock in clocks if clock is not None]
    ends = [end for c in timed for end in (c.ci_low, c.median, c.ci_high)]
    axis = Axis(
        log=min(ends) > 0 and max(ends) > FAR * min(ends), format=fmt.tick_seconds
    )
    scale = fit(ends, axis, padded=True)
    rule = ""
    for tick in ticks(scale, axis, BAR, along=True):
        rule = rule.ljust(tick.start) + tick.label
    drawn = ["" if clock is None else _segment(clock, scale) for clock in clocks]
    return f"{rule}{' log' if axis.log else ''}", drawn


def _segment(clock: Summary, scale: Scale) -> str:
    """``├──•─┤``: both ends of the interval, and the median."""
    places = (clock.ci_low, clock.median, clock.ci_high)
    low, middle, high = (
        max(0, min(BAR - 1, int(place))) for place in scale.cells(places, BAR)
    )
    cells = [" "] * low + ["─"] * (high - low + 1)
    cells[low], cells[high] = "├", "┤"
    cells[middle] = "•"
    return "".join(cells)


def _cases(pairs: Sequence[Pair]) -> Rows:
    """A row for each pair."""
    first, second = pairs[0].first.label, pairs[0].second.label
    clocks = [
        (pair.first.measurement.ready, pair.second.measurement.ready) for pair in pairs
    ]
    unit = fmt.shared(clock.median for both in clocks for clock in both if clock)
    run = _run(pairs)
    names = [bench.shared_facts(run)]
    if (first, second) != LABELS:
        names += [f"A: {first}", f"B: {second}"]
    columns = [*bench.names(run)]
    for label, side in zip(LABELS, zip(*clocks, strict=True), strict=True):
        cells = [unit.whole(clock.median) if clock else fmt.ABSENT for clock in side]
        columns.append(Column(label, cells, rank=2, right=True))
    ratios = [_ratio(pair.comparison) for pair in pairs]
    columns.append(Column("B/A", [ratio for ratio, _ in ratios], right=True))
    columns.append(Column("interval", [ends for _, ends in ratios], rank=1))
    answers = [pair.comparison.answer for pair in pairs]
    columns.append(
        Column("answer", [Text(answer, ROLES[answer]) for answer in answers])
    )
    return Rows(columns, " · ".join(filter(None, names)))


def _run(pairs: Sequence[Pair]) -> Job:
    """The cases as a run, which knows what tells them apart."""
    cases = (CaseState(pair.first.measurement.case) for pair in pairs)
    return Job(number=0, cases=tuple(cases))


def _ratio(judged: Comparison) -> tuple[Text, Text]:
    if judged.ratio is None or judged.low is None or judged.high is None:
        return Text(fmt.ABSENT), Text()
    uncertain = is_uncertain(judged.low, judged.high, judged.confidence or 0.0)
    ends = f"{fmt.significant(judged.low)}–{fmt.significant(judged.high)}×"
    role = "unknown" if uncertain else "value"
    return Text(fmt.ratio(judged.ratio), role), Text(ends, "muted")


def turns_report(
    turns: Turns,
    pairs: Sequence[Pair],
    reports: Sequence[Report],
    labels: Sequence[str] = LABELS,
) -> Report:
    """Say the ratio of each case, and what either side is.

    Args:
        turns: what was measured.
        pairs: what both have measured.
        reports: what there is to say of the run of each, as far as they began.
        labels: what the sides are called.
    """
    title = "two Pythons" if turns.pythons else "fresh and reused memory"
    whole = report(pairs, title) if pairs else Report(title)
    tables = whole.tables
    if turns.pythons:
        tables = (*tables[:1], _versions(turns.pythons, turns.sides))
    of_rows = [
        (f"{label} {row}".strip(), (note.remark,))
        for label, side_report in zip(labels, reports, strict=False)
        for note in side_report.notes
        if isinstance(note, Statement)
        for row in note.about or ("",)
    ]
    # What holds for one of them alone says for which.
    notes = gather([*of_rows, *((label, ()) for label in labels)])
    return Report(title, whole.verdict, tables, [*whole.notes, *notes])


def _versions(pythons: Sequence[str], sides: Sequence[Results]) -> Rows:
    rows = [
        (
            label,
            python,
            *(
                (side.host and getattr(side.host, name)) or fmt.ABSENT
                for name in ("python", "jax", "jaxlib", "numpy")
            ),
        )
        for label, python, side in zip(LABELS, pythons, sides, strict=True)
    ]
    return table(("", "is", "Python", "jax", "jaxlib", "numpy"), rows)
