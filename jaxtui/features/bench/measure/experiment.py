"""Runs an experiment: a first figure of every case, turns of all, and what is left.

What is left takes longer than a call on an accelerator, and its turn needs none of it:
copies, NumPy where a call takes a second, the check.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from statistics import fmean
from time import perf_counter

import jax
import msgspec

from jaxtui.core.model import (
    HOST,
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Experiment,
    Fact,
    Failure,
    PhaseStarted,
    PlannedCase,
    Remark,
    RunEvent,
    Stopped,
    WorkFailed,
)
from jaxtui.core.stats import MINIMUM_ROUNDS
from jaxtui.features.bench.measure import estimate, planning, sides
from jaxtui.features.bench.measure.measurement import OfProcess, Record
from jaxtui.tasks import devices, own, settings, tensorflow_numpy, workload
from jaxtui.tasks.failures import FAULTS, explain
from jaxtui.tasks.workload import Pool
from jaxtui.timing import coldpath
from jaxtui.timing.pace import ALONE, Pace
from jaxtui.timing.runner import Runner
from jaxtui.timing.turns import (
    SPREAD_SECONDS,
    WARM_UP_SECONDS,
    Turns,
    never,
    rest,
    take_turns,
)

SPREAD_SHARE = 0.6
"""Fraction of a short sampling budget that the rounds must span before a case
may stop."""

SHORT_SHARE = 0.01
"""Fraction of the budget: a case whose six rounds take less gets them in any event."""

SLOW_SECONDS = 1.0
"""NumPy's calls that take longer are timed after all turns, three times."""

SLOW_SECONDS_AT_MOST = 10.0
"""Longest call of NumPy, in seconds, unless the budget is larger: nothing can interrupt
it."""

FINISH_SECONDS = 0.3
"""Seconds for the copies and the check of a case, until a case has finished."""

Indexed = tuple[int, PlannedCase]


def run(
    experiment: Experiment,
    *,
    stop: Callable[[], bool] = never,
    own_process: bool = True,
    pace: Pace = ALONE,
) -> Iterator[RunEvent]:
    """Time every case of an experiment.

    Every case ends in ``CaseMeasured`` or ``CaseFailed``.

    Args:
        experiment: What to time.
        stop: Asked between turns and phases; once true, the run ends as ``cancelled``.
        own_process: Whether this process is jaxtui's own. In another's JAX's
            caches are left alone, so that the first call of an eager case may be warm.
        pace: Of the processes that run it at the same time.
    """
    return _ExperimentRun(experiment, stop, own_process, pace).events()


