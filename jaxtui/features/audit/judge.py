"""The findings of an audit: mistakes in how a program timed itself."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from statistics import median
from typing import Generic, TypeVar

import msgspec

from jaxtui.core.model import Fact, Remark
from jaxtui.core.model.remark import Severity
from jaxtui.features.audit.messages import (
    TRANSFER_BYTES,
    Audit,
    Compile,
    Execution,
    Finding,
    Place,
    Site,
    Span,
    Transfer,
    Wait,
    Witness,
)

TOLERANCE_SECONDS = 50e-6
"""The runtime writes that a kernel has ended up to 30 µs after a wait for it returned
(measured on an idle CPU)."""

LATE_SECONDS = 0.02
"""Seconds of tolerance where the thread that writes it has lost its core: a few turns
of the scheduler. It counts where the program did wait after its last call."""

SHARE = 0.01
"""Fraction of a span: smaller errors are not reported."""

BAR_SHARE = 0.1
"""Fraction of a progress bar's span, whose rate is no benchmark."""

SMALL = 0.1
"""Fraction of the compiled work: where the rest takes longer, recompiles are not the
mistake."""

GAP_SECONDS = 1e-3
"""A host that takes longer from call to call does other work meanwhile."""

OK = "# jaxtui: ok"
"""A line that ends so is not judged."""

NEW_FUNCTION = "never seen function"
"""JAX's words for a function that it traces for the first time."""

_Event = TypeVar("_Event", bound=Compile | Transfer | Wait)


@dataclass
class _Timing:
    """A span, and the work in it."""

    span: Span
    work: Sequence[Execution]
    """Asked for in it."""
    before: Sequence[Execution]
    """Asked for before it, and not over when it began."""
    compiles: Sequence[Compile]
    transfers: Sequence[Transfer]
    waits: _Timeline[Wait | Transfer]
    """The waits of the whole program: a transfer waits as well."""
    is_traced: bool
    """The device was watched until the end of the span."""
    later: Sequence[Span]
    """Spans from its start or its end to a later reading, before another call."""

    @cached_property
    def late(self) -> float:
        """Seconds from its end until its work was done; 0 where that was awaited."""
        if not self.work or not self.is_traced:
            return 0.0
        stop = self.span.stop_seconds
        work_end = max(execution.end_seconds for execution in self.work)
        late = work_end - stop
        called = max(execution.called_seconds for execution in self.work)
        waited = self._waited(called, stop)
        # Who reads the clock again when the result is there wants to know both.
        for reading in self.later:
            end = reading.stop_seconds
            if not self._counts(work_end - end, self._waited(called, end)):
                return 0.0
        return late if self._counts(late, waited) else 0.0

    @cached_property
    def busy(self) -> float:
        """Seconds of it that earlier work took of the device."""
        return self.busy_with(self.before)

    def busy_with(self, before: Sequence[Execution]) -> float:
        """Return the seconds of some of that work."""
        if not before or not self.is_traced:
            return 0.0
        start = self.span.start_seconds
        end = max(execution.end_seconds for execution in before)
        called = max(execution.called_seconds for execution in before)
        waited = self._waited(called, start)
        # What is over before the host has compiled keeps nothing waiting.
        compiled = max((stage.end_seconds for stage in self.compiles), default=start)
        if end <= compiled or not self._counts(end - start, waited):
            return 0.0
        return min(end, self.end) - start

    def _waited(self, called: float, end: float) -> bool:
        """Return whether it waited after its last call, or still did: where the trace
        lacks a call, it counts from the start of its run.
        """
        for wait in self.waits.before(end):
            if called < wait.end_seconds <= end:
                return True
            if wait.end_seconds <= called:
                return False
        return False

    def _counts(self, seconds: float, waited: bool) -> bool:
        least = LATE_SECONDS if waited else TOLERANCE_SECONDS
        return seconds > max(least, SHARE * self.span.seconds)

    @cached_property
    def compiling(self) -> float:
        """Seconds in which the host traced, lowered or compiled."""
        total, reached = 0.0, self.span.start_seconds
        for compiled in self.compiles:
            end = min(compiled.end_seconds, self.span.stop_seconds)
            total += max(0.0, end - max(reached, compiled.start_seconds))
            reached = max(reached, end)
        return total

    @cached_property
    def idle(self) -> float:
        """Seconds of it in which the device had nothing to do, in long gaps."""
        if not self.is_traced:
            return 0.0
        total, reached = 0.0, self.span.start_seconds
        busy = [
            *((event.called_seconds, event.end_seconds) for event in self.before),
            *((event.called_seconds, event.end_seconds) for event in self.work),
            *((event.start_seconds, event.end_seconds) for event in self.compiles),
            *((event.start_seconds, event.end_seconds) for event in self.transfers),
            (self.span.stop_seconds, self.span.stop_seconds),
        ]
        for start, end in sorted(busy):
            if start - reached > GAP_SECONDS:
                total += start - reached
            reached = max(reached, end)
        return total

    @property
    def end(self) -> float:
        """The time at which its work was done."""
        return self.span.stop_seconds + self.late

    @property
    def corrected(self) -> float | None:
        """Seconds that it would have read for its work alone, compiled before."""
        if not self.is_traced or not self.work:
            return None
        # Earlier work may have run while the host compiled: then nothing is known.
        right = self.end - self.span.start_seconds - self.compiling - self.busy
        return right if right > 0 else None


