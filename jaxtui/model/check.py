"""The health check: one test at a time is work for an engine, and yields readings.

An engine only measures. What a reading means, its verdict, is decided without JAX, by
``jaxtui.analysis.check``.
"""

from __future__ import annotations

from typing import Literal, get_args

from jaxtui.model.base import Record, WithBudget
from jaxtui.model.remark import Remark

CheckTest = Literal[
    "present",
    "memory",
    "compute",
    "bandwidth",
    "transfer",
    "dispatch",
    "numerics",
    "together",
    "collectives",
]
"""What is tested, each at some level; design.md and the README say how."""

CheckLevel = Literal["quick", "full"]
"""About twelve seconds for a device, or some minutes."""

Unit = Literal["", "chips", "bytes", "flop/s", "bytes/s", "seconds", "relative error"]
"""Of a reading; a ratio has none."""

ExpectedKind = Literal["peak", "most", "exact"]
"""A dense peak that cannot be exceeded, of which some share is reached; a bound from
above; a figure that must be met exactly."""

Doing = Literal["compiling", "measuring"]
"""What a test does with a device."""

CHECK_TESTS: tuple[CheckTest, ...] = get_args(CheckTest)
CHECK_LEVELS: tuple[CheckLevel, ...] = get_args(CheckLevel)


class Check(WithBudget, frozen=True, kw_only=True, tag=True):
    """One test of the health check on some devices: a work for the engine."""

    test: CheckTest
    level: CheckLevel = "quick"
    devices: tuple[str, ...]
    """Names of addressable devices, such as ``tpu:3``; at least one."""
    budget_seconds: float
    """For measuring, however many devices there are; compiling comes on top."""
    seed: int = 0


class Expected(Record, frozen=True, kw_only=True):
    """What a figure is compared with, and who says so."""

    value: float
    """In the unit of the reading."""
    kind: ExpectedKind
    source: Remark
    """Where the value comes from."""
    reached: float | None = None
    """Of a peak: the best that others are known to have reached on such a device."""


class Reading(Record, frozen=True, kw_only=True):
    """One figure of a test, as it was measured."""

    test: CheckTest
    device: str | None
    """Its name; ``None`` for a reading of the machine as a whole."""
    what: str
    """What was measured, e.g. ``matmul 8192 bfloat16``. With test and device it
    identifies the reading, also in baselines."""
    unit: Unit = ""
    measured: float | None = None
    """``None`` where there is no figure: the remarks say why."""
    ci_low: float | None = None
    ci_high: float | None = None
    """Interval over rounds, where there were rounds."""
    confidence: float | None = None
    """That the figure lies in it; a baseline of before does not say it."""
    expected: Expected | None = None
    digest: str = ""
    """Of a result of the test ``numerics``: on devices of a kind those of one reading
    are the same. Up to a colon it is that of the program, where XLA chooses one for
    each device: only results of one program are compared. Empty where there is none to
    compare."""
    remarks: tuple[Remark, ...] = ()
    """An ``error`` is wrong beyond doubt, a ``warning`` makes the figure low (but for
    ``contended``); of a reading without a figure, any other says why it was skipped."""

    @property
    def disturbed(self) -> bool:
        """Whether other programs used the cores that the device computes on."""
        return any(remark.code == "contended" for remark in self.remarks)


class CheckDoing(Record, frozen=True, kw_only=True, tag=True):
    """These devices are at work from now on.

    Those without their ``CheckDone`` are the suspects if the engine dies or a time
    limit passes.
    """

    devices: tuple[str, ...]
    doing: Doing = "measuring"


class CheckRead(Record, frozen=True, kw_only=True, tag=True):
    """One reading of the test."""

    reading: Reading


class CheckDone(Record, frozen=True, kw_only=True, tag=True):
    """A device has all its readings of the test."""

    device: str
