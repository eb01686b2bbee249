"""A bench run: its report, what is to be said of a case, and its document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import (
    Case,
    Fact,
    Failure,
    Host,
    Interval,
    Measurement,
    Remark,
    Stopped,
    Summary,
    differing,
    run_notes,
)
from jaxtui.core.model.base import dtype_label
from jaxtui.core.model.mesh import mesh_text
from jaxtui.core.model.own import brief_name, short_name
from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench import collectives, curves, rates
from jaxtui.features.bench.crossing import start_text
from jaxtui.features.bench.figures import (
    against_numpy,
    awaited,
    bar_role,
    cached_per_run,
    figure,
    numpy_of,
    rate_role,
    share_of_peak,
    sparkline,
    speed_text,
)
from jaxtui.features.bench.messages import Results
from jaxtui.features.bench.spreadsheet import as_csv
from jaxtui.ui import words
from jaxtui.ui.documents import MACHINE, encode, machine
from jaxtui.ui.export import Contents
from jaxtui.ui.plot import Picture, dot
from jaxtui.ui.report import (
    Column,
    Report,
    Rows,
    Statement,
    gather,
    markdown,
    styled,
    svg,
)
from jaxtui.ui.text import Line, Span, bar, log_share, wrap_spans

_ENDS = {
    "target": "stopped: precise enough",
    "budget": "stopped: budget used up",
    "noise floor": "stopped: noise floor reached",
    "cancelled": "stopped early",
    "crashed": "stopped: engine died",
}


def report(
    run: Job,
    host: str = "",
    *,
    room: int = 0,
    picture: Picture | None = None,
    full: bool = True,
) -> Report:
    """Return the report of a run, finished or not.

    Args:
        run: with at least one case.
        host: the machine.
        room: cells of the bars; without bars 0.
        picture: of the run.
        full: with what is true of every run like it (``USUAL``).
    """
    swept = run if picture is not None and len(run.cases) > 1 else None
    columns = tuple(
        replace(column, grows=False)
        for column in result_columns(run, room=room, swept=swept)
    )
    return Report(
        title=title(run),
        verdict=headline(run),
        tables=(Rows(columns, shared_facts(run)),),
        notes=gathered(run, full=full),
        picture=picture,
        host=host,
    )


def gathered(run: Job, *, full: bool = True) -> list[Statement]:
    """Return all that qualifies the figures of a run; in full with what is usual."""
    lagging = rates.remarks_of(run)
    rows = [
        (
            row_label(case, run),
            (*_own_notes(case, run), *_failure(case), *_lagging(case, lagging)),
        )
        for case in run.cases
    ]
    of_all = notes(run)
    if not full:
        rows = [(label, telling(remarks)) for label, remarks in rows]
        of_all = telling(of_all)
    return gather(rows, of_all)


def _lagging(case: CaseState, lagging: Mapping[Case, Remark]) -> tuple[Remark, ...]:
    """Return the remark that its device lags behind others with the same case."""
    remark = lagging.get(case.case)
    return (remark,) if remark is not None else ()


def _failure(case: CaseState) -> tuple[Remark, ...]:
    return (case.failure.remark,) if case.failure is not None else ()


# The headline.


def headline(run: Job) -> Text:
    """Write the headline: the speed-up, or the time of a call."""
    if run.outcome == "crashed":
        return styled(f"Incomplete. {words.LOST}", "low")
    ratios = {
        index: ratio
        for index, case in enumerate(run.cases)
        if (ratio := against_numpy(case, run)) is not None
    }
    if ratios:
        return styled(_against_numpy(run, ratios), "title")
    return styled(_times(run), "title")


def _against_numpy(run: Job, ratios: Mapping[int, Interval]) -> str:
    one_op = len({case.case.op for case in run.cases}) == 1
    if one_op and (crossings := curves.crossings(run)):
        text = "; ".join(
            f"{start_text(crossing, 'size ')}, {faster} is faster than {slower}"
            for crossing, faster, slower in crossings
        )
        return f"{text[0].upper()}{text[1:]}."
    if len(ratios) == 1:
        ((index, ratio),) = ratios.items()
        return f"{_compared('JAX', ratio)}{_queued('JAX', index, run, ratio)}."
    by_mode: dict[str, list[int]] = {}
    for index in ratios:
        by_mode.setdefault(run.cases[index].case.mode, []).append(index)
    same = len({(case.case.op, case.case.size) for case in run.cases}) == 1
    texts = []
    for mode, indices in by_mode.items():
        if same and len(indices) == 1:
            (index,) = indices
            text = _compared(mode, ratios[index])
            texts.append(f"{text}{_queued(mode, index, run, ratios[index])}")
        else:
            texts.append(_span(mode, indices, run, ratios))
    return f"{'; '.join(texts)}."


def _compared(name: str, ratio: Interval) -> str:
    """``JAX is 1.7× faster than NumPy (1.5–1.9×)``."""
    if not ratio.decided:
        return f"{name}: {_undecided([ratio])} ({fmt.ratio_ends(ratio)}×)"
    faster, slower = (name, "NumPy") if ratio.low > 1 else ("NumPy", name)
    ahead = ratio if ratio.low > 1 else ratio.inverse
    ends = "" if ahead.vague else f" ({fmt.ratio_ends(ahead)}×)"
    times = _times_faster(ahead)
    return f"{faster} is {times} faster than {slower}{ends}"


def _queued(name: str, index: int, run: Job, ratio: Interval) -> str:
    """Name the faster side with queued calls, where that is the other one: the rates
    next to a headline are theirs.
    """
    case = run.cases[index]
    numpy = numpy_of(case, run)
    ready = numpy and numpy.measurement and numpy.measurement.ready
    seconds = case.measurement and case.measurement.pipelined_seconds
    if not ratio.decided or not ready or not seconds:
        return ""
    queued = ready.median / seconds
    if (queued > 1) == (ratio.low > 1):
        return ""
    times, than = (
        fmt.ratio(max(queued, 1 / queued)),
        "faster" if queued > 1 else "slower",
    )
    return f"; pipelined, {name} is {times} {than}"


def _times_faster(ratio: Interval) -> str:
    """``1.7×``; of a ratio that is not known to within a third no more than is sure."""
    return (
        f"at least {fmt.ratio(ratio.low)}" if ratio.vague else fmt.ratio(ratio.median)
    )


def _span(
    mode: str, indices: Sequence[int], run: Job, ratios: Mapping[int, Interval]
) -> str:
    """``jit: up to 3.1× faster than NumPy (selu 1e6), up to 2.6× slower (add 1e6)``."""
    sides: dict[str, dict[int, Interval]] = {"faster": {}, "slower": {}}
    for index in indices:
        if (ratio := ratios[index]).decided:
            word = "faster" if ratio.low > 1 else "slower"
            sides[word][index] = ratio if ratio.low > 1 else ratio.inverse
    texts: list[str] = []
    for word, side in sides.items():
        if side:
            best = max(side, key=lambda index: side[index].low)
            case = run.cases[best].case
            most = "up to " if len(side) > 1 and not side[best].vague else ""
            where = " ".join(filter(None, (brief_name(case.op), fmt.size(case.size))))
            than = "" if texts else " than NumPy"
            text = f"{most}{_times_faster(side[best])} {word}{than} ({where})"
            texts.append(f"{text}{_queued(mode, best, run, ratios[best])}")
    rest = _undecided([ratios[index] for index in indices])
    return f"{mode}: {', '.join(texts) or rest}"


def _undecided(ratios: Iterable[Interval]) -> str:
    if all(ratio.low <= 1 <= ratio.high for ratio in ratios):
        return "no difference from NumPy seen"
    return "too few rounds for a comparison with NumPy"


def _times(run: Job) -> str:
    """Write the time of a call, where nothing is compared with NumPy."""
    timed = [
        (case, case.measurement, case.measurement.ready)
        for case in run.cases
        if case.measurement is not None and case.measurement.ready is not None
    ]
    if not timed:
        return ""
    if len(timed) == 1:
        case, measured, ready = timed[0]
        speed = speed_text(awaited(measured))
        ends = f" ({fmt.ends(ready)})" if ready.rounds > 1 else ""
        name = f"{row_label(case, run)}: " if len(run.cases) > 1 else ""
        more = f", {speed}" if speed != fmt.ABSENT else ""
        return f"{name}{fmt.median(ready)} per call{ends}{more}."
    ordered = sorted(timed, key=lambda item: item[2].median)
    (first, _, low), (last, _, high) = ordered[0], ordered[-1]
    shortest = f"{fmt.median(low)} per call ({row_label(first, run)})"
    if len({(case.case.op, case.case.size) for case, _, _ in timed}) == 1:
        return f"Fastest: {shortest}."
    return f"{shortest} to {fmt.median(high)} ({row_label(last, run)})."


# The table.

LOGARITHMIC = 50.0
"""Longest over shortest time from which on the bars are logarithmic."""


def result_columns(run: Job, *, room: int, swept: Job | None = None) -> list[Column]:
    """The columns of a run, from left to right.

    What is the same for all cases is not repeated: ``shared_facts`` says it.

    Args:
        run: with at least one case.
        room: cells of a bar; without bars 0.
        swept: its cases that are drawn as curves: their signs and colours come first.
    """
    cases = run.cases
    measured = [case.measurement for case in cases]
    summaries = [measurement.ready if measurement else None for measurement in measured]
    units = fmt.Units.of([measurement for measurement in measured if measurement])
    table = [*names(run), ready_column(run)]
    if swept is not None:
        table.insert(0, _marks(run, swept))
    ends: list[Line] = [
        (Span(fmt.ends_beside(summary.interval, units.ready), "muted"),)
        if summary is not None and summary.rounds > 1
        else ()
        for summary in summaries
    ]
    if any(ends):
        head = _confidence(summaries)
        table.append(Column(head, ends, rank=2, right=True, least=9, key="interval"))
    if room and (len(cases) > 1 or run.outcome is None):
        table.append(_bars(run, summaries, room))
    table += collectives.columns(measured)
    if not all(map(collectives.rates_of, measured)):
        table.append(_rates(measured, units))
    if any(case.case.mode == "numpy" for case in cases) and len(cases) > 1:
        cells = [_factor(against_numpy(case, run)) for case in cases]
        if any(cells) or run.outcome is None:
            table.append(Column("× NumPy", cells, rank=4, right=True, key="factor"))
    dispatches = [
        measurement.dispatch if measurement else None for measurement in measured
    ]
    if any(dispatches):
        # What only a wide screen has room for, and what is not known at all nowhere.
        unit = units.dispatch
        lines = [
            figure(summary.interval, unit) if summary else () for summary in dispatches
        ]
        head = f"dispatch {unit.name}".rstrip()
        table.append(Column(head, lines, rank=7, right=True, key="dispatch"))
    for key, rank, texts in (
        (
            "peak",
            6,
            [
                fmt.percent(share_of_peak(measurement) if measurement else None)
                for measurement in measured
            ],
        ),
        (
            "error",
            8,
            [
                fmt.error(measurement.error_vs_float64 if measurement else None)
                for measurement in measured
            ],
        ),
    ):
        if any(text not in ("", fmt.ABSENT) for text in texts):
            table.append(Column(key, texts, rank=rank, right=True, least=6))
    badges = [_badge(case, run) for case in cases]
    if any(map(any, badges)) or run.outcome is None:
        flags, labels = zip(*badges, strict=True)
        table.append(Column("", flags, rank=1, least=2, key="flags"))
        table.append(Column("", labels, rank=5, least=9, grows=True, key="notes"))
    return table


def ready_column(run: Job) -> Column:
    """The median seconds per call, or what became of a case without them."""
    measured = [case.measurement for case in run.cases]
    unit = fmt.Units.of([m for m in measured if m]).ready
    cells: list[Line] = [
        figure(m.ready.interval, unit)
        if m is not None and m.ready is not None and case.failure is None
        else (Span(status(case), "bad" if case.failure else "muted"),)
        for case, m in zip(run.cases, measured, strict=True)
    ]
    head = f"ready {unit.name}".rstrip()
    return Column(head, cells, right=True, least=len("sampling"), key="ready")


def status(case: CaseState) -> str:
    """Return the state of a case that has no figures, in one or two words."""
    if case.status == "not run":
        return "not run"
    if case.failure is not None:
        return "failed"
    return case.doing.replace("first_call", "1st run") or case.status


def names(run: Job) -> Iterator[Column]:
    """Yield the columns that tell the cases apart; size and mode in any case."""
    cases = [case.case for case in run.cases]
    differing = _differing(run)
    if "op" in differing:
        # With the folder only where two files have the same name.
        brief = {case.op: brief_name(case.op) for case in cases}
        plain = len(set(brief.values())) == len(brief)
        ops = [brief[case.op] if plain else short_name(case.op) for case in cases]
        yield Column("op", ops)
    if any(case.size for case in cases):
        sizes: list[Line] = [(Span(fmt.size(case.size), "value"),) for case in cases]
        yield Column("size", sizes, right=True)
    if "dtype" in differing:
        dtypes = [dtype_label(case.dtype, case.precision) for case in cases]
        yield Column("dtype", dtypes, rank=1)
    if "device" in differing:
        yield Column("device", [case.device for case in cases])
    measured = [case.measurement for case in run.cases]
    names = [(measurement and measurement.hostname) or "" for measurement in measured]
    if len({*names} - {""}) > 1:
        yield Column("host", names, rank=2)
    modes: list[Line] = []
    for case in cases:
        hosted = case.inputs == "host" and not case.on_host
        more = ", host" if "inputs" in differing and hosted else ""
        modes.append((Span(f"{case.mode}{more}", case.mode),))
    yield Column("mode", modes)


@cached_per_run
def _differing(run: Job) -> frozenset[str]:
    """Return the fields that differ between cases; NumPy has the host in any case."""
    cases = [case.case for case in run.cases]
    jax = [case for case in cases if not case.on_host]
    varied: dict[str, set[str]] = {
        "op": {case.op for case in cases},
        "dtype": {dtype_label(case.dtype, case.precision) for case in cases},
        "device": {case.device for case in jax},
        "inputs": {case.inputs for case in jax},
    }
    return frozenset(name for name, values in varied.items() if len(values) > 1)


def shared_facts(run: Job) -> str:
    """Write the fields that all cases share: ``matmul · float32 · cpu:0``."""
    differing = _differing(run)
    first = next(
        (case.case for case in run.cases if not case.case.on_host), run.cases[0].case
    )
    facts = {
        "op": brief_name(first.op),
        "dtype": dtype_label(first.dtype, first.precision),
        "device": first.device,
        "mesh": f"mesh {mesh_text(first.params)}" if first.on_mesh else "",
        "participants": _participants(run),
        "inputs": "host inputs" if first.inputs == "host" and not first.on_host else "",
    }
    return " · ".join(
        text for name, text in facts.items() if name not in differing and text
    )


def _participants(run: Job) -> str:
    """``4 participants`` of every collective; empty where they differ."""
    rates = [case.measurement.collective for case in run.cases if case.measurement]
    counts = {rate.participants for rate in rates if rate}
    return fmt.plural(counts.pop(), "participant") if len(counts) == 1 else ""


def row_label(case: CaseState, run: Job) -> str:
    """A row in a sentence: ``matmul 256 jit``."""
    typed, differing = case.case, _differing(run)
    facts = [brief_name(typed.op), fmt.size(typed.size) if typed.size else ""]
    if "dtype" in differing:
        facts.append(dtype_label(typed.dtype, typed.precision))
    facts.append(typed.mode)
    if "device" in differing and not typed.on_host:
        facts.append(f"on {typed.device}")
    if "inputs" in differing and typed.inputs == "host" and not typed.on_host:
        facts.append("with host inputs")
    return " ".join(filter(None, facts))


def _marks(run: Job, swept: Job) -> Column:
    """The sign of each case's curve; a case without a curve has none."""
    labels, tints = curves.labels(swept), curves.tints(swept)
    dots: list[Line] = []
    for case in run.cases:
        if case not in swept.cases:
            dots.append(())
            continue
        place = labels.index(curves.label_of(case, swept))
        dots.append((Span(dot(place), f"series-{tints[place]}"),))
    return Column("", dots, key="mark")


