"""Runs an experiment: cold paths first, then all cases take turns within the budget."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from time import perf_counter

import jax

from jaxtui.machine import malloc
from jaxtui.measure import (
    coldpath,
    devices,
    estimate,
    memory,
    ops,
    own,
    planning,
    sides,
    tensorflow_numpy,
    workload,
)
from jaxtui.measure.failures import FAULTS, explain
from jaxtui.measure.measurement import OfProcess, Record
from jaxtui.measure.pace import ALONE, Pace
from jaxtui.measure.runner import Runner
from jaxtui.measure.turns import (
    SPREAD_SECONDS,
    Turns,
    never,
    take_turns,
)
from jaxtui.measure.workload import Pool
from jaxtui.model import (
    HOST,
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Experiment,
    Fact,
    Failure,
    PhaseStarted,
    Plan,
    PlannedCase,
    Remark,
    RunEvent,
    Stopped,
    WorkFailed,
)
from jaxtui.stats import MINIMUM_ROUNDS

PREPARATION_SHARE = 0.7
"""Share of the budget after which no further case is compiled."""

SPREAD_SHARE = 0.6
"""Of the time for sampling that rounds should span, where that is short."""

SPANS_START_SECONDS = 1.5
"""For the process that measures memory spans."""

SPANS_BUDGET_SECONDS = 8.0
"""A typed budget that is smaller is all for the headline, whose rounds should span six
seconds."""

SPAN_SHARE = 0.3
"""Of a typed budget that memory spans may take."""

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
    return _Run(experiment, stop, own_process, pace).events()


class _Run(Runner):
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
        self._typed = experiment.budget_seconds is not None
        """The budget is a promise for everything; the default is for measuring."""
        self._unfinished = len(cases)
        self._spans = memory.Spans(experiment.seed, stop)
        self._takes_spans = False
        self._reserved = 0.0
        """Of the budget, for the memory spans."""

    def failure(self, error: BaseException) -> WorkFailed:
        # What a case raises is its own affair; this is a mistake of jaxtui.
        raise error

    def work(self) -> Iterator[RunEvent]:
        experiment = self._experiment
        plan = self._pace.decide(lambda: planning.plan(experiment), Plan)
        viable: list[Indexed] = []
        for index, planned in enumerate(plan.cases):
            if planned.problem is None:
                viable.append((index, planned))
            else:
                yield CaseStarted(index=index, case=planned.case)
                yield self._fail(index, planned.problem)
        yield from self._import_tensorflow(viable)
        if memory.is_known():
            count = sum(map(_may_allocate, viable))
            # Of several processes each has a share that is like a typed budget.
            alone = not self._typed and experiment.processes == 1
            self._takes_spans = alone or self.budget >= SPANS_BUDGET_SECONDS
            if count and self._takes_spans:
                self._reserved = SPANS_START_SECONDS + count * memory.SPAN_SECONDS
                if self._typed:
                    self._reserved = min(SPAN_SHARE * self.budget, self._reserved)
                else:
                    self.budget += self._reserved
        try:
            for group in groups(viable, plan.grouped):
                yield from self._group(group)
        finally:
            self._spans.close()

    @property
    def remaining(self) -> float:
        """For the rounds: without what is reserved for the memory spans."""
        return super().remaining - self._reserved

    def _fail(self, index: int, failure: Failure) -> CaseFailed:
        self._unfinished -= 1
        return CaseFailed(index=index, failure=failure)

    def _import_tensorflow(self, cases: Sequence[Indexed]) -> Iterator[RunEvent]:
        if not any(planned.case.mode == "tensorflow" for _, planned in cases):
            return
        yield self.progress("tensorflow-import")
        start = perf_counter()
        # A broken installation is reported by the case that needs it.
        with suppress(Exception):
            tensorflow_numpy.load()
        # That is no case's affair.
        self.budget += perf_counter() - start

    def _group(self, group: Sequence[Indexed]) -> Iterator[RunEvent]:
        share = self.remaining * len(group) / max(1, self._unfinished)
        end = perf_counter() + share
        pool = Pool(self._experiment.seed)
        records: list[Record] = []
        # Making an eager case cold costs compiled functions their programs.
        eager = [one for one in group if one[1].case.mode == "eager"]
        others = [one for one in group if one[1].case.mode != "eager"]
        for place, (index, planned) in enumerate([*eager, *others]):
            before = perf_counter()
            if place == len(eager) and self._own_process:
                jax.clear_caches()
            record = yield from self._prepare(index, planned, pool, end, share)
            if record is not None:
                records.append(record)
            if not self._typed:
                end += self._extend(perf_counter() - before)
        yield from self._take_turns(records, end)

    def _extend(self, seconds: float) -> float:
        """Let the run take so much longer; gives the same seconds."""
        self.budget += seconds
        return seconds

    def _prepare(
        self,
        index: int,
        planned: PlannedCase,
        pool: Pool,
        end: float,
        share: float,
    ) -> Generator[RunEvent, None, Record | None]:
        case, self.phase = planned.case, "prepare"
        yield CaseStarted(index=index, case=case)
        try:
            refusal = self._pace.decide(
                lambda: (
                    self._out_of_time(case, end, share) or self._too_slow(planned, end)
                ),
                Failure | None,
            )
            if refusal is not None:
                yield self._fail(index, refusal)
                return None
            known = None
            if group := _devices(planned):
                known = yield from self.warm_up(_own(group))
            made = yield from self._workload(index, planned, pool)
            for event in coldpath.prepare(index, made, cold=self._own_process):
                if isinstance(event, PhaseStarted):
                    self.phase = event.phase
                    # Whoever fails before it would leave the others waiting in it.
                    first = self.phase == "first_call"
                    if first and (failure := self._settled(None)) is not None:
                        yield self._fail(index, failure)
                        return None
                    yield self.progress(self.phase, case.label)
                yield event
            failure = self._settled(None)
        except FAULTS as error:
            own_failure = explain(error, case, self.phase)
            failure = self._settled(own_failure) or own_failure
        if failure is not None:
            yield self._fail(index, failure)
            return None
        yield PhaseStarted(index=index, phase="waiting")
        turns = Turns(
            made,
            queue_depth=known.queue_depth if known else 1,
            throughput=made.queues,
            results_at_most=planning.results_at_most(planned, made.call_bytes),
            pace=self._pace,
        )
        return Record(index, turns, known)

    def _settled(self, failure: Failure | None) -> Failure | None:
        """The failure of whichever process has one."""
        if not self._pace.shared:
            return failure
        failures = self._pace.gather(failure, Failure | None)
        first = next(filter(None, failures), None)
        return self._pace.decide(lambda: first, Failure | None)

    def _workload(
        self, index: int, planned: PlannedCase, pool: Pool
    ) -> Generator[RunEvent, None, workload.Workload]:
        case, group = planned.case, _devices(planned)
        function = None
        if (source := own.source(case.op)) is not None:
            self.phase = "import"
            yield PhaseStarted(index=index, phase="import")
            function = own.load(source, group[0] if group else None)
            yield PhaseStarted(index=index, phase="inputs")
        self.phase = "inputs"
        return workload.of_case(case, group, pool, function)

    def _out_of_time(self, case: Case, end: float, share: float) -> Failure | None:
        if self.stop():
            return _stop_failure(case, "turn")
        spent = share - (end - perf_counter())
        first = self._unfinished == len(self._experiment.cases)
        if first or spent < PREPARATION_SHARE * share:
            return None
        facts: dict[str, Fact] = {
            "seconds": self._experiment.share,
            "processes": self._experiment.processes,
        }
        return Failure(case=case, remark=Remark("budget-used", facts, "error"))

    def _too_slow(self, planned: PlannedCase, end: float) -> Failure | None:
        case, group = planned.case, _devices(planned)
        if own.source(case.op) is not None or case.op in ops.COLLECTIVES:
            # Nothing says how its work grows.
            return None
        device = group[0] if group else None
        seconds = estimate.of_case(case, device, self._experiment.seed)
        if seconds is not None and device is not None and device.platform == "cpu":
            seconds *= len(group)  # on the same cores
        fair = 2 * self._experiment.share / len(self._experiment.cases)
        allowed = min(fair, end - perf_counter())
        if seconds is None or seconds <= allowed:
            return None
        enough = 8 * seconds * len(self._experiment.cases) * self._experiment.processes
        facts: dict[str, Fact] = {"seconds": seconds, "enough": enough}
        remark = Remark("too-slow", facts, "error")
        return Failure(case=case, remark=remark, estimated_seconds=seconds)

    def _take_turns(self, records: Sequence[Record], end: float) -> Iterator[RunEvent]:
        by_turns = {record.turns: record for record in records}
        available = max(0.0, end - perf_counter())
        spread = perf_counter() + min(SPREAD_SECONDS, SPREAD_SHARE * available)
        turns = [record.turns for record in records]
        for one in take_turns(
            turns,
            available,
            stop=self.stop,
            seed=self._experiment.seed,
            faults=FAULTS,
            announce=True,
            pace=self._pace,
        ):
            record = by_turns[one]
            if not one.warm:
                yield PhaseStarted(index=record.index, phase="warm-up")
                continue
            if one.fault is not None:
                case = record.workload.case
                failure = explain(one.fault, case, "sampling")
                yield self._fail(record.index, failure)
                continue
            yield record.sampled()
            yield self.progress("sampling", record.workload.case.label)
            now = perf_counter()
            if not self._typed:
                end += self._extend(max(0.0, now + _missing_seconds(turns) - end))
            reason = self._pace.decide(
                partial(self._stop_reason, record, now, spread, end),
                Stopped | None,
            )
            if reason is not None:
                one.done, record.stopped = True, reason
        self._compare(records)
        for record in records:
            if record.turns.fault is None:
                yield from self._finish(record)

    def _stop_reason(
        self, record: Record, now: float, spread: float, end: float
    ) -> Stopped | None:
        target = self._experiment.target_half_width
        reason = record.stop_reason(target, spread=now >= spread)
        # A round of all must still fit, or the last would overrun the budget.
        if reason is None and now + record.turns.call_seconds > end:
            return "budget"
        return reason

    def _compare(self, records: Sequence[Record]) -> None:
        """Hold both sides of a function of a file against each other."""
        timed = [each for each in records if each.workload.own and each.turns.rounds]
        numpys = {_function(each): each for each in timed if each.workload.on_return}
        for record in timed:
            other = numpys.get(_function(record))
            if other is None or other is record or self.stop():
                continue
            # What a side raises is told when its result is checked.
            with suppress(*FAULTS):
                agreement = sides.compare(record.workload, other.workload)
                record.agreement = agreement
                if other.agreement is None or other.agreement.ok:
                    other.agreement = agreement

    def _take_span(self, record: Record) -> Iterator[RunEvent]:
        """Both ends of the case's memory, where that is known and matters."""
        made, before = record.workload, perf_counter()
        large = memory.allocates(made.case, made.block_bytes)
        # Copies for a donation take memory, too: nothing could be told apart.
        large &= not isinstance(made.args, own.Renewed)
        large &= not own.is_given(made.case.op)
        if not large or not memory.is_known() or self.stop():
            return
        share = (self.remaining + self._reserved) / self._unfinished
        least = memory.CALLS_AT_LEAST * record.turns.call_seconds
        if (
            not self._takes_spans
            or share <= 0
            or least > max(memory.SPAN_SECONDS, share)
        ):
            record.memory = Remark("no-span", {"because": "budget"})
            return
        case = devices.as_alone(made.case)
        if case is None:
            return
        yield self.progress("memory-span", made.case.label)
        seconds = max(min(share, memory.SPAN_SECONDS), least)
        record.memory = self._spans.span(case, seconds)
        self._reserved -= min(self._reserved, perf_counter() - before)

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
            if (failure := self._settled(failure)) is not None:
                yield self._fail(record.index, failure)
                return
            yield from self._take_span(record)
        if self._pace.shared:
            record.share(self._pace.gather(record.of_process, OfProcess))
        self._unfinished -= 1
        keep = self._experiment.keep_samples
        yield CaseMeasured(
            index=record.index,
            measurement=record.measurement(record.stopped, keep_samples=keep),
        )


