"""A bench run: its table, the sentences about it, the readout, and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis import crossover
from jaxtui.model import (
    USUAL_MODES,
    Case,
    Failure,
    Host,
    Measurement,
    OpInfo,
    Ratio,
    Remark,
    Stopped,
    differing,
    explanation,
    run_notes,
)
from jaxtui.model.base import dtype_label
from jaxtui.model.own import brief_name, is_own, parts, short_name
from jaxtui.plot import Picture
from jaxtui.selection import DTYPE_ALIASES
from jaxtui.state import CaseState, Job
from jaxtui.stats import Interval, interval_of
from jaxtui.view import words
from jaxtui.view.document import Outcome, Results
from jaxtui.view.export import Contents, contents, drawn
from jaxtui.view.render import DARK, Look
from jaxtui.view.text import INCOMPLETE, table

WIDE = (
    "op",
    "size",
    "dtype",
    "device",
    "mode",
    "ready",
    "dispatch",
    "rate",
    "peak",
    "error",
    "× numpy",
    "notes",
)

RIGHT = (
    "size",
    "ready",
    "interval",
    "memory",
    "dispatch",
    "rate",
    "peak",
    "error",
    "× numpy",
)
"""Those that are aligned at the right."""

APART = 2.0
"""Dispatch counts as far from ready when ready takes this many times longer."""

TRACEBACK = "traceback"
"""What the traceback of a user's function is filed under."""

_ALL = "(2 and Enter show it on a screen of its own)"

_ENDS = {
    "target": "stopped: precise enough",
    "budget": "stopped: the time was up",
    "noise floor": "stopped: more samples would not help",
    "cancelled": "stopped by hand",
    "crashed": "the engine was lost",
}

_T = TypeVar("_T")


def once_per_run(work_out: Callable[[Job], _T]) -> Callable[[Job], _T]:
    """A function that remembers its answer for the snapshot that it was last asked of.

    Every case of a run asks about all of its cases: without this, a redraw of a
    thousand cases looks at a million.
    """
    last: tuple[Job, _T] | None = None

    def answer(run: Job) -> _T:
        nonlocal last
        if last is None or last[0] is not run:
            last = run, work_out(run)
        return last[1]

    return answer


# Figures.


def against_numpy(case: CaseState, run: Job) -> Interval | None:
    """NumPy's seconds for the same op and size over those of a JAX case, until ready;
    both took turns.
    """
    numpy = None if case.case.mode == "numpy" else numpy_of(case, run)
    if numpy is None or numpy.measurement is None or case.measurement is None:
        return None
    rounds = _turns(numpy), _turns(case)
    return crossover.ratio_of(numpy.measurement, case.measurement, rounds)


def _turns(case: CaseState) -> Sequence[float]:
    """Seconds of what has taken turns: rounds, or processes where there are several."""
    measured = case.measurement
    if measured is not None and measured.processes is not None:
        return measured.processes.medians
    return case.rounds


def numpy_of(case: CaseState, run: Job) -> CaseState | None:
    """NumPy's case of the same op and size: one with figures, of the same dtype if
    there is such a one, the fastest.
    """
    asked = case.case

    def order(one: CaseState) -> tuple[bool, bool, float]:
        ready = ready_interval(one)
        seconds = 0.0 if ready is None else ready.median
        return ready is None, one.case.dtype != asked.dtype, seconds

    found = _by_numpy(run).get((asked.op, asked.size), ())
    return min(found, key=order, default=None)


def times_numpy(case: CaseState, run: Job) -> Ratio | None:
    """How many times faster than NumPy a JAX case is; see ``against_numpy``."""
    found = against_numpy(case, run)
    return None if found is None else Ratio(**found._asdict())


def ready_interval(case: CaseState) -> Interval | None:
    """Seconds per call until its result was ready."""
    measured = case.measurement
    if measured is None or measured.ready is None:
        return None
    return interval_of(measured.ready)


@once_per_run
def _by_numpy(run: Job) -> dict[tuple[str, int], list[CaseState]]:
    """By op and size: the cases that NumPy ran."""
    found: dict[tuple[str, int], list[CaseState]] = {}
    for one in run.cases:
        if one.case.mode == "numpy":
            found.setdefault((one.case.op, one.case.size), []).append(one)
    return found