def _bars(run: Job, summaries: Sequence[Summary | None], room: int) -> Column:
    """Times to scale; of a case that is being sampled, its rounds."""
    medians = [s.median for s in summaries if s is not None and s.median > 0]
    longest, shortest = max(medians, default=1.0), min(medians, default=1.0)
    log = longest > LOGARITHMIC * shortest
    cells: list[Line] = []
    for case, s in zip(run.cases, summaries, strict=True):
        if s is None or s.median <= 0:
            cells.append(())
        elif case.status == "running":
            cells.append((Span(sparkline(case.rounds[-room:]), "spark"),))
        else:
            share = s.median / longest
            if log:
                share = log_share(s.median, shortest, longest)
            cells.append((Span(bar(share, room), bar_role(case)),))
    return Column("log" if log else "", cells, rank=5, least=room, key="bar")


def _rates(measured: Sequence[Measurement | None], units: fmt.Units) -> Column:
    """FLOP/s or bytes/s; in one unit where all have the same."""
    timed = [m for m in measured if m]
    cells: list[Line]
    flops = any(m.flops_per_second for m in timed)
    moved = any(m.bytes_per_second and not m.flops_per_second for m in timed)
    # What JAX computes beside NumPy is pipelined; ``ready`` stands in the same row.
    pipelined = ["pipelined"] if any(m.pipelined_seconds for m in timed) else []
    if flops and moved:
        rates = [
            fmt.speed(m.flops_per_second, m.bytes_per_second) if m else ""
            for m in measured
        ]
        texts = map(fmt.alike(rates), rates)
        cells = [
            (Span(text, rate_role(m)),) for m, text in zip(measured, texts, strict=True)
        ]
        head = " ".join(pipelined) or "rate"  # its cells have their units
        return Column(head, cells, rank=3, right=True, least=12, key="rate")
    unit = units.bytes if moved else units.flops
    values = [
        (m.bytes_per_second if moved else m.flops_per_second) if m else None
        for m in measured
    ]
    cells = []
    for m, value in zip(measured, values, strict=True):
        if value:
            cells.append((Span(unit.text(value), rate_role(m)),))
        else:
            cells.append((Span(fmt.ABSENT, "muted"),) if m and m.ready else ())
    head = "FLOP/s"
    if flops or moved:
        head = " ".join(filter(None, (*pipelined, unit.name))) or "rate"
    return Column(head, cells, rank=3, right=True, least=7, key="rate")


