"""Runs the contests for all roofs of a device, in several passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax

from jaxtui.measure import devices
from jaxtui.measure.check.bandwidth import last_cache_bytes
from jaxtui.measure.check.base import of_device
from jaxtui.measure.roofs import candidates
from jaxtui.measure.roofs.contest import Contest
from jaxtui.measure.runner import Runner
from jaxtui.measure.turns import never
from jaxtui.model import Case, Progress, RunEvent
from jaxtui.model.roofs import (
    MissingRoof,
    Roof,
    RoofDtype,
    RoofMeasured,
    Roofs,
    RoofsMeasured,
    RoofsStarted,
)

PASSES = 3
"""Over all roofs, on a CPU: what disturbs one pass leaves the others alone."""


def run_roofs(work: Roofs, *, stop: Callable[[], bool] = never) -> Iterator[RunEvent]:
    """Measure the roofs of a device, the bandwidth first.

    The first event is ``RoofsStarted``; ``RoofMeasured`` comes whenever a roof is known
    or known better, ``RoofsMeasured`` at the end, also with what was known when it was
    stopped. ``WorkFailed`` takes its place where there is no such device; the last
    event is ``RunFinished``.

    Args:
        work: Device, dtypes and budget.
        stop: Asked between rounds.
    """
    return _Run(work, stop).events()


class _Run(Runner):
    phase = "first_call"

    def __init__(self, work: Roofs, stop: Callable[[], bool]) -> None:
        super().__init__(RoofsStarted(roofs=work), work.budget, stop)
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
                if number == 0:
                    contests[of] = self._contest(device, of, cache)
                    yield from self._prepared(contests[of], of)
                yield from self._visited(contests[of], of, share)
                if passes == 1:
                    # Its arrays make room for those of the next.
                    del contests[of]

    def _contest(
        self, device: jax.Device, of: RoofDtype | None, cache: int | None
    ) -> Contest:
        setting, seed = of_device(device), self._work.seed
        if of is None:
            found = candidates.of_bandwidth(setting, device, seed, cache)
        else:
            found = candidates.of_compute(of, setting, device, seed)
        return Contest(device, of, found, candidates.published(of, setting))

    def _prepared(self, contest: Contest, of: RoofDtype | None) -> Iterator[RunEvent]:
        yield self.progress(f"preparing {_named(of)}")
        for ready in contest.prepare(self.stop):
            yield self.progress(f"prepared {ready.what}")

    def _visited(
        self, contest: Contest, of: RoofDtype | None, seconds: float
    ) -> Iterator[RunEvent]:
        yield self.progress(f"measuring {_named(of)}")
        contest.visit(seconds, self.stop)
        self._spent += seconds
        roof = contest.roof()
        if roof is not None:
            self._roofs[of] = roof
            yield RoofMeasured(roof=roof)
        elif of not in self._roofs and (missing := contest.missing()):
            self._missing[of] = missing

    @property
    def remaining(self) -> float:
        """Of the time that is shared out; compiling comes on top."""
        return max(0.0, self.budget - self._spent)

    def progress(self, doing: str) -> Progress:
        """Named with its device."""
        return super().progress(f"{doing} on {self._work.device}")


def _named(of: RoofDtype | None) -> str:
    if of is None:
        return "the bandwidth roof"
    precise = "" if of.precision == "default" else f" {of.precision}"
    return f"the compute roof in {of.dtype}{precise}"