def judge(
    witness: Witness | None, name: str, status: int, source: Callable[[Place], str]
) -> Audit:
    """The findings about every pair of lines between which a program measured.

    Args:
        witness: what was seen of the program; ``None`` if it was killed.
        name: of the program, as it was typed.
        status: with which it ended.
        source: the text of a line of it; empty where there is none.
    """
    if witness is None:
        remark = Remark("audit-lost", {"status": status}, "error")
        return Audit(script=name, sites=(), findings=(), remarks=(remark,))
    # A function that times others is asked for several; the first call of one that
    # compiles calls more than the others, but before it.
    groups: dict[tuple[Place, Place, str], list[_Timing]] = defaultdict(list)
    for timed in _spans(witness):
        if timed.work or timed.compiles:
            last = timed.work[-1] if timed.work else timed.compiles[-1]
            groups[timed.span.begin, timed.span.end, last.function].append(timed)
    warm = Counter(
        program
        for spans in groups.values()
        for program in {
            execution.program
            for timed in spans
            if not timed.compiles
            for execution in timed.work
        }
    )
    findings = [*_idle_waits(witness.waits), *_while_tracing(witness.spans)]
    notes: list[Finding] = []
    for (begin, end, _), spans in groups.items():
        if not _is_ok(begin, source) and not _is_ok(end, source):
            findings += _mistakes(spans, warm)
            notes += _notes(spans, warm)
    return Audit(
        script=name,
        sites=tuple(
            sorted(map(_site, groups.values()), key=lambda site: _order(site.begin))
        ),
        findings=_merged(findings, source),
        notes=_merged(notes, source),
        remarks=(*_unjudged(witness), *witness.remarks),
    )


def _is_ok(place: Place, source: Callable[[Place], str]) -> bool:
    return source(place).rstrip().endswith(OK)


def _order(place: Place) -> tuple[str, int]:
    return place.file, place.line


def _unjudged(witness: Witness) -> Iterator[Remark]:
    if witness.jax is None:
        yield Remark("audit-no-jax", severity="warning")
    elif not witness.spans:
        yield Remark("audit-no-spans", severity="warning")


def _spans(witness: Witness) -> Iterator[_Timing]:
    executions = _awaited(witness)
    called = [execution.called_seconds for execution in executions]
    # The device computes in order, so what is not over began lately.
    ends: list[float] = []
    for execution in executions:
        ends.append(max(execution.end_seconds, ends[-1] if ends else 0.0))
    compiles = _Timeline(witness.compiles)
    transfers = _Timeline(witness.transfers)
    everything: list[Wait | Transfer] = [*witness.waits, *witness.transfers]
    waits = _Timeline(everything)
    last = witness.traced_seconds[1] if witness.traced_seconds else 0.0
    readings: dict[float, list[Span]] = defaultdict(list)
    for span in witness.spans:
        readings[span.start_seconds].append(span)
    for span in witness.spans:
        start, stop = span.start_seconds, span.stop_seconds
        first = bisect_left(called, start)
        unfinished = bisect_left(ends, start)
        next_call = (*called[bisect_left(called, stop) :][:1], inf)[0]
        yield _Timing(
            span,
            _by(span.thread, executions[first : bisect_left(called, stop)]),
            [
                run
                for run in _by(span.thread, executions[unfinished:first])
                if run.end_seconds > start
            ],
            compiles.within(start, stop),
            transfers.within(start, stop),
            waits,
            stop <= last,
            [
                other
                for other in (*readings[start], *readings[stop])
                if stop < other.stop_seconds < next_call
            ],
        )


