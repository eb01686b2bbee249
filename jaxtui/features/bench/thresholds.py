"""The bounds from which a figure is low or impossible, each with its source.

No maker publishes what a healthy chip reaches at least. The bounds are chosen so that a
chip that computes at half its speed is found, and a sound one passes.
"""

from __future__ import annotations

import msgspec

from jaxtui.core.model import CheckTest, Device, Expected, Reading, Unit


class Bound(msgspec.Struct, frozen=True):
    """A share of what a figure is compared with."""

    factor: float
    why: str
    """The source or the reason of the bound."""


IMPOSSIBLE = Bound(
    1.02,
    "Published peaks are rounded.",
)
"""Fraction of a dense peak that cannot be exceeded: published peaks are rounded and
hold at a nominal clock, and clocks are read with an error. Two sources of one peak
differ by up to 0.4 % where they mean the same (TPU7x: 7380 and 7400 GB/s)."""

REACHED = Bound(
    0.75,
    "NVIDIA's DCGM uses the same bound: 75 % of what its own test reached.",
)
"""Fraction of the best known rate, where there is one (``nvvs/diag-skus.yaml.in`` of
DCGM 4.6)."""

PEAK = Bound(
    0.60,
    "Published products reach 75 to 97 % of their peak, copies 80 to 92 %.",
)
"""Fraction of a published peak, or of the memory that a chip has. ml-engineering's
mamf-finder reports for bfloat16: H100 80 %, A100 81 to 87 %, B200 78 %, Gaudi 2 97 %;
MI300X, 51 %, is the exception and has a figure of its own in ``Expected.reached``.
Copies like those of STREAM usually reach 80 to 92 %; DCGM accepts those of an H100 from
57 % (1905 of 3350 GB/s). JAX's pool on a GPU has 75 % of its memory."""

ALIKE = Bound(
    0.90,
    "Healthy chips of one kind often differ by 5 %.",
)
"""Fraction of the median of the other devices of the kind, and of a baseline
(mamf-finder reports 5 % and more between the GPUs of one node)."""

ON_HOST = Bound(
    0.50,
    "The host's clock and other programs move this figure, so the bound is wide.",
)
"""Fraction for what a host's processor decides: CPU devices, transfers, calls. One more
process on two cores costs as much as half of the speed (measured)."""

AT_THE_ROOF = 1.05
"""Shares up to this are the roof itself: two measurements of one speed differ so."""

HOST_TESTS: tuple[CheckTest, ...] = ("transfer", "dispatch")
"""Tests that depend on the host's processor and memory as much as on the device."""

RATES: tuple[Unit, ...] = ("flop/s", "bytes/s")
"""Units of which more is better, and which devices of one kind have in common."""


def on_host(device: Device | None) -> bool:
    return device is not None and device.platform == "cpu"


def of_peak(reading: Reading, expected: Expected) -> Bound | None:
    """The share of a peak that a sound device reaches; ``None`` if that is unknown."""
    if expected.reached is not None and 0 < expected.reached < expected.value:
        share = REACHED.factor * expected.reached / expected.value
        return Bound(share, REACHED.why)
    # The usual share of the link to the host is not known.
    return None if reading.test in HOST_TESTS else PEAK


def of_alike(reading: Reading, device: Device | None) -> Bound:
    """The share of a baseline, or of the devices of its kind, that is expected."""
    return ON_HOST if on_host(device) or reading.test in HOST_TESTS else ALIKE
