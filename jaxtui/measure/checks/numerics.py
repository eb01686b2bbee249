"""Does every device compute rightly, and the same every time as all the others?

A chip that computes wrongly is the worst failure of all, because nothing else shows it.
Every device gets the same inputs and computes everything several times. Its results are
compared with NumPy in float64, with each other, and with those of the other devices of
its kind: the last two bit by bit.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from time import perf_counter

import jax

from jaxtui.format import plural
from jaxtui.measure.checks import repeated
from jaxtui.measure.checks.agreement import Comparison, Visit
from jaxtui.measure.checks.base import POLL_SECONDS, Context, name
from jaxtui.measure.checks.computations import Computation, computations
from jaxtui.measure.checks.repeated import Task
from jaxtui.model import CheckDoing, CheckDone, CheckLevel, CheckRead, RunEvent

TIMES: Mapping[CheckLevel, int] = {"quick": 2, "full": 4}
"""How often every device computes everything."""

COMPILE_SECONDS = 40.0
"""So long after the budget has ended nothing more is begun."""

PATIENCE_SECONDS = 2.0
"""For so long, or as long as it took so far, the others are waited for before those
that are ready are compared among themselves: one may never answer."""

LEADER_SECONDS = 15.0
"""For so long a GPU waits until the first of its kind has tried out its kernels."""

GPUS = ("gpu", "cuda", "rocm")


def test(context: Context) -> Iterator[RunEvent]:
    """All devices at once; one that does not answer keeps no other waiting."""
    everybody = tuple(map(name, context.devices))
    yield CheckDoing(
        devices=everybody,
        what=f"computing on {plural(len(everybody), 'device')}",
    )
    over = threading.Event()
    try:
        yield from _compared(context, over)
    finally:
        # Whoever is still at work would disturb the next test.
        over.set()


def _compared(context: Context, over: threading.Event) -> Iterator[RunEvent]:
    begin, left = perf_counter(), len(context.devices)
    comparison = _comparison(context)
    arriving = _send_out(context, comparison, over)
    ready: list[Visit] = []
    last = begin
    while (left or ready) and not context.stop():
        visit = _next(arriving) if left else None
        if visit is not None:
            ready.append(visit)
            left, last = left - 1, perf_counter()
        patience = max(PATIENCE_SECONDS, last - begin)
        if left and perf_counter() - last < patience:
            continue
        for visit in [one for one in ready if not left or comparison.decided(one)]:
            ready.remove(visit)
            for reading in comparison.readings(visit):
                yield CheckRead(reading=reading)
            yield CheckDone(device=name(visit.device))


def _comparison(context: Context) -> Comparison:
    check = context.check
    wanted = {
        computation
        for device in context.devices
        for computation in computations(device.platform, check.level)
    }
    inputs = {one: one.inputs(check.seed) for one in wanted if not context.stop()}
    return Comparison(inputs=inputs, times=TIMES[check.level])


def _send_out(
    context: Context, comparison: Comparison, over: threading.Event
) -> queue.SimpleQueue[Visit]:
    """Start a thread for every device; the visits arrive when they are over."""
    devices, check = context.devices, context.check
    arriving: queue.SimpleQueue[Visit] = queue.SimpleQueue()
    gates: dict[str, threading.Event] = {}
    for device in devices:
        task = Task(
            device=device,
            computations=_possible(context, device, comparison),
            inputs=comparison.inputs,
            times=comparison.times,
            deadline=perf_counter() + check.budget_seconds + COMPILE_SECONDS,
            compilers=repeated.compilers(len(devices)),
            stop=lambda: over.is_set() or context.stop(),
        )
        kind = str(device.device_kind)
        follows = kind in gates and device.platform in GPUS
        gate = gates.setdefault(kind, threading.Event())
        # A daemon: a device that never answers must not keep the engine from ending.
        threading.Thread(
            target=_visit,
            args=(task, comparison, gate, follows, arriving),
            daemon=True,
        ).start()
    return arriving


def _possible(
    context: Context, device: jax.Device, comparison: Comparison
) -> tuple[Computation, ...]:
    every = computations(device.platform, context.check.level)
    return tuple(one for one in every if one in comparison.inputs)


def _visit(
    task: Task,
    comparison: Comparison,
    gate: threading.Event,
    follows: bool,
    arriving: queue.SimpleQueue[Visit],
) -> None:
    """Let a device compute everything.

    Which kernels a GPU gets, XLA finds out by trying, and remembers for its kind: those
    that follow get the same, if the first was ready by then.
    """
    visit = Visit(task.device)
    try:
        if follows:
            gate.wait(LEADER_SECONDS)
        for computation, outcome in repeated.compute(task, compiled=gate.set):
            comparison.count(visit, computation, outcome)
    except Exception as error:
        visit.crash = error
    finally:
        gate.set()
    arriving.put(visit)


def _next(arriving: queue.SimpleQueue[Visit]) -> Visit | None:
    try:
        return arriving.get(timeout=POLL_SECONDS)
    except queue.Empty:
        return None