def _confidence(summaries: Sequence[Summary | None]) -> str:
    heads = {
        fmt.interval_name(summary.confidence)
        for summary in summaries
        if summary is not None and summary.rounds > 1
    }
    return heads.pop().removesuffix(" interval") if len(heads) == 1 else "interval"


def _factor(interval: Interval | None) -> Line:
    if interval is None:
        return ()
    if interval.uncertain:
        ranged = interval.low < interval.high
        text = f"{fmt.ratio_ends(interval)}×" if ranged else fmt.ratio(interval.median)
        return (Span(text, "unknown"),)
    role = "faster" if interval.median >= 1 else "slower"
    low, _, high = fmt.ratio_ends(interval).partition("–")
    ends = (Span(f" {low}–{high}", "muted"),) if low != high else ()
    return (Span(fmt.ratio(interval.median), role), *ends)


def _badge(case: CaseState, run: Job) -> tuple[Line, Line]:
    """A sign, which any table has room for, and the label of the first note."""
    if case.failure is not None:
        label = words.label(case.failure.remark)
        badge = () if label == status(case) else (Span(label, "bad"),)
        return (Span("✗", "bad"),), badge
    notes = telling(_own_notes(case, run))
    if not notes:
        return (), ()
    careful = [note for note in notes if note.severity != "info"]
    if not careful:
        more = f" +{len(notes) - 1}" if notes[1:] else ""
        return (), (Span(f"{words.label(notes[0])}{more}", "muted"),)
    count = str(len(careful)) if careful[1:] else ""
    return (Span(f"▲{count}", "note"),), (Span(words.label(careful[0]), "note"),)


