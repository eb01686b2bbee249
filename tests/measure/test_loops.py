"""Loops on real JAX on CPU: their stamps, what is found in them, what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from jaxtui.measure import loops, ops, planning, session, trace
from jaxtui.measure.loops import findings, repeats, run_loop, subjects
from jaxtui.measure.loops.repeats import Watcher
from jaxtui.measure.trace import Kernel, Run
from jaxtui.model import (
    LOOP_STYLES,
    Case,
    Loop,
    LoopCall,
    LoopClock,
    LoopMeasured,
    LoopSeen,
    LoopStarted,
    LoopStyle,
    Peak,
    Progress,
    RunEvent,
    RunFinished,
    WorkFailed,
)
from tests.apart import in_a_thread

WAITING: tuple[LoopStyle, ...] = ("each", "asarray", "print")


def loop(
    op: str = "matmul",
    size: int = 256,
    *,
    mode: Any = "jit",
    dtype: str = "float32",
    inputs: Any = "device",
    device: str = "cpu:0",
    **more: Any,
) -> Loop:
    case = Case(op=op, size=size, dtype=dtype, mode=mode, device=device, inputs=inputs)
    return Loop(**({"case": case, "calls": 10} | more))


def measured(asked: Loop) -> LoopMeasured:
    found = [one for one in run_loop(asked) if isinstance(one, LoopMeasured)]
    assert len(found) == 1
    return found[0]


def refused(asked: Loop) -> WorkFailed:
    events = list(run_loop(asked))
    failures = [event for event in events if isinstance(event, WorkFailed)]
    assert len(failures) == 1, events
    assert isinstance(events[-1], RunFinished)
    assert not any(isinstance(event, LoopMeasured) for event in events)
    return failures[0]


def flags(one: LoopMeasured) -> list[str]:
    return [note.flag for note in one.notes]


@pytest.fixture(autouse=True)
def _briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "UNDISTURBED_SECONDS", 0.005)
    monkeypatch.setattr(loops, "REPEATS", 3)
    monkeypatch.setattr(repeats, "WARM_UP_SECONDS", 0.01)


@pytest.mark.parametrize("style", LOOP_STYLES)
@pytest.mark.parametrize("chained", [False, True])
def test_every_style_has_its_stamps_in_order(style: LoopStyle, chained: bool) -> None:
    asked = loop(style=style, chained=chained)
    one = measured(asked)
    calls = one.calls
    assert one.loop == asked
    assert len(calls) == 10
    assert calls[0].entered == 0
    for call, following in pairwise(calls):
        assert call.entered < call.returned <= following.entered
        assert call.ready < following.ready
    assert all(call.ready > call.returned for call in calls)
    for number, call in enumerate(calls, 1):
        if style in WAITING or (style == "end" and number == 10):
            assert call.waited is not None
            assert call.waited > call.returned
        else:
            assert call.waited is None
    for clock in (one.watched, one.undisturbed):
        assert 0 < clock.stopwatch_seconds <= clock.true_seconds
    assert 1 <= one.watched.repeats <= loops.REPEATS
    assert one.undisturbed.repeats >= one.watched.repeats
    assert one.flops == 2 * 256**3


@pytest.mark.parametrize("style", WAITING)
def test_a_loop_that_waits_enters_a_call_when_the_last_result_is_there(
    style: LoopStyle,
) -> None:
    one = measured(loop(style=style, size=384))
    for call, following in pairwise(one.calls):
        assert call.waited is not None
        assert following.entered >= call.waited
    assert one.ratio < 1.5
    assert one.held_from is None


@pytest.mark.parametrize("chained", [False, True])
def test_never_waiting_reads_the_dispatch_alone(chained: bool) -> None:
    one = measured(loop(size=512, calls=20, chained=chained))
    assert one.ratio > 3
    assert one.watched.true_seconds > 3 * one.watched.stopwatch_seconds
    last = one.calls[-1]
    # The host was through long before the device had got anywhere near the end.
    assert last.returned < one.calls[10].ready
    claimed, true = one.claimed_flops_per_second, one.true_flops_per_second
    assert claimed is not None
    assert true is not None
    assert claimed > 3 * true


def test_waiting_at_the_end_shows_the_true_time() -> None:
    one = measured(loop(size=512, style="end", calls=20))
    assert one.ratio == pytest.approx(1, abs=0.05)
    assert one.calls[-1].waited is not None
    assert one.calls[-2].waited is None


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "eager", "style": "print"},
        {"inputs": "host"},
        {"inputs": "host", "mode": "eager", "chained": True},
        {"dtype": "float64", "chained": True},
        {"dtype": "bfloat16", "style": "print"},
        {"dtype": "complex64", "style": "print"},
        {"device": "cpu:2"},
        {"op": "sum", "size": 5000, "style": "print"},
        {"op": "normal", "size": 5000, "style": "asarray"},
        {"calls": 1, "style": "end"},
    ],
)
def test_every_kind_of_case_can_be_looped_over(changes: dict[str, Any]) -> None:
    one = measured(loop(**({"size": 64, "calls": 4} | changes)))
    assert len(one.calls) == one.loop.calls


def test_chained_calls_feed_on_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def remember(x: Any) -> None:
        seen.append(float(x))

    def count(x: jax.Array) -> jax.Array:
        jax.debug.callback(remember, x[0, 0])
        return x + 1

    plant(monkeypatch, "gram", jax=count)
    measured(loop("planted", 8, calls=5, chained=True))
    jax.effects_barrier()
    first, lasts = seen[0], seen[-5:]
    assert lasts == pytest.approx([first + step for step in range(5)], abs=1e-5)


def plant(monkeypatch: pytest.MonkeyPatch, of: str, **changes: Any) -> None:
    """A changed copy of an op in the catalogue, called ``planted``."""
    changed = replace(ops.get(of), name="planted", **changes)
    monkeypatch.setitem(ops.OPS, "planted", changed)


def test_the_queue_is_found_full_where_it_is() -> None:
    found = []
    for _ in range(3):  # whoever else is busy here can drain the queue or stop the host
        one = measured(loop(size=512, calls=64))
        found.append(one.held_from)
        if one.held_from is not None and 28 <= one.held_from <= 36:
            assert "queue-full" in flags(one)
            text = {note.flag: note.text for note in one.notes}["queue-full"]
            assert f"Queue full from call {one.held_from + 1}:" in text
            return
    pytest.fail(f"held from {found}")


def test_an_op_that_runs_inline_is_called_so() -> None:
    one = measured(loop("add", 500))
    assert one.inline
    assert "inline" in flags(one)
    assert one.held_from is None
    assert not measured(loop(size=384)).inline


def test_the_watcher_is_always_owned_up_to() -> None:
    one = measured(loop())
    text = {note.flag: note.text for note in one.notes}["watched"]
    change = one.watched.true_seconds / one.undisturbed.true_seconds - 1
    assert f"({change:+.1%})" in text


# The device lane.


@pytest.mark.parametrize(
    "changes",
    [
        {"style": "never"},
        {"style": "print", "mode": "eager", "op": "selu", "size": 30_000},
        {"style": "each", "op": "add", "size": 500},
    ],
)
def test_the_device_lane_is_measured_and_names_the_kernels(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "PERTURBED", float("inf"))  # others may be busy here
    one = measured(loop(**changes))
    assert one.device_lane == "measured"
    assert one.traced is not None
    assert one.traced.repeats == 1
    assert "measured" in flags(one)
    assert "inferred" not in flags(one)
    counts = {sum(kernel.count for kernel in call.kernels) for call in one.calls}
    assert len(counts) == 1  # printing has kernels, too, which are not the calls'
    for call in one.calls:
        assert call.device_start is not None
        assert call.device_end is not None
        assert call.entered - 1e-3 < call.device_start < call.device_end
        assert call.device_end < call.ready + 1e-3
        assert all(kernel.name and kernel.seconds > 0 for kernel in call.kernels)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"PERTURBED": 0.0}, "Under a trace the loop took"),
        ({"TRACED_CALL_SECONDS": 0.0}, "is too long for a trace"),
    ],
)
def test_a_lane_without_a_trace_is_inferred_and_says_why(
    changes: dict[str, float], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in changes.items():
        monkeypatch.setattr(loops, name, value)
    inferred(loop(size=64), said)


def inferred(asked: Loop, said: str) -> None:
    one = measured(asked)
    assert (one.device_lane, one.traced) == ("inferred", None)
    assert said in {note.flag: note.text for note in one.notes}["inferred"]
    assert "measured" not in flags(one)
    assert all(call.device_start is None and not call.kernels for call in one.calls)


def test_a_second_profiler_cannot_start(tmp_path: Path) -> None:
    jax.profiler.start_trace(str(tmp_path))
    try:
        inferred(loop(size=64), "The profiler could not start: Profile has already")
    finally:
        jax.profiler.stop_trace()


def test_what_fails_under_the_trace_costs_the_lane_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(work: Callable[[], object]) -> trace.Trace:
        raise ValueError("not under a trace")

    monkeypatch.setattr(trace, "record", fail)
    inferred(loop(size=64), "The traced repeat failed: not under a trace")


def run_of(program: str, start: float) -> Run:
    return Run(program, start, start + 1, (Kernel(f"{program}.1", start, start + 1),))


def test_runs_go_to_their_calls_program_by_program() -> None:
    calls = [LoopCall(entered=0.0, returned=0.1, ready=9.0)] * 2
    # What runs inline overtakes what is queued; the last of each call is a print's.
    runs = [run_of(*one) for one in (("a", 1), ("a", 2), ("b", 3), ("b", 4), ("c", 5))]
    alone = [run_of("a", 1), run_of("b", 2)]
    found = findings.traced(calls, 1.0, runs, alone)
    assert not isinstance(found, str)
    assert [(one.device_start, one.device_end) for one in found] == [(0, 3), (1, 4)]
    assert [kernel.name for kernel in found[0].kernels] == ["a.1", "b.1"]
    lost = findings.traced(calls, 1.0, runs[1:], alone)
    assert lost == "The trace holds 1 run of a for 2 calls."


def test_documents_of_before_have_an_inferred_lane() -> None:
    fields = msgspec.to_builtins(measured(loop(size=8, calls=1)))
    del fields["device_lane"], fields["traced"]
    for call in fields["calls"]:
        del call["device_start"], call["device_end"], call["kernels"]
    old = msgspec.convert(fields, LoopMeasured)
    assert old.device_lane == "inferred"
    assert old.calls[0].kernels == ()


def test_events_come_in_their_order() -> None:
    asked = loop(calls=3, size=64)
    events = list(run_loop(asked))
    assert events[0] == LoopStarted(loop=asked)
    assert isinstance(events[-2], LoopMeasured)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "complete"
    doing = [event.doing for event in events if isinstance(event, Progress)]
    assert any(text.startswith("compile: matmul") for text in doing)
    assert sum(text.startswith("repeat") for text in doing) == 2 * loops.REPEATS
    assert not any(isinstance(event, LoopSeen) for event in events)


def test_a_short_loop_runs_undisturbed_for_long_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    one = measured(loop(calls=1, size=8))
    assert one.undisturbed.repeats > 10 * one.watched.repeats
    assert "few-repeats" not in flags(one)


def test_a_small_budget_means_one_repeat_of_each_kind() -> None:
    one = measured(loop(size=384, calls=20, budget_seconds=0.02))
    assert one.watched.repeats == one.undisturbed.repeats == 1
    assert "few-repeats" in flags(one)


def test_a_long_loop_is_seen_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "LIVE_SECONDS", 0.0)
    monkeypatch.setattr(loops, "SEEN_SECONDS", 0.005)
    events = list(run_loop(loop(size=384, calls=60, style="each")))
    batches = [event for event in events if isinstance(event, LoopSeen)]
    assert len(batches) > 1
    seen: list[LoopCall] = []
    for batch in batches:
        assert batch.first == len(seen)
        seen += batch.calls
    assert len(seen) == 60
    assert all(call.waited is not None for call in seen)


class Flag:
    """A stop flag that somebody raises."""

    raised = False

    def __call__(self) -> bool:
        return self.raised


@pytest.mark.parametrize("when", [LoopStarted, Progress])
def test_stopped_early_there_is_no_result(when: type[RunEvent]) -> None:
    flag, events = Flag(), []
    for event in run_loop(loop(), stop=flag):
        events.append(event)
        flag.raised = flag.raised or isinstance(event, when)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "cancelled"
    assert not any(isinstance(event, LoopMeasured | WorkFailed) for event in events)


def test_stopped_after_both_kinds_what_there_is_is_given() -> None:
    flag, events = Flag(), []
    for event in run_loop(loop(), stop=flag):
        events.append(event)
        third = isinstance(event, Progress) and event.doing.startswith("repeat 3")
        flag.raised = flag.raised or third
    assert isinstance(events[-2], LoopMeasured)
    assert events[-2].watched.repeats <= 3
    assert events[-1].outcome == "cancelled"


def test_a_long_loop_ends_between_two_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "LIVE_SECONDS", 0.0)
    monkeypatch.setattr(loops, "SEEN_SECONDS", 0.001)
    flag, seen = Flag(), 0
    for event in run_loop(loop(size=512, calls=200, style="each"), stop=flag):
        assert not isinstance(event, LoopMeasured)
        if isinstance(event, LoopSeen):
            flag.raised = True
            seen = event.first + len(event.calls)
    assert 0 < seen < 200


def test_closing_the_generator_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "LIVE_SECONDS", 0.0)
    monkeypatch.setattr(loops, "SEEN_SECONDS", 0.001)
    before = set(threading.enumerate())
    events = run_loop(loop(size=512, calls=200, style="each"))
    seen = next(event for event in events if isinstance(event, LoopSeen))
    events.close()
    assert len(seen.calls) < 200
    assert set(threading.enumerate()) <= before


# What is refused.


def test_only_results_that_fit_can_be_chained() -> None:
    failed = refused(loop("sum", 1000, chained=True))
    assert "takes float32[1000] and gives float32[]" in failed.error
    assert "independent" in failed.hint
    assert "chained" in refused(loop(dtype="int8", chained=True)).error
    assert measured(loop("sum", 1000)).calls


def test_numpy_has_nothing_to_show() -> None:
    failed = refused(loop(mode="numpy", device="host", inputs="host"))
    assert "numpy" in failed.error
    assert failed.hint == "Choose mode jit or eager."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"op": "matmull"}, "did you mean matmul"),
        ({"dtype": "float8"}, "does not run in float8"),
        ({"device": "cpu:77"}, "no device 'cpu:77'"),
        ({"calls": 0}, "cannot have 0 calls"),
        ({"calls": 201}, "cannot have 201 calls"),
        ({"style": "sometimes"}, "no loop style 'sometimes'"),
        ({"size": 10**6}, "are free"),
        ({"size": 9000, "budget_seconds": 1e-3}, "One call would take about"),
        ({"size": 1024, "budget_seconds": 1e-5}, "calls would take about"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(
    changes: dict[str, Any], said: str
) -> None:
    failed = refused(loop(**changes))
    assert said in failed.error
    assert failed.hint


def test_results_in_flight_count_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = loop(size=512, calls=200)
    planned = subjects.plan(asked)
    enough_for_three = planned.memory_bytes + planned.host_memory_bytes + 2**20
    monkeypatch.setattr(planning, "available_host_bytes", lambda: enough_for_three)
    failed = refused(asked)
    known, _ = session.start(jax.devices()[0])
    assert f"{known.queue_depth + 2} results" in failed.error
    assert failed.error.count("MiB") == 2
    waiting = msgspec.structs.replace(asked, style="each", calls=5)
    assert measured(waiting).calls


# What fails.


def test_an_op_that_fails_to_trace_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(x: jax.Array) -> jax.Array:
        return x @ jnp.ones((3, 5))

    plant(monkeypatch, "gram", jax=broken)
    failed = refused(loop("planted", 8))
    assert "while JAX traced it" in failed.error
    assert failed.hint
    assert "Error" in failed.detail


@in_a_thread
@pytest.mark.parametrize("live", [0.0, 1e9])
def test_a_call_that_fails_in_the_midst_is_explained(
    monkeypatch: pytest.MonkeyPatch, live: float
) -> None:
    monkeypatch.setattr(loops, "LIVE_SECONDS", live)
    flag = Flag()

    def refuse(x: Any) -> Any:
        if flag.raised:
            raise ValueError("the ninth life is over")
        return np.asarray(x)

    def brittle(x: jax.Array) -> jax.Array:
        return jax.pure_callback(refuse, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    plant(monkeypatch, "gram", jax=brittle)
    before = set(threading.enumerate())
    events = []
    for event in run_loop(loop("planted", 8)):
        events.append(event)
        repeat = isinstance(event, Progress) and event.doing.startswith("repeat")
        flag.raised = flag.raised or repeat
    failed = events[-2]
    assert isinstance(failed, WorkFailed)
    assert "while it was timed" in failed.error
    assert "the ninth life is over" in failed.detail
    assert isinstance(events[-1], RunFinished)
    assert set(threading.enumerate()) <= before


class Late:
    """A result that fails, or is ready when it is told so."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.done = threading.Event()

    def block_until_ready(self) -> None:
        self.done.wait(10)
        if self.error:
            raise self.error