def _awaited(witness: Witness) -> list[Execution]:
    """The executions in the order of their calls.

    The runtime's thread that writes their ends may have lost its core. One that was
    alone on the device when the program waited for a result was over when it went on;
    of several, those that had then run for half of what they take, as the device
    computes in order.
    """
    executions = sorted(witness.executions, key=lambda run: run.called_seconds)
    lasting: dict[str, list[float]] = defaultdict(list)
    for run in executions:
        lasting[run.program].append(run.end_seconds - run.start_seconds)
    usual = {program: median(seconds) for program, seconds in lasting.items()}
    every: list[Wait | Transfer] = [*witness.waits, *witness.transfers]
    running: list[int] = []
    coming = 0
    for wait in sorted(every, key=lambda wait: wait.start_seconds):
        start, end = wait.start_seconds, wait.end_seconds
        while coming < len(executions) and executions[coming].called_seconds < end:
            running.append(coming)
            coming += 1
        running = [at for at in running if executions[at].end_seconds > start]
        if not wait.was_pending:
            continue
        for at in running:
            run = executions[at]
            ran = end - run.start_seconds
            if run.end_seconds > end and (
                len(running) == 1 or ran > usual[run.program] / 2
            ):
                executions[at] = msgspec.structs.replace(run, end_seconds=end)
    return executions


def _by(thread: int, executions: Sequence[Execution]) -> Sequence[Execution]:
    """Return the executions of a thread, and of those that measure nothing."""
    return [run for run in executions if run.thread in (None, thread)]


class _Timeline(Generic[_Event]):
    """Events by their starts."""

    def __init__(self, events: Iterable[_Event]) -> None:
        self._events: list[_Event] = sorted(
            events, key=lambda event: event.start_seconds
        )
        self._starts = [event.start_seconds for event in self._events]

    def before(self, stop: float) -> Iterator[_Event]:
        """Yield the events that began before ``stop``, the last first."""
        last = bisect_left(self._starts, stop) - 1
        return (self._events[place] for place in range(last, -1, -1))

    def within(self, start: float, stop: float) -> Sequence[_Event]:
        first = bisect_left(self._starts, start)
        return self._events[first : bisect_left(self._starts, stop)]


def _site(spans: Sequence[_Timing]) -> Site:
    busy: dict[str, float] = defaultdict(float)
    for timed in spans:
        for execution in timed.work:
            busy[execution.function] += execution.end_seconds - execution.start_seconds
    corrected = [timed.corrected for timed in spans if timed.corrected is not None]
    span = spans[0].span
    return Site(
        begin=span.begin,
        end=span.end,
        count=len(spans),
        clock=span.clock,
        functions=tuple(sorted(busy, key=lambda name: -busy[name])),
        read_seconds=median(timed.span.read_seconds for timed in spans),
        corrected_seconds=median(corrected) if corrected else None,
    )


# Findings.


def _merged(
    findings: Iterable[Finding], source: Callable[[Place], str]
) -> tuple[Finding, ...]:
    """The worst of each kind for a line, in their order in the program."""
    worst: dict[tuple[Place, str], Finding] = {}
    for finding in sorted(findings, key=lambda finding: finding.seconds):
        if not _is_ok(finding.place, source):
            worst[finding.place, finding.remark.code] = finding
    return tuple(sorted(worst.values(), key=lambda finding: _order(finding.place)))


def _idle_waits(waits: Iterable[Wait]) -> Iterator[Finding]:
    """Lines that never wait for an array; those of a function may for another."""
    places: dict[Place, list[str]] = defaultdict(list)
    for wait in waits:
        places[wait.place].append(wait.on)
    for place, types in places.items():
        if all(types):
            facts: dict[str, Fact] = {"type": types[0], "times": len(types)}
            yield _finding(place, "idle-wait", facts, 0.0)


def _while_tracing(spans: Iterable[Span]) -> Iterator[Finding]:
    for span in spans:
        if span.while_tracing:
            facts: dict[str, Fact] = {"read_seconds": span.seconds}
            yield _finding(span.end, "traced-clock", facts, span.seconds)


