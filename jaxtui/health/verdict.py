"""What the readings mean: a verdict for each, with its reason and its source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jaxtui.health import against
from jaxtui.health.baseline import Baseline
from jaxtui.health.comparison import (
    SEVERITY,
    Comparison,
    VerdictWord,
    decisive,
    worst,
)
from jaxtui.health.reasons import joined, reason
from jaxtui.health.stragglers import Sisters
from jaxtui.health.thresholds import HOST_TESTS, RATES
from jaxtui.model import CheckTest, Device, Reading, Record, Unit

__all__ = [
    "EXIT_CODES",
    "SEVERITY",
    "Verdict",
    "VerdictWord",
    "judge",
    "of_device",
    "overall",
]

EXIT_CODES: dict[VerdictWord, int] = {
    "pass": 0,
    "low": 1,
    "impossible": 2,
    "fail": 2,
    "skipped": 3,
}
"""Of the overall verdict (design.md §7); ``skipped`` means that nothing could run."""

NO_FIGURE = "The test gave no figure, or one that is no finite number."


class Verdict(Record, frozen=True, kw_only=True):
    """A reading with its judgement; the part that ``--json`` prints is stable."""

    test: CheckTest
    device: str | None
    """``None`` for the machine as a whole."""
    what: str
    verdict: VerdictWord
    measured: float | None
    expected: float | None
    """What it was compared with: a peak, a bound, a figure of a baseline or of the
    devices of its kind."""
    unit: Unit
    source: str
    """Where ``expected`` comes from; says so where there is nothing to expect."""
    reason: str
    """Sentences for people, with every figure in them, the most important first."""
    share: float | None = None
    """Measured over expected, where that is a share of a peak, of a baseline or of the
    median of the devices of its kind."""
    detail: str = ""
    """The original text of an exception."""


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
        readings: Of one examination; those of sister devices among them.
        devices: Of the machine; the readings name them.
        baseline: Of hardware that is the same, see ``refuse_other_hardware``.
    """
    sisters = Sisters.of(readings, {device.name: device for device in devices})
    return tuple(_judged(one, sisters, baseline) for one in readings)


def overall(verdicts: Sequence[Verdict]) -> VerdictWord:
    """The worst of them; ``skipped`` if there is none or all were skipped."""
    return worst(verdict.verdict for verdict in verdicts) or "skipped"


def of_device(verdicts: Sequence[Verdict], device: str) -> VerdictWord | None:
    """The worst verdict of one device; ``None`` before it has any.

    Verdicts on the machine as a whole count only for ``overall``.
    """
    return worst(one.verdict for one in verdicts if one.device == device)


def _judged(reading: Reading, sisters: Sisters, baseline: Baseline | None) -> Verdict:
    """What needs no comparison first."""
    if fault := reading.fault or _faulty(reading):
        return _verdict(reading, "fail", "the test itself", joined(fault, reading.said))
    if reading.skipped:
        text = joined(reading.skipped, reading.said)
        return _verdict(reading, "skipped", "not measured", text)
    if reading.measured is None and not (reading.said or reading.doubt):
        return _verdict(reading, "skipped", "not measured", NO_FIGURE)
    owner = _owner(reading, sisters.devices)
    compared = [
        found
        for found in (
            against.expectation(reading),
            against.baseline(reading, baseline, owner),
            sisters.against(reading),
        )
        if found is not None
    ]
    nothing = Comparison("pass", None, _nothing(reading, owner, baseline))
    return _decided(reading, compared or [nothing])


def _owner(reading: Reading, devices: Mapping[str, Device]) -> Device | None:
    """Its device; for the machine as a whole the first one, which says what kind."""
    if reading.device is None:
        return next(iter(devices.values()), None)
    return devices.get(reading.device)


def _faulty(reading: Reading) -> str:
    """A figure that is none; over the wire, one that is not finite becomes ``None``."""
    odd = reading.measured is not None and not math.isfinite(reading.measured)
    awaited = reading.expected is not None and not (reading.skipped or reading.doubt)
    return NO_FIGURE if odd or (awaited and reading.measured is None) else ""


def _decided(reading: Reading, comparisons: Sequence[Comparison]) -> Verdict:
    main = decisive(comparisons)
    word: VerdictWord = main.word
    if reading.doubt and word == "pass":
        word = "low"
    return Verdict(
        test=reading.test,
        device=reading.device,
        what=reading.what,
        verdict=word,
        measured=reading.measured,
        expected=main.expected,
        unit=reading.unit,
        source=main.source,
        reason=reason(reading, comparisons),
        share=main.share,
        detail=reading.detail,
    )


def _verdict(reading: Reading, word: VerdictWord, source: str, text: str) -> Verdict:
    """One that no comparison decided."""
    expected = reading.expected
    return Verdict(
        test=reading.test,
        device=reading.device,
        what=reading.what,
        verdict=word,
        measured=reading.measured,
        expected=expected.value if expected else None,
        unit=reading.unit,
        source=expected.source if expected else source,
        reason=text,
        detail=reading.detail,
    )


def _nothing(reading: Reading, device: Device | None, baseline: Baseline | None) -> str:
    """Why there is nothing to compare it with, and what would help."""
    if reading.doubt:
        return "the test itself"
    if reading.measured is None or reading.unit not in against.COMPARED_UNITS:
        return "nothing to compare with"
    peak = ""
    if reading.unit in RATES and reading.test not in HOST_TESTS:
        kind = device.device_kind if device else "this machine"
        peak = f"no peak is published for {kind} here; "
    if baseline is not None and reading.disturbed:
        return "not compared: other programs used the cores meanwhile"
    if baseline is not None:
        return f"nothing to compare with: {peak}the baseline {baseline.name} has none"
    return f"nothing to compare with: {peak}save a baseline with --save-baseline"
