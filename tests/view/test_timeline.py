"""From the stamps of a loop to two lanes, a queue, figures and words."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.model import (
    Case,
    Loop,
    LoopCall,
    LoopMeasured,
    Remark,
)
from jaxtui.view import timeline as view
from jaxtui.view import words
from jaxtui.view.lanes import Timeline, timeline
from jaxtui.view.text import plain
from tests.fake_engine import looped

CASE = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")

stamps = st.floats(width=64)
# Inferred, and with the device's own times.
stamped = tuple(
    st.builds(
        LoopCall,
        entered=stamps,
        returned=stamps,
        ready=stamps,
        waited=st.none() | stamps,
        device_start=own,
        device_end=own,
    )
    for own in (st.none(), stamps)
)
call_lists = st.one_of(st.lists(each, max_size=40) for each in stamped)


def loop(count: int = 40, style: str = "never") -> Loop:
    return Loop(case=CASE, calls=count, style=style)  # type: ignore[arg-type]


def calls(count: int = 40, style: str = "never") -> tuple[LoopCall, ...]:
    return looped(loop(count, style)).calls


def measured(count: int = 40, **changes: object) -> LoopMeasured:
    return msgspec.structs.replace(looped(loop(count)), **changes)


def on_device(count: int) -> list[LoopCall]:
    """Calls that were computed in the last fifth of the time until they were ready."""
    return [
        msgspec.structs.replace(
            call, device_start=call.ready - 1e-3, device_end=call.ready
        )
        for call in calls(count)
    ]


# The lanes.


def test_the_device_begins_a_result_when_it_ends_the_one_before() -> None:
    line = timeline(calls(3))
    first, second, third = line.device
    assert first.start == 0.0
    assert (second.start, third.start) == (first.end, second.end)
    # An idle one begins when the call is entered.
    late = LoopCall(entered=1.0, returned=1.1, ready=1.5)
    line = timeline([LoopCall(entered=0.0, returned=0.1, ready=0.5), late])
    assert (line.device[1].start, line.device[1].end) == (1.0, 1.5)


def test_the_devices_own_times_count_where_there_are_any() -> None:
    line = timeline(on_device(3))
    assert line.measured
    assert [bar.end - bar.start for bar in line.device] == pytest.approx([1e-3] * 3)
    # One call without them, and all are inferred.
    assert not timeline([*on_device(2), calls(1)[0]]).measured


def test_the_host_waits_after_each_call_or_once() -> None:
    each = timeline(calls(3, "each"))
    assert [bar.call for bar in each.host if bar.kind == "wait"] == [0, 1, 2]
    stamped = [
        LoopCall(entered=0.0, returned=0.1, ready=1.0, waited=2.1),
        LoopCall(entered=0.1, returned=0.2, ready=2.0, waited=2.2),
    ]
    waits = [bar for bar in timeline(stamped).host if bar.kind == "wait"]
    # The first is not waited for while the second is being called.
    assert [(bar.start, bar.end) for bar in waits] == [(0.2, 2.1), (2.1, 2.2)]


def test_the_stopwatch_stops_when_the_code_is_through() -> None:
    line = timeline(calls(20))
    assert line.through == pytest.approx(20 * 2e-5)
    assert line.total == pytest.approx(20 * 5e-3, rel=0.01)
    assert timeline([]) == Timeline()


@given(call_lists)
def test_any_stamps_give_bars_in_order_and_a_queue(some: list[LoopCall]) -> None:
    line = timeline(some)
    assert len(line.device) == len(some)
    for bar in (*line.host, *line.device):
        assert 0 <= bar.start <= bar.end <= line.total
    ends = [bar.end for bar in line.device]
    assert ends == sorted(ends)
    waits = [bar for bar in line.host if bar.kind == "wait"]
    assert all(one.end <= two.start for one, two in pairwise(waits))
    assert len(line.in_flight) == len(some)
    assert all(0 <= count <= index for index, count in enumerate(line.in_flight))


# The queue.


def test_which_calls_are_held_back_is_the_engines_to_say() -> None:
    line = timeline(calls(64), held_from=32)
    assert line.held == tuple(range(32, 64))
    assert max(line.in_flight) == 32
    assert timeline(calls(64)).held == ()
    # What found room at once was not.
    some = list(calls(64))
    some[40] = msgspec.structs.replace(some[40], entered=some[40].returned - 2e-5)
    assert 40 not in timeline(some, held_from=32).held


def test_results_that_were_seen_late_make_no_deeper_queue() -> None:
    some = calls(64)
    late = [
        msgspec.structs.replace(call, ready=some[min(index + 2, 63)].ready)
        for index, call in enumerate(some)
    ]
    both = [*late[:20], *some[20:]]
    assert max(timeline(both).in_flight) > 32
    line = timeline(both, held_from=32)
    assert max(line.in_flight) == 32
    for index in line.held:
        said = view.call_text(line, index, inline=False)
        assert "32 in flight: the call was held back" in said


# Words.


def test_what_happened_in_a_call() -> None:
    line = timeline(calls(64), held_from=32)

    def said(index: int, **how: object) -> str:
        how = {"inline": False, **how}
        return view.call_text(line, index, **how)  # type: ignore[arg-type]

    assert said(2) == (
        "entered at 0.0400 ms · returned after 0.0200 ms · ready at 15.0 ms · "
        "host 15.0 ms ahead"
    )
    assert "32 in flight: the call was held back" in said(40)
    # Too far apart for one unit.
    assert "returned after 20.0 µs · ready at 50.0 ms" in said(9)
    assert "computed inside the call" in said(2, inline=True)
    assert said(99) == said(-1) == ""
    line = timeline(calls(3, "each"))
    assert "host waited 5.00 ms" in view.call_text(line, 1, inline=False)


def test_a_report_has_a_verdict_and_the_remarks_the_worst_first() -> None:
    few = Remark("few-repeats", {"repeats": 2}, "warning")
    one = measured(20, notes=(Remark("inline"), few))
    said = view.report(one.loop, timeline(one.calls), one)
    assert [statement.remark for statement in said.remarks] == [few, Remark("inline")]
    assert "of the work" in plain(said.verdict)
    assert view.report(one.loop, timeline(one.calls), None).remarks == ()


@pytest.mark.parametrize(
    ("ratio", "change"),
    [
        (1.004, "is as long,"),
        (0.9, "10 % shorter"),
        (1.12, "12 % longer"),
        (4.2, "4.2×"),
    ],
)
def test_the_lanes_say_how_far_they_are_from_the_figures(
    ratio: float, change: str
) -> None:
    facts = {"repeats": 7, "traced": True, "work": ratio, "stopwatch": 1.0}
    assert change in words.sentence(Remark("instrumented", {**facts}))
