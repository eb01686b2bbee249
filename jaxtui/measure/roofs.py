"""Runs the contests for all roofs of a device, in several passes.

The candidates for a roof take turns; the best of them is the roof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import jax

from jaxtui.measure import candidates, devices
from jaxtui.measure.candidates import Candidate, Contestant
from jaxtui.measure.check.bandwidth import last_cache_bytes
from jaxtui.measure.check.base import TroubleError, of_device, translate_errors
from jaxtui.measure.check.work import disturbance
from jaxtui.measure.runner import Runner
from jaxtui.measure.turns import Turns, never, take_turns
from jaxtui.model import DEVICE, Case, Expected, Progress, RunEvent
from jaxtui.model.roofs import (
    MissingRoof,
    Roof,
    RoofDtype,
    RoofMeasured,
    Roofs,
    RoofsMeasured,
)

PASSES = 3
"""Over all roofs, on a CPU: what disturbs one pass leaves the others alone."""

HOPELESS = 1.5
"""What takes so many times longer than the best gets no more turns."""

FAIR_ROUNDS = 2
"""Each candidate has as many before one is hopeless."""


def run_roofs(work: Roofs, *, stop: Callable[[], bool] = never) -> Iterator[RunEvent]:
    """Measure the roofs of a device, the bandwidth first.

    ``RoofMeasured`` comes whenever a roof is known or known better, ``RoofsMeasured``
    at the end, also with what was known when it was stopped.
    """
    return _Run(work, stop).events()


class _Run(Runner):
    phase = "first_call"

    def __init__(self, work: Roofs, stop: Callable[[], bool]) -> None:
        super().__init__(work.budget, stop)
        self.case = Case(op="roofs", size=0, dtype="", device=work.device, mode="jit")
        self._work = work
        self._spent = 0.0
        # What is known so far, in the order of the contests.
        self._roofs: dict[RoofDtype | None, Roof] = {}
        self._missing: dict[RoofDtype | None, MissingRoof] = {}

    def work(self) -> Iterator[RunEvent]:
        device = devices.find_own(self._work.device)
        yield from self.warm_up(device)
        cache = last_cache_bytes() if device.platform == "cpu" else None
        yield from self._contests(device, cache)
        if self._roofs or not self.stop():
            yield RoofsMeasured(
                device=self._work.device,
                device_kind=device.device_kind,
                roofs=tuple(self._roofs.values()),
                missing=tuple(self._missing.values()),
                cache_bytes=cache,
            )

    def _contests(self, device: jax.Device, cache: int | None) -> Iterator[RunEvent]:
        """All of them: on a CPU several times over, where all arrays have room."""
        wanted: list[RoofDtype | None] = [None, *dict.fromkeys(self._work.dtypes)]
        passes = PASSES if device.platform == "cpu" else 1
        share = self.budget / (len(wanted) * passes)
        contests: dict[RoofDtype | None, Contest] = {}
        for number in range(passes):
            for of in wanted:
                if self.stop() or of in self._missing:
                    continue
                named = _named(of)
                if number == 0:
                    contests[of] = self._contest(device, of, cache)
                    yield self.progress(f"preparing {named}")
                    for what in contests[of].prepare(self.stop):
                        yield self.progress(f"prepared {what}")
                contest = contests[of]
                yield self.progress(f"measuring {named}")
                contest.visit(share, self.stop)
                self._spent += share
                if roof := contest.roof():
                    self._roofs[of] = roof
                    yield RoofMeasured(roof=roof)
                elif of not in self._roofs and (missing := contest.missing()):
                    self._missing[of] = missing
                if passes == 1:
                    # Its arrays make room for those of the next.
                    del contests[of], contest

    def _contest(
        self, device: jax.Device, of: RoofDtype | None, cache: int | None
    ) -> Contest:
        setting, seed = of_device(device), self._work.seed
        if of is None:
            found = candidates.of_bandwidth(setting, device, seed, cache)
        else:
            found = candidates.of_compute(of, setting, device, seed)
        return Contest(device, of, found, candidates.published_peak(of, setting))

    @property
    def remaining(self) -> float:
        """Of the time that is shared out; compiling comes on top."""
        return max(0.0, self.budget - self._spent)

    def progress(self, doing: str) -> Progress:
        return super().progress(f"{doing} on {self._work.device}")


def _named(of: RoofDtype | None) -> str:
    if of is None:
        return "the bandwidth roof"
    return f"the compute roof in {of.label}"


class Contest:
    def __init__(
        self,
        device: jax.Device,
        of: RoofDtype | None,
        candidates: Sequence[Candidate],
        published: Expected | None = None,
    ) -> None:
        """Make none of the candidates yet."""
        self._device, self._of, self._published = device, of, published
        self._candidates = list(candidates)
        self._ready: list[Contestant] = []
        self._troubles: list[TroubleError] = []

    def prepare(self, stop: Callable[[], bool]) -> Iterator[str]:
        """Make the candidates, which may take seconds each; yields their names."""
        for candidate in self._candidates:
            if stop():
                return
            try:
                self._ready.append(candidate())
            except TroubleError as trouble:
                self._troubles.append(trouble)
            else:
                yield self._ready[-1].what

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
                self._troubles.append(as_trouble(turns.fault, one))
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
        if self._ready or not self._troubles:
            return None
        why = self._troubles[0].sentence.replace(DEVICE, devices.name(self._device))
        return MissingRoof(of=self._of, why=why)

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


def as_trouble(fault: BaseException, one: Contestant) -> TroubleError:
    # Its frame stays with the exception: one that held the arrays of others would keep
    # them.
    try:
        with translate_errors(one.turns.workload.case, one.what, "sampling"):
            raise fault
    except TroubleError as found:
        return found
