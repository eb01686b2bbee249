"""Candidates for one roof, which take turns: the best of them is the roof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import jax

from jaxtui.measure.check.base import TroubleError, explained
from jaxtui.measure.check.work import disturbance
from jaxtui.measure.turns import Turns, take_turns
from jaxtui.model import Expected
from jaxtui.model.roofs import MissingRoof, Roof, RoofDtype

HOPELESS = 1.5
"""What takes so many times longer than the best gets no more turns."""

FAIR_ROUNDS = 2
"""Each candidate has as many before one is hopeless."""


@dataclass(frozen=True)
class Ready:
    """A candidate that only has to be given turns."""

    what: str
    """What it is, as the roof will name it."""
    work: float
    """Operations or bytes of one call."""
    turns: Turns


Candidate = Callable[[], Ready]
"""Compiles, allocates and warms up.

Raises:
    TroubleError: It cannot be had, in plain words.
"""


class Contest:
    """One roof, and who may reach it."""

    def __init__(
        self,
        device: jax.Device,
        of: RoofDtype | None,
        candidates: Sequence[Candidate],
        published: Expected | None = None,
    ) -> None:
        """Make none of the candidates yet.

        Args:
            device: whose roof it is.
            of: of a compute roof; ``None`` for the bandwidth.
            candidates: at least one.
            published: the dense peak that was published.
        """
        self._device, self._of, self._published = device, of, published
        self._candidates = list(candidates)
        self._ready: list[Ready] = []
        self._troubles: list[TroubleError] = []

    def prepare(self, stop: Callable[[], bool]) -> Iterator[Ready]:
        """Make the candidates, each of which may take seconds to compile."""
        for candidate in self._candidates:
            if stop():
                return
            try:
                ready = candidate()
            except TroubleError as trouble:
                self._troubles.append(trouble)
                continue
            self._ready.append(ready)
            yield ready

    def visit(self, seconds: float, stop: Callable[[], bool]) -> None:
        """Give each turns for so long, one round at least."""
        ready = {one.turns: one for one in self._ready}
        for turns in ready:
            turns.done = False
        visited: set[Turns] = set()
        end = perf_counter() + seconds
        for turns in take_turns(list(ready), seconds, stop=stop, faults=(Exception,)):
            one = ready[turns]
            visited.add(turns)
            if turns.fault is not None:
                self._troubles.append(trouble(turns.fault, one))
                self._ready.remove(one)
            self._drop_the_hopeless()
            # Whoever was dropped before its turn is not waited for.
            if perf_counter() >= end and visited >= {x.turns for x in self._ready}:
                break

    def roof(self) -> Roof | None:
        """The best so far; ``None`` before the first round."""
        rated = [(one, found) for one in self._ready if (found := one.turns.per_call)]
        if not rated:
            return None
        best, seconds = max(rated, key=lambda pair: pair[0].work / pair[1].median)
        return Roof(
            kind="bandwidth" if self._of is None else "compute",
            of=self._of,
            per_second=best.work / seconds.median,
            ci_low=best.work / seconds.high,
            ci_high=best.work / seconds.low,
            confidence=seconds.confidence,
            what=best.what,
            published=self._published,
            disturbed=disturbance(best.turns.meter, self._device),
        )

    def missing(self) -> MissingRoof | None:
        """Why there is no roof, where every candidate has failed."""
        if self._ready or not self._troubles:
            return None
        return MissingRoof(of=self._of, why=self._troubles[0].sentence)

    def _drop_the_hopeless(self) -> None:
        rates = {
            one.what: one.work / found.median
            for one in self._ready
            if one.turns.rounds_taken >= FAIR_ROUNDS and (found := one.turns.per_call)
        }
        if len(rates) < len(self._ready):
            return
        best = max(rates.values(), default=0.0)
        for one in list(self._ready):
            if rates[one.what] * HOPELESS < best:
                one.turns.done = True
                self._ready.remove(one)


def trouble(fault: BaseException, one: Ready) -> TroubleError:
    """What a candidate raised, in plain words."""
    case = one.turns.workload.case
    try:
        with explained(case, one.what, "sampling"):
            raise fault
    except TroubleError as found:
        return found
