"""Runs an experiment: cold paths first, then all cases take turns within the budget."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from time import perf_counter

import jax

from jaxtui import format as text
from jaxtui.measure import (
    devices,
    estimate,
    ops,
    own,
    planning,
    schedule,
    session,
    tensorflow_numpy,
)
from jaxtui.measure.executable import InputPool
from jaxtui.measure.failures import FAULTS, explained, not_itself
from jaxtui.measure.quiet import give_back, quiet_collector
from jaxtui.measure.resting import rest
from jaxtui.measure.session import Session
from jaxtui.measure.stopping import never
from jaxtui.measure.timing import CaseTimer, Timer
from jaxtui.model import (
    HOST,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Experiment,
    Failure,
    PhaseStarted,
    PlannedCase,
    ProcessWarmedUp,
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    Stopped,
)

Indexed = tuple[int, PlannedCase]


def run(
    experiment: Experiment, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Time every case of an experiment.

    Every case ends in ``CaseMeasured`` or ``CaseFailed``; the last event is
    ``RunFinished``. Nothing happens until the first event is asked for, and closing the
    generator ends the run.

    Args:
        experiment: What to time.
        stop: Asked between turns and phases; once true, the run ends as ``cancelled``.
    """
    with quiet_collector():
        yield from _Run(experiment, stop).events()


