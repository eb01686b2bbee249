"""Does every device compute rightly, and the same every time as all the others?

A chip that computes wrongly is the worst failure of all, because nothing else shows it.
Every device gets the same inputs and computes everything several times. Its results are
compared with NumPy in float64 and, bit by bit, with each other; a digest of each tells
which device is the odd one out among those of its kind.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import jax
import numpy as np
from msgspec.structs import replace

from jaxtui.machine import limits
from jaxtui.machine.survey import GPU_PLATFORMS
from jaxtui.measure import accuracy, ops
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.check import work
from jaxtui.measure.check.base import (
    Context,
    TroubleError,
    at_once,
    error_reading,
    reading,
    translate_errors,
)
from jaxtui.measure.clocks import Call
from jaxtui.measure.devices import name, probe
from jaxtui.measure.inputs import host_inputs
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.workload import send
from jaxtui.model import (
    PRECISIONS,
    Case,
    CheckLevel,
    Expected,
    Fact,
    Precision,
    Reading,
    Remark,
    RunEvent,
)

TIMES: Mapping[CheckLevel, int] = {"quick": 2, "full": 4}
"""The number of times that every device computes everything."""

VECTOR = 1 << 16
LONG_VECTOR = 1 << 20

SIZES, SIZES_ON_CPU = (512, 2048), (256, 512)
"""The sizes of the products. Level quick takes the first."""

COMPILE_SECONDS = 40.0
"""Seconds after the end of the budget; no computation begins later."""

LEADER_SECONDS = 15.0
"""Seconds that a GPU waits for the first of all to try out its kernels."""

REFUSED = re.compile(
    r"does not accept dtype|is not supported|Unexpected operand type"
    r"|^(?:TypeError|ValueError|TypePromotionError): .*dtype",
    re.DOTALL,
)
"""Errors of JAX and XLA for a dtype or precision that a backend lacks."""

REPEATED = "identical results"

ERROR = "relative error"


@dataclass(frozen=True, slots=True)
class Computation:
    op: str
    size: int
    dtype: str
    precision: Precision = "default"

    @property
    def what(self) -> str:
        """The name in readings, with the precision where it may matter."""
        rounded = ops.get(self.op).rounds(self.dtype)
        suffix = f" {self.precision}" if rounded else ""
        return f"{self.op} {self.size} {self.dtype}{suffix}"

    @property
    def expected(self) -> Expected:
        op = ops.get(self.op)
        tolerance = op.accepted_error(self.dtype, self.precision)
        rounds = tolerance > op.tolerance[self.dtype]
        source = Remark("rounding-bound", {"rounded_inputs": rounds})
        if tolerance == 0:
            source = Remark("exact-integers")
        return Expected(value=tolerance, kind="most", source=source)

    def case(self, device: str) -> Case:
        return Case(
            op=self.op,
            size=self.size,
            dtype=self.dtype,
            precision=self.precision,
            device=device,
            mode="jit",
        )

    def inputs(self, seed: int) -> tuple[Array, ...]:
        return host_inputs(ops.get(self.op), self.size, self.dtype, seed)

    def check(self, inputs: tuple[Array, ...], result: Array) -> Accuracy:
        op, of = ops.get(self.op), self.precision
        return accuracy.check(op, self.dtype, self.size, inputs, result, precision=of)


Inputs = Mapping[Computation, tuple[Array, ...]]
"""The inputs of each computation, the same for every device."""


def test(context: Context) -> Iterator[RunEvent]:
    """All devices at once; one that does not answer keeps no other waiting."""
    check = context.check
    platforms = {device.platform for device in context.devices}
    required = dict.fromkeys(
        computation
        for platform in platforms
        for computation in computations(platform, check.level)
    )
    inputs = {computation: computation.inputs(check.seed) for computation in required}
    leader, compiled = context.devices[0], threading.Event()

    def visit(within: Context, device: jax.Device, seconds: float) -> Iterator[Reading]:
        """Compute everything.

        Which kernels a GPU gets, XLA finds out by trying, and remembers for its kind:
        those that follow get the same, if the first was ready by then.
        """
        deadline = perf_counter() + seconds + COMPILE_SECONDS
        if device.platform in GPU_PLATFORMS and device != leader:
            compiled.wait(LEADER_SECONDS)
        try:
            calls = _compile(within, device, deadline)
        finally:
            compiled.set()
        yield from _compute(within, device, calls, inputs, deadline)

    yield from at_once(context, visit, join=False)


# What is computed.


def computations(platform: str, level: CheckLevel) -> tuple[Computation, ...]:
    """Return the computations that test a platform, the most important first.

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
    more = (
        Computation(op, LONG_VECTOR, dtype)
        for op in ("selu", "sum")
        for dtype in _dtypes(op)
    )
    # In this order, and each once.
    return tuple(dict.fromkeys((*quick, *products, *more)))


def _precisions(platform: str, dtype: str) -> tuple[Precision, ...]:
    """Return the precisions that make a difference: a CPU computes float32 as it is."""
    if not ops.get("matmul").rounds(dtype):
        return ("default",)
    if platform == "cpu":
        return ("highest",)
    return PRECISIONS if dtype == "float32" else ("default", "highest")


