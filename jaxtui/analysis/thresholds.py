"""From where on a figure is low or impossible, each bound with who says so.

No maker publishes what a healthy chip reaches at least. The bounds are chosen so that a
chip that computes at half its speed is found, and a sound one passes.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui.model import CheckTest, Device, Expected, Reading, Unit


@dataclass(frozen=True, slots=True)
class Bound:
    """A share of what a figure is compared with."""

    factor: float
    source: str
    """One sentence: who draws the line there, and why."""


IMPOSSIBLE = Bound(
    1.02,
    "Published peaks are rounded and hold at a nominal clock, and clocks are read with"
    " an error: 2 % are granted.",
)
"""Of a dense peak; more than this cannot be. Two sources of one peak differ by as much
as 0.4 % where they mean the same (TPU7x: 7380 and 7400 GB/s)."""

REACHED = Bound(
    0.75,
    "NVIDIA's DCGM draws the line at 0.75 × what its own test reached, and so does"
    " jaxtui.",
)
"""Of the best that is known to be reached, where that is known
(``nvvs/diag-skus.yaml.in`` of DCGM 4.6)."""

COMPUTE = Bound(
    0.60,
    "The bound is jaxtui's own: where somebody has published what a large product"
    " reaches, it is mostly 75 to 97 % of the peak.",
)
"""Of a dense peak in FLOP/s. Published by ml-engineering's mamf-finder for bfloat16:
H100 80 %, A100 81 to 87 %, B200 78 %, Gaudi 2 97 %; MI300X, 51 %, is the exception and
has a figure of its own in ``Expected.reached``."""

BANDWIDTH = Bound(
    0.70,
    "The bound is jaxtui's own: copies like those of STREAM usually reach 80 to 92 %."
    " DCGM is less strict: it accepts an H100 from 57 % (1905 of 3350 GB/s).",
)
"""Of the peak of the device's own memory in bytes/s. Google's microbenchmarks reach
87 % on a TPU7x (6421 of 7380 GB/s)."""

BASELINE = Bound(
    0.90,
    "The bound is jaxtui's own: 5 % between sound chips of one kind are common.",
)
"""Of a figure of a baseline (mamf-finder reports 5 % and more between the GPUs of one
node)."""

BASELINE_OF_HOST = Bound(
    0.70,
    "The bound is jaxtui's own: a host's processor changes its clock, and the same work"
    " in two processes may differ by 20 %.",
)
"""Of a figure of a baseline that a host's processor decides (measured on small virtual
machines)."""

PEERS = BASELINE
"""Of the median of the devices of the same kind."""

PEERS_ON_HOST = Bound(
    0.50,
    "The bound is jaxtui's own, and wide: CPU devices share the host's cores and take"
    " turns, and its clock may change from one to the next.",
)
"""Of the median of the other CPU devices, simulated or not; the whole interval must lie
below. One more process on a machine of two cores costs as much as half of the speed,
but seldom in all rounds of one device and in none of another."""

PEERS_ON_BUSY_HOST = Bound(
    0.20,
    "The bound is jaxtui's own, and very wide: other programs used the cores that CPU"
    " devices share.",
)
"""The same while others compute, too: five devices in turn had rates that differed by a
factor of 4.6 on two cores with a load of 9."""

DISPATCH = Bound(
    1 / 3,
    "The bound is jaxtui's own, and wide: a dispatch takes microseconds of the host's"
    " time, whichever device it is for.",
)
"""For the time of a dispatch, whatever it is compared with: on a host with other work
it doubles from one device to the next."""

HOST_TESTS: tuple[CheckTest, ...] = ("transfer", "dispatch")
"""What the host's processor and memory decide as much as the device."""

RATES: tuple[Unit, ...] = ("flop/s", "bytes/s")
"""Units of which more is better, and which devices of one kind have in common."""


def on_host(device: Device | None) -> bool:
    return device is not None and device.platform == "cpu"


def of_peak(reading: Reading, expected: Expected) -> Bound | None:
    """The share of a peak that a sound device reaches; ``None`` if that is unknown."""
    if expected.reached is not None and 0 < expected.reached < expected.value:
        share = REACHED.factor * expected.reached / expected.value
        return Bound(share, REACHED.source)
    if reading.unit == "flop/s":
        return COMPUTE
    # The usual share of the link to the host and of the limit of the memory is not
    # known: a GPU's limit is that of JAX's pool.
    if reading.unit == "bytes/s" and reading.test not in HOST_TESTS:
        return BANDWIDTH
    return None


def of_baseline(reading: Reading, device: Device | None) -> Bound:
    if reading.test == "dispatch":
        return DISPATCH
    if on_host(device) or reading.test in HOST_TESTS:
        return BASELINE_OF_HOST
    return BASELINE


def of_peers(reading: Reading, device: Device) -> Bound:
    """The share of the median of the devices of its kind that is expected."""
    if on_host(device) and reading.unit in RATES:
        return PEERS_ON_BUSY_HOST if reading.disturbed else PEERS_ON_HOST
    return PEERS if reading.unit in RATES else DISPATCH
