"""Does every device compute rightly, and the same every time as all the others?

A chip that computes wrongly is the worst failure of all, because nothing else shows it.
Every device gets the same inputs and computes everything several times. Its results are
compared with NumPy in float64, with each other, and with those of the other devices of
its kind: the last two bit by bit.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep

import jax
import numpy as np

from jaxtui.machine.survey import GPU_PLATFORMS
from jaxtui.measure import ops
from jaxtui.measure.check import work
from jaxtui.measure.check.agreement import (
    Comparison,
    Computation,
    Outcome,
    difference,
)
from jaxtui.measure.check.base import (
    POLL_SECONDS,
    Context,
    TroubleError,
    at_once,
    translate_errors,
)
from jaxtui.measure.clocks import Call
from jaxtui.measure.devices import name, probe
from jaxtui.measure.workload import send
from jaxtui.model import PRECISIONS, CheckLevel, Precision, Reading, RunEvent

TIMES: Mapping[CheckLevel, int] = {"quick": 2, "full": 4}
"""How often every device computes everything."""

VECTOR = 1 << 16
LONG_VECTOR = 1 << 20

SIZES, SIZES_ON_CPU = (512, 2048), (256, 512)
"""Of the products. Level quick takes the first."""

COMPILE_SECONDS = 40.0
"""So long after the budget has ended nothing more is begun."""

LEADER_SECONDS = 15.0
"""For so long a GPU waits until the first of its kind has tried out its kernels."""

REFUSED = re.compile(
    r"does not accept dtype|is not supported|Unexpected operand type"
    r"|^(?:TypeError|ValueError|TypePromotionError): .*dtype",
    re.DOTALL,
)
"""What JAX and XLA say of a dtype or precision that a backend does not have."""

NO_TIME = "There was no time left for it."


def test(context: Context) -> Iterator[RunEvent]:
    """All devices at once; one that does not answer keeps no other waiting."""
    devices, check = context.devices, context.check
    comparison = Comparison(check.seed, TIMES[check.level], len(devices))
    compiled = {str(device.device_kind): threading.Event() for device in devices}

    def visit(within: Context, device: jax.Device, seconds: float) -> Iterator[Reading]:
        """Compute everything, and compare it with what those have that are ready.

        Which kernels a GPU gets, XLA finds out by trying, and remembers for its kind:
        those that follow get the same, if the first was ready by then.
        """
        kind, outcomes = str(device.device_kind), dict[Computation, Outcome]()
        crash: Exception | None = None
        try:
            for one in computations(device.platform, check.level):
                if not within.stop():
                    comparison.inputs(one)
            deadline = perf_counter() + seconds + COMPILE_SECONDS
            kin = (one for one in devices if str(one.device_kind) == kind)
            if device.platform in GPU_PLATFORMS and device != next(kin):
                compiled[kind].wait(LEADER_SECONDS)
            ready = compiled[kind].set
            outcomes.update(compute(within, device, comparison, deadline, ready))
        except Exception as error:
            crash = error
        compiled[kind].set()
        comparison.end()
        while not comparison.settled(outcomes) and not within.stop():
            sleep(POLL_SECONDS)
        if not within.stop():
            yield from comparison.readings(device, outcomes)
        if crash is not None:
            raise crash

    yield from at_once(context, "computing", visit, join=False)


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
    if not ops.get("matmul").rounds(dtype):
        return ("default",)
    if platform == "cpu":
        return ("highest",)
    return PRECISIONS if dtype == "float32" else ("default", "highest")


def _dtypes(op: str) -> tuple[str, ...]:
    """Those of an op, float64 last: a TPU emulates it, which takes long to compile."""
    return (*(one for one in ops.get(op).dtypes if one != "float64"), "float64")


# On one device.


def compute(
    context: Context,
    device: jax.Device,
    comparison: Comparison,
    deadline: float,
    compiled: Callable[[], None],
) -> Iterator[tuple[Computation, Outcome]]:
    """Compute everything, in order; ends early if the test is stopped.

    Nothing is begun after the deadline, by ``perf_counter``.
    """
    wanted = computations(device.platform, context.check.level)

    def make(computation: Computation) -> Call | None:
        if context.stop() or perf_counter() > deadline:
            return None
        return work.compile_case(computation.case(name(device)), device)

    def attempt(computation: Computation) -> Outcome:
        """The first result of several, and the worst of the others."""
        case, what = computation.case(name(device)), computation.what
        call: Call | None = None
        try:
            with translate_errors(case, what, "compile"):
                call = calls[computation].result()
            if call is None or perf_counter() > deadline:
                return Outcome(trouble=TroubleError(what, NO_TIME, skipped=True))
            inputs = comparison.inputs(computation)
            with translate_errors(case, what, "transfer"), work.scope(case, device):
                args = send(inputs, device)
            with translate_errors(case, what, "first_call"):
                first = np.asarray(call(*args))
            with translate_errors(case, what, "block"):
                others = [
                    difference(np.asarray(call(*args)), first)
                    for _ in range(comparison.times - 1)
                ]
        except TroubleError as trouble:
            trouble.skipped |= call is None and bool(REFUSED.search(trouble.detail))
            return Outcome(trouble=trouble)
        worst = max(others, key=lambda one: one.elements)
        deviation = worst if worst.elements else None
        kernels = program(call, device)
        return comparison.count(device, computation, first, deviation, kernels)

    # On several threads: code for a TPU takes a second, for each.
    compilers = max(1, (os.cpu_count() or 1) // len(context.devices))
    with ThreadPoolExecutor(compilers) as pool:
        calls = {one: pool.submit(make, one) for one in wanted}
    compiled()
    for one in wanted:
        if context.stop():
            return
        yield one, attempt(one)


def program(call: Call, device: jax.Device) -> str:
    """The optimised program for a GPU, whose kernels are chosen by trying them out.

    Other compilers give every device of a kind the same program. Where in the source
    something was written does not count.
    """
    if device.platform not in GPU_PLATFORMS:
        return ""
    text = probe(lambda: call.as_text())  # type: ignore[attr-defined]
    lines = (line for line in str(text or "").splitlines() if " = " in line)
    return "\n".join(re.sub(r"metadata=\{[^}]*\}", "", line) for line in lines)