def test_a_watcher_stamps_in_the_order_of_the_calls() -> None:
    first, second = Late(), Late()
    with Watcher() as watcher:
        watcher.watch(first)
        watcher.watch(second)
        second.done.set()
        assert watcher.ready == []
        first.done.set()
    assert len(watcher.ready) == 2
    assert watcher.ready == sorted(watcher.ready)


def test_a_watcher_hands_on_what_it_met() -> None:
    bad = Late(RuntimeError("no value"))
    bad.done.set()
    with pytest.raises(RuntimeError, match="no value"), Watcher() as watcher:
        watcher.watch(bad)


def test_what_the_loop_itself_met_comes_first() -> None:
    bad = Late(RuntimeError("no value"))
    bad.done.set()

    def fail(watcher: Watcher) -> None:
        watcher.watch(bad)
        raise KeyError("the loop")

    with pytest.raises(KeyError, match="the loop"), Watcher() as watcher:
        fail(watcher)


# What is found in stamps.


def stamped(
    took: Callable[[int], float], calls: int = 60, depth: int = 32
) -> tuple[LoopCall, ...]:
    """Calls of a device that takes one second each, held back at ``depth``."""
    made: list[LoopCall] = []
    clock = 0.0
    for index in range(calls):
        entered = clock
        clock += took(index)
        if index >= depth:
            clock = max(clock, made[index - depth].ready)
        began = max(entered, made[-1].ready if made else 0.0)
        made.append(LoopCall(entered=entered, returned=clock, ready=began + 1.0))
    return tuple(made)


