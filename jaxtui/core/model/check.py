"""The health check: one test at a time is work for an engine, and yields readings.

An engine only measures. What a reading means, its verdict, is decided without JAX, by
``jaxtui.features.check.judge``.
"""

from __future__ import annotations

from typing import Literal, get_args

from jaxtui.core.model.base import Record, WithBudget
from jaxtui.core.model.remark import Remark

CheckTest = Literal[
    "present",
    "memory",
    "compute",
    "bandwidth",
    "transfer",
    "dispatch",
    "numerics",
    "collectives",
]
"""The tests, each with some level."""

CheckLevel = Literal["quick", "full"]
"""About twelve seconds for a device, or some minutes."""

Unit = Literal["", "chips", "bytes", "flop/s", "bytes/s", "seconds", "relative error"]
"""The unit of a reading; a ratio has none."""

ExpectedKind = Literal["peak", "most", "exact"]
"""A dense peak that cannot be exceeded, of which some share is reached; a bound from
above; a figure that must be met exactly."""

Doing = Literal["compiling", "measuring"]
"""The activity of a test on a device."""

CHECK_TESTS: tuple[CheckTest, ...] = get_args(CheckTest)
CHECK_LEVELS: tuple[CheckLevel, ...] = get_args(CheckLevel)


class Check(WithBudget, frozen=True, kw_only=True, tag=True):
    """A test of the health check on some devices: a work for the engine."""

    test: CheckTest
    level: CheckLevel = "quick"
    devices: tuple[str, ...]
    """Names of addressable devices, such as ``tpu:3``; at least one."""
    budget_seconds: float
    """Seconds for measuring, however many devices there are; compiling comes on top."""
    seed: int = 0


class Expected(Record, frozen=True, kw_only=True):
    """The value that a figure is compared with, and its source."""

    value: float
    """The value in the unit of the reading."""
    kind: ExpectedKind
    source: Remark
    """The source of the value."""
    reached: float | None = None
    """For a peak: the best that others are known to have reached on such a device."""


class Reading(Record, frozen=True, kw_only=True):
    """A figure of a test, as it was measured."""

    test: CheckTest
    device: str | None
    """The device's name; ``None`` for a reading of the machine as a whole."""
    what: str
    """The measured thing, e.g. ``matmul 8192 bfloat16``. With test and device it
    identifies the reading, also in baselines."""
    unit: Unit = ""
    measured: float | None = None
    """``None`` where there is no figure: the remarks say why."""
    ci_low: float | None = None
    ci_high: float | None = None
    """Interval over rounds, where there were rounds."""
    confidence: float | None = None
    """The probability that the interval holds the figure; old baselines lack it."""
    expected: Expected | None = None
    digest: str = ""
    """The digest of a result of the test ``numerics``: equal for one reading on devices
    of a kind. Up to a colon it is that of the program, where XLA chooses one for each
    device: only results of one program are compared. Empty where there is none to
    compare."""
    remarks: tuple[Remark, ...] = ()
    """An ``error`` is wrong beyond doubt, a ``warning`` makes the figure low (but for
    ``contended``); of a reading without a figure, any other says why it was skipped."""

    @property
    def disturbed(self) -> bool:
        """True if other programs used the cores that the device computes on."""
        return any(remark.code == "contended" for remark in self.remarks)


class CheckDoing(Record, frozen=True, kw_only=True, tag=True):
    """Reports that these devices are at work from now on.

    Those without their ``CheckDone`` are the suspects if the engine dies or a time
    limit passes.
    """

    devices: tuple[str, ...]
    doing: Doing = "measuring"


class CheckRead(Record, frozen=True, kw_only=True, tag=True):
    """A reading of the test."""

    reading: Reading


class CheckDone(Record, frozen=True, kw_only=True, tag=True):
    """A device has all its readings of the test."""

    device: str
