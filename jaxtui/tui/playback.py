"""A cursor that runs over a loop: how far it is at any moment, and how fast."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jaxtui import format as fmt

SECONDS = 4.0
"""How long a loop takes on the screen."""

SLOW_SECONDS = 20.0
"""The same in slow motion, for an audience."""


@dataclass(frozen=True, slots=True)
class Playback:
    """One showing of a loop; immutable, the clock is handed in."""

    total: float
    """Seconds that the loop took."""
    since: float
    """The clock when it began, or would have begun at today's speed."""
    slow: bool = False
    paused: float | None = None
    """The clock when it was paused."""

    @property
    def takes(self) -> float:
        """Seconds on the screen."""
        return SLOW_SECONDS if self.slow else SECONDS

    def time(self, clock: float) -> float:
        """Where in the loop the cursor is."""
        now = clock if self.paused is None else self.paused
        return self.total * max(0.0, min((now - self.since) / self.takes, 1.0))

    def over(self, clock: float) -> bool:
        """Whether all of it has been shown."""
        return self.paused is None and clock - self.since >= self.takes

    def at_speed(self, slow: bool, clock: float) -> Playback:
        """Slow motion or not, from the same place on."""
        now = clock if self.paused is None else self.paused
        share = (now - self.since) / self.takes
        takes = SLOW_SECONDS if slow else SECONDS
        return replace(self, slow=slow, since=now - share * takes)

    def toggled(self, clock: float) -> Playback:
        """Pause or resume."""
        if self.paused is None:
            return replace(self, paused=clock)
        return replace(self, paused=None, since=self.since + clock - self.paused)

    @property
    def words(self) -> str:
        """How it goes, e.g. ``slow motion, 100× slower than it ran``."""
        if self.paused is not None:
            return "paused (space goes on)"
        name = "slow motion" if self.slow else "playing"
        if self.total <= 0:
            return name
        ratio = self.takes / self.total
        if ratio >= 1:
            return f"{name}, {fmt.ratio(ratio)} slower than it ran"
        return f"{name}, {fmt.ratio(1 / ratio)} faster than it ran"