class _ExperimentRun(Runner):
    def __init__(
        self,
        experiment: Experiment,
        stop: Callable[[], bool],
        own_process: bool,
        pace: Pace,
    ) -> None:
        super().__init__(experiment.share, stop)
        self._pace = pace
        self.cases = cases = experiment.cases
        self._experiment = experiment
        self._own_process = own_process
        self._waiting, self._unfinished = ({*range(len(cases))} for _ in range(2))
        self._measuring = experiment.share
        """Seconds of turns that are left."""
        self._turns_end: float | None = None
        """The ``perf_counter`` time at which the current turns end."""
        self._alone = own.alone
        """The file that has set something for the process: only its cases run in it."""
        self._prepared: list[float] = []
        self._finished: list[float] = []
        """Seconds that preparing and finishing a case took."""

    def failure(self, error: BaseException) -> WorkFailed:
        # What a case raises is its own affair; this is a mistake of jaxtui.
        raise error

    def work(self) -> Iterator[RunEvent]:
        self._leave_others()
        here = sorted(self._waiting)
        cases = tuple(self.cases[index] for index in here)
        plan = planning.plan(msgspec.structs.replace(self._experiment, cases=cases))
        # Each process plans its own: memory may be short in one of them.
        grouped = self._pace.decide(lambda: plan.grouped, bool)
        viable: list[Indexed] = []
        for index, planned in zip(here, plan.cases, strict=True):
            if (problem := self._settled(planned.problem, planned.case)) is None:
                viable.append((index, planned))
            else:
                yield self._begin(index, planned.case)
                yield self._fail(index, problem)
        yield from self._import_tensorflow(viable)
        for group in groups(viable, grouped):
            yield from self._group(group)

    @property
    def remaining(self) -> float:
        """The seconds left: measuring, and every preparation and check to come, each as
        long as those before.
        """
        measuring = self._measuring
        if self._turns_end is not None:
            measuring = max(0.0, self._turns_end - perf_counter())
        usual = self._experiment.preparation_seconds / max(1, len(self.cases))
        first = fmean(self._prepared or [usual])
        last = fmean(self._finished or [FINISH_SECONDS])
        return measuring + len(self._waiting) * first + len(self._unfinished) * last

    def _leave_others(self) -> None:
        """Leave the cases of other files, and those of the catalogue, to the next
        engine, where a file has set something for all of this process.
        """
        before = len(self._unfinished)
        for cases in (self._waiting, self._unfinished):
            cases -= {*filter(self._is_left, cases)}
        self._measuring *= len(self._unfinished) / max(1, before)

    def _is_left(self, index: int) -> bool:
        return bool(self._alone) and own.file_of(self.cases[index]) != self._alone

    def _begin(self, index: int, case: Case) -> CaseStarted:
        self._waiting.discard(index)
        return CaseStarted(index=index, case=case)

    def _fail(self, index: int, failure: Failure) -> CaseFailed:
        self._unfinished.discard(index)
        return CaseFailed(index=index, failure=failure)

    def _import_tensorflow(self, cases: Sequence[Indexed]) -> Iterator[RunEvent]:
        if not any(planned.case.mode == "tensorflow" for _, planned in cases):
            return
        yield self.progress("tensorflow-import")
        # A broken installation is reported by the case that needs it.
        with suppress(Exception):
            tensorflow_numpy.load()

    def _group(self, group: Sequence[Indexed]) -> Iterator[RunEvent]:
        pool = Pool(self._experiment.seed)
        records: list[Record] = []
        slow: list[tuple[int, PlannedCase, Record | None]] = []
        # NumPy comes last: a call of it may take a thousand times as long. Making an
        # eager case cold costs compiled functions their programs.
        order = sorted(group, key=_rank)
        forgotten: dict[int, int] = {}
        for place, (index, planned) in enumerate(order):
            if self._is_left(index):
                continue
            first = place == 0 or _rank(order[place - 1]) != _rank((index, planned))
            if first and self._own_process and not planned.case.on_host:
                coldpath.forget()
            before = settings.state()
            seconds = self._estimate(planned)
            if seconds is not None and seconds > self._slow_at_most:
                facts: dict[str, Fact] = {"seconds": seconds}
                remark = Remark("too-slow", facts, "error")
                yield self._begin(index, planned.case)
                failure = Failure(
                    case=planned.case, remark=remark, estimated_seconds=seconds
                )
                yield self._fail(index, failure)
            elif seconds is not None and seconds > SLOW_SECONDS:
                slow.append((index, planned, None))
            elif record := (yield from self._prepare(index, planned, pool)):
                forgotten[index] = coldpath.forgotten
                if record.turns.rounds:
                    records.append(record)
                else:
                    slow.append((index, planned, record))
            file = own.file_of(planned.case)
            if file and not self._alone and settings.state().differs(before):
                self._alone = file
                self._leave_others()
        records = [record for record in records if not self._is_left(record.index)]
        slow = [entry for entry in slow if not self._is_left(entry[0])]
        share = self._measuring * len([*records, *slow]) / max(1, len(self._unfinished))
        for record in records:
            # What JAX has forgotten since is compiled again, out of the rounds.
            record.turns.warm = forgotten[record.index] == coldpath.forgotten
        yield from self._take_turns(records, share)
        if len(self._unfinished) <= len(records) + len(slow):
            self._measuring = 0.0  # there is no other group
        for index, planned, record in slow:
            if record is None:
                record = yield from self._prepare(index, planned, pool)
            if record is not None:
                records.append(record)
                yield from self._time_apart(record)
        yield from self._finish_all(records)

    def _prepare(
        self, index: int, planned: PlannedCase, pool: Pool
    ) -> Generator[RunEvent, None, Record | None]:
        """A case from nothing to its first figure."""
        case, self.phase = planned.case, "prepare"
        begin = perf_counter()
        yield self._begin(index, case)
        if self._pace.decide(self.stop, bool):
            yield self._fail(index, _stop_failure(case, "turn"))
            return None
        record: Record | None = None
        try:
            device_runtime = None
            if group := _devices(planned):
                device_runtime = yield from self.warm_up(_own(group))
            workload = yield from self._workload(index, planned, pool)
            for event in coldpath.prepare(index, workload, cold=self._own_process):
                if isinstance(event, PhaseStarted):
                    self.phase = event.phase
                    # Whoever fails before it would leave the others waiting in it.
                    first = self.phase == "first_call"
                    if first and (failure := self._settled(None, case)) is not None:
                        yield self._fail(index, failure)
                        return None
                    yield self.progress(self.phase, case.label)
                yield event
            failure = self._settled(None, case)
            if failure is None:
                turns = Turns(
                    workload,
                    queue_depth=device_runtime.queue_depth if device_runtime else 1,
                    throughput=workload.queues,
                    # Of hundreds of copies each has set up what there is to set up.
                    warm_up_seconds=0.0 if case.target else WARM_UP_SECONDS,
                    settles=bool(case.target),
                    results_at_most=planning.results_at_most(
                        planned.case, workload.call_bytes
                    ),
                    pace=self._pace,
                )
                record = Record(index, turns, device_runtime)
                yield from self._first_figure(record)
        except FAULTS as error:
            failure = explain(error, case, self.phase)
            if record is None:
                failure = self._settled(failure, case) or failure
            else:
                self._pace.fail(error)
        if failure is not None:
            yield self._fail(index, failure)
            return None
        self._prepared.append(perf_counter() - begin)
        yield PhaseStarted(index=index, phase="waiting")
        return record

    def _first_figure(self, record: Record) -> Iterator[RunEvent]:
        """Time a few calls at once; of NumPy's slow ones the first is enough."""
        turns = record.turns
        if record.workload.on_return and turns.call_seconds > SLOW_SECONDS:
            turns.warm = True
            return
        self.phase = "warm-up"
        yield PhaseStarted(index=record.index, phase="warm-up")
        turns.show(turns.first_calls())
        yield record.sampled()
        yield self.progress("sampling", record.workload.case.label)
        turns.settle()

    def _settled(self, failure: Failure | None, case: Case) -> Failure | None:
        """The failure of whichever process has one."""
        if not self._pace.shared:
            return failure
        remarks = self._pace.gather(failure.remark if failure else None, Remark | None)
        first = next(filter(None, remarks), None)
        remark = self._pace.decide(lambda: first, Remark | None)
        return Failure(case=case, remark=remark) if remark else None

    def _workload(
        self, index: int, planned: PlannedCase, pool: Pool
    ) -> Generator[RunEvent, None, workload.Workload]:
        case, group = planned.case, _devices(planned)
        function = None
        if (source := own.source(case.op)) is not None:
            self.phase = "import"
            yield PhaseStarted(index=index, phase="import")
            function = own.load(source, group[0] if group else None)
        self.phase = "inputs"
        yield PhaseStarted(index=index, phase="inputs")
        yield self.progress("inputs", case.label)
        return workload.of_case(case, group, pool, function)

    @property
    def _slow_at_most(self) -> float:
        return max(SLOW_SECONDS_AT_MOST, self._experiment.share)

    def _estimate(self, planned: PlannedCase) -> float | None:
        """Seconds of a call of NumPy, where that may be many."""
        case = planned.case
        if case.mode != "numpy" or own.source(case.op) is not None:
            return None

        def seconds() -> float | None:
            if self.stop():
                return None
            return estimate.of_case(case, None, self._experiment.seed)

        return self._pace.decide(seconds, float | None)

    def _take_turns(
        self, records: Sequence[Record], share: float
    ) -> Iterator[RunEvent]:
        by_turns = {record.turns: record for record in records}
        turns = [record.turns for record in records]
        begin = perf_counter()
        again = sum(taker.warm_up_seconds for taker in turns if not taker.warm)
        self._turns_end = end = begin + share + again
        spread = begin + min(SPREAD_SECONDS, SPREAD_SHARE * share)
        short = SHORT_SHARE * self._experiment.share
        for taker in take_turns(
            turns,
            share + again,
            stop=self.stop,
            seed=self._experiment.seed,
            faults=FAULTS,
            announce=True,
            pace=self._pace,
        ):
            record = by_turns[taker]
            if not taker.warm:
                yield PhaseStarted(index=record.index, phase="warm-up")
                continue
            if taker.fault is not None:
                case = record.workload.case
                failure = explain(taker.fault, case, "sampling")
                yield self._fail(record.index, failure)
                continue
            yield record.sampled()
            yield self.progress("sampling", record.workload.case.label)
            now = perf_counter()
            self._turns_end = end = max(end, now + _missing_seconds(turns, short))
            # The others hear of it by the turns that follow.
            if not self._pace.decides:
                continue
            reason = self._stop_reason(record, now, spread, end)
            if reason is not None:
                taker.done, record.stopped = True, reason
        self._turns_end = None
        self._measuring = max(0.0, self._measuring - (perf_counter() - begin))

    def _stop_reason(
        self, record: Record, now: float, spread: float, end: float
    ) -> Stopped | None:
        target = self._experiment.target_half_width
        reason = record.stop_reason(target, spread=now >= spread)
        # A round of all must still fit, or the last would overrun the budget.
        if reason is None and now + record.turns.call_seconds > end:
            return "budget"
        return reason

    def _time_apart(self, record: Record) -> Iterator[RunEvent]:
        """Time a few calls of NumPy that take a second each, after everything else."""
        turns = record.turns
        turns.apart = turns.warmed_up = True
        count = 3 if turns.call_seconds < SLOW_SECONDS_AT_MOST else 2
        rest()
        for _ in range(self._pace.decide(lambda: count, int)):
            if self._pace.decide(self.stop, bool):
                return
            try:
                turns.turn("latency", 0.0)
            except FAULTS as error:
                turns.fault = error
                failure = explain(error, record.workload.case, "sampling")
                yield self._fail(record.index, failure)
                return
            yield record.sampled()
            yield self.progress("sampling", record.workload.case.label)
        record.stopped = "budget"

    def _compare(self, records: Sequence[Record]) -> None:
        """Hold both sides of a function of a file against each other."""
        timed = [
            record for record in records if record.workload.own and record.turns.rounds
        ]
        numpys = {
            _function(record): record for record in timed if record.workload.on_return
        }
        for jax_side in timed:
            numpy_side = numpys.get(_function(jax_side))
            if numpy_side is None or numpy_side is jax_side or self.stop():
                continue
            # What a side raises is told when its result is checked.
            with suppress(Exception, SystemExit):
                differs = sides.compare(jax_side.workload, numpy_side.workload)
                for side in (jax_side, numpy_side):
                    side.compared = True
                    side.differs = side.differs or differs

    def _finish_all(self, records: Sequence[Record]) -> Iterator[RunEvent]:
        """Copies first: to check a result fetches it."""
        unfinished = [record for record in records if record.turns.fault is None]
        for record in unfinished:
            if record.turns.rounds and not self._pace.decide(self.stop, bool):
                with suppress(*FAULTS):
                    record.turns.load()
                for event in coldpath.time_copies(record.index, record.workload):
                    if isinstance(event, PhaseStarted):
                        yield self.progress(event.phase, record.workload.case.label)
                    yield event
        self._compare(unfinished)
        for record in unfinished:
            begin = perf_counter()
            yield from self._finish(record)
            self._finished.append(perf_counter() - begin)

    def _finish(self, record: Record) -> Iterator[RunEvent]:
        """Check the result, which is left until nothing is timed any more."""
        if not record.turns.rounds:
            case = record.workload.case
            yield self._fail(record.index, _stop_failure(case, "sample"))
            return
        if not self._pace.decide(self.stop, bool):
            yield PhaseStarted(index=record.index, phase="check")
            failure: Failure | None = None
            try:
                record.check()
            except FAULTS as error:
                failure = explain(error, record.workload.case, "check")
            if (failure := self._settled(failure, record.workload.case)) is not None:
                yield self._fail(record.index, failure)
                return
        if self._pace.shared:
            record.share(self._pace.gather(record.of_process, OfProcess))
        self._unfinished.discard(record.index)
        keep = self._experiment.keep_samples
        yield CaseMeasured(
            index=record.index,
            measurement=record.measurement(record.stopped, keep_samples=keep),
        )


