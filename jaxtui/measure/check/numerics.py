"""Does every device compute rightly, and the same every time as all the others?

A chip that computes wrongly is the worst failure of all, because nothing else shows it.
Every device gets the same inputs and computes everything several times. Its results are
compared with NumPy in float64, with each other, and with those of the other devices of
its kind: the last two bit by bit.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import jax
import numpy as np

from jaxtui.format import plural
from jaxtui.measure import ops
from jaxtui.measure.check import work
from jaxtui.measure.check.agreement import (
    Comparison,
    Computation,
    Difference,
    Outcome,
    Visit,
    difference,
)
from jaxtui.measure.check.base import (
    POLL_SECONDS,
    Context,
    TroubleError,
    UnsupportedError,
    explained,
    name,
)
from jaxtui.measure.clocks import Call
from jaxtui.measure.devices import probe
from jaxtui.measure.ops.arguments import Array
from jaxtui.model import (
    PRECISIONS,
    CheckDoing,
    CheckDone,
    CheckLevel,
    CheckRead,
    Precision,
    RunEvent,
)

TIMES: Mapping[CheckLevel, int] = {"quick": 2, "full": 4}
"""How often every device computes everything."""

VECTOR = 1 << 16
LONG_VECTOR = 1 << 20

SIZES, SIZES_ON_CPU = (512, 2048), (256, 512)
"""Of the products. Level quick takes the first."""

COMPILE_SECONDS = 40.0
"""So long after the budget has ended nothing more is begun."""

PATIENCE_SECONDS = 2.0
"""For so long, or as long as it took so far, the others are waited for before those
that are ready are compared among themselves: one may never answer."""

LEADER_SECONDS = 15.0
"""For so long a GPU waits until the first of its kind has tried out its kernels."""

GPUS = ("gpu", "cuda", "rocm")

REFUSED = re.compile(
    r"does not accept dtype|is not supported|Unexpected operand type"
    r"|^(?:TypeError|ValueError|TypePromotionError): .*dtype",
    re.DOTALL,
)
"""What JAX and XLA say of a dtype or precision that a backend does not have."""

NO_TIME = "There was no time left for it."


@dataclass(frozen=True)
class Task:
    """The work of one device."""

    device: jax.Device
    computations: Sequence[Computation]
    inputs: Mapping[Computation, tuple[Array, ...]]
    times: int
    """How often each is computed; at least twice."""
    deadline: float
    """By ``perf_counter``: nothing is begun after it."""
    compilers: int
    """How many may compile at once for this device."""
    stop: Callable[[], bool]


def test(context: Context) -> Iterator[RunEvent]:
    """All devices at once; one that does not answer keeps no other waiting."""
    devices = tuple(map(name, context.devices))
    count = plural(len(devices), "device")
    yield CheckDoing(devices=devices, what=f"computing on {count}")
    over = threading.Event()
    try:
        yield from _compared(context, over)
    finally:
        # A device that is still at work would disturb the next test.
        over.set()


def _compared(context: Context, over: threading.Event) -> Iterator[RunEvent]:
    begin, left, level = perf_counter(), len(context.devices), context.check.level
    wanted = {
        computation
        for device in context.devices
        for computation in computations(device.platform, level)
    }
    seed = context.check.seed
    inputs = {one: one.inputs(seed) for one in wanted if not context.stop()}
    comparison = Comparison(inputs=inputs, times=TIMES[level])
    arriving = _send_out(context, comparison, over)
    ready: list[Visit] = []
    last = begin
    while (left or ready) and not context.stop():
        try:
            ready.append(arriving.get(timeout=POLL_SECONDS if left else 0.0))
            left, last = left - 1, perf_counter()
        except queue.Empty:
            pass
        patience = max(PATIENCE_SECONDS, last - begin)
        if left and perf_counter() - last < patience:
            continue
        for visit in [one for one in ready if not left or comparison.decided(one)]:
            ready.remove(visit)
            for one in comparison.readings(visit):
                yield CheckRead(reading=one)
            yield CheckDone(device=name(visit.device))


def _send_out(
    context: Context, comparison: Comparison, over: threading.Event
) -> queue.SimpleQueue[Visit]:
    """Start a thread for every device; the visits arrive when they are over."""
    devices, check = context.devices, context.check
    arriving: queue.SimpleQueue[Visit] = queue.SimpleQueue()
    gates: dict[str, threading.Event] = {}
    for device in devices:
        every = computations(device.platform, check.level)
        task = Task(
            device=device,
            computations=[one for one in every if one in comparison.inputs],
            inputs=comparison.inputs,
            times=comparison.times,
            deadline=perf_counter() + check.budget_seconds + COMPILE_SECONDS,
            compilers=max(1, (os.cpu_count() or 1) // len(devices)),
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
        for computation, outcome in compute(task, compiled=gate.set):
            comparison.count(visit, computation, outcome)
    except Exception as error:
        visit.crash = error
    finally:
        gate.set()
    arriving.put(visit)


# What is computed.


def computations(platform: str, level: CheckLevel) -> tuple[Computation, ...]:
    """What devices of a platform are tested with, the most important first.

    Each is compiled for every device, so ``quick`` has few: products in the dtypes that
    matter, large enough for the matrix units of an accelerator, an exponential and a
    sum. ``full`` has every dtype.
    """
    sizes = SIZES_ON_CPU if platform == "cpu" else SIZES
    # A TPU has no units for float16.
    halves = ("bfloat16",) if platform in ("cpu", "tpu") else ("bfloat16", "float16")
    quick = (
        *(Computation("matmul", sizes[0], dtype) for dtype in halves),
        *(
            Computation("matmul", sizes[0], "float32", precision)
            for precision in _precisions(platform, "float32")
            if precision != "high"
        ),
        Computation("matmul", sizes[0], "int8"),
        Computation("selu", VECTOR, "float32"),
        Computation("sum", VECTOR, "float32"),
    )
    if level == "quick":
        return quick
    products = (
        Computation("matmul", size, dtype, precision)
        for size in sizes
        for dtype in _dtypes("matmul")
        for precision in _precisions(platform, dtype)
    )
    others = (
        Computation(op, LONG_VECTOR, dtype)
        for op in ("selu", "sum")
        for dtype in _dtypes(op)
    )
    # In this order, and each once.
    return tuple(dict.fromkeys((*quick, *products, *others)))


def _precisions(platform: str, dtype: str) -> tuple[Precision, ...]:
    """Those that make a difference: a CPU computes float32 as it is."""
    if dtype not in ("float32", "complex64"):
        return ("default",)
    if platform == "cpu":
        return ("highest",)
    return PRECISIONS if dtype == "float32" else ("default", "highest")


def _dtypes(op: str) -> tuple[str, ...]:
    """Those of an op, float64 last: a TPU emulates it, which takes long to compile."""
    return (*(one for one in ops.get(op).dtypes if one != "float64"), "float64")


# On one device.


def compute(
    task: Task, compiled: Callable[[], None]
) -> Iterator[tuple[Computation, Outcome]]:
    """Compute everything, in order; ends early if the test is stopped.

    Args:
        task: What to do.
        compiled: Called when everything is compiled, or has failed to.
    """

    def make(computation: Computation) -> Call | None:
        if task.stop() or perf_counter() > task.deadline:
            return None
        return work.compiled(computation.case(name(task.device)), task.device)

    # On several threads: code for a TPU takes a second, for each.
    with ThreadPoolExecutor(task.compilers) as pool:
        calls = {one: pool.submit(make, one) for one in task.computations}
    compiled()
    for computation in task.computations:
        if task.stop():
            return
        yield computation, _attempt(task, computation, calls[computation])


def _attempt(
    task: Task, computation: Computation, compiled: Future[Call | None]
) -> Outcome:
    case, what = computation.case(name(task.device)), computation.what
    try:
        with explained(case, what, "compile"):
            call = compiled.result()
    except TroubleError as trouble:
        refused = isinstance(trouble, UnsupportedError) or REFUSED.search(
            trouble.detail
        )
        return Outcome(skipped=trouble.sentence if refused else "", trouble=trouble)
    if call is None or perf_counter() > task.deadline:
        return Outcome(skipped=NO_TIME)
    try:
        return _repeated(task, computation, call)
    except UnsupportedError as refused:
        return Outcome(skipped=refused.sentence, trouble=refused)
    except TroubleError as trouble:
        return Outcome(trouble=trouble)


def _repeated(task: Task, computation: Computation, call: Call) -> Outcome:
    """The same several times: the first result, and the worst of the others."""
    case, what = computation.case(name(task.device)), computation.what
    with explained(case, what, "transfer"), work.scope(case, task.device):
        sent = jax.device_put(list(task.inputs[computation]), task.device)
        args = jax.block_until_ready(sent)
    with explained(case, what, "first_call"):
        first = np.asarray(call(*args))
    worst: Difference | None = None
    for _ in range(task.times - 1):
        with explained(case, what, "block"):
            other = difference(np.asarray(call(*args)), first)
        if other.elements and (worst is None or other.elements > worst.elements):
            worst = other
    return Outcome(result=first, wavered=worst, program=program(call, task.device))


def program(call: Call, device: jax.Device) -> str:
    """The optimised program for a GPU, whose kernels are chosen by trying them out.

    Other compilers give every device of a kind the same program. Where in the source
    something was written does not count.
    """
    if device.platform not in GPUS:
        return ""
    text = probe(lambda: call.as_text())  # type: ignore[attr-defined]
    lines = (line for line in str(text or "").splitlines() if " = " in line)
    return "\n".join(re.sub(r"metadata=\{[^}]*\}", "", line) for line in lines)
