"""What the readings of a health check mean: a verdict for each, with its reason."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from jaxtui import format as fmt
from jaxtui.analysis import thresholds
from jaxtui.analysis.baseline import Baseline, Figure
from jaxtui.analysis.thresholds import HOST_TESTS, RATES
from jaxtui.model import DEVICE, Device, Expected, Reading, Record, Unit
from jaxtui.stats import Interval, ratio

VerdictWord = Literal["pass", "low", "impossible", "fail", "skipped"]

SEVERITY: tuple[VerdictWord, ...] = ("skipped", "pass", "low", "impossible", "fail")
"""From the best to the worst, as far as an overall verdict is concerned."""

EXIT_CODES: dict[VerdictWord, int] = {
    "pass": 0,
    "low": 1,
    "impossible": 2,
    "fail": 2,
    "skipped": 3,
}
"""Of the overall verdict (design.md §7); ``skipped`` means that nothing could run."""

COMPARED_UNITS: tuple[Unit, ...] = ("flop/s", "bytes/s", "bytes", "seconds")
"""What is compared with a baseline.

Chips are compared when hardware is. An error is judged by its tolerance: below that, a
smaller one is no better. A ratio, such as that of the last quarter to the first, is a
comparison already: one that was lucky when the baseline was saved would make every
usual one low.
"""

NO_FIGURE = "The test gave no figure, or one that is no finite number."

SHARED_CHIP = (
    "a peak per JAX device where two of them share a chip; a peak of another kind of"
    " chip."
)

IMPOSSIBLE_CAUSES: dict[Unit, str] = {
    "flop/s": (
        "Usual causes: the dispatch was timed and not the result; the compiler folded"
        " or dropped work whose result is not used; operations were counted that a"
        " sparse product leaves out; TF32 or fewer passes than the precision says; "
        + SHARED_CHIP
    ),
    "bytes/s": (
        "Usual causes: the dispatch was timed and not the result; the arrays fit into a"
        " cache; the compiler folded the copy, or its result is not used; "
        + SHARED_CHIP
    ),
}
"""Why a product may seem faster than its chip, and a copy faster than its memory."""

IMPOSSIBLE_ELSEWHERE = (
    "Usual causes: a figure per JAX device where two of them share a chip; a figure of"
    " another kind of chip."
)

LOW_CAUSES = (
    "Usual causes: a limit of power or temperature, another process on the device,"
    " lower clocks."
)


class Verdict(Record, frozen=True, kw_only=True):
    reading: Reading
    word: VerdictWord
    expected: float | None
    """What it was compared with, in its unit: a peak, a bound, a figure of a baseline
    or of the devices of its kind."""
    source: str
    """Where ``expected`` comes from; says so where there is nothing to expect."""
    texts: tuple[str, ...]
    """For people, with every figure in them, the most important first; at least one.
    ``DEVICE`` stands for the device."""
    label: str
    """The device and where it sits; empty for the machine as a whole."""
    share: float | None = None
    """Measured over expected, where that is a share of a peak, of a baseline or of the
    median of the devices of its kind."""

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(text.replace(DEVICE, self.label) for text in self.texts)

    @property
    def reason(self) -> str:
        return " ".join(self.sentences)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure beside one of the things that it is judged by."""

    word: VerdictWord
    expected: float | None
    """What it was compared with, in the unit of the reading."""
    source: str
    clause: str = ""
    """Follows the figure in its sentence: ``86 % of the peak of 197 TFLOP/s``."""
    sentences: tuple[str, ...] = ()
    """Whole ones, which explain it."""
    share: float | None = None


