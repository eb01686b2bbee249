"""The results of a step, and its figures by name, from which it is concluded."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core import stats
from jaxtui.core.format import Cell
from jaxtui.core.model import (
    Case,
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
from jaxtui.features.lessons.base import Row, Setting, Text


class Outcome(msgspec.Struct, frozen=True):
    """The results of a step's works so far; it grows with each event."""

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


# By name.

VALUE_LENGTH = 40
"""Characters of a value in a row."""

NAN = math.nan
"""Stands for a number that may be missing: a result from it is missing too, no
comparison with it holds, and it is written as ``—``."""


class MissingError(Exception):
    """A figure, by its name, without which there is no conclusion."""


class Figures:
    """The results of a step by name.

    A name is that of a case, of a part of a program, or the style of a loop. Without a
    figure that is taken with ``[]`` there is no conclusion; those of ``get``, and those
    that only rows name, may be missing.
    """

    def __init__(
        self,
        setting: Setting,
        outcome: Outcome,
        cases: Mapping[str, Case | None],
        raises: Collection[str] = (),
    ) -> None:
        self.setting = setting
        self.outcome = outcome
        self.cases = cases
        self._raises = raises
        """Expressions whose error is what the lesson wants to show."""

    def __getitem__(self, name: str) -> float:
        """The median in seconds of what was timed, or the first number of a value."""
        if math.isnan(number := self.get(name)):
            raise MissingError(name)
        return number

    def get(self, name: str) -> float:
        """As ``[]``; ``NAN`` where there is none."""
        if (summary := self._summary(name)) is not None:
            return summary.median
        value = self.outcome.values.get(name)
        return value.numbers[0] if value is not None and value.numbers else NAN

    def has(self, *names: str) -> bool:
        """Return whether all of these figures are there."""
        return not any(math.isnan(self.get(name)) for name in names)

    # What was timed.

    def find(self, name: str) -> Measurement | None:
        """Return all that is known of a case, if it was measured."""
        case = self.cases.get(name)
        return next((m for m in self.outcome.measurements if m.case == case), None)

    def measured(self, name: str) -> Measurement:
        """Return all that is known of a case."""
        if (measured := self.find(name)) is None or measured.ready is None:
            raise MissingError(name)
        return measured

    def loop(self, style: str) -> LoopMeasured:
        """The first loop that waits so."""
        for loop in self.outcome.loops:
            if loop.loop.style == style:
                return loop
        raise MissingError(style)

    def _summary(self, name: str) -> Summary | None:
        if (measured := self.find(name)) is not None:
            return measured.ready
        timing = self.outcome.timings.get(name)
        return None if timing is None else timing.seconds

    def _rounds(self, name: str) -> Summary | None:
        """Return the summary of what was timed in rounds, if it was."""
        timing = self.outcome.timings.get(name)
        return None if timing is not None and timing.once else self._summary(name)

    def ratio(self, above: str, below: str) -> str:
        """Write the ratio of two times: ``18×``, ``18× (16–20)``."""
        return self._with_interval(fmt.ratio, above, below)

    def times(self, above: str, below: str) -> str:
        """Write the ratio of two times: ``18 times``, ``18 times (16–20)``."""
        return self._with_interval(times, above, below)

    def _with_interval(
        self, write: Callable[[float], str], above: str, below: str
    ) -> str:
        """Write a ratio with both ends where both were timed in rounds, unless they
        read alike, and whether it is uncertain.
        """
        text = write(over(self.get(above), self.get(below)))
        first, second = self._rounds(above), self._rounds(below)
        if first is None or second is None:
            return text
        ends = stats.ratio(first.interval, second.interval)
        if ends is None:
            return text
        if fmt.ratio(ends.low) == fmt.ratio(ends.high) and not ends.uncertain:
            return text
        words = [fmt.UNCERTAIN] if ends.uncertain else []
        # Single rounds have no interval.
        words += [fmt.ratio_ends(ends)] if ends.low < ends.high else []
        return f"{text} ({', '.join(words)})" if words else text

    # What was shown.

    def value(self, name: str) -> Value:
        """Return the value of an expression, or its error."""
        if (value := self.outcome.values.get(name)) is None:
            raise MissingError(name)
        return value

    def text(self, name: str, length: int = VALUE_LENGTH) -> str:
        """Return a value in one line, or the error that the lesson wants to show."""
        value = self.value(name)
        if value.error and name not in self._raises:
            raise MissingError(name)
        return fmt.shorten(value.error or value.text, length) or fmt.ABSENT

    def numbers(self, name: str) -> tuple[float, ...]:
        """All numbers of a value; none of an error."""
        return self.value(name).numbers

    def succeeded(self, *names: str) -> bool:
        """Return whether none of the expressions raised."""
        return all(self.value(name).error is None for name in names)

    def raised(self, name: str, kind: str, text: str = "") -> bool:
        """Return whether an expression raised this type of error with this text."""
        value = self.value(name)
        if value.error is None:
            return False
        return value.error.startswith(kind) and text in f"{value.error}\n{value.detail}"

    # The table.

    def table(self, *rows: tuple[Any, ...]) -> tuple[Row, ...]:
        """Make a table.

        Args:
            rows: of each what it is about, the figure, the published one and a remark,
                the last two if there are any. A figure is a name, seconds, another
                figure, or the words themselves in a tuple.
        """
        return tuple(self._row(*row) for row in rows)

    def _row(
        self,
        what: str,
        figure: Text | fmt.Figure | float | None,
        published: str = "",
        remark: Text = (),
    ) -> Row:
        vague = False
        if isinstance(figure, str):
            summary, remark = self._rounds(figure), self.why(figure) or remark
            vague = summary is not None and summary.vague
            figure = self.cell(figure)
        elif figure is None or isinstance(figure, (int, float)):
            figure = fmt.figure(figure)
        cells = (figure,) if isinstance(figure, (str, fmt.Figure)) else figure
        if vague:
            cells = tuple(
                replace(cell, vague=True, digits=2)
                if isinstance(cell, fmt.Figure)
                else cell
                for cell in cells
            )
        return Row(what, cells, quote(published), remark, vague)

    def cell(self, name: str) -> Cell:
        """A time with its unit, or what a value reads; ``—`` where there is none."""
        if (value := self.outcome.values.get(name)) is None:
            return fmt.figure(self.get(name))
        return fmt.shorten(value.error or value.text, VALUE_LENGTH) or fmt.ABSENT

    def why(self, name: str) -> Text:
        """Return why a case has no figure; empty if nothing went wrong."""
        case = self.cases.get(name)
        failures = reversed(self.outcome.failures)
        return next(
            ((failure.remark,) for failure in failures if failure.case == case), ()
        )