# What is to be said of a case.

USUAL = frozenset(
    {"aliased", "elements-sampled", "memcpy", "reused-pages", "rows-sampled"}
)
"""Codes of what is so on every CPU or with every large result: only the full notes have
them."""


def telling(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Return the remarks that are not usual."""
    return tuple(remark for remark in remarks if remark.code not in USUAL)


@cached_per_run
def notes(run: Job) -> tuple[Remark, ...]:
    """Return the notes on the whole run, as far as it is measured."""
    return run_notes(case.measurement for case in run.cases if case.measurement)


def _own_notes(case: CaseState, run: Job) -> tuple[Remark, ...]:
    return differing(case.measurement.notes if case.measurement else (), notes(run))


def statements(
    case: CaseState, run: Job, *, full: bool = True
) -> tuple[Statement, ...]:
    """Return the statements on a case, or why it has no figures, and those on all; in
    full with what is usual.
    """
    failure = () if case.failure is None else (case.failure.remark,)
    own: Iterable[Remark] = (*failure, *_own_notes(case, run))
    of_all: Iterable[Remark] = notes(run)
    if not full:
        own, of_all = telling(own), telling(of_all)
    return (
        *map(Statement, own),
        *(Statement(note, ("whole run",)) for note in of_all),
    )


def figure_lines(case: CaseState, width: int) -> list[Line]:
    """The clock of a case, until its results were ready, in full."""
    measured = case.measurement
    if measured is None or measured.ready is None or case.failure is not None:
        return []
    ready, text = measured.ready, fmt.seconds
    figures = [
        fmt.interval(ready),
        f"p90 {text(ready.p90)}",
        f"p99 {text(ready.p99)}",
        f"max {text(ready.max)}",
        fmt.sampled(ready),
    ]
    if measured.stopped:
        figures.append(_ENDS[measured.stopped])
    if measured.processes is not None:
        figures.append(f"medians of processes {fmt.processes(measured.processes)}")
    median = Span(f"ready: {text(ready.median)}", "title")
    return wrap_spans([median, *map(Span, figures)], width, ", ")


# Files.


def title(run: Job) -> str:
    if len(run.cases) == 1:
        return run.cases[0].case.label
    return " and ".join(dict.fromkeys(short_name(case.case.op) for case in run.cases))


def files(results: Results, run: Job, picture: Picture | None) -> Contents:
    """Every kind of file but a script."""
    host = machine(results.host, *MACHINE, by=" · ")
    return {
        ".json": lambda: encode(results).decode(),
        ".csv": lambda: as_csv(results),
        ".md": lambda: markdown(report(run, host)),
        ".svg": lambda: svg(report(run, host, picture=picture)),
    }


# The document.


def collect(host: Host | None, cases: Sequence[Case], run: Job | None) -> Results:
    """A run, finished or not, as a document; what holds for all of it is said once."""
    complete = run is not None and run.outcome == "complete"
    return Results.of(host, *endings(cases, run), complete=complete)


def so_far(host: Host | None, run: Job) -> Results:
    """A run as a document; while it is running, only what has arrived."""
    if run.outcome is None:
        arrived = (
            case
            for case in run.cases
            if case.failure or (case.measurement and case.measurement.ready)
        )
        run = msgspec.structs.replace(run, cases=tuple(arrived))
    return collect(host, (), run)


def endings(
    cases: Sequence[Case], run: Job | None
) -> tuple[list[Measurement], list[Failure]]:
    """Every case of a run as a measurement or a failure, in their order.

    One that was interrupted while it was sampled keeps the samples that it has and
    says ``cancelled`` or ``crashed``; one that had none yet is a failure.
    """
    outcome: Stopped = "crashed" if run and run.outcome == "crashed" else "cancelled"
    measurements: list[Measurement] = []
    failures: list[Failure] = []
    for state in run.cases if run else tuple(map(CaseState, cases)):
        measured = state.measurement
        if state.failure:
            failures.append(state.failure)
        elif measured and (measured.stopped or measured.ready):
            changed = {
                "stopped": measured.stopped or outcome,
                "times_numpy": against_numpy(state, run) if run else None,
            }
            measurements.append(msgspec.structs.replace(measured, **changed))
        else:
            facts: dict[str, Fact] = {"outcome": outcome, "phase": state.doing}
            remark = Remark("broken-off", facts, "error")
            failures.append(Failure(case=state.case, remark=remark))
    return measurements, failures
