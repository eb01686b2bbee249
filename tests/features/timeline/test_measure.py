"""Loops on real JAX on CPU: their stamps, what is found in them, what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from jaxtui.core.model import (
    LOOP_STYLES,
    Case,
    Loop,
    LoopCall,
    LoopMeasured,
    LoopSeen,
    LoopStyle,
    Progress,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.features.timeline import measure as loops
from jaxtui.features.timeline.measure import repeats, run_loop
from jaxtui.features.timeline.measure.repeats import Watcher
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.workload import Workload
from jaxtui.timing import profiler as trace
from jaxtui.timing.profiler import MissingTraceError, Run
from tests.apart import in_a_thread
from tests.tasks.running import case, facts, own


@pytest.fixture(autouse=True)
def _briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "UNDISTURBED_SECONDS", 0.005)
    monkeypatch.setattr(loops, "REPEATS", 3)
    monkeypatch.setattr(repeats, "WARM_UP_SECONDS", 0.01)


def loop(op: str = "matmul", size: int = 256, **more: Any) -> Loop:
    of = {name: more.pop(name) for name in Case.__struct_fields__ if name in more}
    whole: dict[str, Any] = {"case": case(op, size, **of), "calls": 10}
    return Loop(**(whole | more))


def own_loop(name: str, args: str = "", **more: Any) -> Loop:
    of = {name: more.pop(name) for name in Case.__struct_fields__ if name in more}
    whole: dict[str, Any] = {
        "case": own(name, args, **of),
        "calls": 8,
        "budget_seconds": 4.0,
    }
    return Loop(**(whole | more))


def ended(asked: Loop) -> LoopMeasured | WorkFailed:
    (end,) = (x for x in run_loop(asked) if isinstance(x, LoopMeasured | WorkFailed))
    return end


def measured(asked: Loop) -> LoopMeasured:
    last = ended(asked)
    assert isinstance(last, LoopMeasured), last
    return last


def refused(asked: Loop) -> WorkFailed:
    last = ended(asked)
    assert isinstance(last, WorkFailed), last
    return last


# Stamps.


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("style", LOOP_STYLES)
def test_every_style_has_its_stamps_in_order(style: LoopStyle, chained: bool) -> None:
    is_own = (LOOP_STYLES.index(style) + chained) % 2 == 0
    asked = loop(style=style, chained=chained)
    if is_own:
        asked = own_loop("step", style=style, chained=chained, calls=10, size=300)
    one = measured(asked)
    calls = one.calls
    assert one.loop == asked
    assert len(calls) == 10
    assert calls[0].entered == 0
    for number, call in enumerate(calls, 1):
        assert call.entered < call.returned <= call.ready
        assert (call.waited is not None) == (
            style == "each" or (style == "end" and number == 10)
        )
        assert call.waited is None or call.waited > call.returned
    for call, following in pairwise(calls):
        assert call.ready <= following.ready
        assert following.entered >= (call.waited or call.returned)
    assert style != "each" or one.held_from is None
    for clock in (one.watched, one.undisturbed):
        assert 0 < clock.stopwatch_seconds <= clock.true_seconds
        assert clock.factor is None or 1 <= clock.factor[0] <= clock.factor[1]
    assert 1 <= one.watched.repeats <= loops.REPEATS
    assert one.undisturbed.repeats >= one.watched.repeats
    said = facts(one.notes)
    assert ("own" in said) == is_own
    assert one.flops is not None
    assert is_own or one.flops == 2 * 256**3
    assert said["instrumented"]["repeats"] == one.undisturbed.repeats


@pytest.mark.parametrize("style", LOOP_STYLES)
def test_only_waiting_shows_the_true_time(style: LoopStyle) -> None:
    one = measured(loop(size=512, calls=20 if style == "never" else 8, style=style))
    clock = one.undisturbed
    if style != "never":
        assert clock.true_seconds == pytest.approx(clock.stopwatch_seconds, rel=0.05)
        return
    for clock in (one.undisturbed, one.watched):
        assert clock.true_seconds > 3 * clock.stopwatch_seconds
    # The host was through long before the device had got anywhere near the end.
    assert one.calls[-1].returned < one.calls[10].ready


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "eager", "style": "each"},
        {"inputs": "host", "mode": "eager", "chained": True},
        {"dtype": "float64", "chained": True},
        {"dtype": "complex64"},
        {"device": "cpu:2"},
        {"op": "normal", "size": 5000},
        {"calls": 1, "style": "end"},
    ],
)
def test_every_kind_of_case_can_be_looped_over(changes: dict[str, Any]) -> None:
    one = measured(loop(**({"size": 64, "calls": 4} | changes)))
    assert len(one.calls) == one.loop.calls


def test_every_kind_of_function_can_be_looped_over() -> None:
    for mode in ("jit", "eager"):
        square = own_loop("square", "f32[300,300]", chained=True, mode=mode)
        assert measured(square).undisturbed.true_seconds > 0
    # Of keys of jax.random.
    assert measured(own_loop("split", style="each", chained=True)).calls
    events = run_loop(own_loop("step"))
    doing = [event.doing for event in events if isinstance(event, Progress)]
    phases = [text.partition(":")[0] for text in doing]
    expected = ["import", "inputs", "trace", "lower", "compile"]
    assert [phase for phase in phases if phase in expected] == expected


def test_chained_calls_feed_on_each_other(planted: Callable[..., str]) -> None:
    seen: list[float] = []

    def count(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda x: seen.append(float(x)), x[0, 0])
        return x + 1

    measured(loop(planted("gram", jax=count), 8, calls=5, chained=True))
    jax.effects_barrier()
    first, lasts = seen[0], seen[-5:]
    assert lasts == pytest.approx([first + step for step in range(5)], abs=1e-5)


def test_the_queue_is_found_full_where_it_is() -> None:
    found = []
    for _ in range(8):  # whoever else is busy here can drain the queue or stop the host
        one = measured(loop(size=512, calls=64))
        found.append(one.held_from)
        if one.held_from is not None and 28 <= one.held_from <= 36:
            assert facts(one.notes)["queue-full"] == {"call": one.held_from}
            return
    pytest.fail(f"held from {found}")


def test_an_op_that_runs_inline_is_called_so() -> None:
    one = measured(loop("add", 500))
    assert one.inline
    assert "inline" in facts(one.notes)
    assert one.held_from is None
    assert not measured(loop(size=384)).inline


# What is handed on.


def results(result: Any, *args: Any, chained: bool = True) -> repeats.Results:
    asked = own_loop("f", chained=chained)
    made = Workload(case=asked.case, call=len, args=args)
    return repeats.results_of(asked, made, result)


X, Y, Z = jnp.ones((2, 3)), jnp.ones(3), jnp.ones(4)


@pytest.mark.parametrize(
    ("result", "args", "first"),
    [
        (X, (X,), False),
        ((X, Y), (X,), True),
        ([X, Y], (X, Y), True),
        ((X, Y), ((X, Y),), False),
        (((X, Y), Y), ((X, Y),), True),
        (({"w": X}, Y), ({"w": X},), True),
        (jax.random.key(1), (jax.random.key(0),), False),
        (Y, (Z,), None),
        (Y, (jnp.ones(3, jnp.int32),), None),
        ((Y, Z), (Z,), None),
        ({"a": Z}, (Z,), None),
        ((), (Z,), None),
        (Y, (), None),
    ],
)
def test_what_fits_is_handed_on(result: Any, args: Any, first: bool | None) -> None:
    if first is not None:
        assert results(result, *args).first == first
        return
    with pytest.raises(RefusedError, match="cannot-chain"):
        results(result, *args)


# The device lane.


@pytest.mark.parametrize(
    "changes",
    [
        {"style": "never"},
        {"style": "each", "mode": "eager", "op": "selu", "size": 30_000},
        {"style": "each", "op": "add", "size": 500},
    ],
)
def test_the_device_lane_is_measured(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "PERTURBED", float("inf"))  # others may be busy here
    one = measured(loop(**changes))
    assert one.device_lane == "measured"
    assert one.traced is not None
    assert one.traced.repeats == 1
    assert "inferred" not in facts(one.notes)
    assert facts(one.notes)["instrumented"]["traced"]
    for call in one.calls:
        assert call.device_start is not None
        assert call.device_end is not None
        assert call.entered - 1e-3 < call.device_start < call.device_end
        assert call.device_end <= call.ready


def _fail(work: Callable[[], object]) -> trace.Trace:
    raise ValueError("not under a trace")


@pytest.mark.parametrize(
    ("where", "name", "value", "code"),
    [
        (loops, "PERTURBED", 0.0, "trace-perturbed"),
        (loops, "TRACED_CALL_SECONDS", 0.0, "trace-no-time"),
        (trace, "record", _fail, "traced-repeat-failed"),
        (None, "", None, "profiler-failed"),
    ],
)
def test_a_lane_without_a_trace_is_inferred_and_says_why(
    where: Any, name: str, value: Any, code: str, tmp_path: Path, monkeypatch: Any
) -> None:
    if where is None:
        jax.profiler.start_trace(str(tmp_path))
    else:
        monkeypatch.setattr(where, name, value)
    try:
        one = measured(loop(size=64))
    finally:
        if where is None:
            jax.profiler.stop_trace()
    assert (one.device_lane, one.traced) == ("inferred", None)
    assert {"inferred", code} <= {*facts(one.notes)}
    assert all(call.device_start is None for call in one.calls)


def run_of(program: str, start: float) -> Run:
    return Run(program, start, start + 1)


def test_a_run_that_ends_late_belongs_to_its_repeat_all_the_same() -> None:
    runs = [Run("a", start, end) for start, end in ((0, 2), (3, 4), (5, 99), (8, 9))]
    assert trace.between(1.5, 6, runs) == runs[1:3]


def test_runs_go_to_their_calls_program_by_program() -> None:
    calls = [LoopCall(entered=0.0, returned=0.1, ready=9.0)] * 2
    # What runs inline overtakes what is queued; every second run of a is a print's.
    runs = [*(run_of("a", 1 + n) for n in range(4)), run_of("b", 5), run_of("b", 6)]
    runs.append(run_of("c", 7))
    alone = [run_of("a", 1), run_of("b", 2)]
    found = trace.on_device(calls, 1.0, runs, alone)
    assert [(one.device_start, one.device_end) for one in found] == [(0, 5), (2, 6)]
    # Who says late that it has ended was over when the next began, and when seen ready.
    late = [Run("a", n, n + 99) for n in (1, 4)]
    found = trace.on_device(calls, 1.0, late, late[:1])
    assert [(one.device_start, one.device_end) for one in found] == [(0, 3), (3, 9)]
    with pytest.raises(MissingTraceError) as raised:
        trace.on_device(calls, 1.0, runs[1:], alone)
    facts: dict[str, Any] = {"program": "a", "runs": 3, "calls": 2}
    assert raised.value.remark == Remark("trace-incomplete", facts)


# The course of a run.


def test_events_come_in_their_order() -> None:
    asked = loop(calls=3, size=64)
    events = list(run_loop(asked))
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-2], LoopMeasured)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "complete"
    # The first repeat is told before there are others.
    ((seen, calls),) = (
        (index, one.calls)
        for index, one in enumerate(events)
        if isinstance(one, LoopSeen)
    )
    assert len(calls) == 3
    doing = [one.doing if isinstance(one, Progress) else "" for one in events]
    assert "compile" in doing[:seen]
    repeat = [text.startswith("repeat") for text in doing]
    assert (sum(repeat[:seen]), sum(repeat)) == (1, 2 * loops.REPEATS)


def test_repeats_follow_the_length_of_the_loop_and_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = measured(loop(size=384, calls=20, budget_seconds=0.02))
    assert one.watched.repeats == one.undisturbed.repeats == 1
    assert "few-repeats" in facts(one.notes)
    assert one.undisturbed.factor is None
    monkeypatch.undo()
    one = measured(loop(calls=1, size=8))
    assert one.undisturbed.repeats > 10 * one.watched.repeats
    assert one.undisturbed.factor is not None
    assert "few-repeats" not in facts(one.notes)


def live(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.001) -> None:
    monkeypatch.setattr(loops, "LIVE_SECONDS", 0.0)
    monkeypatch.setattr(loops, "SEEN_SECONDS", seconds)


def test_a_long_loop_is_seen_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    live(monkeypatch, 0.005)
    events = list(run_loop(loop(size=384, calls=60, style="each")))
    batches = [event for event in events if isinstance(event, LoopSeen)]
    assert len(batches) > 1
    seen: list[LoopCall] = []
    for batch in batches:
        assert batch.first == len(seen)
        seen += batch.calls
    assert len(seen) == 60
    assert all(call.waited is not None for call in seen)


@pytest.mark.parametrize(
    ("when", "times", "has_result"),
    [("", 1, False), ("compile", 1, False), ("repeat", 3, True)],
)
def test_stopped_it_gives_what_both_kinds_of_repeat_have(
    when: str, times: int, has_result: bool
) -> None:
    stopped, events = threading.Event(), list[RunEvent]()
    steps: list[str] = []
    for event in run_loop(loop(), stop=stopped.is_set):
        events.append(event)
        if isinstance(event, Progress):
            steps.append(event.doing)
        if not when or steps.count(when) == times:
            stopped.set()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "cancelled"
    assert not any(isinstance(event, WorkFailed) for event in events)
    found = [event for event in events if isinstance(event, LoopMeasured)]
    assert len(found) == has_result
    assert all(one.watched.repeats <= 3 for one in found)


@pytest.mark.parametrize("closed", [False, True])
def test_a_long_loop_ends_between_two_calls(
    monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    live(monkeypatch)
    before = set(threading.enumerate())
    stopped, seen = threading.Event(), 0
    events = run_loop(loop(size=512, calls=200, style="each"), stop=stopped.is_set)
    for event in events:
        assert not isinstance(event, LoopMeasured)
        if isinstance(event, LoopSeen):
            seen = event.first + len(event.calls)
            if closed:
                events.close()  # type: ignore[attr-defined]
            stopped.set()
    assert 0 < seen < 200
    assert set(threading.enumerate()) <= before


# What is refused, and what fails.


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (loop("matmull"), "op-unknown"),
        (loop(dtype="float8"), "dtype-missing"),
        (loop(device="cpu:77"), "device-unknown"),
        (loop(size=10**6), "too-large"),
        (loop(size=9000, budget_seconds=1e-3), "loop-too-slow"),
        (loop(size=1024, budget_seconds=1e-5), "loop-too-slow"),
        (loop("sum", 1000, chained=True), "cannot-chain"),
        (loop(dtype="int8", chained=True), "cannot-chain"),
        (own_loop("square"), "arguments-missing"),
        (own_loop("square", "f32[9,9]", budget_seconds=1e-6), "loop-too-slow"),
        (own_loop("broken", "f32[3,3]", chained=True), "cannot-chain"),
        (own_loop("broken", "f32[4,4]"), "function-raised"),
        (own_loop("leaves", "f32[4]"), "exit-called"),
        (own_loop("update", "f32[4]"), "donates-arguments"),
    ],
)
def test_what_cannot_be_is_refused(asked: Loop, code: str) -> None:
    assert refused(asked).remark.code == code


@in_a_thread
@pytest.mark.parametrize("live_seconds", [0.0, 1e9])
def test_a_call_that_fails_in_the_midst_is_explained(
    planted: Callable[..., str], monkeypatch: pytest.MonkeyPatch, live_seconds: float
) -> None:
    monkeypatch.setattr(loops, "LIVE_SECONDS", live_seconds)
    broken = threading.Event()

    def refuse(x: Any) -> Any:
        if broken.is_set():
            raise ValueError("the ninth life is over")
        return np.asarray(x)

    def brittle(x: jax.Array) -> jax.Array:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        result: jax.Array = jax.pure_callback(refuse, shape, x)
        return result

    before = set(threading.enumerate())
    events = []
    for event in run_loop(loop(planted("gram", jax=brittle), 8)):
        events.append(event)
        if isinstance(event, Progress) and event.doing.startswith("repeat"):
            broken.set()
    failed = events[-2]
    assert isinstance(failed, WorkFailed)
    assert failed.remark.facts["phase"] == "sampling"
    assert "the ninth life is over" in failed.remark.detail
    assert isinstance(events[-1], RunFinished)
    assert set(threading.enumerate()) <= before


def test_a_watcher_stamps_in_the_order_of_the_calls() -> None:
    first, second = threading.Event(), threading.Event()
    with Watcher(lambda result: result.wait(10)) as watcher:
        watcher.watch(first)
        watcher.watch(second)
        second.set()
        assert watcher.ready == []
        first.set()
    assert len(watcher.ready) == 2
    assert watcher.ready == sorted(watcher.ready)


@pytest.mark.parametrize("error", [None, KeyError("the loop")])
def test_a_watcher_hands_on_what_it_met_unless_the_loop_itself_failed(
    error: Exception | None,
) -> None:
    def wait(result: object) -> None:
        raise RuntimeError("no value")

    def work(watcher: Watcher) -> None:
        watcher.watch("a result")
        if error:
            raise error

    with pytest.raises(type(error or RuntimeError())), Watcher(wait) as watcher:
        work(watcher)


# What is found in stamps.


def stamped(
    took: Callable[[int], float] = lambda _: 0.001,
    calls: int = 60,
    depth: int = 32,
    late: int = 99,
) -> tuple[LoopCall, ...]:
    """Calls of a device that takes one second each, held back at ``depth``; from one on
    they are seen ready later than they were."""
    made: list[LoopCall] = []
    clock = 0.0
    for index in range(calls):
        entered = clock
        clock += took(index)
        if index >= depth:
            clock = max(clock, made[index - depth].ready)
        began = max(entered, made[-1].ready if made else 0.0)
        made.append(LoopCall(entered=entered, returned=clock, ready=began + 1.0))
    return tuple(
        msgspec.structs.replace(one, ready=one.ready + 1.9 * (index >= late))
        for index, one in enumerate(made)
    )


def hiccup(index: int) -> float:
    return 0.7 if index in (20, 25) else 0.001


@pytest.mark.parametrize(
    ("changes", "known", "held"),
    [
        ({"depth": 16}, 32, 16),
        ({"depth": 32}, 32, 32),
        ({"depth": 40}, 32, 40),
        ({"depth": 30, "late": 5}, 32, 30),
        ({"took": hiccup, "calls": 30}, 32, None),  # a slow call is no full queue
        # The hiccups gave the device time for one of the calls.
        ({"took": hiccup, "calls": 60}, 32, 33),
        ({"took": lambda _: 0.9}, 32, None),  # always slow is not held back
        ({"depth": 3}, 3, None),  # a queue of a few calls is not marked
        ({"depth": 3}, 0, None),
        ({"calls": 33}, 32, 32),  # one call that is held at the end
        ({"calls": 32}, 32, None),
        ({"calls": 1}, 32, None),
    ],
)
def test_the_first_held_call_is_where_the_queue_is_full(
    changes: dict[str, Any], known: int, held: int | None
) -> None:
    assert repeats.held_from(stamped(**changes), known) == held
