"""A reading against what was to be expected of it: a peak, a bound, a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.health import reasons, thresholds
from jaxtui.health.baseline import Baseline
from jaxtui.health.comparison import Comparison
from jaxtui.health.reasons import figure
from jaxtui.model import Device, Expected, Reading, Unit
from jaxtui.stats import Interval, ratio

COMPARED_UNITS: tuple[Unit, ...] = ("flop/s", "bytes/s", "bytes", "seconds")
"""What a baseline is asked about.

Chips are compared when hardware is. An error is judged by its tolerance: below that, a
smaller one is no better. A ratio, such as that of the last quarter to the first, is a
comparison already: one that was lucky when the baseline was saved would make every
usual one low.
"""


def expectation(reading: Reading) -> Comparison | None:
    """A reading against its own ``expected``; ``None`` if it has none to speak of."""
    expected, measured = reading.expected, reading.measured
    if expected is None or measured is None or not math.isfinite(expected.value):
        return None
    match expected.kind:
        case "peak":
            return _peak(reading, expected, measured)
        case "exact":
            return _exact(reading, expected, measured)
        case "least" | "most":
            return _bound(reading, expected, measured)


def baseline(
    reading: Reading,
    kept: Baseline | None,
    device: Device | None,
) -> Comparison | None:
    """A reading against the same one of a baseline; ``None`` if that has none.

    It is low only if it is both beyond the bound and surely different: where the two
    intervals overlap, nothing is proven, and one that others disturbed is
    not compared at all. (The intervals tell nothing about the drift
    from one process to the next, for which the bound is as wide as it is.)
    """
    if kept is None or reading.disturbed or reading.unit not in COMPARED_UNITS:
        return None
    if (before := find(kept, reading, device)) is None:
        return None
    measured, wanted = reading.measured, before.measured
    if measured is None or wanted is None or not 0 < wanted < math.inf:
        return None
    share, bound = measured / wanted, thresholds.of_baseline(reading, device)
    more = _more_is_better(reading)
    line = bound.factor if more else 1 / bound.factor
    beyond = share < line if more else share > line
    unsure = beyond and _may_be_even(reading, before)
    low = beyond and not unsure
    clause = (
        f"{reasons.percent_against(share, line)} of the"
        f" {figure(wanted, reading.unit)} of the baseline {kept.name}"
    )
    if low:
        limit = "at least" if more else "at most"
        clause += f", where {limit} {fmt.percent(line)} is expected"
    elif unsure:
        clause += ", which may be chance: the intervals of the two overlap"
    return Comparison(
        word="low" if low else "pass",
        expected=wanted,
        source=f"baseline {kept.name} of {kept.saved_at[:10]}",
        clause=clause,
        sentences=(bound.source,) if low else (),
        share=share,
    )


def find(
    kept: Baseline, reading: Reading, device: Device | None = None
) -> Reading | None:
    """The reading of a baseline that this one is comparable with.

    It is that of the same device, or else of another one of the same kind.
    """
    same = [
        one
        for one in kept.readings
        if (one.test, one.what, one.unit) == (reading.test, reading.what, reading.unit)
    ]
    for one in same:
        if one.device == reading.device:
            return one
    if device is None or reading.device is None:
        return None
    kinds: Mapping[str | None, str] = {
        other.name: other.device_kind for other in kept.devices
    }
    alike = (one for one in same if kinds.get(one.device) == device.device_kind)
    return next(alike, None)


def _peak(reading: Reading, expected: Expected, measured: float) -> Comparison | None:
    if expected.value <= 0:
        return None
    share, bound = measured / expected.value, thresholds.of_peak(reading, expected)
    too_much = thresholds.IMPOSSIBLE.factor
    clause = f"of the peak of {figure(expected.value, reading.unit)}"
    if share > too_much:
        return Comparison(
            word="impossible",
            expected=expected.value,
            source=expected.source,
            clause=f"{reasons.percent_against(share, too_much)} {clause}",
            sentences=(
                "That is more than the device can do.",
                reasons.impossible_causes(reading.unit),
            ),
            share=share,
        )
    low = bound is not None and share < bound.factor
    line = too_much if bound is None else bound.factor
    return Comparison(
        word="low" if low else "pass",
        expected=expected.value,
        source=expected.source,
        clause=f"{reasons.percent_against(share, line)} {clause}",
        sentences=_why_low(reading, expected, bound) if low and bound else (),
        share=share,
    )


def _why_low(
    reading: Reading, expected: Expected, bound: thresholds.Bound
) -> tuple[str, ...]:
    line = f"{fmt.percent(bound.factor)} of it is expected"
    if bound.source == thresholds.REACHED.source and expected.reached:
        best = figure(expected.reached, reading.unit)
        return (
            f"Others have reached {best} on such a device; at least {line}.",
            bound.source,
            reasons.TOO_SLOW,
        )
    return (f"At least {line}.", bound.source, reasons.TOO_SLOW)


def _exact(reading: Reading, expected: Expected, measured: float) -> Comparison:
    met = measured == expected.value
    wanted = figure(expected.value, reading.unit)
    return Comparison(
        word="pass" if met else "fail",
        expected=expected.value,
        source=expected.source,
        clause="as expected" if met else f"not the expected {wanted}",
    )


def _bound(reading: Reading, expected: Expected, measured: float) -> Comparison:
    limit = figure(expected.value, reading.unit)
    if expected.kind == "least":
        met = measured >= expected.value
        clause = f"{'at least' if met else 'less than'} the expected {limit}"
    else:
        met = measured <= expected.value
        clause = f"{'within' if met else 'above'} the bound of {limit}"
    wrong = reading.test == "numerics" and expected.kind == "most"
    return Comparison(
        word="pass" if met else "fail" if wrong else "low",
        expected=expected.value,
        source=expected.source,
        clause=clause,
    )


def _more_is_better(reading: Reading) -> bool:
    """What was expected says so, and else the unit."""
    if reading.expected is not None and reading.expected.kind != "exact":
        return reading.expected.kind != "most"
    return reading.unit != "seconds"


def _may_be_even(one: Reading, other: Reading) -> bool:
    """Whether both have an interval, and the ratio of the two may be 1."""
    first, second = _interval(one), _interval(other)
    found = ratio(first, second) if first and second else None
    return found is not None and found.low <= 1 <= found.high


def _interval(one: Reading) -> Interval | None:
    if one.measured is None or one.ci_low is None or one.ci_high is None:
        return None
    return Interval(one.ci_low, one.measured, one.ci_high, one.confidence or 0.0)
