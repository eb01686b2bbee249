"""The results of a step by name, from which its conclusion is made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from jaxtui import format as fmt
from jaxtui import stats
from jaxtui.features.lessons.base import Row, Setting, Text
from jaxtui.features.lessons.outcome import Outcome
from jaxtui.format import Cell
from jaxtui.model import Case, LoopMeasured, Measurement, Summary, Value

VALUE_LENGTH = 40
"""Characters of a value in a row."""

NAN = math.nan
"""Stands for a missing number: a result from it is missing too, no comparison with it
holds, and it is written as ``—``."""


class Figures:
    """The results of a step by name.

    A name is that of a case, of a part of a program, or the style of a loop.
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
        """The median in seconds of what was timed, or the first number of a value;
        ``NAN`` where there is none.
        """
        if (measured := self.measured(name)) is not None:
            return measured.ready.median if measured.ready else NAN
        timing = self.outcome.timings.get(name)
        if timing is not None:
            return timing.seconds.median
        return next(iter(self.numbers(name)), NAN)

    # What was timed.

    def measured(self, name: str) -> Measurement | None:
        """All that is known of a case."""
        case = self.cases.get(name)
        return next((m for m in self.outcome.measurements if m.case == case), None)

    def loop(self, style: str) -> LoopMeasured | None:
        """The first loop that waits so."""
        loops = (loop for loop in self.outcome.loops if loop.loop.style == style)
        return next(loops, None)

    def summary(self, name: str) -> Summary | None:
        """Return the summary of what was timed in rounds, if it was."""
        if (measured := self.measured(name)) is not None:
            return measured.ready
        timing = self.outcome.timings.get(name)
        return None if timing is None or timing.once else timing.seconds

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
        text = write(over(self[above], self[below]))
        first, second = self.summary(above), self.summary(below)
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

    def value(self, name: str) -> Value | None:
        """Return the value of an expression."""
        return self.outcome.values.get(name)

    def numbers(self, name: str) -> tuple[float, ...]:
        """All numbers of a value; none of an error."""
        value = self.value(name)
        return () if value is None else value.numbers

    def text(self, name: str) -> str | None:
        """Return the text of a value, or its error."""
        value = self.value(name)
        return None if value is None else value.error or value.text

    def shown(self, name: str, length: int = VALUE_LENGTH) -> str:
        """Return the text of a value in one line; ``—`` where there is none."""
        text = self.text(name)
        return fmt.shorten(text, length) if text else fmt.ABSENT

    def is_true(self, *names: str) -> bool:
        """Return whether all values are ``True``, or another number but 0."""
        return all(self[name] and not math.isnan(self[name]) for name in names)

    def succeeded(self, name: str) -> bool:
        """Return whether an expression was run and did not raise."""
        value = self.value(name)
        return value is not None and value.error is None

    def failed_with(self, name: str, kind: str, text: str = "") -> bool:
        """Return whether an expression raised this type of error with this text."""
        value = self.value(name)
        if value is None or value.error is None:
            return False
        return value.error.startswith(kind) and text in f"{value.error}\n{value.detail}"

    # What is missing.

    def missing(self, *names: str) -> list[str]:
        """Return the names without a result, or with an unexpected error."""
        return [name for name in names if not self._is_there(name)]

    def _is_there(self, name: str) -> bool:
        value = self.value(name)
        if value is not None:
            return value.error is None or name in self._raises
        return self.loop(name) is not None or not math.isnan(self[name])

    def why(self, name: str) -> Text:
        """Return why a case has no figure; empty if nothing went wrong."""
        case = self.cases.get(name)
        failures = reversed(self.outcome.failures)
        return next(
            ((failure.remark,) for failure in failures if failure.case == case), ()
        )

    # The table.

    def cell(self, name: str) -> Cell:
        """A time with its unit, or what a value reads."""
        if name in self.outcome.values:
            return self.shown(name)
        return fmt.figure(self[name])

    def row(self, what: str, name: str, published: str = "", remark: Text = ()) -> Row:
        """A row with this figure; the remark says why a case has none."""
        remark = self.why(name) or remark
        summary = self.summary(name)
        vague = summary is not None and summary.vague
        return Row(what, (self.cell(name),), quote(published), remark, vague)


# Numbers.


def over(above: float, below: float) -> float:
    """Divide ``above`` by ``below``; ``NAN`` where one is missing."""
    return above / below if below > 0 and math.isfinite(above / below) else NAN


def at_least(above: float, factor: float, below: float) -> bool | None:
    """Return whether ``above`` is at least ``factor`` times ``below``."""
    return None if math.isnan(above - below) else above >= factor * below


def which(number: float, *limits: float) -> int | None:
    """Return the index of a number's choice, where they part at these limits."""
    return None if math.isnan(number) else sum(number >= limit for limit in limits)


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


def minutes(seconds: float) -> str:
    """A time that may be hours."""
    if not seconds >= 120:
        return fmt.seconds(seconds)
    return f"{fmt.duration(seconds)} {'h' if seconds >= 3600 else 'min'}"
