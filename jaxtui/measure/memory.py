"""The memory span of a case: with new pages in every call, and with reused ones.

Both ends are taken in a process of their own, because setting malloc would change the
process that is measured. The headline stays what the untouched process gave.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import msgspec

from jaxtui.format import shorten
from jaxtui.machine import malloc
from jaxtui.machine.malloc import ENDS, End
from jaxtui.measure.children import Child, sender, signal_with_parent
from jaxtui.model import HOST, Case, Experiment, MemorySpan, Remark
from jaxtui.model.base import Record
from jaxtui.model.links import COPY
from jaxtui.stats import median, quantile

WORTH_SAYING = 0.1
"""The ends differ by more than this share of the lower one, or there is no span."""

TURN_SECONDS = 0.05
ROUNDS = 5
"""Turns at each end, where the time allows."""

SETTLING_CALLS = 2
"""After a change of malloc, which is made anew before each of them: what was allocated
at the other end may be freed by then."""

SETTLING_CALLS_AT_MOST = 10
"""Until they are at the end that was chosen: XLA may free a result so late that the
next call needs new memory, or one of the other end has left some."""

FEW_FAULTS = 100
"""Of a call that reuses its memory."""

SPAN_SECONDS = 0.6
"""For the span of one case, beside its compile."""

CALLS_AT_LEAST = 1 + len(ENDS) * (SETTLING_CALLS + 1)
"""The cold one, and a turn at each end."""

START_SECONDS = 20.0
"""For the process and its JAX; import and compile take one to three."""

ERROR_CHARACTERS = 200
"""Of what a case raised at one end only."""


class SpanRequest(Record, frozen=True, kw_only=True):
    """One case, on its way to the other process."""

    case: Case
    seed: int
    seconds: float


class _Turns(Record, frozen=True, kw_only=True, tag=True):
    """What the other process answers: seconds per call of each turn at an end."""

    fresh: list[float]
    reused: list[float]
    page_faults: float


class _Raised(Record, frozen=True, kw_only=True, tag=True):
    """What it answers where a case raised."""

    error: str
    """The type."""
    text: str


def allocates(case: Case, block_bytes: int) -> bool:
    """Whether the calls of a case, the largest block of which has so many bytes, ask
    this machine's malloc for large ones; TensorFlow has an allocator of its own.
    """
    on_cpu = case.platform == "cpu" and case.mode in ("jit", "eager")
    here = on_cpu or case.mode == "numpy"
    return here and block_bytes >= malloc.ALLOCATES_BYTES


def is_known() -> bool:
    """Whether the span of this process's malloc can be had, and means something."""
    return not malloc.why_unknown() and not malloc.settings()


class Spans:
    """The other process, started when it is first asked, and ended with the run."""

    def __init__(self, seed: int, stop: Callable[[], bool]) -> None:
        self._seed, self._stop = seed, stop
        self._child: Child | None = None
        self._over = False

    def span(self, case: Case, seconds: float) -> MemorySpan | Remark | None:
        """Both ends of a case, or why there are none.

        Args:
            case: As it was timed.
            seconds: For all of it; a process that takes much longer is given up.

        Returns:
            ``None`` where the ends hardly differ, once the run is to stop, and after it
            was said that this process is no more.
        """
        if self._over:
            return None
        try:
            answer = self._ask(SpanRequest(case=case, seed=self._seed, seconds=seconds))
        except (OSError, msgspec.DecodeError) as error:
            self.close()
            self._over = True
            return Remark("no-span", {"because": "lost"}, detail=str(error))
        if answer is None:
            return None
        if isinstance(answer, _Raised):
            facts = {"because": "raised", "error": answer.error}
            return Remark("no-span", {**facts}, detail=answer.text)
        fresh, reused = median(answer.fresh), median(answer.reused)
        if fresh <= (1 + WORTH_SAYING) * reused:
            return None
        # The quartiles and not the medians, which would leave out half of the programs
        # that are at that end.
        return MemorySpan(
            fresh=quantile(sorted(answer.fresh), 0.75),
            reused=quantile(sorted(answer.reused), 0.25),
            page_faults=answer.page_faults,
        )

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _ask(self, asked: SpanRequest) -> _Turns | _Raised | None:
        if self._child is None:
            self._child = Child(__name__, {"JAX_PLATFORMS": "cpu"})
        self._child.send(asked)
        seconds = START_SECONDS + 3 * asked.seconds
        line = next(self._child.answers(self._stop, seconds), None)
        if line is None:
            if not self._stop():
                raise ChildProcessError(f"status {self._child.ending()}")
            self.close()
            self._over = True
            return None
        return msgspec.json.decode(line, type=_Turns | _Raised)


