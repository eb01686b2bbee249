"""The table of a run on a screen: columns by priority, one unit each, bars to scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.model import Measurement, Ratio, Summary
from jaxtui.model.own import brief_name, short_name
from jaxtui.plot import dot
from jaxtui.plot.frame import LEVELS
from jaxtui.state import CaseState, Job
from jaxtui.view import bench, curves, words
from jaxtui.view.text import Column, Line, Span, bar, log_share

LOGARITHMIC = 50.0
"""Longest over shortest time from which on the bars are logarithmic."""


def columns(run: Job, *, marked: bool, room: int) -> list[Column]:
    """The columns of a run, from left to right.

    What is the same for all cases is not repeated: the form's title says it.
    """
    cases = run.cases
    rows = [bench.row(case, run) for case in cases]
    measured = [case.measurement for case in cases]
    summaries = [one.ready if one else None for one in measured]
    units = fmt.Units.of([one for one in measured if one])
    unit = units.ready
    found: list[Column] = []
    if marked:
        labels = curves.labels(run)
        signs = [labels.index(curves.label_of(case, run)) for case in cases]
        tints = curves.tints(run)
        dots: list[Line] = [(Span(dot(one), f"series-{tints[one]}"),) for one in signs]
        found.append(Column("mark", "", dots))
    found += names(run, rows)
    found.append(ready_column(run, rows))
    ends: list[Line] = [
        (Span(fmt.ends_beside(one, unit), "muted"),)
        if one is not None and one.rounds > 1
        else ()
        for one in summaries
    ]
    if any(ends):
        head = _confidence(summaries)
        found.append(Column("interval", head, ends, rank=4, least=9))
    found.append(_bars(run, summaries, room))
    found.append(_rates(measured, units))
    if any(case.case.mode == "numpy" for case in cases) and len(cases) > 1:
        cells = [_factor(bench.times_numpy(case, run)) for case in cases]
        found.append(Column("factor", "× NumPy", cells, rank=1, right=True))
    notes = [_badge(case, run) for case in cases]
    found.append(Column("notes", "", notes, rank=2, least=12, grows=True))
    dispatches = [one.dispatch if one else None for one in measured]
    if any(dispatches):
        # What only a wide screen has room for, and what is not known at all nowhere.
        unit = units.dispatch
        lines = [figure(one, unit) if one else () for one in dispatches]
        head = f"dispatch {unit.name}".rstrip()
        found.append(Column("dispatch", head, lines, rank=7, right=True))
    for key, rank in (("peak", 6), ("error", 8)):
        if any(row[key] not in ("", fmt.ABSENT) for row in rows):
            texts = [(Span(row[key]),) for row in rows]
            found.append(Column(key, key, texts, rank=rank, right=True, least=6))
    return found


def ready_column(run: Job, rows: Sequence[dict[str, str]]) -> Column:
    """The median seconds per call, or what became of a case without them."""
    measured = [case.measurement for case in run.cases]
    unit = fmt.Units.of([one for one in measured if one]).ready
    cells: list[Line] = [
        figure(one.ready, unit)
        if one is not None and one.ready is not None
        else (Span(row["ready"], "bad" if case.failure else "muted"),)
        for case, one, row in zip(run.cases, measured, rows, strict=True)
    ]
    head = f"ready {unit.name}".rstrip()
    return Column("ready", head, cells, right=True, least=len("1st call"))


def names(run: Job, rows: Sequence[dict[str, str]]) -> Iterator[Column]:
    """What tells the cases apart; size and mode in any case."""
    cases = [case.case for case in run.cases]
    if len({case.op for case in cases}) > 1:
        # With the folder only where two files have the same name.
        brief = {case.op: brief_name(case.op) for case in cases}
        plain = len(set(brief.values())) == len(brief)
        names = [brief[one.op] if plain else short_name(one.op) for one in cases]
        yield Column("op", "op", [(Span(name),) for name in names])
    if any(case.size for case in cases):
        sizes = [(Span(row["size"], "value"),) for row in rows]
        yield Column("size", "size", sizes, right=True)
    if len({row["dtype"] for row in rows}) > 1:
        yield Column("dtype", "dtype", [(Span(row["dtype"]),) for row in rows], rank=1)
    if len({case.device for case in cases if not case.on_host}) > 1:
        yield Column("device", "device", [(Span(one.device),) for one in cases])
    several = len({case.inputs for case in cases if not case.on_host}) > 1
    modes: list[Line] = []
    for case in cases:
        more = (
            ", host" if several and not case.on_host and case.inputs == "host" else ""
        )
        role = "numpy" if case.on_host else "label"
        modes.append((Span(f"{case.mode}{more}", role),))
    yield Column("mode", "mode", modes)


def _bars(run: Job, summaries: Sequence[Summary | None], room: int) -> Column:
    """Times to scale; of a case that is being sampled, its rounds."""
    known = [one.median for one in summaries if one is not None and one.median > 0]
    longest, shortest = max(known, default=1.0), min(known, default=1.0)
    log = longest > LOGARITHMIC * shortest
    cells: list[Line] = []
    for case, one in zip(run.cases, summaries, strict=True):
        if one is None or one.median <= 0:
            cells.append(())
        elif case.status == "running":
            cells.append((Span(sparkline(case.rounds[-room:]), "spark"),))
        else:
            share = one.median / longest
            if log:
                share = log_share(one.median, shortest, longest)
            cells.append((Span(bar(share, room), bar_role(case)),))
    return Column("bar", "log" if log else "", cells, rank=5, least=room)


def bar_role(case: CaseState) -> str:
    """The colour of what ran: the host's NumPy or JAX."""
    return "bar-numpy" if case.case.on_host else "bar-jax"


