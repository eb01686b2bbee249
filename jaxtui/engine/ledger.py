"""What has arrived of a run, so that nothing is lost when it breaks off."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Failure,
    Measurement,
    Note,
    PhaseMeasured,
    PhaseStarted,
    RunEvent,
    RunStarted,
    Sampled,
    Stopped,
)


class Ledger:
    """Follows the events of one run; indices count in its cases."""

    def __init__(self, cases: Sequence[Case]) -> None:
        """Begin with the cases that were asked for."""
        self.cases = tuple(cases)
        self.current: int | None = None
        """The case whose turn or phase it is."""
        self.done: set[int] = set()
        """The cases that have their last event."""
        self._partial: dict[int, Measurement] = {}

    @property
    def remaining(self) -> tuple[int, ...]:
        """The cases that have no result and no failure yet, in order."""
        return tuple(i for i in range(len(self.cases)) if i not in self.done)

    def observe(self, event: RunEvent) -> None:
        """Take note of an event."""
        match event:
            case RunStarted():
                self.cases = event.cases
            case Sampled():
                self.current = event.index
                self._partial[event.index] = event.measurement
            case CaseStarted() | PhaseStarted() | PhaseMeasured():
                self.current = event.index
            case CaseMeasured() | CaseFailed():
                self.done.add(event.index)
                if self.current == event.index:
                    self.current = None

    def sampled(self, index: int) -> bool:
        """Whether some turn of the case has arrived."""
        return index in self._partial

    def close(
        self, index: int, stopped: Stopped, text: str, hint: str = "", detail: str = ""
    ) -> CaseMeasured | CaseFailed:
        """The last event of a case that broke off: what had arrived, or a failure.

        Args:
            index: The case.
            stopped: Why it ended, which is also the flag of the note.
            text: The same in one sentence for people.
            hint: What to do about it, if it is a failure.
            detail: The original text, if there is one.
        """
        self.done.add(index)
        if (arrived := self._partial.get(index)) is None:
            failure = Failure(
                case=self.cases[index], error=text, hint=hint, detail=detail
            )
            return CaseFailed(index=index, failure=failure)
        measurement = msgspec.structs.replace(
            arrived,
            stopped=stopped,
            stable=False,
            notes=(*arrived.notes, Note(flag=stopped, text=text)),
        )
        return CaseMeasured(index=index, measurement=measurement)
