"""Numbers as people read them: SI prefixes, few digits, ``—`` for what is absent.

Records keep base units; a prefix appears only here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from jaxtui.core.model import Interval, Measurement, Processes, Record, Summary

ABSENT = "—"
"""Stands wherever there is no number."""

LEAST_CONFIDENCE = 0.95
"""The least confidence of an interval; below it, with less than six rounds, the ends
are called minimum and maximum."""

_SECONDS = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class Unit(Record, frozen=True):
    """A unit of a quantity, prefix included."""

    name: str
    factor: float
    """The number of base units in it."""

    def text(self, value: float | None, digits: int = 3) -> str:
        """A value in this unit, without the unit's name."""
        if value is None or not math.isfinite(value):
            return ABSENT
        return significant(value / self.factor, digits)

    def ends(self, low: float, high: float) -> str:
        """Write both ends of an interval without the unit's name: ``12.1–13.4``."""
        return f"{self.text(low)}–{self.text(high)}"

    def of(self, value: float, digits: int = 3) -> Unit:
        """Return the unit of a value; see ``OwnUnits``."""
        return self

    def whole(self, value: float | None, digits: int = 3) -> str:
        """A value with the unit's name; ``—`` where there is none."""
        text = self.text(value, digits)
        return text if text == ABSENT else f"{text} {self.name}"


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits: ``0.0460``, ``812``.

    There is an exponent only below 1e-4 and from 1e9 on.
    """
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits - 1}e}"
    # Rounding first: 99.96 has three digits only after it has become 100.
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def _fitting(value: float, units: Sequence[tuple[float, str]], digits: int) -> Unit:
    """The largest unit of which the value, rounded or not, is at least one."""
    # A gibibyte rounds down to 1.07e9.
    largest = max(abs(value), float(f"{abs(value):.{digits - 1}e}"))
    fitting = [unit for unit in units if largest >= unit[0] * (1 - 1e-12)]
    factor, name = fitting[-1] if fitting else units[0]
    return Unit(name, factor)


def _si(unit: str) -> list[tuple[float, str]]:
    return [(1000.0**power, prefix + unit) for power, prefix in enumerate(_PREFIXES)]


Quantity = Literal["s", "FLOP", "FLOP/s", "B", "B/s", "memory"]

_UNITS: dict[Quantity, list[tuple[float, str]]] = {
    "s": list(_SECONDS),
    "FLOP/s": _si("FLOP/s"),
    "B/s": _si("B/s"),
    "FLOP": _si("FLOP"),
    "B": _si("B"),
    "memory": [(1024.0**power, name) for power, name in enumerate(_BINARY)],
}


def common(values: Iterable[float], quantity: Quantity = "s") -> Unit:
    """Return one unit for values that are drawn to one scale, chosen for the
    largest.

    No time is written as a part of a second: where some are below one, all are written
    in milliseconds at most. Of values that stand in a table ask ``shared``.
    """
    positive = [value for value in values if 0 < value < math.inf]
    units, least = _UNITS[quantity], 1.0
    if quantity == "s":
        units, least = units if min(positive, default=0.0) >= 1 else units[:-1], 1e-3
    return _fitting(max(positive, default=least), units, 3)


LEAST_OF_UNIT = 0.1
"""The least number of a unit: 82 µs, not 0.082 ms."""

DECADES = 1000.0
"""Times that are further apart than three decades have a unit each: what is in one unit
then has so many digits that nobody compares them."""


class OwnUnits(Record, frozen=True):
    """Stands for a unit where values are too far apart for one: each has its own.

    It has no name to stand over a column.
    """

    quantity: Quantity
    name: str = ""

    def of(self, value: float, digits: int = 3) -> Unit:
        """Return the unit of a value of which ``digits`` digits are known."""
        if self.quantity == "s":
            return _supported(value, digits)
        return _fitting(value, _UNITS[self.quantity], digits)

    def text(self, value: float | None, digits: int = 3) -> str:
        """A value with its unit."""
        if not value or not math.isfinite(value):
            return str(figure(value, self.quantity))
        return str(Figure((value,), self.quantity, self.of(value, digits), digits))

    whole = text

    def ends(self, low: float, high: float) -> str:
        """Write both ends of an interval in its middle's unit: ``12.1–13.4 ms``."""
        return str(Figure((low, high), self.quantity, self.of((low + high) / 2)))