def _mistakes(spans: Sequence[_Timing], warm: Counter[str]) -> Iterator[Finding]:
    begin, end = spans[0].span.begin, spans[0].span.end
    count: dict[str, Fact] = {"spans": len(spans), "start_line": begin.line}
    if spans[0].span.cpu_seconds is not None:
        reading = median(timed.span.read_seconds for timed in spans)
        wall = median(timed.span.seconds for timed in spans)
        clock = spans[0].span.clock
        facts = count | {"clock": clock, "read_seconds": reading, "seconds": wall}
        yield _finding(end, "cpu-time", facts, abs(wall - reading))
    late = [timed for timed in spans if timed.late]
    own = {run for timed in spans for run in timed.work}
    # Where a span gets as much from the one before as it leaves to the next, their
    # readings are right.
    missing = sum(
        timed.late - timed.busy_with([run for run in timed.before if run in own])
        for timed in late
    )
    total = sum(timed.span.seconds for timed in spans)
    share = BAR_SHARE if spans[0].span.clock == "tqdm" else SHARE
    # One of several that were awaited lost its core.
    is_unawaited = 2 * len(late) >= len(spans) and missing > share * total
    if is_unawaited:
        right = [timed.corrected for timed in late if timed.corrected is not None]
        facts = count | {
            "affected": len(late),
            "functions": _functions(late),
            "read_seconds": median(timed.span.read_seconds for timed in late),
            "early_seconds": median(timed.late for timed in late),
            "corrected_seconds": median(right) if right else None,
        }
        yield _finding(end, "unawaited", facts, median(timed.late for timed in late))
    # After a span that was not awaited the next one starts busy by itself.
    busy = [
        timed
        for timed in spans
        if timed.busy_with([run for run in timed.before if run not in own])
    ]
    if busy and 2 * len(busy) >= len(spans) and not is_unawaited:
        functions = Counter(run.function for timed in busy for run in timed.before)
        facts = count | {
            "affected": len(busy),
            "functions": tuple(name for name, _ in functions.most_common(3)),
            "busy_seconds": median(timed.busy for timed in busy),
        }
        yield _finding(begin, "started-busy", facts, median(s.busy for s in busy))
    compiling = _compiling(spans)
    if not _is_first(spans, compiling) and not _is_timed_again(compiling, warm):
        yield _compiles(compiling, count)
    yield from _transfers(spans, count)


def _notes(spans: Sequence[_Timing], warm: Counter[str]) -> Iterator[Finding]:
    begin, end = spans[0].span.begin, spans[0].span.end
    count: dict[str, Fact] = {"spans": len(spans), "start_line": begin.line}
    compiling = _compiling(spans)
    if compiling and _is_first(spans, compiling):
        yield _first_call(compiling, compiling[0].compiles, count, "info")
    elif compiling and _is_timed_again(compiling, warm):
        again = count | {"is_timed_again": True}
        yield _first_call(compiling, compiling[0].compiles, again, "info")
    idle = [timed for timed in spans if timed.idle > timed.span.seconds / 2]
    # A single call may have lost its core.
    if 2 * len(idle) > len(spans) and sum(len(timed.work) for timed in idle) > 1:
        facts = count | {
            "idle_seconds": median(timed.idle for timed in idle),
            "read_seconds": median(timed.span.read_seconds for timed in idle),
        }
        yield _finding(begin, "idle-device", facts, 0.0, severity="info")
    # The program is not timed elsewhere, and not in a loop inside of the span.
    work = spans[0].work
    runs = Counter(run.program for run in work)
    if (
        len(spans) == 1
        and not spans[0].compiles
        and not spans[0].late
        and runs
        and max(runs.values()) == 1
        and all(warm[name] == 1 for name in runs)
    ):
        longest = max(work, key=lambda run: run.end_seconds - run.start_seconds)
        read_seconds = spans[0].span.read_seconds
        facts = count | {"function": longest.function, "read_seconds": read_seconds}
        yield _finding(end, "one-repeat", facts, 0.0, severity="info")


def _functions(spans: Sequence[_Timing]) -> tuple[str, ...]:
    """Return the functions that were not over at the end of a span, the last first."""
    ends: dict[str, float] = {}
    for timed in spans:
        for run in timed.work:
            if run.end_seconds > timed.span.stop_seconds:
                ends[run.function] = run.end_seconds
    return tuple(sorted(ends, key=lambda name: -ends[name]))[:3]


def _compiling(spans: Sequence[_Timing]) -> list[_Timing]:
    """Return the spans in which compiling counts."""
    return [
        timed
        for timed in spans
        if timed.compiling > SHARE * timed.span.seconds
        and (timed.work or not timed.is_traced)
    ]