# Numbers.


def over(above: float, below: float) -> float:
    """Divide ``above`` by ``below``; ``NAN`` where one is missing."""
    return above / below if below > 0 and math.isfinite(above / below) else NAN


def fastest(*seconds: float) -> int | None:
    """Return the index of the shortest time."""
    timed = [duration for duration in seconds if duration > 0]
    return seconds.index(min(timed)) if timed else None


def near(numbers: Sequence[float], expected: Sequence[float], tolerance: float) -> bool:
    """Return whether all numbers are as expected, to within ``tolerance``."""
    return len(numbers) == len(expected) and all(
        math.isfinite(number) and abs(number - target) <= tolerance
        for number, target in zip(numbers, expected, strict=True)
    )


# Words.


_TIMES = re.compile(r"(\d[\d.]* (?:ns|µs|ms|s)\b)")


def quote(published: str) -> Text:
    """Split a published text at its times: ``2.16 s GPU, 837 ms TPU``.

    They are written in the unit of their table.
    """
    parts = filter(None, _TIMES.split(published))
    return tuple(fmt.quoted(part) or part for part in parts)


def times(value: float) -> str:
    """A ratio in a sentence: ``18 times``."""
    return f"{fmt.ratio(value).removesuffix('×')} times"


def count(value: float) -> str:
    """A number of things, thousands set apart: ``12,345``."""
    return fmt.ABSENT if math.isnan(value) else fmt.count(round(value))


def decimals(numbers: Sequence[float], digits: int = 5) -> str:
    """Numbers with so many digits after the point: ``0.25, 0.19661``; ``—`` if none."""
    texts = (f"{number:.{digits}f}".rstrip("0").rstrip(".") for number in numbers)
    return ", ".join(texts) or fmt.ABSENT