def shared(
    values: Iterable[float], quantity: Quantity = "s", ends: Iterable[float] = ()
) -> Unit | OwnUnits:
    """The unit of values that stand together, or a unit for each of them.

    A rate is read in one unit wherever it stands on a screen: only rates that would
    have the same unit alone share one.

    Args:
        values: what the unit is chosen for.
        quantity: of all of them.
        ends: of intervals, written in the same unit.
    """
    positive = [value for value in values if 0 < value < math.inf]
    written = [*positive, *(end for end in ends if 0 < end < math.inf)]
    unit, units = common(positive, quantity), _UNITS[quantity]
    if quantity in ("FLOP/s", "B/s"):
        fits = len({_fitting(value, units, 3) for value in positive}) < 2
    else:
        least, largest = min(written, default=1.0), max(written, default=1.0)
        fits = largest <= DECADES * least and not _too_small(unit, written)
    return unit if fits else OwnUnits(quantity)


def _too_small(unit: Unit, values: Iterable[float]) -> bool:
    return any(0 < value < LEAST_OF_UNIT * unit.factor for value in values)


class Figure(Record, frozen=True):
    """A number with its unit, or both ends of an interval: not yet text.

    Beside others it is written in their unit, see ``alike``; alone in its own.
    """

    ends: tuple[float, ...]
    quantity: Quantity
    unit: Unit
    digits: int = 3
    vague: bool = False
    """Not known to within a third."""

    def number(self, unit: Unit) -> str:
        """Without the unit's name."""
        about = "~" if self.vague else ""
        return about + "–".join(unit.text(end, self.digits) for end in self.ends)

    def text(self, unit: Unit | OwnUnits) -> str:
        """Write the figure with its unit, or with one for each end."""
        if isinstance(unit, OwnUnits):
            unit = self.unit
        if len(self.ends) > 1 and _too_small(unit, self.ends):
            return "–".join(
                str(figure(e, self.quantity, self.digits)) for e in self.ends
            )
        return f"{self.number(unit)} {unit.name}"

    def __str__(self) -> str:
        return self.text(self.unit)


Cell = str | Figure
"""A cell of a table: words, or a number that is compared with others."""


def figure(value: float | None, quantity: Quantity = "s", digits: int = 3) -> Cell:
    """A number in the unit that suits it; ``—`` where there is none."""
    if value is None or not math.isfinite(value):
        return ABSENT
    units = _UNITS[quantity]
    if quantity == "memory" and 0 < abs(value) < 1024:
        digits = len(f"{value:.0f}")
    if value == 0 and quantity == "s":
        units = units[-1:]
    return Figure((value,), quantity, _fitting(value, units, digits), digits)


def quoted(text: str) -> Figure | None:
    """A time as it was published: ``0.42 ms``; ``None`` of any other text."""
    number, _, name = text.partition(" ")
    factor = {name: factor for factor, name in _SECONDS}.get(name)
    if factor is None:
        return None
    digits = len(number.replace(".", "").lstrip("0"))
    return Figure((float(number) * factor,), "s", Unit(name, factor), digits)


def alike(cells: Iterable[Cell]) -> Callable[[Cell], str]:
    """Return a function that writes cells of one table: with one unit for each
    quantity, or, where its figures are too far apart, for each of them; see ``shared``.
    """
    by_quantity: dict[Quantity, list[float]] = {}
    for cell in cells:
        if isinstance(cell, Figure):
            by_quantity.setdefault(cell.quantity, []).extend(cell.ends)
    units = {quantity: shared(ends, quantity) for quantity, ends in by_quantity.items()}

    def write(cell: Cell) -> str:
        return cell if isinstance(cell, str) else cell.text(units[cell.quantity])

    return write


def seconds(value: float | None, digits: int = 3) -> str:
    """A time: ``812 µs``, ``5.03 ms``, ``1.20 s``."""
    return str(figure(value, "s", digits))


def median(summary: Summary | None) -> Cell:
    """A median with only as many digits as its interval supports, ``~26 ms`` where that
    is wide.
    """
    if summary is None or not math.isfinite(summary.median):
        return ABSENT
    digits = digits_known(summary.interval)
    unit = _supported(summary.median, digits)
    return Figure((summary.median,), "s", unit, digits, summary.vague)


def ends(summary: Summary) -> Figure:
    """The ends of an interval in the unit of its median: ``12.1–13.4 ms``."""
    unit = _supported(summary.median, digits_known(summary.interval))
    return Figure((summary.ci_low, summary.ci_high), "s", unit)


def ends_beside(interval: Interval, unit: Unit | OwnUnits) -> str:
    """The ends of an interval beside a median in this unit: its name is not said again.

    Args:
        interval: of the median.
        unit: of a column.
    """
    low, high = interval.low, interval.high
    if isinstance(unit, OwnUnits):
        return str(Figure((low, high), "s", common((low, high))))
    return unit.ends(low, high)


