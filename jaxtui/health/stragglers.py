"""Devices of one kind beside each other: the one that lags behind."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from jaxtui import format as fmt
from jaxtui.health import reasons, thresholds
from jaxtui.health.comparison import Comparison
from jaxtui.model import Device, Reading


@dataclass(frozen=True, slots=True)
class Sisters:
    """The figures of an examination, those of the same thing on devices of one kind
    together.
    """

    devices: Mapping[str, Device]
    groups: Mapping[tuple[str, ...], Sequence[tuple[str, float]]]
    """Name and figure, by what was measured and the kind of device."""

    @classmethod
    def of(cls, readings: Sequence[Reading], devices: Mapping[str, Device]) -> Sisters:
        """Sort them; only rates and seconds are worth comparing."""
        groups: defaultdict[tuple[str, ...], list[tuple[str, float]]]
        groups = defaultdict(list)
        for one in readings:
            device = devices.get(one.device or "")
            if device is None or one.measured is None or one.fault:
                continue
            if math.isfinite(one.measured):
                groups[_key(one, device)].append((device.name, one.measured))
        return cls(devices, groups)

    def against(self, reading: Reading) -> Comparison | None:
        """A reading against the same one of the other devices of its kind.

        Only a device that lags behind is worth a word; for others it is ``None``.
        """
        device = self.devices.get(reading.device or "")
        if device is None or reading.measured is None:
            return None
        if reading.unit not in (*thresholds.RATES, "seconds"):
            return None
        if thresholds.on_host(device) and reading.test in thresholds.HOST_TESTS:
            # It is the host that copies to itself and calls itself.
            return None
        group = self.groups.get(_key(reading, device), ())
        others = [value for name, value in group if name != reading.device]
        middle = median(others) if others else 0.0
        if not 0 < middle < math.inf:
            return None
        share = reading.measured / middle
        bound = thresholds.of_sisters(reading, device)
        best = _best(reading, device, reading.measured) / middle
        rate = reading.unit in thresholds.RATES
        if best >= bound.factor if rate else best <= 1 / bound.factor:
            return None
        return Comparison(
            word="low",
            expected=middle,
            source="its sister devices",
            sentences=(_lags(reading, device, middle, len(others)), bound.source),
            share=share,
        )


def _best(reading: Reading, device: Device, measured: float) -> float:
    """The figure; where devices take turns on the host, the best that it may be.

    What else the host does then hits one device and not the other.
    """
    ends = (measured, reading.ci_low, reading.ci_high)
    known = [end for end in ends if end is not None and math.isfinite(end)]
    if not thresholds.on_host(device):
        return measured
    return max(known) if reading.unit in thresholds.RATES else min(known)


def _key(reading: Reading, device: Device) -> tuple[str, ...]:
    return (reading.test, reading.what, reading.unit, device.device_kind)


def _lags(reading: Reading, device: Device, middle: float, others: int) -> str:
    share = (reading.measured or 0.0) / middle
    if reading.unit in thresholds.RATES:
        lag = f"is {fmt.percent(1 - share)} slower than"
    else:
        lag = f"takes {fmt.ratio(share)} as long as"
    whose = "the other device"
    if others > 1:
        whose = f"the median of the other {others} devices"
    figure = reasons.figure(middle, reading.unit)
    return f"{reasons.where(device)} {lag} {whose} ({figure})"
