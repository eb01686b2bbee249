"""Heat maps: which colour a figure has among those that are shown with it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jaxtui.format import Unit
from jaxtui.plot import HEAT
from jaxtui.view.text import Line, Span


class Scale(msgspec.Struct, frozen=True):
    """The figures of a map, from the lowest colour to the highest."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Scale | None:
        """Over all of the values, but over a factor of two at least.

        What differs by a few percent then looks alike. ``None`` without a value.
        """
        known = [value for value in values if value > 0]
        if not known:
            return None
        return cls(min(*known, max(known) / 2), max(known))

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
