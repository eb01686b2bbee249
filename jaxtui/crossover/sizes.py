"""Sizes between sizes."""

from __future__ import annotations

import math

CLOSE = 1.1
"""A crossing is found when the larger size is at most so many times the smaller."""

EDGE = 1.25
"""Likewise for either end of a stretch in which no difference can be measured: it is
no sharp place, so that a closer look would find another one each time."""

FINE = 2.0
"""How coarse the grid may stay beside a size at which no difference can be measured."""


def middle(low: int, high: int) -> int:
    """The size halfway between two on a logarithmic axis."""
    return round(math.sqrt(low * high))


def halvings(low: int, high: int, close: float) -> int:
    """How many bisections it takes until two sizes are so close."""
    apart = math.log(high / low) / math.log(close)
    return max(0, math.ceil(math.log2(apart))) if apart > 1 else 0