def share_of_peak(measurement: Measurement) -> float | None:
    """The better of the two shares, of peak FLOP/s and of peak bytes/s."""
    peak = measurement.peak
    if peak is None:
        return None
    pairs = (
        (measurement.flops_per_second, peak.flops_per_second),
        (measurement.bytes_per_second, peak.bytes_per_second),
    )
    shares = [rate / most for rate, most in pairs if rate and most]
    return max(shares, default=None)


# The table.


def row(case: CaseState, run: Job) -> dict[str, str]:
    """The cells of one case by column, without the figures that ``rows`` writes in one
    unit for each column.
    """
    asked = case.case
    # With the folder only where two files of the run have the same name.
    name = short_name if _has_namesakes(run) else brief_name
    plain = asked.inputs == "device" or asked.on_host
    cells = dict.fromkeys(WIDE, "") | {
        "op": name(asked.op),
        "size": fmt.size(asked.size),
        "dtype": dtype_label(asked.dtype, asked.precision),
        "device": asked.device,
        "mode": asked.mode if plain else f"{asked.mode}, host inputs",
    }
    if case.failure is not None:
        return cells | {"ready": _failed(case), "notes": case.failure.error}
    measured = case.measurement
    if measured is None or measured.ready is None:
        doing = case.doing.replace("first_call", "1st call")
        return cells | {"ready": doing or case.status}
    return cells | {
        "rate": str(fmt.speed(measured.flops_per_second, measured.bytes_per_second)),
        "peak": fmt.percent(share_of_peak(measured)),
        "error": fmt.error(measured.error_vs_float64),
        "× numpy": fmt.factor(times_numpy(case, run)),
        "notes": ", ".join(map(words.label, own_notes(case, run))),
    }


def catalogue(ops: Sequence[OpInfo], *, brief: bool = False) -> str:
    """The ops in a table, each with a line that says what it does, unless ``brief``.

    Dtypes are written short, as ``--dtype`` takes them too.
    """
    short = {name: alias for alias, name in DTYPE_ALIASES.items()}
    rows = [
        (
            op.name,
            op.size_means,
            fmt.size(op.default),
            " ".join(short.get(name, name) for name in op.dtypes)
            or "those of its arguments",
        )
        for op in ops
    ]
    names = ("op", "size is", "default", "dtypes")
    if brief:
        return table(names[:-1], (row[:-1] for row in rows))
    head, *lines = table(names, rows).split("\n")
    found = [head]
    for op, line in zip(ops, lines, strict=True):
        found += [line, f"    {op.problem or op.summary}"]
        if more := [mode for mode in op.modes if mode not in USUAL_MODES]:
            found.append(f"    Modes beyond the usual: {', '.join(more)}.")
        if op.package and not op.problem:
            found.append(f"    Offered by the package {op.package}.")
    return "\n".join(found)


@once_per_run
def _has_namesakes(run: Job) -> bool:
    files = {parts(one.case.op)[0] for one in run.cases if is_own(one.case.op)}
    return len({file.rpartition("/")[2] for file in files}) < len(files)


def _failed(case: CaseState) -> str:
    return "not run" if case.status == "not run" else "failed"


def head(run: Job) -> tuple[str, ...]:
    """The columns of the report: that of memory spans only where there are any."""
    measured = [case.measurement for case in run.cases if not case.failure]
    spans = ["memory"] if any(one and one.memory for one in measured) else []
    after = WIDE.index("ready") + 1
    return (*WIDE[:after], "interval", *spans, *WIDE[after:])


def rows(run: Job) -> list[list[str]]:
    """The cells of the report, a row for each case, with one unit for each column."""
    names, found = head(run), []
    units = fmt.Units.of([one.measurement for one in run.cases if one.measurement])
    for case in run.cases:
        measured = case.measurement
        cells = row(case, run) | {"interval": "", "memory": ""}
        if case.failure:
            cells["notes"] = ""
        elif measured is not None and measured.ready is not None:
            cells |= units.cells(measured)
        found.append([cells[name] for name in names])
    return found


def overview(run: Job) -> str:
    return table(head(run), rows(run), RIGHT)


def report(run: Job) -> str:
    """The table, the notes and the failures of a run, finished or not."""
    return "\n\n".join([overview(run), *remarks(run)])


def remarks(run: Job) -> list[str]:
    """What there is to say about the table: notes, failures, and what is missing.

    The notes of the whole run come first.
    """
    whole = [f"{words.label(note)}: {words.text(note)}" for note in notes(run)]
    found = ["\n".join([*whole, "  – the whole run"])] if whole else []
    labels: dict[Remark, list[str]] = {}
    for case in run.cases:
        for note in own_notes(case, run):
            labels.setdefault(note, []).append(case.case.label)
    for note, on in labels.items():
        found.append(f"{words.label(note)}: {words.text(note)}\n  – {fmt.some(on)}")
    found += [failure_text(case.failure, run) for case in run.cases if case.failure]
    return [*found, INCOMPLETE] if run.outcome == "crashed" else found