def _function(record: Record) -> tuple[str, int, str]:
    """The function of a file that a record is of, and its arguments."""
    case = record.workload.case
    return case.op, case.size, str(case.params)


def _missing_seconds(turns: Sequence[Turns]) -> float:
    """For the rounds without which there is no interval."""
    return sum(
        (MINIMUM_ROUNDS - len(one.rounds)) * one.call_seconds
        for one in turns
        if not one.done and len(one.rounds) < MINIMUM_ROUNDS
    )


def groups(cases: Sequence[Indexed], grouped: bool) -> list[list[Indexed]]:
    """The cases that take turns together: all, or one size of an op after another."""
    if not grouped:
        return [list(cases)] if cases else []

    def key(item: Indexed) -> tuple[int, str]:
        return item[1].case.size, item[1].case.op

    return [list(group) for _, group in groupby(sorted(cases, key=key), key=key)]


def _may_allocate(item: Indexed) -> bool:
    """Whether a case may ask malloc for large blocks, before that is known."""
    case = item[1].case
    if own.source(case.op) is not None:
        return memory.allocates(case, malloc.ALLOCATES_BYTES)
    largest = ops.find(case.op).block_bytes(case.size, case.dtype)
    return memory.allocates(case, largest)


def _devices(planned: PlannedCase) -> tuple[jax.Device, ...]:
    """Where it runs; none on the host."""
    return () if planned.case.device == HOST else devices.find_all(planned.case.device)


def _own(group: Sequence[jax.Device]) -> jax.Device:
    """The first of them that is of this process."""
    mine = jax.process_index()
    return next((one for one in group if one.process_index == mine), group[0])


def _stop_failure(case: Case, before: str) -> Failure:
    return Failure(case=case, remark=Remark("stopped", {"before": before}, "error"))
