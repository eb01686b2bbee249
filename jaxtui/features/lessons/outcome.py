"""The results of one step's works so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from jaxtui.model import (
    CaseFailed,
    CaseMeasured,
    Event,
    Failure,
    LoopMeasured,
    LoopSeen,
    Measurement,
    Remark,
    RunFinished,
    Sampled,
    SnippetShown,
    SnippetTimed,
    Summary,
    Timing,
    Value,
    WorkFailed,
)


class Outcome(msgspec.Struct, frozen=True):
    """Grows with each event; never changed in place."""

    measurements: tuple[Measurement, ...] = ()
    """The newest measurement of each case; interim ones have ``stopped`` ``None``."""
    failures: tuple[Failure, ...] = ()
    timings: Mapping[str, Timing] = msgspec.field(default_factory=dict)
    values: Mapping[str, Value] = msgspec.field(default_factory=dict)
    loops: tuple[LoopMeasured, ...] = ()
    seen: LoopSeen | None = None
    """The newest calls of a loop that is running."""
    problem: WorkFailed | None = None
    """The reason why a whole work has no result: it failed, was stopped, or the engine
    died."""
    lost: bool = False
    """The engine died."""
    stopped: bool = False
    """True if it was stopped before its end."""

    @property
    def disturbed(self) -> bool:
        """Return whether others used the cores while something was timed."""
        return any(timed.has("contended") for timed in self.measurements) or any(
            timed.disturbed for timed in self.timings.values()
        )

    @property
    def variants(self) -> Iterator[Outcome]:
        """Yield the run with each clock in turn at either end of its interval."""
        for index, measured in enumerate(self.measurements):
            for name in ("ready", "dispatch"):
                for clock in _ends(getattr(measured, name)):
                    every = [*self.measurements]
                    every[index] = replace(measured, **{name: clock})
                    yield replace(self, measurements=tuple(every))
        for name, timing in self.timings.items():
            for clock in _ends(timing.seconds):
                varied = {**self.timings, name: replace(timing, seconds=clock)}
                yield replace(self, timings=varied)

    def find(self, **facts: object) -> Measurement | None:
        """The measurement whose case has these facts, e.g. ``op="selu", mode="jit"``.

        The last one, if there are several.
        """
        for measurement in reversed(self.measurements):
            case = measurement.case
            if all(getattr(case, name) == value for name, value in facts.items()):
                return measurement
        return None

    def ready(self, **facts: object) -> float | None:
        """Median seconds until the result was ready, of the case with these facts."""
        measured = self.find(**facts)
        return measured.ready.median if measured and measured.ready else None

    def seconds(self, name: str) -> float | None:
        timing = self.timings.get(name)
        return timing.seconds.median if timing else None

    def number(self, name: str) -> float | None:
        """The first number of a shown expression."""
        value = self.values.get(name)
        return value.numbers[0] if value and value.numbers else None


NOTHING = Outcome()


def _ends(clock: Summary | None) -> Iterator[Summary]:
    if clock is not None:
        yield replace(clock, median=clock.ci_low)
        yield replace(clock, median=clock.ci_high)


def collect(outcome: Outcome, event: Event) -> Outcome:
    """The outcome after one event of the step's run."""
    match event:
        case Sampled() | CaseMeasured():
            measurements = tuple(
                measurement
                for measurement in outcome.measurements
                if measurement.case != event.measurement.case
            )
            return replace(outcome, measurements=(*measurements, event.measurement))
        case CaseFailed(failure=failure) if failure.case.mode == "tensorflow":
            # It is optional: where it is missing, its curve is.
            return outcome
        case CaseFailed():
            return replace(outcome, failures=(*outcome.failures, event.failure))
        case SnippetTimed():
            timings = {**outcome.timings, event.timing.name: event.timing}
            return replace(outcome, timings=timings)
        case SnippetShown():
            values = {**outcome.values, event.value.name: event.value}
            return replace(outcome, values=values)
        case LoopSeen():
            return replace(outcome, seen=event)
        case LoopMeasured():
            return replace(outcome, loops=(*outcome.loops, event), seen=None)
        case WorkFailed():
            return replace(outcome, problem=event)
        case RunFinished(outcome="cancelled"):
            problem = outcome.problem or WorkFailed(remark=Remark("stopped"))
            return replace(outcome, problem=problem, stopped=True)
        case RunFinished(outcome="crashed"):
            remark = Remark("incomplete", {"during": "run"})
            problem = outcome.problem or WorkFailed(remark=remark)
            return replace(outcome, problem=problem, lost=True)
        case _:
            return outcome