def failure_text(failure: Failure, run: Job | None = None) -> str:
    """A failure in words: which case, what happened, what to do.

    The run knows whether the case was run at all.
    """
    statuses = {one.case: one.status for one in run.cases} if run else {}
    not_run = statuses.get(failure.case) in ("not run", "waiting")
    word = "not run" if not_run or failure.estimated_seconds is not None else "failed"
    return f"{word}: {failure.case.label}\n  {explanation(failure)}"


# Sentences.


@dataclass(frozen=True, slots=True)
class Sentence:
    """A plain sentence about a case; ``flag`` is what it is filed under."""

    flag: str
    text: str
    bad: bool = False


@once_per_run
def notes(run: Job) -> tuple[Remark, ...]:
    """What is true of the whole run, as far as it is measured."""
    return run_notes(one.measurement for one in run.cases if one.measurement)


def own_notes(case: CaseState, run: Job) -> tuple[Remark, ...]:
    return differing(case.measurement.notes if case.measurement else (), notes(run))


def run_sentences(run: Job) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(f"whole run, {words.label(note)}", words.text(note))
        for note in notes(run)
    )


def sentences(case: CaseState, run: Job) -> tuple[Sentence, ...]:
    """All that is to be said of one case alone, most important first."""
    if case.failure is not None:
        failure = case.failure
        found = [Sentence(_failed(case), failure.error, bad=True)]
        if failure.hint:
            found.append(Sentence("hint", failure.hint))
        if failure.detail and is_own(case.case.op):
            found.append(Sentence(TRACEBACK, f"{_ALL}\n{failure.detail.rstrip()}"))
        return tuple(found)
    measured = case.measurement
    if measured is None:
        return ()
    found = [
        Sentence(words.label(note), words.text(note)) for note in own_notes(case, run)
    ]
    if (ready := measured.ready) is not None:
        text = fmt.seconds
        figures = (
            f"{text(ready.median)}, {fmt.interval(ready)}, "
            f"p90 {text(ready.p90)}, p99 {text(ready.p99)}, "
            f"max {text(ready.max)}, {fmt.sampled(ready)}"
        )
        end = f"; {_ENDS[measured.stopped]}" if measured.stopped else ""
        found.append(Sentence("ready", figures + end))
    if measured.processes is not None:
        medians = fmt.processes(measured.processes)
        found.append(Sentence("processes", f"medians {medians}"))
    return tuple(found)


# Files.


def title(run: Job) -> str:
    if len(run.cases) == 1:
        return run.cases[0].case.label
    return " and ".join(dict.fromkeys(short_name(one.case.op) for one in run.cases))


def files(
    results: Results,
    run: Job,
    picture: Picture | None,
    script: Callable[[], str],
    look: Look = DARK,
) -> Contents:
    drawing = partial(drawn, picture, partial(overview, run))
    written = contents(results, results, title(run), drawing, look)
    return {**written, ".py": script}


def results_text(run: Job) -> str:
    """The table of a run, then the sentences about all of it and about each case."""
    found = [overview(run), ""]
    found += [f"{one.flag}: {one.text}" for one in run_sentences(run)]
    for case in run.cases:
        found += ["", case.case.label]
        found += [f"  {one.flag}: {one.text}" for one in sentences(case, run)]
    return "\n".join(found) + "\n"


# The document.


def collect(host: Host | None, cases: Sequence[Case], run: Job | None) -> Results:
    """A run, finished or not, as a document; what holds for all of it is said once."""
    missing: Outcome = "incomplete" if run and run.outcome == "crashed" else "cancelled"
    outcome = "complete" if run and run.outcome == "complete" else missing
    return Results.of(host, *endings(cases, run), outcome)


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
                "times_numpy": times_numpy(state, run) if run else None,
            }
            measurements.append(msgspec.structs.replace(measured, **changed))
        else:
            doing = f" during {state.doing}" if state.doing else " before its turn came"
            failure = Failure(
                case=state.case,
                error=f"The run was {outcome}{doing}.",
                hint="Run it again; nothing is wrong with the case itself.",
            )
            failures.append(failure)
    return measurements, failures