def _function(record: Record) -> tuple[str, int, str]:
    """The function of a file that a record is of, and its arguments."""
    case = record.workload.case
    return case.op, case.size, str(case.params)


def _missing_seconds(turns: Sequence[Turns], short: float) -> float:
    """Sum the seconds that cases with short calls need for a confidence interval."""
    return sum(
        (MINIMUM_ROUNDS - len(taker.rounds)) * taker.call_seconds
        for taker in turns
        if not taker.done
        and len(taker.rounds) < MINIMUM_ROUNDS
        and taker.call_seconds < short
    )


def _rank(item: Indexed) -> int:
    """Eager cases, those that are compiled, those of the host."""
    case = item[1].case
    return 2 if case.on_host else int(case.mode != "eager")


def groups(cases: Sequence[Indexed], grouped: bool) -> list[list[Indexed]]:
    """The cases that take turns together: all, or one size of an op after another."""
    if not grouped:
        return [list(cases)] if cases else []

    def key(item: Indexed) -> tuple[int, str]:
        return item[1].case.size, item[1].case.op

    return [list(group) for _, group in groupby(sorted(cases, key=key), key=key)]


def _devices(planned: PlannedCase) -> tuple[jax.Device, ...]:
    return () if planned.case.device == HOST else devices.find_all(planned.case.device)


def _own(group: Sequence[jax.Device]) -> jax.Device:
    """The first of them that is of this process."""
    process = jax.process_index()
    return next(
        (device for device in group if device.process_index == process), group[0]
    )


def _stop_failure(case: Case, before: str) -> Failure:
    return Failure(case=case, remark=Remark("stopped", {"before": before}, "error"))
