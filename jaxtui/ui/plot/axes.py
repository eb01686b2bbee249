"""Scales and ticks of a plot: where a value lies and which values are labelled.

Pure arithmetic on floats; nothing here knows about characters or colours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import log10

import msgspec

LARGEST = 1e300
"""Magnitudes beyond this count as not finite, so that no difference overflows."""

SMALLEST = 5e-324
"""The least positive float."""

FAR = 1e6
"""Positions are cut off here; a segment's slope is lost only far outside the plot."""

_NEARLY = 1e-9


def plain(value: float) -> str:
    """A number as short as it can be said: ``0.5``, ``250``, ``1e+06``."""
    return f"{value:.6g}"


class Axis(msgspec.Struct, frozen=True):
    label: str = ""
    log: bool = False
    """Decades are equally far apart; values that are not positive are dropped."""
    limits: tuple[float, float] | None = None
    """Low and high end; ``None`` (or a pair that makes no sense) fits the data."""
    format: Callable[[float], str] = plain
    """Turns the value of a tick into its label."""
    ticks: Sequence[float] = ()
    """Values to label instead of round ones; every second, third … when crowded."""


class Scale(msgspec.Struct, frozen=True):
    """A range of values and how it maps to 0..1."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the position of ``value``: 0 is ``low``, 1 is ``high``."""
        return self.cells((value,), 2)[0] - 0.5

    def cells(self, values: Iterable[float], count: int) -> list[float]:
        """Return the positions of usable values in a row of ``count`` cells.

        The ends of the scale are the centres of the outer cells, so that a tick's
        label, which fills its cell, stands beside the curve and not below it.
        """
        low, high = self.low, self.high
        if self.log:
            low, high, values = log10(low), log10(high), map(log10, values)
        span, room = high - low, count - 1
        places = [0.5 + (value - low) / span * room for value in values]
        if places and (min(places) < -FAR or max(places) > FAR):
            return [max(-FAR, min(FAR, place)) for place in places]
        return places

    @property
    def decades(self) -> float:
        return log10(self.high) - log10(self.low)


class Tick(msgspec.Struct, frozen=True):
    """A labelled position, in cells from the low end."""

    cell: int
    start: int
    """First cell of the label when it is written along the axis."""
    label: str


def usable(value: float, log: bool) -> bool:
    return lowest(log) <= value <= LARGEST


def lowest(log: bool) -> float:
    return SMALLEST if log else -LARGEST


def fit(values: Iterable[float], axis: Axis, *, padded: bool = False) -> Scale:
    """The scale for these values: the axis' own limits, or else those of the data.

    Args:
        values: Any floats; those that cannot be drawn are ignored.
        axis: Says whether the scale is logarithmic and may give the limits.
        padded: Widen the data's range to round values, as a vertical axis needs.
    """
    if axis.limits is not None:
        low, high = axis.limits
        if usable(low, axis.log) and usable(high, axis.log) and _apart(low, high):
            return Scale(low, high, axis.log)
    least = lowest(axis.log)
    drawable = [value for value in values if least <= value <= LARGEST]
    if not drawable:
        return Scale(1.0, 10.0, True) if axis.log else Scale(0.0, 1.0)
    low, high = min(drawable), max(drawable)
    if axis.log:
        return _fit_log(low, high, padded)
    return _fit_linear(low, high, padded)


def _apart(low: float, high: float) -> bool:
    """Return whether two limits are in order and further apart than rounding errors."""
    return high - low > max(abs(low), abs(high)) * _NEARLY and high - low > 1 / LARGEST


def _fit_log(low: float, high: float, padded: bool) -> Scale:
    bottom, top = log10(low), log10(high)
    if top - bottom < _NEARLY:
        bottom, top = bottom - 0.5, top + 0.5
    elif padded and top - bottom > 0.5:
        bottom, top = _round_down(bottom), -_round_down(-top)
    elif padded:
        pad = max(0.1 * (top - bottom), (0.1 - top + bottom) / 2)
        bottom, top = bottom - pad, top + pad
    smallest, largest = -log10(LARGEST), log10(LARGEST)
    bottom = min(max(bottom, smallest), largest - 1)
    return Scale(10.0**bottom, 10.0 ** min(max(top, bottom + 0.05), largest), True)


