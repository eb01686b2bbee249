"""The rates of devices at the same work, and the stragglers among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from jaxtui.analysis import thresholds
from jaxtui.analysis.thresholds import Bound
from jaxtui.model import Case, Device, Measurement, Reading
from jaxtui.model.machine import members
from jaxtui.model.own import brief_name
from jaxtui.stats import median

Quantity = Literal["FLOP/s", "B/s"]

QUANTITIES: tuple[Quantity, ...] = ("FLOP/s", "B/s")


class Rate(msgspec.Struct, frozen=True):
    per_second: float
    high: float
    """The best end of its interval."""


class Rates(msgspec.Struct, frozen=True):
    """The rates of several devices at the same work."""

    quantity: Quantity
    what: str
    """The work, as ``matmul 1000 float32``."""
    by_device: Mapping[str, Rate]
    """The rates by the names of the devices, at least two."""
    case: Case | None = None
    """The timed case, on no device; ``None`` for a check."""

    @property
    def median(self) -> float:
        """Per second, of all of them."""
        return median([rate.per_second for rate in self.by_device.values()])


class Straggler(msgspec.Struct, frozen=True):
    """A device that lags behind the others of its kind."""

    device: str
    share: float
    """The share of the median of the others."""
    bound: Bound
    """The share that is expected of it."""


def of_measurements(measurements: Iterable[Measurement]) -> tuple[Rates, ...]:
    """The rates of every case that ran on several devices, one after the other."""
    groups: dict[Case, dict[str, Measurement]] = {}
    for measured in measurements:
        case = measured.case
        if not case.on_host and len(members(case.device)) == 1:
            groups.setdefault(anywhere(case), {})[case.device] = measured
    result = []
    for case, by_device in groups.items():
        for quantity in QUANTITIES:
            rates = {}
            for device, measured in by_device.items():
                rate = (
                    measured.flops_per_second
                    if quantity == "FLOP/s"
                    else measured.bytes_per_second
                )
                if rate:
                    rates[device] = Rate(rate, rate * _optimism(measured))
            if len(rates) > 1:
                what = f"{brief_name(case.op)} {case.size} {case.dtype}".rstrip()
                result.append(Rates(quantity, what, rates, case))
    return tuple(result)


def anywhere(case: Case) -> Case:
    """Return the case on no device."""
    return msgspec.structs.replace(case, device="")


def _optimism(measured: Measurement) -> float:
    """Return the factor by which the rate may be higher, by the clock until ready."""
    ready = measured.ready
    return ready.median / ready.ci_low if ready and ready.ci_low > 0 else 1.0


def of_readings(readings: Iterable[Reading]) -> tuple[Rates, ...]:
    """The rates of a check: of each kind those that most devices have."""
    quantities = {"flop/s": "compute", "bytes/s": "bandwidth"}
    groups: dict[tuple[str, str], dict[str, Rate]] = {}
    for reading in readings:
        if reading.device is None or not reading.measured:
            continue
        if quantities.get(reading.unit) == reading.test:
            rate = Rate(reading.measured, reading.ci_high or reading.measured)
            key = reading.unit, reading.what
            groups.setdefault(key, {})[reading.device] = rate
    result = []
    for quantity, unit in zip(QUANTITIES, quantities, strict=True):
        works = {what: rates for (of, what), rates in groups.items() if of == unit}
        if works:
            most = max(works, key=lambda what: len(works[what]))
            if len(works[most]) > 1:
                result.append(Rates(quantity, most, works[most]))
    return tuple(result)


def stragglers(rates: Rates, devices: Iterable[Device] = ()) -> tuple[Straggler, ...]:
    """The devices that lag behind the median of the others, the slowest first.

    As between the devices of a check, the best end of the interval must lag.

    Args:
        rates: of the same work.
        devices: of the machine, where they are known: those of a kind are compared.
    """
    by_name = {device.name: device for device in devices}
    lagging = []
    for name, rate in rates.by_device.items():
        device = by_name.get(name)
        peer_values = [
            value.per_second
            for peer, value in rates.by_device.items()
            if peer != name
            and (
                device is None
                or peer not in by_name
                or by_name[peer].device_kind == device.device_kind
            )
        ]
        if not peer_values:
            continue
        bound = thresholds.ON_HOST if name.startswith("cpu:") else thresholds.ALIKE
        if rate.high < bound.factor * median(peer_values):
            share = rate.per_second / median(peer_values)
            lagging.append(Straggler(name, share, bound))
    return tuple(sorted(lagging, key=lambda straggler: straggler.share))
