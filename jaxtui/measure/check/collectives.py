"""Each collective once between all devices: is it right, and how fast are the links?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter

from jaxtui import format as fmt
from jaxtui.measure import coldpath, workload
from jaxtui.measure.check.base import (
    Context,
    TroubleError,
    reading,
    translate_errors,
)
from jaxtui.measure.devices import name
from jaxtui.measure.ops.collectives import COLLECTIVES, Collective
from jaxtui.measure.turns import Turns, take_turns
from jaxtui.model import (
    Case,
    CheckDoing,
    CheckDone,
    CheckRead,
    Fact,
    Reading,
    Remark,
    RunEvent,
)
from jaxtui.model.machine import group_name

SIZE = 16 * 1024**2
"""Bytes of the largest buffer of a device: far more than what latency decides."""

SHARED_SIZE = 1024**2
"""Bytes where devices share one memory, and the same cores copy every byte."""

DTYPE = "float32"

LEAST_ROUNDS = 3


def test(context: Context) -> Iterator[RunEvent]:
    """Compile and check each, then let all of them take turns."""
    names = tuple(map(name, context.devices))
    if len(names) == 1:
        skipped = reading("collectives", None, "all", remarks=(Remark("one-device"),))
        yield CheckRead(reading=skipped)
        yield CheckDone(device=names[0])
        return
    yield CheckDoing(devices=names, doing="compiling")
    series: dict[str, Turns] = {}
    pace = context.pace
    for op in COLLECTIVES.values():
        if pace.decide(context.stop, bool):
            return
        case = Case(
            op=op.name,
            size=SHARED_SIZE if context.shared else SIZE,
            dtype=DTYPE,
            device=group_name(names),
            mode="jit",
        )
        what = f"{op.name} {fmt.bytes_text(case.size)} {DTYPE}"
        trouble: Remark | None = None
        try:
            turns = _prepare(context, op, case, what)
        except TroubleError as error:
            trouble = error.remark
        troubles = pace.gather(trouble, Remark | None)
        first = partial(next, filter(None, troubles), None)
        trouble = pace.decide(first, Remark | None)
        if trouble is None:
            series[what] = turns
        else:
            failed = reading("collectives", None, what, remarks=(trouble,))
            yield CheckRead(reading=failed)
    yield CheckDoing(devices=names)
    seconds, every = context.check.budget_seconds, [*series.values()]
    end = perf_counter() + seconds

    def over() -> bool:
        rounds = min(
            (exchange_turns.rounds_taken for exchange_turns in every),
            default=LEAST_ROUNDS,
        )
        return context.stop() or (rounds >= LEAST_ROUNDS and perf_counter() > end)

    seed = context.check.seed
    for _ in take_turns(every, seconds, stop=over, seed=seed, pace=pace):
        pass
    if pace.decide(context.stop, bool):
        return
    for what, exchange_turns in series.items():
        exchange = exchange_turns.workload.exchange
        assert exchange is not None
        exchange.wrong = sum(pace.gather(exchange.wrong or 0, int))
        yield CheckRead(reading=_reading(what, exchange_turns))
    yield from (CheckDone(device=exchange_turns) for exchange_turns in names)


def _prepare(context: Context, op: Collective, case: Case, what: str) -> Turns:
    """Ready for its turns, and its first result checked.

    Raises:
        TroubleError: It cannot be done.
    """
    with translate_errors(case, what, "compile"):
        prepared = workload.of_collective(case, op, context.devices, context.check.seed)
        for _ in coldpath.make_ready(prepared):
            pass
        assert prepared.accuracy_of is not None
        prepared.accuracy_of(prepared.call(*prepared.args))
    return Turns(prepared, throughput=prepared.queues, pace=context.pace)


def _reading(what: str, turns: Turns) -> Reading:
    exchange = turns.workload.exchange
    assert exchange is not None
    wrong: tuple[Remark, ...] = ()
    if exchange.wrong:
        facts: dict[str, Fact] = {"by": "participants", "wrong": exchange.wrong}
        wrong = (Remark("wrong-result", facts, "error"),)
    return reading(
        "collectives",
        None,
        what,
        turns.per_call,
        per=exchange.factor * exchange.size,
        unit="bytes/s",
        remarks=wrong,
    )
