"""What XLA counts of a function of the user's own, for which there is no formula."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtui.measure import programs


class Counted(NamedTuple):
    """XLA's ``cost_analysis`` of one call."""

    flops: float | None = None
    """Flops plus transcendentals; ``None`` where XLA does not say."""
    bytes: float | None = None
    """Bytes that its kernels read and write."""
    loops: bool = False
    """There is a loop in it, whose body XLA counts once."""

    @property
    def certain(self) -> Counted:
        """The same, or nothing where a loop makes it say nothing about the work."""
        return NOTHING if self.loops else self


NOTHING = Counted()
"""Nothing is known."""


def counted(stage: Any, loop: str) -> Counted:
    """What XLA says of a lowered or a compiled program.

    Args:
        stage: ``jax.stages.Lowered`` or ``Compiled``.
        loop: How its text names a loop.
    """
    analysis = programs.costs(stage)
    text = programs.text_of(stage) or ""
    if analysis is None:
        return NOTHING
    flops = analysis.get("flops", 0.0) + analysis.get("transcendentals", 0.0)
    moved = analysis.get("bytes accessed")
    return Counted(
        flops=float(flops) if flops > 0 else None,
        bytes=float(moved) if moved and moved > 0 else None,
        loops=loop in text,
    )
