"""Cells of the results table, and the sentences about one case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.model import Measurement, Note, differing, run_notes
from jaxtui.model.own import brief_name, is_own, parts, short_name
from jaxtui.tui.against_numpy import times_numpy
from jaxtui.tui.per_run import once_per_run
from jaxtui.tui.readout import share_of_peak
from jaxtui.tui.run_state import CaseState, RunState

NARROW = (
    "op",
    "size",
    "dtype",
    "device",
    "mode",
    "ready",
    "dispatch",
    "rate",
    "× numpy",
    "notes",
)
"""Columns where there is no room for more."""

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


_ALL = "(2 and Enter show it on a screen of its own)"

TRACEBACK = "traceback"
"""What the traceback of a function of the user's own is filed under."""


def row(case: CaseState, run: RunState) -> dict[str, str]:
    """Every cell of one case, by column."""
    asked = case.case
    cells = {
        "op": _name(asked.op, run),
        "size": fmt.size(asked.size),
        "dtype": asked.dtype
        if asked.precision == "default"
        else f"{asked.dtype} {asked.precision}",
        "device": asked.device,
        "mode": asked.mode
        if asked.inputs == "device" or asked.on_host
        else f"{asked.mode}, host inputs",
    }
    return cells | _figures(case, run)


def _name(op: str, run: RunState) -> str:
    """With the folder only where two files of the run have the same name."""
    return short_name(op) if _has_namesakes(run) else brief_name(op)


@once_per_run
def _has_namesakes(run: RunState) -> bool:
    files = {parts(one.case.op)[0] for one in run.cases if is_own(one.case.op)}
    return len({file.rpartition("/")[2] for file in files}) < len(files)


def _figures(case: CaseState, run: RunState) -> dict[str, str]:
    blank = dict.fromkeys(WIDE[5:], "")
    if case.failure is not None:
        return blank | {"ready": "failed", "notes": case.failure.error}
    measured = case.measurement
    if measured is None or measured.ready is None:
        doing = case.doing.replace("first_call", "1st call")
        return blank | {"ready": doing or case.status}
    share, ratio = share_of_peak(measured), times_numpy(case, run)
    return {
        "ready": fmt.measured(measured.ready),
        "dispatch": fmt.measured(measured.dispatch),
        "rate": _rate(measured),
        "peak": fmt.percent(share),
        "error": fmt.error(measured.error_vs_float64),
        "× numpy": fmt.ratio(ratio),
        "notes": ", ".join(note.flag for note in own_notes(case, run)),
    }


def _rate(measured: Measurement) -> str:
    if measured.flops_per_second:
        return fmt.flops_rate(measured.flops_per_second)
    if measured.bytes_per_second:
        return fmt.bytes_rate(measured.bytes_per_second)
    return fmt.ABSENT


@dataclass(frozen=True, slots=True)
class Sentence:
    """A plain sentence about a case; ``flag`` is what it is filed under."""

    flag: str
    text: str
    bad: bool = False


@once_per_run
def notes(run: RunState) -> tuple[Note, ...]:
    """What is true of the whole run, as far as it is measured."""
    return run_notes(one.measurement for one in run.cases if one.measurement)


def own_notes(case: CaseState, run: RunState) -> tuple[Note, ...]:
    """What is different about a case of a run."""
    return differing(case.measurement.notes if case.measurement else (), notes(run))


def run_sentences(run: RunState) -> tuple[Sentence, ...]:
    """What is true of the whole run."""
    return tuple(Sentence(f"whole run, {note.flag}", note.text) for note in notes(run))


def sentences(case: CaseState, run: RunState) -> tuple[Sentence, ...]:
    """All that is to be said of one case alone, most important first."""
    if case.failure is not None:
        failure = case.failure
        found = [Sentence("failed", failure.error, bad=True)]
        if failure.hint:
            found.append(Sentence("hint", failure.hint))
        if failure.detail and is_own(case.case.op):
            found.append(Sentence(TRACEBACK, f"{_ALL}\n{failure.detail.rstrip()}"))
        return tuple(found)
    measured = case.measurement
    if measured is None:
        return ()
    found = [Sentence(note.flag, note.text) for note in own_notes(case, run)]
    return (*found, *_interval(measured))


def _interval(measured: Measurement) -> tuple[Sentence, ...]:
    ready = measured.ready
    if ready is None:
        return ()
    ends: dict[str, str] = {
        "target": "stopped: precise enough",
        "budget": "stopped: the time was up",
        "noise floor": "stopped: more samples would not help",
        "cancelled": "stopped by hand",
        "crashed": "the engine was lost",
    }
    text: Callable[[float], str] = fmt.seconds
    words = (
        f"{text(ready.median)}, {fmt.interval(ready)}, "
        f"p90 {text(ready.p90)}, p99 {text(ready.p99)}, "
        f"max {text(ready.max)}, {ready.n} calls in {ready.rounds} rounds"
    )
    end = f"; {ends[measured.stopped]}" if measured.stopped else ""
    return (Sentence("ready", words + end),)