def _round_down(exponent: float) -> float:
    """The largest exponent of 1, 2 or 5 times a power of ten that is not above.

    The three are each other's reciprocals, so a negated exponent rounds up.
    """
    whole = math.floor(exponent + _NEARLY)
    parts = (log10(digit) for digit in (1, 2, 5))
    return max(whole + part for part in parts if whole + part <= exponent + _NEARLY)


def _fit_linear(low: float, high: float, padded: bool) -> Scale:
    if not _apart(low, high):
        half = abs(low) / 2 or 0.5
        return Scale(max(low - half, -LARGEST), min(high + half, LARGEST))
    if not padded:
        return Scale(low, high)
    if 0 <= low < high / 2:
        low = 0.0
    step = next(_steps((high - low) / 10))
    bottom, top = math.floor(low / step) * step, math.ceil(high / step) * step
    return Scale(max(bottom, -LARGEST), min(top, LARGEST))


def _steps(smallest: float) -> Iterator[float]:
    """1, 2 and 5 times powers of ten, from the first that is not below ``smallest``."""
    exponent = math.floor(log10(smallest))
    for power in range(exponent, exponent + 4):
        for digit in (1, 2, 5):
            if digit * 10.0**power >= smallest * (1 - _NEARLY):
                yield digit * 10.0**power


def _multiples(scale: Scale, step: float) -> list[float]:
    first, last = math.ceil(scale.low / step - 1e-6), scale.high / step + 1e-6
    return [number * step for number in range(first, math.floor(last) + 1)]


def _powers(scale: Scale, digits: Sequence[int], every: int = 1) -> list[float]:
    low, high = log10(scale.low) - 1e-6, log10(scale.high) + 1e-6
    exponents = [
        power + log10(digit)
        for power in range(math.floor(low), math.floor(high) + 1)
        if power % every == 0
        for digit in digits
    ]
    return [10.0**exponent for exponent in exponents if low <= exponent <= high]


def _candidates(scale: Scale, cells: int, axis: Axis) -> Iterator[list[float]]:
    """Sets of round values, the most crowded first."""
    if axis.ticks:
        values = sorted(v for v in set(axis.ticks) if usable(v, axis.log))
        inside = [v for v in values if -_NEARLY <= scale.at(v) <= 1 + _NEARLY]
        yield from (inside[::stride] for stride in range(1, len(inside) + 1))
        return
    if not scale.log or scale.decades < 0.7:
        for step in _steps((scale.high - scale.low) / (cells / 2 + 1)):
            yield _multiples(scale, step)
    if scale.log:
        yield _powers(scale, (1, 2, 5))
        for every in (1, 2, 3, 5, 10, 20, 50, 100, 200):
            yield _powers(scale, (1,), every)


def ticks(scale: Scale, axis: Axis, cells: int, *, along: bool) -> list[Tick]:
    """The labelled positions that fit into ``cells`` without touching each other.

    Along the axis (horizontal) the width of a label counts.
    """
    for values in _candidates(scale, cells, axis):
        places = zip(values, scale.cells(values, cells), strict=True)
        placed = [_tick(axis.format(v), place, cells) for v, place in places]
        if placed and _fits(placed, cells, along):
            return _distinct(placed)
    return []


def _tick(label: str, place: float, cells: int) -> Tick:
    cell = max(0, min(cells - 1, math.floor(place)))
    start = max(0, min(cells - len(label), cell - (len(label) - 1) // 2))
    return Tick(cell, start, label)


def _fits(placed: Sequence[Tick], cells: int, along: bool) -> bool:
    if along and any(len(tick.label) > cells for tick in placed):
        return False
    for left, right in pairwise(placed):
        gap = right.start - left.start - len(left.label) if along else 2
        if gap < 2 or right.cell - left.cell < 2:
            return False
    return True


def _distinct(placed: Sequence[Tick]) -> list[Tick]:
    """Without ticks that have no label or, for want of digits, the one before's."""
    return [
        tick
        for index, tick in enumerate(placed)
        if tick.label and (index == 0 or tick.label != placed[index - 1].label)
    ]
