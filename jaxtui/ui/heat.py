"""Heat maps: which colour a figure has among those that are shown with it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jaxtui.core.format import Unit
from jaxtui.core.stats import quantile
from jaxtui.ui.plot import HEAT
from jaxtui.ui.text import Line, Span


class Scale(msgspec.Struct, frozen=True):
    """The figures of a map, from the lowest colour to the highest."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Scale | None:
        """Over the values, but over a factor of two at least.

        What differs by a few percent then looks alike. What lies beyond 1.5 times the
        range of the middle half of them, and is not within a factor of two of the
        median, has the colour of an end and moves none. ``None`` without a value.
        """
        above = sorted(value for value in values if value > 0)
        if not above:
            return None
        lower, middle, upper = (quantile(above, share) for share in (0.25, 0.5, 0.75))
        reach = 1.5 * (upper - lower)
        low = max(above[0], min(lower - reach, middle / 2))
        high = min(above[-1], max(upper + reach, middle * 2))
        return cls(min(low, high / 2), high)

    def role(self, value: float) -> str:
        """``heat-0`` to ``heat-7``: the role of its span."""
        share = (value - self.low) / (self.high - self.low)
        level = int(min(max(share, 0.0), 1.0) * len(HEAT))
        return f"heat-{min(level, len(HEAT) - 1)}"

    def legend(self, unit: Unit) -> Line:
        """The colours between the figures that they begin and end with."""
        low, high = (unit.text(end, 2) for end in (self.low, self.high))
        return self.swatches(low, f"{high} {unit.name}")

    def swatches(self, low: str, high: str) -> Line:
        """All colours, between what stands at their ends."""
        colours = (Span("  ", f"heat-{level}") for level in range(len(HEAT)))
        return Span(f"{low} ", "muted"), *colours, Span(f" {high}", "muted")
