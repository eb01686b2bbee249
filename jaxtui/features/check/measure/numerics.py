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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter

import jax
import numpy as np
from msgspec.structs import replace

from jaxtui.core.model import (
    PRECISIONS,
    Case,
    CheckLevel,
    CheckRead,
    Expected,
    Fact,
    Precision,
    Reading,
    Remark,
    RunEvent,
)
from jaxtui.features.bench.measure import rates
from jaxtui.features.bench.measure.rates import (
    TroubleError,
    error_reading,
    label,
    reading,
    translate_errors,
)
from jaxtui.features.check.measure.base import Context, at_once
from jaxtui.machine import limits
from jaxtui.machine.survey import GPU_PLATFORMS
from jaxtui.tasks import accuracy, ops
from jaxtui.tasks.devices import name, probe
from jaxtui.tasks.inputs import host_inputs
from jaxtui.tasks.ops.arguments import Array
from jaxtui.tasks.waiting import Call
from jaxtui.tasks.workload import send

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


Inputs = Mapping[Case, tuple[Array, ...]]
"""The inputs of each case, the same for every device."""


def numerics(context: Context) -> Iterator[RunEvent]:
    """All devices at once; one that does not answer keeps no other waiting."""
    check = context.check
    platforms = {device.platform for device in context.devices}
    inputs = {
        case: host_inputs(ops.get(case.op), case.size, case.dtype, check.seed)
        for platform in platforms
        for case in computations(platform, check.level)
    }
    leader, compiled = context.devices[0], threading.Event()

    def visit(
        within: Context, group: Sequence[jax.Device], seconds: float
    ) -> Iterator[RunEvent]:
        """Compute everything.

        Which kernels a GPU gets, XLA finds out by trying, and remembers for its kind:
        those that follow get the same, if the first was ready by then.
        """
        (device,) = group
        deadline = perf_counter() + seconds + COMPILE_SECONDS
        if device.platform in GPU_PLATFORMS and device != leader:
            compiled.wait(LEADER_SECONDS)
        try:
            calls = _compile(within, device, deadline)
        finally:
            compiled.set()
        for figure in _compute(within, device, calls, inputs, deadline):
            yield CheckRead(reading=figure)

    yield from at_once(context, visit, join=False)


# What is computed.


def _case(op: str, size: int, dtype: str, precision: Precision = "default") -> Case:
    """A computation, on no device yet."""
    return Case(
        op=op, size=size, dtype=dtype, precision=precision, device="", mode="jit"
    )


def computations(platform: str, level: CheckLevel) -> tuple[Case, ...]:
    """Return the computations that test a platform, the most important first.

    Each is compiled for every device, so ``quick`` has few: products in the dtypes that
    matter, large enough for the matrix units of an accelerator, an exponential and a
    sum. ``full`` has every dtype.
    """
    sizes = SIZES_ON_CPU if platform == "cpu" else SIZES
    # A TPU has no units for float16.
    halves = ("bfloat16",) if platform in ("cpu", "tpu") else ("bfloat16", "float16")
    quick = (
        *(_case("matmul", sizes[0], dtype) for dtype in halves),
        *(
            _case("matmul", sizes[0], "float32", precision)
            for precision in _precisions(platform, "float32")
            if precision != "high"
        ),
        _case("matmul", sizes[0], "int8"),
        _case("selu", VECTOR, "float32"),
        _case("sum", VECTOR, "float32"),
    )
    if level == "quick":
        return quick
    products = (
        _case("matmul", size, dtype, precision)
        for size in sizes
        for dtype in _dtypes("matmul")
        for precision in _precisions(platform, dtype)
    )
    more = (
        _case(op, LONG_VECTOR, dtype) for op in ("selu", "sum") for dtype in _dtypes(op)
    )
    # In this order, and each once.
    return tuple(dict.fromkeys((*quick, *products, *more)))


def bound(case: Case) -> Expected:
    """The largest error of a right result."""
    op = ops.get(case.op)
    tolerance = op.accepted_error(case.dtype, case.precision)
    rounds = tolerance > op.tolerance[case.dtype]
    source = Remark("rounding-bound", {"rounded_inputs": rounds})
    if tolerance == 0:
        source = Remark("exact-integers")
    return Expected(value=tolerance, kind="most", source=source)


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
) -> dict[Case, Future[Call | None]]:
    """Everything, compiled or failed; ``None`` for what had no time."""

    def make(case: Case) -> Call | None:
        if context.stop() or perf_counter() > deadline:
            return None
        return rates.compile_case(replace(case, device=name(device)), device)

    # On several threads: code for a TPU takes a second, for each.
    compilers = max(1, int(limits.cores() or 1) // len(context.devices))
    with ThreadPoolExecutor(compilers) as pool:
        required = computations(device.platform, context.check.level)
        return {case: pool.submit(make, case) for case in required}


def _compute(
    context: Context,
    device: jax.Device,
    calls: Mapping[Case, Future[Call | None]],
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
        case, given = replace(computation, device=name(device)), inputs[computation]
        try:
            first, repeats, program = _results(
                device, case, compiled, given, times, deadline
            )
        except TroubleError as trouble:
            yield error_reading("numerics", device, trouble, unit=ERROR)
            continue
        unlike = max(count_differing(repeat, first) for repeat in repeats)
        differing, repeated = differing + unlike, repeated + 1
        # A device that contradicts itself does not say what is right.
        digest = "" if unlike else program + hashlib.sha256(first.tobytes()).hexdigest()
        yield _error(device, case, given, first, digest)
    if not repeated:
        nothing = Remark("nothing-computed")
        yield reading("numerics", device, REPEATED, remarks=(nothing,))
        return
    facts: dict[str, Fact] = {"computations": repeated, "times": times}
    expected = Expected(value=0, kind="exact", source=Remark("same-input", facts))
    yield reading("numerics", device, REPEATED, differing, expected=expected)


def _results(
    device: jax.Device,
    case: Case,
    compiled: Future[Call | None],
    inputs: tuple[Array, ...],
    times: int,
    deadline: float,
) -> tuple[Array, list[Array], str]:
    """The first result, those of the other times, and which program computed them.

    Raises:
        TroubleError: There are none.
    """
    what, call = label(case), None
    try:
        with translate_errors(case, what, "compile"):
            call = compiled.result()
        if call is None or perf_counter() > deadline:
            raise TroubleError(what, Remark("no-time-left"))
        with translate_errors(case, what, "transfer"), rates.scope(case, device):
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
    device: jax.Device,
    case: Case,
    inputs: tuple[Array, ...],
    result: Array,
    digest: str,
) -> Reading:
    """Return the reading of a result's distance from float64."""
    error = accuracy.check(
        ops.get(case.op),
        case.dtype,
        case.size,
        inputs,
        result,
        precision=case.precision,
    )
    remarks: tuple[Remark, ...] = ()
    if error.error is None:
        remarks = (Remark("wrong-figure", {}, "error"),)
    elif error.rows_sampled is not None:
        remarks = (Remark("rows-sampled", {"rows": error.rows_sampled}),)
    return reading(
        "numerics",
        device,
        label(case),
        error.error,
        unit=ERROR,
        expected=bound(case),
        digest=digest,
        remarks=remarks,
    )