def _supported(value: float, digits: int) -> Unit:
    """The unit of a time of which so many digits are known."""
    unit = _fitting(value, _SECONDS, digits)
    # 0.81 ms and not 810 µs, whose zero would pass for a digit; but no time is written
    # as a part of a second.
    within_reach = 10.0**digits * 0.995
    if digits < 3 and unit.factor < 1e-3 and value / unit.factor >= within_reach:
        unit = _fitting(1000 * unit.factor, _SECONDS, 3)
    return unit


def digits_known(interval: Interval) -> int:
    """The significant digits of a median that its interval supports, at least two.

    Three where two lie outside of the interval: 0.125 with 0.123 to 0.128 is not 0.12.
    """
    if interval.half_width < 0.01:
        return 3
    printed = float(f"{interval.median:.1e}")
    return 2 if interval.low <= printed <= interval.high else 3


def interval(summary: Summary) -> str:
    """Between what a median lies: ``95 % interval 4.9–5.2 ms``, or ``min–max of 4
    rounds 4.9–5.2 ms``, or ``one round``.
    """
    if summary.rounds < 2:
        return "one round"
    name = interval_name(summary.confidence)
    if summary.confidence < LEAST_CONFIDENCE:
        name = f"{name} of {_units(summary)}"
    elif summary.processes:
        name = f"{name} of processes"
    return f"{name} {ends(summary)}"


def interval_name(confidence: float) -> str:
    """``95 % interval`` of six rounds or more, however many; else ``min–max``."""
    sure = confidence >= LEAST_CONFIDENCE
    return f"{percent(LEAST_CONFIDENCE)} interval" if sure else "min–max"


def rate(value: float | None, quantity: Quantity = "FLOP/s") -> str:
    """A rate with decimal prefixes: ``169 TFLOP/s``."""
    return str(figure(value, quantity))


def speed(flops: float | None, bytes_: float | None) -> Cell:
    """FLOP/s, or bytes/s of what only moves data."""
    return figure(flops, "FLOP/s") if flops else figure(bytes_ or None, "B/s")


def bytes_text(value: float | None) -> str:
    """An amount of memory with binary prefixes: ``15.7 GiB``."""
    return str(figure(value, "memory"))


def bytes_used(used: float | None, limit: float | None = None) -> str:
    """Memory in use, of how much, in one binary unit: ``0.1/15.7G``."""
    if used is None:
        return ABSENT
    unit = _fitting(limit or used, _UNITS["memory"], 17)
    of = f"/{limit / unit.factor:.1f}" if limit else ""
    return f"{used / unit.factor:.1f}{of}{unit.name[0]}"


def size(value: int | None) -> str:
    """An op's size as it can be typed: ``4096``, ``1e6``."""
    if not value:  # a function of the user may have none
        return ABSENT
    short = f"{value:.2e}" if value >= 10_000 else ""
    if short and float(short) == value:
        mantissa, exponent = short.split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return str(value)


def tick_size(value: float) -> str:
    """An op's size on an axis: ``512``, ``4k`` (4096), ``1M`` (1024²), ``1e6``."""
    for factor, letter in ((1024**3, "G"), (1024**2, "M"), (1024, "k")):
        if value >= factor and (value / factor * 4).is_integer():
            return f"{value / factor:g}{letter}"
    return size(round(value))


def _tick(value: float, units: Sequence[tuple[float, str]], blank: str = "") -> str:
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return ABSENT
    unit = _fitting(value, units, 4)
    return f"{value / unit.factor:.4g}{blank}{unit.name}"


def tick_seconds(value: float) -> str:
    """A time on an axis: ``100 µs``, ``1 ms``."""
    return _tick(value, _SECONDS, " ")


def tick_rate(value: float) -> str:
    """FLOP/s or B/s on an axis: ``100G``; the unit stands in the title."""
    return _tick(value, _si(""))


def percent(fraction: float | None) -> str:
    """A fraction as percents: ``86 %``, ``0.4 %``."""
    if fraction is None or not math.isfinite(fraction):
        return ABSENT
    return f"{percents(fraction)} %"


def percents(fraction: float) -> str:
    """The number alone: ``86``, ``0.4``."""
    value = 100 * fraction
    if value == 0 or abs(value) >= 9.95:
        return f"{value:.0f}"
    return f"{float(f'{value:.1e}'):g}"


def error(value: float | None) -> str:
    """A relative error: ``2.1e-3``."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def ratio(value: float | None) -> str:
    """Write a ratio: ``88×``, ``4.1×``, ``0.25×``."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{value:.0f}×" if abs(value) >= 99.5 else f"{significant(value, 2)}×"


