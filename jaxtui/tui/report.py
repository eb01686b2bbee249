"""A bench run as text: a row for each case, then what there is to say about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxtui import format as fmt
from jaxtui.model import Failure
from jaxtui.tui.results import WIDE, notes, own_notes, row
from jaxtui.tui.run_state import CaseState, RunState
from jaxtui.view.text import INCOMPLETE, table

_AFTER = WIDE.index("ready") + 1

RIGHT = ("size", "ready", "±", "memory", "dispatch", "rate", "peak", "error", "× numpy")
"""Those that are aligned at the right."""


def report(run: RunState) -> str:
    """The table, the notes and the failures of a run, finished or not."""
    return "\n\n".join([overview(run), *remarks(run)])


def overview(run: RunState) -> str:
    """The table alone."""
    return table(head(run), rows(run), RIGHT)


def head(run: RunState) -> tuple[str, ...]:
    """The columns of the table; that of memory spans only where there are any."""
    measured = [case.measurement for case in run.cases if not case.failure]
    spans = ["memory"] if any(one and one.memory for one in measured) else []
    return (*WIDE[:_AFTER], "±", *spans, *WIDE[_AFTER:])


def rows(run: RunState) -> list[list[str]]:
    """The cells of the table, a row for each case."""
    names = head(run)
    found = []
    for case in run.cases:
        span = case.measurement.memory if case.measurement else None
        cells = row(case, run) | {"±": _half_width(case), "memory": fmt.span(span)}
        if case.failure:
            cells["notes"] = cells["memory"] = ""
        found.append([cells[name] for name in names])
    return found


def remarks(run: RunState) -> list[str]:
    """What there is to say about the table: notes, failures, and what is missing.

    The notes of the whole run come first.
    """
    whole = [f"{note.flag}: {note.text}" for note in notes(run)]
    said = ["\n".join([*whole, "  – the whole run"])] if whole else []
    lost = [INCOMPLETE] if run.outcome == "crashed" else []
    return [*said, *_notes(run), *_failures(run.cases), *lost]


def failure_text(failure: Failure) -> str:
    """A failure in words: which case, what happened, what to do."""
    return f"failed: {failure.case.label}\n  {failure.error} {failure.hint}".rstrip()


def _half_width(case: CaseState) -> str:
    measured = case.measurement
    if case.failure or measured is None or measured.ready is None:
        return ""
    return f"{100 * measured.ready.half_width:.1f} %"


def _notes(run: RunState) -> list[str]:
    """Every note once, with the cases that it stands on."""
    labels: dict[str, list[str]] = {}
    for case in run.cases:
        for note in own_notes(case, run):
            labels.setdefault(f"{note.flag}: {note.text}", []).append(case.case.label)
    return [f"{note}\n  – {_some(on)}" for note, on in labels.items()]


def _some(labels: Sequence[str]) -> str:
    """At most three labels, and how many more there are."""
    more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
    return ", ".join(labels[:3]) + more


def _failures(cases: Iterable[CaseState]) -> list[str]:
    return [failure_text(case.failure) for case in cases if case.failure]
