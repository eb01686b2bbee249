"""What happens to events that nobody reads: nothing waits, and only points are lost."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from jaxtui.core.engine.outbox import Outbox
from jaxtui.core.engine.protocol import decode_envelope
from jaxtui.core.model import CaseMeasured, Logged, Progress, RunFinished, Sampled
from tests import records
from tests.records import case, measurement

POINTS = tuple(map(float, range(200)))
MEASURED = measurement(case())


@pytest.fixture
def pipe() -> Iterator[Any]:
    read, write = os.pipe()
    with os.fdopen(read, "rb", 0) as reader, os.fdopen(write, "wb", 0):
        yield reader, write


def read_all(reader: Any, outbox: Any) -> Any:
    """Everything that is in the pipe and in the outbox."""
    drained = threading.Thread(target=outbox.drain)
    drained.start()
    data = b""
    while drained.is_alive() or select.select((reader,), (), (), 0)[0]:
        if select.select((reader,), (), (), 0.01)[0]:
            data += reader.read(1 << 16)
    drained.join()
    return [decode_envelope(line) for line in data.splitlines()]


@pytest.mark.parametrize("bound", [1, 1 << 30])
def test_nothing_but_points_is_lost_and_all_arrives_in_order(
    pipe: Any, bound: Any
) -> None:
    reader, write = pipe
    outbox = Outbox(write, generation=4, max_waiting_bytes=bound)
    for number in range(3000):
        outbox.send(Logged(line=f"{number:0300}"), run=number)
    envelopes = read_all(reader, outbox)
    assert [(e.generation, e.run, int(e.event.line)) for e in envelopes] == [
        (4, number, number) for number in range(3000)
    ]


def test_beyond_the_bound_points_go_and_results_stay(pipe: Any) -> None:
    reader, write = pipe
    outbox = Outbox(write, generation=1, max_waiting_bytes=50_000)
    for turn in range(1, 501):
        for index in (0, 1):
            sampled = records.sampled(index, turn, MEASURED, POINTS, POINTS)
            outbox.send(sampled, run=1)
        outbox.send(
            Progress(elapsed_seconds=turn, remaining_seconds=0, doing=""), run=1
        )
        if turn % 100 == 0:
            outbox.send(CaseMeasured(index=turn, measurement=MEASURED), run=1)
    outbox.send(RunFinished(outcome="complete", elapsed_seconds=1), run=1)
    events = [e.event for e in read_all(reader, outbox)]
    arrived = [e for e in events if isinstance(e, Sampled)]
    assert len(arrived) < 500
    for index in (0, 1):
        rounds = [e.round for e in arrived if e.index == index]
        assert rounds == sorted(rounds)
        assert rounds[-1] == 500
    results = [e.index for e in events if isinstance(e, CaseMeasured)]
    assert results == [100, 200, 300, 400, 500]
    assert [e for e in events if isinstance(e, Progress)][-1].elapsed_seconds == 500
    assert isinstance(events[-1], RunFinished)


def test_a_reader_that_is_gone_is_no_error(pipe: Any) -> None:
    reader, write = pipe
    outbox = Outbox(write, generation=1)
    reader.close()
    outbox.send(Logged(line="x"))
    outbox.drain()


def test_threads_do_not_mix_their_lines(pipe: Any) -> None:
    reader, write = pipe
    outbox = Outbox(write, generation=1)

    def send(name: Any) -> None:
        for number in range(300):
            outbox.send(Logged(line=f"{name}{number:0500}"))

    threads = [threading.Thread(target=send, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [e.event.line for e in read_all(reader, outbox)]
    for name in "ab":
        own = [int(line[1:]) for line in lines if line[0] == name]
        assert own == list(range(300))