def ratio_ends(interval: Interval) -> str:
    """Write both ends of a ratio's interval with the digits that tell them apart:
    ``3.9–4.3``, ``3.98–4.02``.
    """
    low, high = (significant(end, 2) for end in (interval.low, interval.high))
    if low == high:
        low, high = (significant(end, 3) for end in (interval.low, interval.high))
    return f"{low}–{high}"


UNCERTAIN = "uncertain"
"""Stands at a figure that is not known to within a third, and at a ratio that may as
well be 1."""


def factor(interval: Interval | None) -> str:
    """A ratio with its interval: ``4.1× 3.9–4.3``, ``uncertain 16× 0.035–16``.

    Single rounds have none.
    """
    if interval is None:
        return ABSENT
    words = [UNCERTAIN] if interval.uncertain else []
    ends = [ratio_ends(interval)] if interval.low < interval.high else []
    return " ".join([*words, ratio(interval.median), *ends])


def count(value: int | None) -> str:
    """A number of things, thousands set apart: ``12,345``."""
    return ABSENT if value is None else f"{value:,}"


def duration(value: float | None) -> str:
    """A time as a clock counts it, in minutes and seconds: ``1:23``, ``1:02:05``."""
    if value is None or not math.isfinite(value):
        return ABSENT
    minutes, secs = divmod(max(0, round(value)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{secs:02}"
    return f"{minutes}:{secs:02}"


def left(seconds: float) -> str:
    """Write the time left: ``0:07 left``."""
    return f"{duration(math.ceil(seconds))} left" if seconds > 0 else "overdue"


def how_long(seconds: float) -> str:
    """About how long something will take: ``10 s``, ``2.5 min``, ``2.8 h``."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.3g} min" if minutes < 120 else f"{minutes / 60:.2g} h"


def runs(numbers: Sequence[int]) -> str:
    """Numbers in short: ``0-3, 8-11``."""
    groups: list[list[int]] = []
    for number in sorted(numbers):
        if groups and number == groups[-1][-1] + 1:
            groups[-1] = [groups[-1][0], number]
        else:
            groups.append([number])
    return ", ".join("-".join(map(str, run)) for run in groups)


def plural(number: int, noun: str) -> str:
    """``1 chip``, ``2 chips``, ``2 processes``."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{count(number)} {noun}{ending}"


def processes(several: Processes) -> str:
    """The medians of processes in one unit: ``10.0, 3.12, 8.51 ms``."""
    unit = common(several.medians)
    return f"{', '.join(map(unit.text, several.medians))} {unit.name}"


def sampled(summary: Summary) -> str:
    """``100 calls in 10 rounds``, or ``in 5 processes``."""
    return f"{plural(summary.n, 'call')} in {_units(summary)}"


def _units(summary: Summary) -> str:
    """Count the parts of the interval: ``10 rounds`` or ``5 processes``."""
    if summary.processes:
        return plural(summary.processes, "process")
    return plural(summary.rounds, "round")


def aligned(figures: Iterable[str]) -> tuple[str, ...]:
    """Figures with blanks around them, so that their decimal points are in line."""
    parts = [figure.partition(".") for figure in figures]
    before = max((len(whole) for whole, _, _ in parts), default=0)
    after = max((len(point + rest) for _, point, rest in parts), default=0)
    return tuple(
        whole.rjust(before) + (point + rest).ljust(after)
        for whole, point, rest in parts
    )


def shorten(text: str, length: int) -> str:
    """A text in one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def some(words: Sequence[str]) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return ", ".join(words[:3]) + more


def listed(words: Iterable[str]) -> str:
    """``compute, bandwidth and transfer``, each once; empty of none."""
    *most, last = dict.fromkeys(words) or ("",)
    return f"{', '.join(most)} and {last}" if most else last


class Units(Record, frozen=True):
    """The unit of each column of a table of measurements; see ``shared``."""

    ready: Unit | OwnUnits
    dispatch: Unit | OwnUnits
    flops: Unit | OwnUnits
    bytes: Unit | OwnUnits

    @classmethod
    def of(cls, measurements: Sequence[Measurement]) -> Units:
        """Return the units that suit all measurements."""
        flops = [result.flops_per_second or 0.0 for result in measurements]
        moved = [result.bytes_per_second or 0.0 for result in measurements]
        ready = [result.ready for result in measurements if result.ready]
        return cls(
            ready=shared(
                (result.median for result in ready),
                ends=(
                    end for result in ready for end in (result.ci_low, result.ci_high)
                ),
            ),
            dispatch=shared(
                result.dispatch.median for result in measurements if result.dispatch
            ),
            flops=shared(flops, "FLOP/s"),
            bytes=shared(moved, "B/s"),
        )
