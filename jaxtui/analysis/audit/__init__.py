"""What is wrong with how a program timed itself: findings from what was seen."""

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

from jaxtui.analysis.audit.source import Source
from jaxtui.model import Fact, Remark
from jaxtui.model.audit import (
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
"""The same where the thread that writes it has lost its core: a few turns of the
scheduler. It counts where the program did wait after its last call."""

SHARE = 0.01
"""Of a span: what changes its figure by less is not told."""

SMALL = 0.1
"""Of what is compiled: where the rest takes longer, recompiles are not the mistake."""

GRAINS = 100
"""A span of so many grains of its clock is read to one per cent."""

NEW_FUNCTION = "never seen function"
"""What JAX says of one that it traces for the first time."""

TRANSFER_BYTES = 64 * 1024
"""The latency of PCIe is some 10 µs, in which 16 GB/s move 160 KB: what is smaller
costs no more than a scalar of the result would."""

_Event = TypeVar("_Event", bound=Compile | Transfer | Wait)


@dataclass
class _Seen:
    """One span, and what happened in it."""

    span: Span
    work: Sequence[Execution]
    """Asked for in it."""
    before: Sequence[Execution]
    """Asked for before it, and not over when it began."""
    compiles: Sequence[Compile]
    transfers: Sequence[Transfer]
    waits: _Timeline[Wait | Transfer]
    """Of the whole program: a transfer waits as well."""
    is_traced: bool
    """The device was watched until the end of the span."""
    later: Sequence[Span]
    """Those from its start or its end to a later reading, before another call."""

    @cached_property
    def late(self) -> float:
        """Seconds from its end until its work was done; 0 where that was awaited."""
        if not self.work or not self.is_traced:
            return 0.0
        stop = self.span.stop_seconds
        done = max(execution.end_seconds for execution in self.work)
        late = done - stop
        called = max(execution.called_seconds for execution in self.work)
        waited = self._waited(called, stop)
        # Who reads the clock again when the result is there wants to know both.
        for other in self.later:
            end = other.stop_seconds
            if not self._counts(done - end, self._waited(called, end)):
                return 0.0
        return late if self._counts(late, waited) else 0.0

    @cached_property
    def busy(self) -> float:
        """Seconds of it that earlier work took of the device."""
        return self.busy_with(self.before)

    def busy_with(self, before: Sequence[Execution]) -> float:
        """The same of some of that work."""
        if not before or not self.is_traced:
            return 0.0
        start = self.span.start_seconds
        end = max(execution.end_seconds for execution in before)
        called = max(execution.called_seconds for execution in before)
        waited = self._waited(called, start)
        # What is over before the host has compiled keeps nothing waiting.
        compiled = max((each.end_seconds for each in self.compiles), default=start)
        if end <= compiled or not self._counts(end - start, waited):
            return 0.0
        return min(end, self.end) - start

    def _waited(self, called: float, end: float) -> bool:
        """Whether it waited after its last call, or still did: where the trace lacks a
        call, it counts from the start of its run.
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

    @property
    def end(self) -> float:
        """When its work was done."""
        return self.span.stop_seconds + self.late

    @property
    def corrected(self) -> float | None:
        """What it would have read, had its work alone been timed, compiled before."""
        if not self.is_traced:
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
        lost = Remark("audit-lost", {"status": status}, "error")
        return Audit(script=name, sites=(), findings=(), remarks=(lost,))
    # A function that times others has a caller that wants to know what compiling costs,
    # and another that does not.
    groups: dict[tuple[Place | None, ...], list[_Seen]] = defaultdict(list)
    for seen in _spans(witness):
        span = seen.span
        groups[span.begin, span.end, span.caller].append(seen)
    timed = {
        places: spans
        for places, spans in groups.items()
        if any(seen.work or seen.compiles for seen in spans)
    }
    warm = Counter(
        program
        for spans in timed.values()
        for program in {
            execution.program
            for seen in spans
            if not seen.compiles
            for execution in seen.work
        }
    )
    code = Source(source)
    findings = [
        *_idle_waits(witness.waits),
        *(
            finding
            for spans in timed.values()
            for finding in _of_site(spans, warm, code)
        ),
    ]
    sites = (_site(spans) for spans in timed.values())
    return Audit(
        script=name,
        sites=tuple(sorted(sites, key=lambda site: _order(site.begin))),
        findings=tuple(
            sorted(_merged(findings), key=lambda finding: _order(finding.place))
        ),
        remarks=(*_unjudged(witness, groups), *witness.remarks),
    )


def _order(place: Place) -> tuple[str, int]:
    return place.file, place.line


def _unjudged(witness: Witness, groups: object) -> Iterator[Remark]:
    if witness.jax is None:
        yield Remark("audit-no-jax", severity="warning")
    elif not groups:
        yield Remark("audit-no-spans", severity="warning")


def _spans(witness: Witness) -> Iterator[_Seen]:
    executions = _awaited(witness)
    called = [execution.called_seconds for execution in executions]
    # The device computes in order, so what is not over began lately.
    done: list[float] = []
    for execution in executions:
        done.append(max(execution.end_seconds, done[-1] if done else 0.0))
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
        unfinished = bisect_left(done, start)
        next_call = (*called[bisect_left(called, stop) :][:1], inf)[0]
        yield _Seen(
            span,
            _by(span.thread, executions[first : bisect_left(called, stop)]),
            [
                each
                for each in _by(span.thread, executions[unfinished:first])
                if each.end_seconds > start
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

    One that was alone on the device when the program began to wait was over when it
    went on, unless more of it is left than was waited for: the runtime's thread that
    writes ends may have lost its core.
    """
    executions = sorted(witness.executions, key=lambda each: each.called_seconds)
    waits = sorted(witness.waits, key=lambda wait: wait.start_seconds)
    running: list[int] = []
    coming = 0
    for wait in waits:
        start, end = wait.start_seconds, wait.end_seconds
        while coming < len(executions) and executions[coming].called_seconds < end:
            running.append(coming)
            coming += 1
        running = [at for at in running if executions[at].end_seconds > start]
        if len(running) == 1:
            alone = executions[running[0]]
            if TOLERANCE_SECONDS < alone.end_seconds - end <= end - start:
                executions[running[0]] = msgspec.structs.replace(alone, end_seconds=end)
    return executions


def _by(thread: int, executions: Sequence[Execution]) -> Sequence[Execution]:
    """Those of a thread, and of threads that measure nothing themselves."""
    return [each for each in executions if each.thread in (None, thread)]


class _Timeline(Generic[_Event]):
    """Events by their starts."""

    def __init__(self, events: Iterable[_Event]) -> None:
        self._events: list[_Event] = sorted(
            events, key=lambda event: event.start_seconds
        )
        self._starts = [event.start_seconds for event in self._events]

    def before(self, stop: float) -> Iterator[_Event]:
        """Those that began before then, the last first."""
        last = bisect_left(self._starts, stop) - 1
        return (self._events[place] for place in range(last, -1, -1))

    def within(self, start: float, stop: float) -> Sequence[_Event]:
        first = bisect_left(self._starts, start)
        return self._events[first : bisect_left(self._starts, stop)]


def _site(spans: Sequence[_Seen]) -> Site:
    busy: dict[str, float] = defaultdict(float)
    for seen in spans:
        for execution in seen.work:
            busy[execution.function] += execution.end_seconds - execution.start_seconds
    corrected = [seen.corrected for seen in spans if seen.corrected is not None]
    span = spans[0].span
    return Site(
        begin=span.begin,
        end=span.end,
        caller=span.caller,
        count=len(spans),
        clock=span.clock,
        functions=tuple(sorted(busy, key=lambda name: -busy[name])),
        read_seconds=median(seen.span.seconds for seen in spans),
        corrected_seconds=median(corrected) if corrected else None,
    )


# Findings.


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """One of each kind for a line, whoever called it: the one that is most wrong."""
    same: dict[tuple[Place, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        same[finding.place, finding.remark.code].append(finding)
    for each in same.values():
        worst = max(each, key=lambda finding: finding.seconds)
        if len(each) > 1:
            facts = {**worst.remark.facts, "callers": len(each)}
            remark = msgspec.structs.replace(worst.remark, facts=facts)
            worst = msgspec.structs.replace(worst, remark=remark)
        yield worst


def _idle_waits(waits: Iterable[Wait]) -> Iterator[Finding]:
    places = Counter((wait.place, wait.on) for wait in waits if wait.on)
    for (place, on), count in places.items():
        facts: dict[str, Fact] = {"type": on, "times": count}
        yield _finding(place, "idle-wait", facts, 0.0)


def _of_site(
    spans: Sequence[_Seen], warm: Counter[str], source: Source
) -> Iterator[Finding]:
    begin, end = spans[0].span.begin, spans[0].span.end
    count: dict[str, Fact] = {"spans": len(spans), "start_line": begin.line}
    late = [seen for seen in spans if seen.late]
    # One of several that were awaited lost its core.
    if 2 * len(late) >= len(spans):
        known = [seen.corrected for seen in late if seen.corrected is not None]
        facts = count | {
            "affected": len(late),
            "functions": _functions(late),
            "read_seconds": median(seen.span.seconds for seen in late),
            "early_seconds": median(seen.late for seen in late),
            "corrected_seconds": median(known) if known else None,
        }
        yield _finding(end, "unawaited", facts, median(seen.late for seen in late))
    # After a span that was not awaited the next one starts busy by itself.
    own = {each for seen in spans for each in seen.work}
    busy = [
        seen
        for seen in spans
        if seen.busy_with([each for each in seen.before if each not in own])
    ]
    if 2 * len(busy) >= len(spans):
        functions = Counter(each.function for seen in busy for each in seen.before)
        facts = count | {
            "affected": len(busy),
            "functions": tuple(name for name, _ in functions.most_common(3)),
            "busy_seconds": median(seen.busy for seen in busy),
        }
        yield _finding(begin, "started-busy", facts, median(s.busy for s in busy))
    yield from _compiles(spans, warm, count, source)
    yield from _transfers(spans, count)
    if not late:
        yield from _few(spans, warm, count)


def _functions(spans: Sequence[_Seen]) -> tuple[str, ...]:
    """Those that were not over at the end of a span, the last first."""
    ends: dict[str, float] = {}
    for seen in spans:
        for each in seen.work:
            if each.end_seconds > seen.span.stop_seconds:
                ends[each.function] = each.end_seconds
    return tuple(sorted(ends, key=lambda name: -ends[name]))[:3]


def _compiles(
    spans: Sequence[_Seen], warm: Counter[str], count: dict[str, Fact], source: Source
) -> Iterator[Finding]:
    compiling = [seen for seen in spans if seen.compiles and _matters(seen)]
    if not compiling or _on_purpose(compiling, len(spans), warm, source):
        return
    begin, end = spans[0].span.begin, spans[0].span.end
    again: dict[tuple[str, Place | None], list[Compile]] = defaultdict(list)
    for each in (each for seen in compiling for each in seen.compiles):
        again[each.function, each.place].append(each)
    seconds = sum(seen.compiling for seen in compiling)
    repeated = {
        key: each
        for key, each in again.items()
        if len(each) > 1 and not _are_new(each, len(spans))
    }
    if any(each[-1].reason for each in again.values()):
        # JAX explains functions of the program; those of its own have many shapes.
        repeated = {key: each for key, each in repeated.items() if each[-1].reason}
    if _spent(each for same in repeated.values() for each in same) > SMALL * seconds:
        (function, _), same = max(repeated.items(), key=lambda item: _spent(item[1]))
        facts = count | {"function": function, "times": len(same), "seconds": seconds}
        yield _finding(end, "recompiles", facts, seconds, same[-1].reason)
        return
    first = compiling[0]
    dearest = sorted(again, key=lambda key: -_spent(again[key]))
    facts = count | {
        "end_line": end.line,
        "functions": tuple({name: None for name, _ in dearest})[:3],
        "compile_seconds": first.compiling,
        "read_seconds": first.span.seconds,
        "corrected_seconds": first.corrected,
    }
    yield _finding(begin, "first-call", facts, seconds)


def _on_purpose(
    compiling: Sequence[_Seen], spans: int, warm: Counter[str], source: Source
) -> bool:
    """Whether a program wants to know what compiling costs, or leaves it out."""
    # Who compiles and runs nothing times that alone; who times the same program again
    # elsewhere, without it, wants to know the difference.
    if len(compiling) == spans and all(
        seen.is_traced
        and (not seen.work or any(warm[each.program] for each in seen.work))
        for seen in compiling
    ):
        return True
    few = spans > 1 and 2 * len(compiling) <= spans
    return all(
        source.is_of_compiling(seen.span) or (few and source.drops_first(seen.span))
        for seen in compiling
    )


def _spent(compiles: Iterable[Compile]) -> float:
    return sum(each.end_seconds - each.start_seconds for each in compiles)


def _are_new(compiles: Sequence[Compile], spans: int) -> bool:
    """Whether these are functions of one name, each called again without compiling."""
    new = all(NEW_FUNCTION in each.reason for each in compiles)
    return new and 2 * len(compiles) <= spans


def _matters(seen: _Seen) -> bool:
    return seen.compiling > SHARE * seen.span.seconds


def _transfers(spans: Sequence[_Seen], count: dict[str, Fact]) -> Iterator[Finding]:
    begin, end = spans[0].span.begin, spans[0].span.end
    to_device = [
        each for seen in spans for each in seen.transfers if each.place is None
    ]
    sent = spans[0].span.host_bytes
    if to_device and sent >= TRANSFER_BYTES:
        seconds = sum(each.end_seconds - each.start_seconds for each in to_device)
        facts = count | {
            "direction": "to device",
            "bytes": sent,
            "times": len(to_device),
            "seconds": seconds,
        }
        yield _finding(begin, "transfer", facts, seconds)
    fetched: dict[Place, list[Transfer]] = defaultdict(list)
    for seen in spans:
        for each in seen.transfers:
            # JAX fetches the constants of what it compiles.
            if (
                each.place is not None
                and (each.bytes or 0) >= TRANSFER_BYTES
                and not any(
                    compiled.start_seconds <= each.start_seconds < compiled.end_seconds
                    for compiled in seen.compiles
                )
            ):
                fetched[each.place].append(each)
    for place, each_time in fetched.items():
        seconds = sum(each.end_seconds - each.start_seconds for each in each_time)
        facts = count | {
            "direction": "to host",
            "bytes": max(each.bytes or 0 for each in each_time),
            "times": len(each_time),
            "seconds": seconds,
            "end_line": end.line,
        }
        yield _finding(place, "transfer", facts, seconds)


def _few(
    spans: Sequence[_Seen], warm: Counter[str], count: dict[str, Fact]
) -> Iterator[Finding]:
    """Too short for its clock, or done once."""
    span = spans[0].span
    seconds = median(seen.span.seconds for seen in spans)
    if seconds < GRAINS * span.grain_seconds and any(seen.work for seen in spans):
        facts = count | {
            "read_seconds": seconds,
            "grain_seconds": span.grain_seconds,
            "clock": span.clock,
        }
        yield _finding(span.end, "too-short", facts, span.grain_seconds)
    elif len(spans) == 1 and not spans[0].compiles:
        # The program is not timed elsewhere, and not in a loop inside of the span.
        work = spans[0].work
        runs = Counter(execution.program for execution in work)
        if runs and max(runs.values()) == 1 and all(warm[name] == 1 for name in runs):
            longest = max(work, key=lambda each: each.end_seconds - each.start_seconds)
            facts = count | {"function": longest.function, "read_seconds": seconds}
            yield _finding(span.end, "one-repeat", facts, 0.0)


def _finding(
    place: Place, code: str, facts: dict[str, Fact], seconds: float, detail: str = ""
) -> Finding:
    return Finding(
        place=place, remark=Remark(code, facts, "warning", detail), seconds=seconds
    )