def main() -> int:
    """The other process: answers one line for each that it reads."""
    signal_with_parent()
    # Ctrl-C is for the process that asks, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    malloc.use_one_arena()
    send = sender()
    for line in sys.stdin.buffer:
        asked = msgspec.json.decode(line, type=SpanRequest)
        answer: _Turns | _Raised
        # What a case does here must not cost the one that was timed its headline.
        try:
            answer = _measured(asked)
        except (Exception, SystemExit) as error:
            text = shorten(str(error), ERROR_CHARACTERS)
            answer = _Raised(error=type(error).__name__, text=text)
        send(answer)
    return 0


def _measured(asked: SpanRequest) -> _Turns:
    """Take turns at both ends."""
    # Not before malloc has one arena: JAX brings threads, which would have others.
    import jax

    from jaxtui.measure import (
        clocks,
        coldpath,
        devices,
        inputs,
        own,
        planning,
        workload,
    )

    case, source = asked.case, own.source(asked.case.op)
    if source is not None:
        # Before JAX starts, as a program has it.
        own.load_before(source.file)
    if case.op == COPY:
        # Which two does not matter, and ids of other processes are unknown here.
        first, second, *_ = jax.devices("cpu")
        sent = jax.device_put(inputs.random_bytes(case.size, asked.seed), first)
        made = workload.of_copy(case, sent, second)
        return _of_turns(made, clocks, perf_counter() + asked.seconds)
    group = () if case.device == HOST else devices.find_all(case.device)
    # What was timed is still there: both must have room.
    (planned,) = planning.plan(Experiment(cases=(case,))).cases
    if planned.problem is not None:
        raise ValueError(planned.problem.remark.code)
    function = own.load(source, next(iter(group), None)) if source else None
    made = workload.of_case(case, group, workload.Pool(asked.seed), function)
    for _ in coldpath.make_ready(made):
        pass
    with made.scope():
        return _of_turns(made, clocks, perf_counter() + asked.seconds)


def _of_turns(made: Any, clocks: Any, end: float) -> _Turns:
    turns = list(_turns(made, clocks, end))
    return _Turns(
        fresh=[one for at, one, _ in turns if at == "fresh"],
        reused=[one for at, one, _ in turns if at == "reused"],
        page_faults=median([faults for at, _, faults in turns if at == "fresh"]),
    )


def _turns(made: Any, clocks: Any, end: float) -> Iterator[tuple[End, float, float]]:
    """The end, and seconds and page faults per call, of each turn."""
    chance = random.Random(0)
    for number in range(ROUNDS):
        if number and perf_counter() > end:
            return
        order: Sequence[End] = chance.sample(ENDS, 2)
        for side in order:
            settled = 0
            for _ in range(SETTLING_CALLS_AT_MOST):
                malloc.switch_to(side)
                _, faults = _timed(made, clocks, 0.0)
                is_there = (faults < FEW_FAULTS) == (side == "reused")
                settled = settled + 1 if is_there or perf_counter() > end else 0
                if settled == SETTLING_CALLS:
                    break
            yield side, *_timed(made, clocks, TURN_SECONDS)


def _timed(made: Any, clocks: Any, seconds: float) -> tuple[float, float]:
    """Seconds of a call, the median of a turn, and page faults per call.

    Giving the result back is part of it, as in a program that loops: new pages have to
    be unmapped, too, which for a result of 64 MiB is a fifth of the time.
    """
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, perf_counter()
    block = clocks.calls(made.call, made.args, made.wait, seconds)
    between = perf_counter() - start - sum(block.ready)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    calls = len(block.ready)
    return median(block.ready) + between / calls, (after - before) / calls
