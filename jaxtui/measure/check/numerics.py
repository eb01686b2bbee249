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
    translate_errors,
)
from jaxtui.measure.clocks import Call
from jaxtui.measure.devices import name, probe
from jaxtui.measure.workload import send
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
    device: jax.Device
    computations: Sequence[Computation]
    comparison: Comparison
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
        yield from _compare(context, over)
    finally:
        # A device that is still at work would disturb the next test.
        over.set()


def _compare(context: Context, over: threading.Event) -> Iterator[RunEvent]:
    devices, check = context.devices, context.check
    begin, left = perf_counter(), len(devices)
    wanted = {
        computation
        for device in devices
        for computation in computations(device.platform, check.level)
    }
    inputs = {one: one.inputs(check.seed) for one in wanted if not context.stop()}
    comparison = Comparison(inputs=inputs, times=TIMES[check.level])
    arriving: queue.SimpleQueue[Visit] = queue.SimpleQueue()

    def visit(task: Task, gate: threading.Event, follows: bool) -> None:
        """Let a device compute everything.

        Which kernels a GPU gets, XLA finds out by trying, and remembers for its kind:
        those that follow get the same, if the first was ready by then.
        """
        made = Visit(task.device)
        try:
            if follows:
                gate.wait(LEADER_SECONDS)
            for computation, outcome in compute(task, compiled=gate.set):
                comparison.count(made, computation, outcome)
        except Exception as error:
            made.crash = error
        finally:
            gate.set()
        arriving.put(made)

    gates: dict[str, threading.Event] = {}
    for device in devices:
        every = computations(device.platform, check.level)
        task = Task(
            device=device,
            computations=[one for one in every if one in inputs],
            comparison=comparison,
            deadline=perf_counter() + check.budget_seconds + COMPILE_SECONDS,
            compilers=max(1, (os.cpu_count() or 1) // len(devices)),
            stop=lambda: over.is_set() or context.stop(),
        )
        kind = str(device.device_kind)
        follows = kind in gates and device.platform in GPUS
        gate = gates.setdefault(kind, threading.Event())
        # A daemon: a device that never answers must not keep the engine from ending.
        args = (task, gate, follows)
        threading.Thread(target=visit, args=args, daemon=True).start()
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
        for one in [one for one in ready if not left or comparison.decided(one)]:
            ready.remove(one)
            for found in comparison.readings(one):
                yield CheckRead(reading=found)
            yield CheckDone(device=name(one.device))


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
    """Compute everything, in order; ends early if the test is stopped."""

    def make(computation: Computation) -> Call | None:
        if task.stop() or perf_counter() > task.deadline:
            return None
        return work.compile_case(computation.case(name(task.device)), task.device)

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
    """The first result of several, and the worst of the others."""
    case, what = computation.case(name(task.device)), computation.what
    call: Call | None = None
    try:
        with translate_errors(case, what, "compile"):
            call = compiled.result()
        if call is None or perf_counter() > task.deadline:
            return Outcome(skipped=NO_TIME)
        with translate_errors(case, what, "transfer"), work.scope(case, task.device):
            args = send(task.comparison.inputs[computation], task.device)
        with translate_errors(case, what, "first_call"):
            first = np.asarray(call(*args))
        worst: Difference | None = None
        for _ in range(task.comparison.times - 1):
            with translate_errors(case, what, "block"):
                other = difference(np.asarray(call(*args)), first)
            if other.elements and (worst is None or other.elements > worst.elements):
                worst = other
        return Outcome(
            result=first, deviation=worst, program=program(call, task.device)
        )
    except TroubleError as trouble:
        at_compile = call is None and REFUSED.search(trouble.detail)
        refused = isinstance(trouble, UnsupportedError) or at_compile
        return Outcome(skipped=trouble.sentence if refused else "", trouble=trouble)


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