def _dtypes(op: str) -> tuple[str, ...]:
    """Return an op's dtypes, float64 last: a TPU emulates it and compiles it slowly."""
    return (*(dtype for dtype in ops.get(op).dtypes if dtype != "float64"), "float64")


# On one device.


def _compile(
    context: Context, device: jax.Device, deadline: float
) -> dict[Computation, Future[Call | None]]:
    """Everything, compiled or failed; ``None`` for what had no time."""

    def make(computation: Computation) -> Call | None:
        if context.stop() or perf_counter() > deadline:
            return None
        return work.compile_case(computation.case(name(device)), device)

    # On several threads: code for a TPU takes a second, for each.
    compilers = max(1, int(limits.cores() or 1) // len(context.devices))
    with ThreadPoolExecutor(compilers) as pool:
        required = computations(device.platform, context.check.level)
        return {computation: pool.submit(make, computation) for computation in required}


def _compute(
    context: Context,
    device: jax.Device,
    calls: Mapping[Computation, Future[Call | None]],
    inputs: Inputs,
    deadline: float,
) -> Iterator[Reading]:
    """The error of each computation, then how many elements were not the same again.

    Nothing is begun after the deadline, by ``perf_counter``.
    """
    times, differing, repeated = TIMES[context.check.level], 0, 0
    for computation, compiled in calls.items():
        if context.stop():
            return
        try:
            first, repeats, program = _results(
                device, computation, compiled, inputs[computation], times, deadline
            )
        except TroubleError as trouble:
            yield error_reading("numerics", device, trouble, unit=ERROR)
            continue
        unlike = max(count_differing(repeat, first) for repeat in repeats)
        differing, repeated = differing + unlike, repeated + 1
        accuracy = computation.check(inputs[computation], first)
        # A device that contradicts itself does not say what is right.
        digest = "" if unlike else program + hashlib.sha256(first.tobytes()).hexdigest()
        yield _error(device, computation, accuracy, digest)
    if not repeated:
        nothing = Remark("nothing-computed")
        yield reading("numerics", device, REPEATED, remarks=(nothing,))
        return
    facts: dict[str, Fact] = {"computations": repeated, "times": times}
    expected = Expected(value=0, kind="exact", source=Remark("same-input", facts))
    yield reading("numerics", device, REPEATED, differing, expected=expected)


def _results(
    device: jax.Device,
    computation: Computation,
    compiled: Future[Call | None],
    inputs: tuple[Array, ...],
    times: int,
    deadline: float,
) -> tuple[Array, list[Array], str]:
    """The first result, those of the other times, and which program computed them.

    Raises:
        TroubleError: There are none.
    """
    case, what = computation.case(name(device)), computation.what
    call: Call | None = None
    try:
        with translate_errors(case, what, "compile"):
            call = compiled.result()
        if call is None or perf_counter() > deadline:
            raise TroubleError(what, Remark("no-time-left"))
        with translate_errors(case, what, "transfer"), work.scope(case, device):
            args = send(inputs, device)
        with translate_errors(case, what, "first_call"):
            first = np.asarray(call(*args))
        with translate_errors(case, what, "block"):
            repeated = [np.asarray(call(*args)) for _ in range(times - 1)]
    except TroubleError as trouble:
        if call is None and REFUSED.search(trouble.remark.detail):
            trouble.remark = replace(trouble.remark, severity="info")
        raise
    return first, repeated, digest_of(call, device)


def count_differing(result: Array, other: Array) -> int:
    """Count the elements that differ, byte by byte: 0 and −0 do, a NaN and the same do
    not.

    A result of another shape or dtype differs everywhere.
    """
    if result.shape != other.shape or result.dtype != other.dtype:
        return max(1, result.size)
    left, right = (
        np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for array in (result, other)
    )
    unlike = (left != right).reshape(result.size, result.dtype.itemsize)
    return int(np.count_nonzero(np.any(unlike, axis=1)))


def digest_of(call: Call, device: jax.Device) -> str:
    """Return the digest of the program on a GPU, which chooses kernels by trying them
    out.

    Other compilers give every device of a kind the same program, which has none. Where
    in the source something was written does not count.
    """
    if device.platform not in GPU_PLATFORMS:
        return ""
    text = probe(lambda: call.as_text())  # type: ignore[attr-defined]
    lines = (line for line in str(text or "").splitlines() if " = " in line)
    program = "\n".join(re.sub(r"metadata=\{[^}]*\}", "", line) for line in lines)
    return f"{hashlib.sha256(program.encode()).hexdigest()}:"


def _error(
    device: jax.Device, computation: Computation, accuracy: Accuracy, digest: str
) -> Reading:
    """Return the reading of a result's distance from float64."""
    remarks: tuple[Remark, ...] = ()
    if accuracy.error is None:
        remarks = (Remark("wrong-figure", {}, "error"),)
    elif accuracy.rows_sampled is not None:
        remarks = (Remark("rows-sampled", {"rows": accuracy.rows_sampled}),)
    return reading(
        "numerics",
        device,
        computation.what,
        accuracy.error,
        unit=ERROR,
        expected=computation.expected,
        digest=digest,
        remarks=remarks,
    )