def _is_first(spans: Sequence[_Timing], compiling: Sequence[_Timing]) -> bool:
    """Return whether a first span compiles, and others show the time without."""
    if spans[0].span.clock == "tqdm":  # the spans of a bar begin with it
        return True
    return len(compiling) < len(spans) and 2 * len(compiling) <= len(spans)


def _is_timed_again(compiling: Sequence[_Timing], warm: Counter[str]) -> bool:
    """Return whether the program times the same elsewhere, compiled before."""
    return all(
        timed.is_traced and any(warm[run.program] for run in timed.work)
        for timed in compiling
    )


def _compiles(compiling: Sequence[_Timing], count: dict[str, Fact]) -> Finding:
    again: dict[tuple[str, Place | None, str], list[Compile]] = defaultdict(list)
    for stage in (stage for timed in compiling for stage in timed.compiles):
        # Functions may have one name, as ``<lambda>``.
        defined = stage.reason.partition("defined at ")[2].partition("\n")[0]
        again[stage.function, stage.place, defined].append(stage)
    seconds = sum(timed.compiling for timed in compiling)
    repeated = [same for same in again.values() if len(same) > 1]
    if any(same[-1].reason for same in again.values()):
        # JAX explains functions of the program; those of its own have many shapes.
        repeated = [same for same in repeated if same[-1].reason]
    if _spent(stage for same in repeated for stage in same) > SMALL * seconds:
        same = max(repeated, key=_spent)
        function, times = same[0].function, len(same)
        facts = count | {"function": function, "times": times, "seconds": seconds}
        end = compiling[0].span.end
        return _finding(end, "recompiles", facts, seconds, same[-1].reason)
    every = [stage for same in again.values() for stage in same]
    return _first_call(compiling, every, count, "warning")


def _first_call(
    compiling: Sequence[_Timing],
    compiles: Sequence[Compile],
    count: dict[str, Fact],
    severity: Severity,
) -> Finding:
    span = compiling[0].span
    dearest = sorted(compiles, key=lambda stage: _spent([stage]), reverse=True)
    reasons = [
        stage.reason
        for stage in dearest
        if stage.reason and NEW_FUNCTION not in stage.reason
    ]
    facts = count | {
        "affected": len(compiling),
        "end_line": span.end.line,
        "functions": tuple({stage.function: None for stage in dearest})[:3],
        "compile_seconds": compiling[0].compiling,
        "read_seconds": span.read_seconds,
        "corrected_seconds": compiling[0].corrected,
        "reason": _difference(reasons[0]) if reasons else "",
    }
    seconds = sum(timed.compiling for timed in compiling)
    return _finding(
        span.begin, "first-call", facts, seconds, "".join(reasons[:1]), severity
    )


def _difference(reason: str) -> str:
    """The line of JAX's explanation that says what differs from an earlier call."""
    lines = (line.strip(" *") for line in reason.splitlines())
    line = next((line for line in lines if " before " in line), "")
    return line.partition("http")[0]


def _spent(compiles: Iterable[Compile]) -> float:
    return sum(stage.end_seconds - stage.start_seconds for stage in compiles)


def _transfers(spans: Sequence[_Timing], count: dict[str, Fact]) -> Iterator[Finding]:
    crossings: dict[Place | None, list[Transfer]] = defaultdict(list)
    affected: Counter[Place | None] = Counter()
    for timed in spans:
        # JAX fetches the constants of what it compiles.
        large = [
            transfer
            for transfer in timed.transfers
            if transfer.bytes >= TRANSFER_BYTES
            and not any(
                compiled.start_seconds <= transfer.start_seconds < compiled.end_seconds
                for compiled in timed.compiles
            )
        ]
        for transfer in large:
            crossings[transfer.place].append(transfer)
        affected.update({transfer.place for transfer in large})
    for place, transfers in crossings.items():
        if 2 * affected[place] < len(spans):
            continue
        seconds = sum(
            transfer.end_seconds - transfer.start_seconds for transfer in transfers
        )
        facts = count | {
            "direction": transfers[0].direction,
            "bytes": max(transfer.bytes for transfer in transfers),
            "times": len(transfers),
            "seconds": seconds,
            "end_line": spans[0].span.end.line,
        }
        yield _finding(place or spans[0].span.begin, "transfer", facts, seconds)


def _finding(
    place: Place,
    code: str,
    facts: dict[str, Fact],
    seconds: float,
    detail: str = "",
    severity: Severity = "warning",
) -> Finding:
    remark = Remark(code, facts, severity, detail)
    return Finding(place=place, remark=remark, seconds=seconds)
