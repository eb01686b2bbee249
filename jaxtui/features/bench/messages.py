"""The results of a run of cases as a document, and how they are read again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from jaxtui.core.model import (
    Case,
    Fact,
    Failure,
    Host,
    Measurement,
    Record,
    Remark,
    SelectionError,
    run_notes,
)
from jaxtui.core.model.document import Document, Note
from jaxtui.core.places import read_whole
from jaxtui.ui import words
from jaxtui.ui.documents import notes

SCHEMAS = (1, 2)
"""The versions of a document whose measurements can be read."""


class FailureRow(Record, frozen=True, kw_only=True):
    """A case without a measurement."""

    case: Case
    code: str
    facts: dict[str, Fact]
    error: str
    """The failure, one sentence."""
    hint: str
    """The advice; may be empty."""
    detail: str = ""
    """The original text of the exception, kept whole."""
    estimated_seconds: float | None = None
    """Seconds that a call would take, where that is why it was not run."""

    @property
    def text(self) -> str:
        """The failure and the advice."""
        return f"{self.error} {self.hint}".rstrip()

    @classmethod
    def of(cls, failure: Failure) -> FailureRow:
        remark = failure.remark
        return cls(
            case=failure.case,
            code=remark.code,
            facts=remark.facts,
            error=words.sentence(remark),
            hint=words.advice(remark),
            detail=remark.detail,
            estimated_seconds=failure.estimated_seconds,
        )


class Results(Document, frozen=True, kw_only=True):
    """A run: every case of it is a measurement or a failure.

    Its notes are about the whole run; a measurement has those that differ.
    """

    command: str = "bench"
    complete: bool = True
    measurements: tuple[Measurement, ...]
    failures: tuple[FailureRow, ...]

    @classmethod
    def of(
        cls,
        host: Host | None,
        measurements: Iterable[Measurement],
        failures: Iterable[Failure],
        *,
        complete: bool = True,
    ) -> Results:
        """Return the results of measurements that have all their notes."""
        of_all, own = split_notes(measurements)
        return cls(
            host=host,
            notes=of_all,
            measurements=own,
            failures=tuple(map(FailureRow.of, failures)),
            complete=complete,
        )


def split_notes(
    measurements: Iterable[Measurement],
) -> tuple[tuple[Note, ...], tuple[Measurement, ...]]:
    """The notes of a run, and its measurements with what differs from them."""
    measured = tuple(measurements)
    remarks = run_notes(measured)
    return notes(remarks), tuple(x.without(remarks) for x in measured)


class _Step(Record, frozen=True, kw_only=True):
    measurements: tuple[Measurement, ...] = ()


class _Saved(_Step, frozen=True, kw_only=True):
    """The shared fields of the documents of ``bench`` and of a lesson."""

    schema: int
    host: Host | None = None
    notes: tuple[Remark, ...] = ()
    steps: tuple[_Step, ...] = ()


def read(path: Path) -> tuple[Host | None, tuple[Measurement, ...]]:
    """The machine and the measurements, one of each case, of a file.

    Each has the notes of its run again.

    Raises:
        OSError: it cannot be read, as in ``places.read_whole``.
        SelectionError: it is no such document, or has no measurements in it.
    """
    try:
        saved = msgspec.json.decode(read_whole(path), type=_Saved)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        why = f"it has another structure ({error})"
    else:
        # Several steps of a lesson may have timed the same case: the last one counts.
        every = (saved, *saved.steps)
        measurements = {
            m.case: msgspec.structs.replace(m, notes=(*saved.notes, *m.notes))
            for part in every
            for m in part.measurements
        }
        if saved.schema in SCHEMAS and measurements:
            return saved.host, tuple(measurements.values())
        why = "it has no figures"
        if saved.schema not in SCHEMAS:
            why = f"its schema is {saved.schema}, not 1 or 2"
    raise SelectionError(
        f"{path} is not a document of `jaxtui bench --json` or `jaxtui learn NAME"
        f" --json`: {why}."
    )