class _Run:
    def __init__(self, experiment: Experiment, stop: Callable[[], bool]) -> None:
        self._experiment = experiment
        self._stop = stop
        self._start = perf_counter()
        self._random = random.Random(experiment.seed)
        self._session: Session | None = None
        self._unfinished = len(experiment.cases)
        self._imported_seconds = 0.0
        """Added to the budget: importing TensorFlow is no case's business."""
        self._believable = 0.0
        """When the rounds of the group at hand will span long enough."""
        self._restless = True
        """NumPy may have left threads that have not come to rest."""

    def events(self) -> Iterator[RunEvent]:
        experiment = self._experiment
        yield RunStarted(cases=experiment.cases, budget_seconds=experiment.budget)
        plan = planning.plan(experiment)
        viable: list[Indexed] = []
        for index, planned in enumerate(plan.cases):
            if planned.problem is None:
                viable.append((index, planned))
            else:
                yield CaseStarted(index=index, case=planned.case)
                yield self._failed(index, planned.problem)
        yield from self._start_session(viable)
        yield from self._import_tensorflow(viable)
        for group in schedule.groups(viable, plan.grouped):
            yield from self._group(group)
        yield RunFinished(
            outcome="cancelled" if self._stop() else "complete",
            elapsed_seconds=self._elapsed,
        )

    @property
    def _elapsed(self) -> float:
        return perf_counter() - self._start

    @property
    def _remaining(self) -> float:
        return self._experiment.budget + self._imported_seconds - self._elapsed

    def _progress(self, doing: str) -> Progress:
        return Progress(
            elapsed_seconds=self._elapsed,
            remaining_seconds=max(0.0, self._remaining),
            doing=doing,
        )

    def _failed(self, index: int, failure: Failure) -> CaseFailed:
        self._unfinished -= 1
        return CaseFailed(index=index, failure=failure)

    def _start_session(self, cases: Sequence[Indexed]) -> Iterator[RunEvent]:
        for _, planned in cases:
            if planned.case.device != HOST:
                yield self._progress("warming up the process")
                self._session, warmed = session.start(devices.find(planned.case.device))
                if warmed:
                    yield ProcessWarmedUp(seconds=self._session.warm_up_seconds)
                return

    def _import_tensorflow(self, cases: Sequence[Indexed]) -> Iterator[RunEvent]:
        if not any(planned.case.mode == "tensorflow" for _, planned in cases):
            return
        yield self._progress("importing TensorFlow")
        start = perf_counter()
        # A broken installation is reported by the case that needs it.
        with suppress(Exception):
            tensorflow_numpy.load()
        self._imported_seconds = perf_counter() - start

    def _group(self, group: Sequence[Indexed]) -> Iterator[RunEvent]:
        give_back()  # what the group before has left may not fit beside this one
        share = self._remaining * len(group) / max(1, self._unfinished)
        end = perf_counter() + share
        # Results are checked with NumPy.
        self._restless = True
        pool = InputPool(self._experiment.seed)
        timers: list[Timer] = []
        for index, planned in group:
            timer = yield from self._prepare(index, planned, pool, end, share)
            if timer is not None:
                timers.append(timer)
        yield from self._take_turns(timers, end)

    def _prepare(
        self,
        index: int,
        planned: PlannedCase,
        pool: InputPool,
        end: float,
        share: float,
    ) -> Generator[RunEvent, None, Timer | None]:
        case, phase = planned.case, "prepare"
        yield CaseStarted(index=index, case=case)
        if refusal := self._out_of_time(planned, end, share):
            yield self._failed(index, refusal)
            return None
        try:
            if refusal := not_itself(case) or self._too_slow(planned, end, share):
                yield self._failed(index, refusal)
                return None
            timer = self._timer(index, planned, pool)
            for event in timer.prepare():
                if isinstance(event, PhaseStarted) and event.phase != "waiting":
                    phase = event.phase
                    yield self._progress(f"{phase.replace('_', ' ')}: {case.label}")
                yield event
        except FAULTS as error:
            yield self._failed(index, explained(error, case, phase))
            return None
        return timer

    def _timer(self, index: int, planned: PlannedCase, pool: InputPool) -> Timer:
        device, seed = _device(planned), self._experiment.seed
        source = own.source(planned.case.op)
        if source is not None:
            return own.OwnTimer(
                index, planned, source, device, self._session, pool, seed
            )
        op = ops.get(planned.case.op)
        return CaseTimer(index, planned, op, device, self._session, pool, seed)

    def _out_of_time(
        self, planned: PlannedCase, end: float, share: float
    ) -> Failure | None:
        if self._stop():
            return _stopped(planned)
        spent = share - (end - perf_counter())
        first = self._unfinished == len(self._experiment.cases)
        if first or spent < schedule.PREPARATION_SHARE * share:
            return None
        budget = text.seconds(self._experiment.budget)
        return Failure(
            case=planned.case,
            error=f"The budget of {budget} was used up before this case had its turn.",
            hint="Give a larger --budget, or fewer cases.",
        )

    def _too_slow(
        self, planned: PlannedCase, end: float, share: float
    ) -> Failure | None:
        case, device = planned.case, _device(planned)
        if own.source(case.op) is not None:
            # Nothing says how its work grows.
            return None
        where = (
            "numpy"
            if device is None
            else ("cpu" if device.platform == "cpu" else "accelerator")
        )
        op = ops.get(case.op)
        trial = estimate.trial(case, op, device, self._experiment.seed)
        seconds = estimate.call_seconds(op, case.size, case.dtype, where, trial)
        fair = 2 * self._experiment.budget / len(self._experiment.cases)
        allowed = min(fair, end - perf_counter())
        if seconds is None or seconds <= allowed:
            return None
        enough = 8 * seconds * len(self._experiment.cases)
        return Failure(
            case=case,
            error=(
                f"One call would take about {text.seconds(seconds)} here (estimated "
                f"from a smaller size), more than its share of the budget."
            ),
            hint=f"Give --budget {enough:.0f}, or a smaller size.",
            estimated_seconds=seconds,
        )

    def _take_turns(self, timers: Sequence[Timer], end: float) -> Iterator[RunEvent]:
        active = list(timers)
        available = end - perf_counter()
        turn = schedule.turn_seconds(available, max(1, len(active)))
        self._believable = perf_counter() + schedule.spread_seconds(available)
        while active and not self._stop():
            for timer in schedule.shuffled(active, self._random):
                if self._stop():
                    break
                try:
                    reason = yield from self._turn(timer, turn, end, len(active))
                except FAULTS as error:
                    active.remove(timer)
                    failure = explained(error, timer.case, "sampling")
                    yield self._failed(timer.index, failure)
                    continue
                if reason is not None:
                    active.remove(timer)
                    yield self._measured(timer, reason)
        for timer in active:
            if timer.sampler.rounds:
                yield self._measured(timer, "cancelled")
            else:
                yield self._failed(timer.index, _stopped_case(timer))

    def _turn(
        self, timer: Timer, turn: float, end: float, active: int
    ) -> Generator[RunEvent, None, Stopped | None]:
        sampler = timer.sampler
        if self._restless and not timer.case.on_host:
            rest()
        self._restless = timer.case.on_host
        if not sampler.rounds:
            yield PhaseStarted(index=timer.index, phase="warm-up")
            timer.warm_up()
        bursts = schedule.affords_bursts(
            call_seconds=sampler.call_seconds,
            turn=turn,
            rounds=len(sampler.rounds),
            slopes=len(sampler.slopes),
            share=(end - perf_counter()) / active,
        )
        yield timer.turn(turn, bursts=bursts)
        yield self._progress(f"sampling: {timer.case.label}")
        target = self._experiment.target_half_width
        spread = perf_counter() >= self._believable
        if reason := schedule.stop_reason(sampler.half_widths, target, spread=spread):
            return reason
        # A round of everybody must still fit, or the last would overrun the budget.
        return "budget" if perf_counter() + sampler.call_seconds > end else None

    def _measured(self, timer: Timer, stopped: Stopped) -> CaseMeasured:
        self._unfinished -= 1
        keep = self._experiment.keep_samples
        return CaseMeasured(
            index=timer.index,
            measurement=timer.measurement(stopped, keep_samples=keep),
        )


def _device(planned: PlannedCase) -> jax.Device | None:
    return None if planned.case.device == HOST else devices.find(planned.case.device)


def _stopped(planned: PlannedCase) -> Failure:
    return Failure(
        case=planned.case,
        error="The run was stopped before this case had its turn.",
        hint="Run it again.",
    )


def _stopped_case(timer: Timer) -> Failure:
    return Failure(
        case=timer.case,
        error="The run was stopped before the first sample of this case.",
        hint="Run it again.",
    )
