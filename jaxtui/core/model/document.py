"""The envelope of a JSON document, and the notes in it."""

from __future__ import annotations

import msgspec

from jaxtui.core.model.base import Record
from jaxtui.core.model.machine import Host
from jaxtui.core.model.remark import Fact, Severity


class Note(Record, frozen=True, kw_only=True):
    """A sentence that qualifies a result, or some rows of it."""

    flag: str
    """A code that stays the same when the words change."""
    text: str
    about: tuple[str, ...] = ()
    """The rows that it is about; none where it is about all."""
    level: Severity = msgspec.field(name="severity", default="info")
    facts: dict[str, Fact] = msgspec.field(default_factory=dict)


class Document(Record, frozen=True, kw_only=True):
    """The fields that every document has; a feature adds those of its result."""

    schema: int = 2
    command: str
    host: Host | None
    """``null`` when the run was interrupted before the engine had looked."""
    complete: bool
    """True if it has all that was requested; a run may be stopped, or lose its
    engine."""
    notes: tuple[Note, ...] = ()
