"""How candidates are timed: queued bursts through XLA, plain calls of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from jaxtui.measure.checks import rates
from jaxtui.measure.checks.attempts import explained
from jaxtui.measure.checks.rates import Prepared
from jaxtui.model import Case
from jaxtui.stats import Interval, rounds_interval

WARMING_SECONDS = 0.1
"""Of calls before the first round."""


class Bursts:
    """A call that XLA compiled; the slope of two queued bursts is a round."""

    def __init__(self, prepared: Prepared, warming: float = WARMING_SECONDS) -> None:
        """Warm it up.

        Raises:
            TroubleError: The first call failed.
        """
        self._case, self._what = prepared.case, prepared.what
        with explained(self._case, self._what, "warm-up"):
            self._slopes = rates.Slopes(prepared, warming)

    @property
    def rounds(self) -> int:
        """How many there were."""
        return self._slopes.rounds

    def round(self) -> None:
        """One more.

        Raises:
            TroubleError: A call failed.
        """
        with explained(self._case, self._what, "sampling"):
            self._slopes.round()

    def interval(self) -> Interval | None:
        """Seconds per call; ``None`` before the first round."""
        return self._slopes.interval()


class Blocks:
    """A call of NumPy, which is done when it returns; some in a row are a round."""

    def __init__(self, case: Case, what: str, call: Callable[[], object]) -> None:
        """Warm it up, and see how many calls fill a round.

        Raises:
            TroubleError: The first call failed.
        """
        self._case, self._what, self._call = case, what, call
        self._means: list[float] = []
        self._count = 1
        with explained(case, what, "warm-up"):
            self._mean()
            once = self._mean()
        self._count = max(1, round(rates.BURST_SECONDS / max(once, 1e-9)))

    @property
    def rounds(self) -> int:
        """How many there were."""
        return len(self._means)

    def round(self) -> None:
        """One more.

        Raises:
            TroubleError: A call failed.
        """
        with explained(self._case, self._what, "sampling"):
            self._means.append(self._mean())

    def interval(self) -> Interval | None:
        """Seconds per call; ``None`` before the first round."""
        return rounds_interval(self._means) if self._means else None

    def _mean(self) -> float:
        begin = perf_counter()
        for _ in range(self._count):
            self._call()
        return (perf_counter() - begin) / self._count
