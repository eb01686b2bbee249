"""The results of a run as one document: the records that ``--json`` prints.

A document that only one command has stands beside what makes it, in its view or its
command; ``commands/schema.py`` lists all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from jaxtui.core.model import (
    Case,
    Device,
    Fact,
    Failure,
    Host,
    LoopMeasured,
    Measurement,
    Record,
    Remark,
    SelectionError,
    Timing,
    Value,
    WorkFailed,
    run_notes,
)
from jaxtui.core.model.base import encoded
from jaxtui.core.places import read_whole
from jaxtui.core.text import visible_json
from jaxtui.ui import words

SCHEMA = 1
"""Version of every JSON document; a change that breaks a reader raises it."""


Outcome = Literal["complete", "cancelled", "incomplete"]
"""The completeness of a document: the user may have stopped the run, or an
engine died."""


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


class ProblemRow(Record, frozen=True, kw_only=True):
    """The reason why a work has no result."""

    code: str
    facts: dict[str, Fact]
    error: str
    hint: str
    detail: str

    @classmethod
    def of(cls, failed: WorkFailed) -> ProblemRow:
        remark = failed.remark
        return cls(
            code=remark.code,
            facts=remark.facts,
            error=words.sentence(remark),
            hint=words.advice(remark),
            detail=remark.detail,
        )


def problem(failed: WorkFailed | None) -> ProblemRow | None:
    return None if failed is None else ProblemRow.of(failed)


class Results(Record, frozen=True, kw_only=True):
    """A run: every case of it is a measurement or a failure."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the run was interrupted before the engine had looked."""
    notes: tuple[Remark, ...] = ()
    """Notes on the whole run; a measurement has those that differ."""
    measurements: tuple[Measurement, ...]
    failures: tuple[FailureRow, ...]
    outcome: Outcome = "complete"

    @classmethod
    def of(
        cls,
        host: Host | None,
        measurements: Iterable[Measurement],
        failures: Iterable[Failure],
        outcome: Outcome = "complete",
    ) -> Results:
        """Return the results of measurements that have all their notes."""
        notes, own = split_notes(measurements)
        return cls(
            host=host,
            notes=notes,
            measurements=own,
            failures=tuple(map(FailureRow.of, failures)),
            outcome=outcome,
        )


class LessonEntry(Record, frozen=True, kw_only=True):
    name: str
    title: str
    needs: str
    """The needs of some of its steps that a machine may not meet."""


class Lessons(Record, frozen=True, kw_only=True):
    schema: int = SCHEMA
    lessons: tuple[LessonEntry, ...]


class StepRow(Record, frozen=True, kw_only=True):
    what: str
    yours: str
    published: str
    remark: str


class StepResults(Record, frozen=True, kw_only=True):
    """The results of a lesson's step, and their conclusion."""

    title: str
    measurements: tuple[Measurement, ...]
    claim: str
    holds: bool | None
    """``None`` where this machine cannot tell."""
    takeaway: str
    doubts: tuple[Remark, ...] = ()
    """The reasons to doubt the verdict."""
    rows: tuple[StepRow, ...]
    timings: dict[str, Timing]
    values: dict[str, Value]
    loops: tuple[LoopMeasured, ...]
    failures: tuple[FailureRow, ...]
    problem: ProblemRow | None
    """The reason why something of the step has no result."""


class LessonResults(Record, frozen=True, kw_only=True):
    """A lesson as far as it was run."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the run was interrupted before the engine had looked."""
    lesson: str
    notes: tuple[Remark, ...] = ()
    """Notes on all measurements."""
    steps: tuple[StepResults, ...]
    outcome: Outcome

    @classmethod
    def of(
        cls,
        host: Host | None,
        lesson: str,
        steps: Sequence[StepResults],
        outcome: Outcome,
    ) -> LessonResults:
        """Return the results of steps whose measurements have all their notes."""
        notes, own = split_notes(m for step in steps for m in step.measurements)
        remaining = iter(own)
        cut = (tuple(islice(remaining, len(step.measurements))) for step in steps)
        replaced = (
            msgspec.structs.replace(step, measurements=measurements)
            for step, measurements in zip(steps, cut, strict=True)
        )
        return cls(
            host=host,
            lesson=lesson,
            notes=notes,
            steps=tuple(replaced),
            outcome=outcome,
        )


class DeviceRow(Record, frozen=True, kw_only=True):
    """The facts of a device in JSON; an absent fact is ``null``."""

    id: int
    platform: str
    device_kind: str
    process_index: int
    local_hardware_id: int | None
    coords: tuple[int, ...] | None
    core_on_chip: int | None
    slice_index: int | None
    memory: dict[str, int] | None
    simulated: bool
    hostname: str | msgspec.UnsetType = msgspec.UNSET
    """The name of its host, where there are several processes."""

    @classmethod
    def of(cls, device: Device) -> DeviceRow:
        return cls(**{name: getattr(device, name) for name in cls.__struct_fields__})


class Devices(Record, frozen=True, kw_only=True):
    """The devices that JAX sees on a machine, or on a TPU that is not here."""

    schema: int = SCHEMA
    host: Host | None
    hosts: tuple[Host, ...] | msgspec.UnsetType = msgspec.UNSET
    """The host of each process by its index, where there are several."""
    devices: tuple[DeviceRow, ...]

    @classmethod
    def of(
        cls, host: Host | None, devices: Sequence[Device], hosts: Sequence[Host] = ()
    ) -> Devices:
        return cls(
            host=host,
            hosts=tuple(hosts) or msgspec.UNSET,
            devices=tuple(map(DeviceRow.of, devices)),
        )


MACHINE = ("hostname", "cpu", "jax")
"""The facts that a report names of the machine."""


def machine(host: Host | None, *facts: str, by: str = ", ") -> str:
    """Name the machine, as ``box, Xeon E5, jax 0.12.0``; empty where nothing is
    known.

    The facts stand in their order: ``hostname``, ``cpu``, ``jax`` …
    """
    if host is None:
        return ""
    libtpu = host.plugins.get("libtpu")
    texts = {
        "hostname": host.hostname,
        "cpu": host.cpu_model or "",
        "python": f"Python {host.python}",
        "jax": f"jax {host.jax}",
        "jaxlib": f"jaxlib {host.jaxlib}",
        "numpy": f"numpy {host.numpy}",
        "libtpu": f"libtpu {libtpu}" if libtpu else "",
    }
    return by.join(filter(None, (texts[fact] for fact in facts)))


def split_notes(
    measurements: Iterable[Measurement],
) -> tuple[tuple[Remark, ...], tuple[Measurement, ...]]:
    """The notes of a run, and its measurements with what differs from them."""
    measured = tuple(measurements)
    notes = run_notes(measured)
    return notes, tuple(measurement.without(notes) for measurement in measured)


def encode(document: object) -> bytes:
    """Encode a document as JSON with a newline; a float that is not finite becomes
    ``null``.

    Its remarks have their words.
    """
    return visible_json(encoded(words.with_text(document))) + b"\n"


# Read again.


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
        if saved.schema == SCHEMA and measurements:
            return saved.host, tuple(measurements.values())
        why = "it has no figures"
        if saved.schema != SCHEMA:
            why = f"its schema is {saved.schema}, not {SCHEMA}"
    raise SelectionError(
        f"{path} is not a document of `jaxtui bench --json` or `jaxtui learn NAME"
        f" --json`: {why}."
    )