def judge(
    readings: Sequence[Reading],
    devices: Sequence[Device],
    baseline: Baseline | None = None,
) -> tuple[Verdict, ...]:
    """A verdict for every reading, in their order.

    A reading is compared with what was expected of it, with a baseline if one is given,
    and with the devices of its kind; the worst of these decides. Where there is nothing
    to compare it with, it passes, and the verdict says so: no peak is ever assumed.

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
    odd = reading.measured is not None and not math.isfinite(reading.measured)
    due = reading.expected is not None and not (reading.skipped or reading.doubt)
    # Over the wire, a figure that is not finite becomes None.
    missing = NO_FIGURE if odd or (due and reading.measured is None) else ""
    silent = reading.measured is None and not (reading.said or reading.doubt)
    word: VerdictWord = "skipped"
    source, why = "not measured", reading.skipped
    if fault := reading.fault or missing or peers.odd_one_out(reading):
        word, source, why = "fail", "the test itself", fault
    elif silent:
        why = why or NO_FIGURE
    elif not why:
        return _compare(reading, peers, baseline)
    expected = reading.expected
    return Verdict(
        reading=reading,
        word=word,
        expected=expected.value if expected else None,
        source=expected.source if expected else source,
        texts=distinct(why, reading.said),
        label=peers.label(reading),
    )


def _compare(reading: Reading, peers: _Peers, baseline: Baseline | None) -> Verdict:
    owner = peers.devices.get(reading.device or "")
    if reading.device is None:
        # The first device says what kind of machine it is.
        owner = next(iter(peers.devices.values()), None)
    found = (
        _against_expectation(reading),
        _against_baseline(reading, baseline, owner),
        peers.against(reading),
    )
    comparisons = [one for one in found if one is not None]
    if not comparisons:
        comparisons = [Comparison("pass", None, _nothing(reading, owner, baseline))]
    main = max(comparisons, key=lambda one: SEVERITY.index(one.word))
    word: VerdictWord = "low" if reading.doubt and main.word == "pass" else main.word
    clauses = "; ".join(one.clause for one in comparisons if one.clause)
    sentences = [sentence for one in comparisons for sentence in one.sentences]
    if reading.measured is not None:
        text = figure(reading.measured, reading.unit)
        sentences.insert(0, f"{text}, {clauses}" if clauses else text)
    return Verdict(
        reading=reading,
        word=word,
        expected=main.expected,
        source=main.source,
        texts=distinct(reading.doubt, *sentences, reading.said, reading.disturbed),
        label=peers.label(reading),
        share=main.share,
    )


def _nothing(reading: Reading, device: Device | None, baseline: Baseline | None) -> str:
    """Why there is nothing to compare it with, and what would help."""
    if reading.doubt:
        return "the test itself"
    if reading.measured is None or reading.unit not in COMPARED_UNITS:
        return "nothing to compare with"
    peak = ""
    if reading.unit in RATES and reading.test not in HOST_TESTS:
        kind = device.device_kind if device else "this machine"
        peak = f"no peak is published for {kind} here; "
    if baseline is None:
        return f"nothing to compare with: {peak}--baseline FILE compares with a check"
    if reading.disturbed:
        return "not compared: other programs used the cores meanwhile"
    return f"nothing to compare with: {peak}the baseline {baseline.name} has none"


# What was expected.


def _against_expectation(reading: Reading) -> Comparison | None:
    """A reading against its own ``expected``; ``None`` if it has none to speak of."""
    expected, measured = reading.expected, reading.measured
    if expected is None or measured is None or not math.isfinite(expected.value):
        return None
    if expected.kind == "peak":
        return _against_peak(reading, expected, measured)
    limit = figure(expected.value, reading.unit)
    missed: VerdictWord = "low"
    if expected.kind == "exact":
        met, missed = measured == expected.value, "fail"
        clause = "as expected" if met else f"not the expected {limit}"
    elif expected.kind == "least":
        met = measured >= expected.value
        clause = f"{'at least' if met else 'less than'} the expected {limit}"
    else:
        met = measured <= expected.value
        missed = "fail" if reading.test == "numerics" else "low"
        clause = f"{'within' if met else 'above'} the bound of {limit}"
    return Comparison(
        "pass" if met else missed, expected.value, expected.source, clause
    )


def _against_peak(
    reading: Reading, expected: Expected, measured: float
) -> Comparison | None:
    if expected.value <= 0:
        return None
    share, bound = measured / expected.value, thresholds.of_peak(reading, expected)
    word: VerdictWord = "pass"
    line = thresholds.IMPOSSIBLE.factor
    sentences: tuple[str, ...] = ()
    # Memory is read and not timed: more than published is another model of the chip.
    if share > line and reading.unit in RATES:
        word = "impossible"
        causes = IMPOSSIBLE_CAUSES.get(reading.unit, IMPOSSIBLE_ELSEWHERE)
        sentences = ("That is more than the device can do.", causes)
    elif bound is not None:
        line = bound.factor
        if share < line:
            word, least = "low", f"least {fmt.percent(line)} of it is expected."
            first = f"At {least}"
            if bound.source == thresholds.REACHED.source and expected.reached:
                best = figure(expected.reached, reading.unit)
                first = f"Others have reached {best} on such a device; at {least}"
            sentences = (first, bound.source, LOW_CAUSES)
    return Comparison(
        word=word,
        expected=expected.value,
        source=expected.source,
        clause=(
            f"{_percent_beside(share, line)} of the peak of"
            f" {figure(expected.value, reading.unit)}"
        ),
        sentences=sentences,
        share=share,
    )


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
    measured, wanted = reading.measured, before.measured if before else None
    if (
        before is None
        or measured is None
        or wanted is None
        or not 0 < wanted < math.inf
    ):
        return None
    share, bound = measured / wanted, thresholds.of_alike(reading, device)
    more_is_better = reading.unit != "seconds"
    if reading.expected is not None and reading.expected.kind != "exact":
        more_is_better = reading.expected.kind != "most"
    line = bound.factor if more_is_better else 1 / bound.factor
    beyond = share < line if more_is_better else share > line
    now, then = _interval(reading), _interval(before)
    quotient = ratio(now, then) if now and then else None
    unsure = quotient is not None and quotient.low <= 1 <= quotient.high
    low = beyond and not unsure
    clause = (
        f"{_percent_beside(share, line)} of the"
        f" {figure(wanted, reading.unit)} of the baseline {baseline.name}"
    )
    if low:
        limit = "at least" if more_is_better else "at most"
        clause += f", where {limit} {fmt.percent(line)} is expected"
    elif beyond:
        clause += ", which may be chance: the intervals of the two overlap"
    return Comparison(
        word="low" if low else "pass",
        expected=wanted,
        source=f"baseline {baseline.name}",
        clause=clause,
        sentences=(bound.source,) if low else (),
        share=share,
    )


def _interval(one: Reading | Figure) -> Interval | None:
    if one.measured is None or one.ci_low is None or one.ci_high is None:
        return None
    return Interval(one.ci_low, one.measured, one.ci_high, one.confidence or 0.0)


class _Peers:
    """The figures of the same thing on devices of one kind: is there a straggler?"""

    def __init__(
        self, readings: Sequence[Reading], devices: Mapping[str, Device]
    ) -> None:
        self.devices = devices
        self._groups: dict[tuple[str, ...], list[tuple[str, float]]] = {}
        self._digests: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for one in readings:
            device = devices.get(one.device or "")
            if device is None or one.measured is None or one.fault:
                continue
            if one.digest:
                self._digests[self._key(one, device)][one.digest] += 1
            if math.isfinite(one.measured):
                group = self._groups.setdefault(self._key(one, device), [])
                group.append((device.name, one.measured))

    def odd_one_out(self, reading: Reading) -> str:
        """That its result is not that of most devices of its kind; empty if it is.

        Of a tie no side is known to be right, and all are to blame.
        """
        device = self.devices.get(reading.device or "")
        if device is None or not reading.digest or reading.measured is None:
            return ""
        digests = self._digests[self._key(reading, device)]
        counts = digests.most_common()
        if len(counts) == 1:
            return ""
        others = sum(digests.values()) - 1
        differing = f"{DEVICE} computes another result of {reading.what} than"
        if counts[0][1] == counts[1][1]:
            count = others + 1 - digests[reading.digest]
            return f"{differing} {count} of {others} others; no majority is right."
        if reading.digest == counts[0][0]:
            return ""
        return f"{differing} {counts[0][1]} of {others} others."

    def label(self, reading: Reading) -> str:
        device = self.devices.get(reading.device or "")
        return device.label if device else reading.device or ""

    @staticmethod
    def _key(reading: Reading, device: Device) -> tuple[str, ...]:
        program = reading.digest.rpartition(":")[0]
        return (reading.test, reading.what, reading.unit, device.device_kind, program)

    def against(self, reading: Reading) -> Comparison | None:
        """A reading against the other devices; ``None`` unless it lags behind."""
        device = self.devices.get(reading.device or "")
        if device is None or reading.measured is None:
            return None
        if reading.unit not in COMPARED_UNITS:
            return None
        if thresholds.on_host(device) and reading.test in HOST_TESTS:
            # It is the host that copies to itself and calls itself.
            return None
        group = self._groups.get(self._key(reading, device), ())
        others = [value for name, value in group if name != reading.device]
        middle = median(others) if others else 0.0
        if not 0 < middle < math.inf:
            return None
        more = reading.unit != "seconds"
        bound = thresholds.of_alike(reading, device)
        # What else happens hits one device or another: the best end must lag behind.
        ends = (reading.measured, reading.ci_low, reading.ci_high)
        finite = [end for end in ends if end is not None and math.isfinite(end)]
        best = (max(finite) if more else min(finite)) / middle
        if best >= bound.factor if more else best <= 1 / bound.factor:
            return None
        share = reading.measured / middle
        lag = f"takes {fmt.ratio(share)} as long as"
        if more:
            than = "slower" if reading.unit in RATES else "less"
            lag = f"is {fmt.percent(1 - share)} {than} than"
        whose = "the other device"
        if len(others) > 1:
            whose = f"the median of the other {len(others)} devices"
        text = f"{DEVICE} {lag} {whose} ({figure(middle, reading.unit)})"
        return Comparison(
            word="low",
            expected=middle,
            source="its sister devices",
            sentences=(text, bound.source),
            share=share,
        )


# Words.


_QUANTITIES: dict[Unit, fmt.Quantity] = {
    "bytes": "memory",
    "flop/s": "FLOP/s",
    "bytes/s": "B/s",
    "seconds": "s",
}


def number_and_unit(value: float | None, unit: Unit) -> tuple[str, str]:
    """``169`` and ``TFLOP/s``, ``4`` and ``chips``, ``2.1e-3`` and nothing."""
    if value is None:
        return fmt.ABSENT, ""
    if unit == "chips":
        return f"{value:g}", "chip" if value == 1 else "chips"
    if unit == "relative error":
        return fmt.error(value), ""
    if unit == "":
        return fmt.significant(value), ""
    found = fmt.figure(value, _QUANTITIES[unit])
    if isinstance(found, str):
        return found, ""
    return found.number(found.unit), found.unit.name


def figure(value: float | None, unit: Unit) -> str:
    """A figure as people read it: ``169 TFLOP/s``."""
    return " ".join(filter(None, number_and_unit(value, unit)))


def _percent_beside(share: float, bound: float) -> str:
    """A share whose text never equals that of a bound that it only comes close to."""
    text, line = fmt.percent(share), fmt.percent(bound)
    if text != line or share == bound:
        return text
    return f"just {'under' if share < bound else 'over'} {line}"


def distinct(*sentences: str) -> tuple[str, ...]:
    """Each with its full stop; what was said before is left out."""
    found: list[str] = []
    for sentence in map(str.strip, sentences):
        if sentence and sentence not in " ".join(found):
            stop = "" if sentence.endswith((".", "!", "?")) else "."
            found.append(sentence + stop)
    return tuple(found)