def quick(_: int) -> float:
    return 0.001


@pytest.mark.parametrize("depth", [16, 32, 40])
def test_the_first_held_call_is_where_the_queue_is_full(depth: int) -> None:
    assert findings.held_from(stamped(quick, depth=depth), 32) == depth


def test_a_single_slow_call_is_no_full_queue() -> None:
    def hiccup(index: int) -> float:
        return 0.7 if index in (20, 25) else 0.001

    assert findings.held_from(stamped(hiccup, calls=30), 32) is None
    # The hiccups gave the device time for one of the calls.
    assert findings.held_from(stamped(hiccup, calls=60), 32) == 33


def test_a_host_that_is_always_slow_is_not_held_back() -> None:
    assert findings.held_from(stamped(lambda _: 0.9), 32) is None


def test_a_queue_of_a_few_calls_is_not_marked() -> None:
    assert findings.held_from(stamped(quick, depth=3), 3) is None
    assert findings.held_from(stamped(quick, depth=3), 0) is None


def test_the_one_call_that_is_held_at_the_end_is_found() -> None:
    assert findings.held_from(stamped(quick, calls=33), 32) == 32
    assert findings.held_from(stamped(quick, calls=32), 32) is None
    assert findings.held_from(stamped(quick, calls=1), 32) is None


def test_calls_in_flight_are_promised_and_not_ready() -> None:
    calls = stamped(quick, calls=20)
    assert findings.in_flight(calls) == list(range(20))
    assert max(findings.in_flight(stamped(quick))) == 32


def test_an_impossible_claim_is_named_as_on_the_screen() -> None:
    clock = LoopClock(repeats=7, stopwatch_seconds=1e-3, true_seconds=1.0)
    one = LoopMeasured(
        loop=loop(calls=10),
        calls=stamped(quick, calls=10),
        watched=clock,
        undisturbed=clock,
        inline=False,
        queue_depth=32,
        flops=1e9,
        peak=Peak(flops_per_second=1e12, bytes_per_second=None, source="a test"),
    )
    said = {note.flag: note.text for note in findings.notes(one)}
    assert said["impossible"] == "faster than the chip's peak: this timed the dispatch"
    modest = msgspec.structs.replace(one, flops=1e7)
    assert "impossible" not in {note.flag for note in findings.notes(modest)}