def _rates(measured: Sequence[Measurement | None], units: fmt.Units) -> Column:
    """FLOP/s or bytes/s; in one unit where all have the same."""
    known = [one for one in measured if one]
    flops = any(one.flops_per_second for one in known)
    moved = any(one.bytes_per_second and not one.flops_per_second for one in known)
    if flops and moved:
        rates = [
            fmt.speed(one.flops_per_second, one.bytes_per_second) if one else fmt.ABSENT
            for one in measured
        ]
        texts = map(fmt.alike(rates), rates)
        cells = [
            (Span(text, rate_role(one)),)
            for one, text in zip(measured, texts, strict=True)
        ]
        return Column("rate", "rate", cells, rank=3, right=True, least=12)
    unit = units.bytes if moved else units.flops
    values = [
        (one.bytes_per_second if moved else one.flops_per_second) if one else None
        for one in measured
    ]
    cells = [
        (
            Span(unit.text(value), rate_role(one))
            if value
            else Span(fmt.ABSENT, "muted"),
        )
        for one, value in zip(measured, values, strict=True)
    ]
    head = (unit.name or "rate") if flops or moved else "FLOP/s"
    return Column("rate", head, cells, rank=3, right=True, least=7)


def rate_role(one: Measurement | None) -> str:
    """Of what follows from the seconds of a call: no better known than they are."""
    return "unknown" if one and one.ready and one.ready.vague else "value"


def figure(summary: Summary, unit: fmt.Unit | fmt.OwnUnits) -> Line:
    """A median in a unit; the digits that its interval does not support are apart, and
    all of them where it is vague.
    """
    known = fmt.digits_known(summary)
    own = unit.of(summary.median)
    text = own.text(summary.median)
    name = "" if unit.name else f" {own.name}"
    seen, end = 0, len(text)
    for place, char in enumerate(text):
        if char.isdigit() and (seen or char != "0"):
            seen += 1
        if seen == known:
            end = place + 1
            break
    if summary.vague:
        return (Span(f"{text}{name}", "unknown"),)
    if known == 3 or "e" in text:
        return (Span(f"{text}{name}", "value"),)
    parts = (Span(text[:end], "value"), Span(text[end:], "unknown"))
    return (*parts, Span(name, "value")) if name else parts


def _confidence(summaries: Sequence[Summary | None]) -> str:
    sure = [
        one.confidence >= fmt.LEAST_CONFIDENCE
        for one in summaries
        if one is not None and one.rounds > 1
    ]
    return "95 %" if all(sure) else "interval" if any(sure) else "min–max"


def _factor(found: Ratio | None) -> Line:
    if found is None:
        return ()
    if found.uncertain:
        return (Span(fmt.factor(found), "unknown"),)
    role = "faster" if found.median >= 1 else "slower"
    ends = Span(f" {fmt.ratio_ends(found)}", "muted")
    return (Span(fmt.ratio(found.median), role), ends)


def _badge(case: CaseState, run: Job) -> Line:
    if case.failure is not None:
        return (Span(f"✗ {case.failure.error}", "bad"),)
    notes = bench.own_notes(case, run)
    if not notes:
        return ()
    # In front, where no narrow column cuts it.
    count = str(len(notes)) if notes[1:] else ""
    return (Span(f"▲{count} {words.label(notes[0])}", "note"),)


def sparkline(values: Sequence[float]) -> str:
    """How some values went, each in an eighth of a cell's height."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high <= low:
        return LEVELS[0] * len(values)
    last = len(LEVELS) - 1
    return "".join(LEVELS[round(last * (v - low) / (high - low))] for v in values)
