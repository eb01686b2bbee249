"""The documents of ``learn``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from jaxtui.core.model import (
    Host,
    LoopMeasured,
    Measurement,
    Record,
    Remark,
    Timing,
    Value,
)
from jaxtui.core.model.document import Document
from jaxtui.features.bench.messages import FailureRow, split_notes
from jaxtui.ui.documents import ProblemRow


class LessonEntry(Record, frozen=True, kw_only=True):
    name: str
    title: str
    needs: str
    """The needs of some of its steps that a machine may not meet."""


class Lessons(Document, frozen=True, kw_only=True):
    """What can be learned."""

    command: str = "learn"
    host: Host | None = None
    complete: bool = True
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


class LessonResults(Document, frozen=True, kw_only=True):
    """A lesson as far as it was run; its notes are about all measurements."""

    command: str = "learn"
    lesson: str
    steps: tuple[StepResults, ...]

    @classmethod
    def of(
        cls,
        host: Host | None,
        lesson: str,
        steps: Sequence[StepResults],
        *,
        complete: bool,
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
            complete=complete,
        )
