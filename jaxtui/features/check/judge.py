"""The meaning of a health check's readings: a verdict for each, with its remarks."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from jaxtui.core.model import Device, Expected, Fact, Reading, Record, Remark, Unit
from jaxtui.core.model.measurement import Interval
from jaxtui.core.stats import median, ratio
from jaxtui.features.bench import thresholds
from jaxtui.features.bench.thresholds import HOST_TESTS, RATES, Bound
from jaxtui.features.check.baseline import Baseline
from jaxtui.features.check.messages import Figure, VerdictWord

SEVERITY: tuple[VerdictWord, ...] = ("skipped", "pass", "low", "impossible", "fail")
"""The verdicts from the best to the worst, as far as an overall verdict is
concerned."""

EXIT_CODES: dict[VerdictWord, int] = {
    "pass": 0,
    "low": 1,
    "impossible": 2,
    "fail": 2,
    "skipped": 3,
}
"""The exit code of the overall verdict; ``skipped`` means that nothing
could run."""

COMPARED_UNITS: tuple[Unit, ...] = ("flop/s", "bytes/s", "bytes", "seconds")
"""The units that are compared with a baseline and between devices.

Chips are compared when hardware is. An error is judged by its tolerance: below that, a
smaller one is no better."""


class Verdict(Record, frozen=True, kw_only=True):
    reading: Reading
    word: VerdictWord
    expected: float | None = None
    """The value that it was compared with, in its unit: a peak, a bound, a figure of a
    baseline or of the devices of its kind."""
    source: Remark | None = None
    """The source of ``expected``."""
    share: float | None = None
    """Measured over expected, where that is a share of a peak, of a baseline or of the
    median of the devices of its kind."""
    remarks: tuple[Remark, ...] = ()
    """The reasons of the verdict, then the remarks of the reading."""


class Comparison(msgspec.Struct, frozen=True):
    """A figure beside one of the things that it is judged by."""

    word: VerdictWord
    expected: float
    """The value that it was compared with, in the unit of the reading."""
    source: Remark
    share: float | None = None
    remark: Remark | None = None
    """The reason why it did not pass."""


def judge(
    readings: Sequence[Reading],
    devices: Sequence[Device],
    baseline: Baseline | None = None,
) -> tuple[Verdict, ...]:
    """A verdict for every reading, in their order.

    A reading is compared with what was expected of it, with a baseline if one is given,
    and with the devices of its kind; the worst of these decides. Where there is nothing
    to compare it with, it passes: no peak is ever assumed.

    Args:
        readings: Of one examination, those of all devices of a kind among them.
        devices: Of the machine; the readings name them.
        baseline: Of hardware that is the same, see ``other_hardware``.
    """
    peers = _Peers(readings, {device.name: device for device in devices})
    return tuple(_verdict(reading, peers, baseline) for reading in readings)


def overall(verdicts: Iterable[Verdict]) -> VerdictWord:
    """The worst of them; ``skipped`` if there is none or all were skipped."""
    words = (verdict.word for verdict in verdicts)
    return max(words, key=SEVERITY.index, default="skipped")


def _verdict(reading: Reading, peers: _Peers, baseline: Baseline | None) -> Verdict:
    remarks, measured = reading.remarks, reading.measured
    failed = any(remark.severity == "error" for remark in remarks)
    if not failed and (measured is None or not math.isfinite(measured)):
        # Over the wire, a figure that is not finite becomes None.
        if measured is None and remarks:
            return Verdict(reading=reading, word="skipped", remarks=remarks)
        failed, remarks = True, (Remark("no-figure", {}, "error"), *remarks)
    if not failed and (odd := peers.odd_one_out(reading)) is not None:
        failed, remarks = True, (odd, *remarks)
    if failed:
        expected = reading.expected
        return Verdict(
            reading=reading,
            word="fail",
            expected=expected.value if expected else None,
            source=expected.source if expected else None,
            remarks=remarks,
        )
    return _compare(reading, peers, baseline)


def _compare(reading: Reading, peers: _Peers, baseline: Baseline | None) -> Verdict:
    compared = (
        _against_expectation(reading),
        _against_baseline(reading, baseline, peers.device_of(reading)),
        peers.against(reading),
    )
    comparisons = [comparison for comparison in compared if comparison is not None]
    main = max(
        comparisons,
        key=lambda comparison: SEVERITY.index(comparison.word),
        default=None,
    )
    doubtful = any(
        remark.severity == "warning" and remark.code != "contended"
        for remark in reading.remarks
    )
    word = main.word if main else "pass"
    reasons = (
        comparison.remark for comparison in comparisons if comparison.remark is not None
    )
    return Verdict(
        reading=reading,
        word="low" if doubtful and word == "pass" else word,
        expected=main.expected if main else None,
        source=main.source if main else None,
        share=main.share if main else None,
        remarks=(*reasons, *reading.remarks),
    )


# What was expected.


def _against_expectation(reading: Reading) -> Comparison | None:
    """A reading against its own ``expected``; ``None`` if it has none to speak of."""
    expected, measured = reading.expected, reading.measured
    if expected is None or measured is None or not math.isfinite(expected.value):
        return None
    if expected.kind == "peak":
        return _against_peak(reading, expected, measured)
    if expected.kind == "exact":
        met = measured == expected.value
        missed = Remark("not-as-expected", {}, "error")
    else:
        met = measured <= expected.value
        missed = Remark("above-the-bound", {}, "error")
    return Comparison(
        "pass" if met else "fail",
        expected.value,
        expected.source,
        remark=None if met else missed,
    )


def _against_peak(
    reading: Reading, expected: Expected, measured: float
) -> Comparison | None:
    if expected.value <= 0:
        return None
    share, bound = measured / expected.value, thresholds.of_peak(reading, expected)
    word: VerdictWord = "pass"
    remark: Remark | None = None
    # Memory is read and not timed: more than published is another model of the chip.
    if share > thresholds.IMPOSSIBLE.factor and reading.unit in RATES:
        word = "impossible"
        remark = Remark("beyond-the-peak", {"unit": reading.unit}, "error")
    elif bound is not None and share < bound.factor:
        word = "low"
        facts = {"reached": expected.reached, "unit": reading.unit, **_line(bound)}
        remark = Remark("below-the-peak", facts, "warning")
    return Comparison(word, expected.value, expected.source, share, remark)


def _line(bound: Bound) -> dict[str, Fact]:
    return {"least": bound.factor, "why": bound.why}


def _against_baseline(
    reading: Reading, baseline: Baseline | None, device: Device | None
) -> Comparison | None:
    """A reading against the same one of a baseline; ``None`` if that has none.

    It is low only if it is both beyond the bound and surely different: where the two
    intervals overlap, nothing is proven, and one that others disturbed is not compared
    at all. (The intervals tell nothing about the drift from one process to the next,
    for which the bound is as wide as it is.)
    """
    if baseline is None or reading.disturbed or reading.unit not in COMPARED_UNITS:
        return None
    before = baseline.find(reading, device)
    measured, expected = reading.measured, before.measured if before else None
    if (
        before is None
        or measured is None
        or expected is None
        or not 0 < expected < math.inf
    ):
        return None
    share, bound = measured / expected, thresholds.of_alike(reading, device)
    now, then = _interval(reading), _interval(before)
    quotient = ratio(now, then) if now and then else None
    unsure = quotient is not None and quotient.low <= 1 <= quotient.high
    word: VerdictWord = "pass"
    remark: Remark | None = None
    if _lags(share, bound, reading.unit):
        facts = {"file": baseline.name, "unit": reading.unit, **_line(bound)}
        remark = Remark("maybe-below-baseline", facts)
        if not unsure:
            word, remark = "low", Remark("below-baseline", facts, "warning")
    source = Remark("baseline", {"file": baseline.name})
    return Comparison(word, expected, source, share, remark)


def _lags(share: float, bound: Bound, unit: Unit) -> bool:
    return share > 1 / bound.factor if unit == "seconds" else share < bound.factor


def _interval(figure: Reading | Figure) -> Interval | None:
    if figure.measured is None or figure.ci_low is None or figure.ci_high is None:
        return None
    return Interval(
        figure.ci_low, figure.measured, figure.ci_high, figure.confidence or 0.0
    )


class _Peers:
    """The figures of the same thing on devices of one kind: is there a straggler?"""

    def __init__(
        self, readings: Sequence[Reading], devices: Mapping[str, Device]
    ) -> None:
        self._devices = devices
        self._groups: dict[tuple[str, ...], list[tuple[str, float]]] = {}
        self._digests: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for reading in readings:
            device = devices.get(reading.device or "")
            if device is None or reading.measured is None or not _is_sound(reading):
                continue
            if reading.digest:
                self._digests[self._key(reading, device)][reading.digest] += 1
            if math.isfinite(reading.measured):
                group = self._groups.setdefault(self._key(reading, device), [])
                group.append((device.name, reading.measured))

    def device_of(self, reading: Reading) -> Device | None:
        """Return the device of a reading; for the machine as a whole the first, which
        tells its kind.
        """
        if reading.device is None:
            return next(iter(self._devices.values()), None)
        return self._devices.get(reading.device)

    def odd_one_out(self, reading: Reading) -> Remark | None:
        """Return a remark if its result is not that of most devices of its kind.

        Of a tie no side is known to be right, and all are to blame.
        """
        device = self._devices.get(reading.device or "")
        if device is None or not reading.digest or not _is_sound(reading):
            return None
        digests = self._digests[self._key(reading, device)]
        counts = digests.most_common()
        if len(counts) < 2:
            return None
        alike = sum(digests.values()) - 1
        if counts[0][1] == counts[1][1]:
            differ = alike + 1 - digests[reading.digest]
            facts: dict[str, Fact] = {"differ": differ, "others": alike}
            return Remark("no-majority", facts, "error")
        if reading.digest == counts[0][0]:
            return None
        facts = {"differ": counts[0][1], "others": alike}
        return Remark("odd-one-out", facts, "error")

    @staticmethod
    def _key(reading: Reading, device: Device) -> tuple[str, ...]:
        program = reading.digest.rpartition(":")[0]
        return (reading.test, reading.what, reading.unit, device.device_kind, program)

    def against(self, reading: Reading) -> Comparison | None:
        """A reading against the other devices; ``None`` unless it lags behind."""
        device = self._devices.get(reading.device or "")
        if device is None or reading.measured is None:
            return None
        if reading.unit not in COMPARED_UNITS:
            return None
        if thresholds.on_host(device) and reading.test in HOST_TESTS:
            # It is the host that copies to itself and calls itself.
            return None
        group = self._groups.get(self._key(reading, device), ())
        peers = [value for name, value in group if name != reading.device]
        middle = median(peers) if peers else 0.0
        if not 0 < middle < math.inf:
            return None
        bound = thresholds.of_alike(reading, device)
        # What else happens hits one device or another: the best end must lag behind.
        ends = (reading.measured, reading.ci_low, reading.ci_high)
        finite = [end for end in ends if end is not None and math.isfinite(end)]
        best = min(finite) if reading.unit == "seconds" else max(finite)
        if reading.ci_low is not None and reading.ci_low == reading.ci_high:
            # One round, as on a busy machine: half as fast may as well be chance.
            best *= 0.5 if reading.unit == "seconds" else 2.0
        if not _lags(best / middle, bound, reading.unit):
            return None
        share = reading.measured / middle
        facts = {"others": len(peers), "unit": reading.unit, **_line(bound)}
        remark = Remark("behind-the-others", facts, "warning")
        return Comparison("low", middle, Remark("other-devices"), share, remark)


def _is_sound(reading: Reading) -> bool:
    return all(remark.severity != "error" for remark in reading.remarks)
