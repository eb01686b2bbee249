"""Which tests a check consists of, and how long each may take."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.model import CHECK_TESTS, Check, CheckLevel, CheckTest

BUDGETS: dict[CheckLevel, dict[CheckTest, float]] = {
    "quick": {
        "present": 0.1,
        "memory": 0.1,
        "compute": 2.0,
        "bandwidth": 1.2,
        "transfer": 1.2,
        "dispatch": 0.3,
        "numerics": 1.5,
        "steady": 2.0,
        "together": 0.8,
    },
    "full": {
        "present": 0.1,
        "memory": 0.1,
        "compute": 20.0,
        "bandwidth": 10.0,
        "transfer": 15.0,
        "dispatch": 2.0,
        "numerics": 15.0,
        "steady": 60.0,
        "together": 15.0,
    },
}
"""Seconds of measuring, compiling not included. Those of ``quick`` add up to less than
ten; steady is long at ``full`` because chips throttle after tens of seconds."""

ALLOWANCE_SECONDS = 60.0
"""What a test may take beyond its budget before its devices count as hanging: XLA
compiles a float32 product at precision highest for a TPU in 5 to 9 s, and a GPU tries
kernels out first."""


def plan(level: CheckLevel, devices: Sequence[str], seed: int = 0) -> tuple[Check, ...]:
    """The tests in the order in which they are run.

    Args:
        level: How thorough.
        devices: Names of the devices to test, all addressable; at least one.
        seed: Of the inputs.
    """
    return tuple(
        Check(
            test=test,
            level=level,
            devices=tuple(devices),
            budget_seconds=BUDGETS[level][test],
            seed=seed,
        )
        for test in CHECK_TESTS
    )


def longest_seconds(level: CheckLevel) -> float:
    """How long the longest test of a level measures, compiling not included."""
    return max(BUDGETS[level].values())


def limit_seconds(check: Check) -> float:
    """After how long a test is ended by force, unless the user has said."""
    return ALLOWANCE_SECONDS + 3 * check.budget_seconds
