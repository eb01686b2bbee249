"""The best rates of devices: cases that fill them, in turns of queued bursts.

The same device gets the same cases every time, because a baseline compares them by
name. Every call comes from ``compile_case``: to see how the check takes to a device
that is slow, wrong or silent, replace this one function and nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding
from msgspec.structs import replace

from jaxtui.core.model import (
    ITEMSIZE,
    Case,
    CheckDoing,
    CheckLevel,
    CheckRead,
    CheckTest,
    Device,
    Expected,
    Fact,
    Reading,
    Remark,
    RoofDtype,
    RunEvent,
    Unit,
)
from jaxtui.core.model.measurement import Interval
from jaxtui.core.stats import median, rounds_interval
from jaxtui.features.bench.measure import notes
from jaxtui.machine import limits, messages
from jaxtui.machine.hardware import read_text
from jaxtui.tasks import devices, errors, ops, programs, waiting
from jaxtui.tasks.devices import name
from jaxtui.tasks.failures import translate
from jaxtui.tasks.host import available_host_bytes
from jaxtui.tasks.ops.arguments import Argument
from jaxtui.tasks.waiting import Call
from jaxtui.tasks.workload import Workload, op_scope
from jaxtui.timing.runtime import DEFAULT_QUEUE_DEPTH
from jaxtui.timing.turns import WARM_UP_SECONDS, Turns, take_turns
from jaxtui.xla import peaks

STREAMS = ("copy", "triad")
"""STREAM's copy and triad, over arrays that no cache holds."""

CACHES = 4
"""The smallest array of a stream in multiples of the last cache, as STREAM demands."""

STREAM_BYTES = 2**30
"""Bytes of an array on an accelerator: four times the largest of their last caches (256
MB on AMD's Instinct), and a millisecond of traffic at least. No array is larger on a
host."""

STREAM_SHARE = 0.125
"""Fraction of the free memory for one array of three."""

FACTORS: dict[CheckLevel, tuple[int, ...]] = {"quick": (1,), "full": (1, 2, 4)}
"""Sizes of streams, as multiples of the smallest that is large enough."""

SATURATING_SECONDS = 0.004
"""A product at peak takes at least so long: dispatch and the ramp at both ends, some
100 µs, are then a few percent at most."""

SIZES = (1024, 2048, 4096, 6144, 8192, 12288, 16384, 20480, 24576, 32768)
"""Multiples of every tile that matrix units work in."""

PRODUCT_SHARE = 0.25
"""Fraction of the free memory for two inputs and the results in flight."""

RESULTS = 8
"""Results that may be in flight."""

BURST_SECONDS = 0.03
"""Work of the longer burst of a pair: the clock, and one hand-over more or less, are
then below one percent of it."""

CPUS = Path("/sys/devices/system/cpu")
"""The folder in which Linux describes the caches of each core."""


@dataclass(frozen=True)
class Setting:
    """The facts that sizes depend on: the device, its memory, and its neighbours."""

    device: Device
    free_bytes: int | None = None
    """Free memory where it computes; ``None`` where that is unknown."""
    sharing: int = 1
    """The number of devices that share its silicon, and thus the time."""
    cores: int = 1
    """Cores that this process may use."""

    @classmethod
    def of(cls, device: jax.Device, sharing: int = 1) -> Setting:
        described = devices.describe_device(device)
        free = devices.free_bytes(described, available_host_bytes())
        return cls(described, free, sharing, max(1, int(limits.cores() or 1)))


@dataclass(frozen=True)
class Subject:
    """A call that is ready to be timed, and the meaning of its seconds."""

    what: str
    workload: Workload
    unit: Unit = "seconds"
    per: float | None = None
    """The operations or bytes of a call: its figure is then a rate."""
    expected: Expected | None = None
    clock: Literal["bursts", "calls", "dispatch"] = "bursts"


Prepare = Callable[[], "Subject | None"]
"""Makes a subject; ``None`` where one before it was too much."""


# Which cases.


def kinds(device: Device, level: CheckLevel) -> tuple[RoofDtype, ...]:
    """The kinds of products that matter on a chip, the one it is made for first.

    ``quick`` is that one and float32; ``full`` is all.
    """
    if device.platform == "cpu":
        # A CPU computes float32 as it is: precision makes no difference.
        return RoofDtype("float32"), RoofDtype("float64")
    default, highest = RoofDtype("float32"), RoofDtype("float32", "highest")
    if device.platform == "tpu":
        every = [RoofDtype("bfloat16"), highest, default]
        if peaks.product_peak(device, "int8"):
            every.append(RoofDtype("int8"))
    else:
        half = RoofDtype("bfloat16" if _has_bfloat16(device) else "float16")
        # At ``default`` only where that is known to mean TF32.
        tf32 = [default] if _has_tf32(device.device_kind) else []
        every = [half, *tf32, highest, RoofDtype("float16"), RoofDtype("int8")]
    if level == "full":
        return tuple(dict.fromkeys(every))
    return every[0], next(kind for kind in every if kind.dtype == "float32")


def product(kind: RoofDtype, setting: Setting, scale: float = 1.0) -> Case:
    """The product of a kind that saturates a device at its peak.

    Where no peak is known the size is a usual one; on a CPU it depends on the cores.
    """
    return Case(
        op="matmul",
        size=int(scale * _size(kind, setting)),
        dtype=kind.dtype,
        precision=kind.precision,
        device=setting.device.name,
        mode="jit",
    )


def streams(setting: Setting, level: CheckLevel = "quick") -> tuple[Case, ...]:
    """Copy and triad at each size of a level."""
    place = setting.device.name
    return tuple(
        Case(op=op, size=size, dtype="float32", device=place, mode="jit")
        for size in stream_sizes(setting, level, last_cache_bytes())
        for op in STREAMS
    )


def label(case: Case) -> str:
    """Name a case in readings: ``matmul 4096 float32 highest``.

    The precision is said where it changes what is computed.
    """
    precise = ops.get(case.op).rounds(case.dtype) and case.platform != "cpu"
    precision = f" {case.precision}" if precise else ""
    return f"{case.op} {case.size} {case.dtype}{precision}"


def _has_bfloat16(device: Device) -> bool:
    """Return whether the table, or else the chip, has a bfloat16 rate."""
    published = peaks.peak(device.device_kind, "bfloat16")
    if published is not None:
        return published.flops_per_second is not None
    try:
        # NVIDIA's tensor cores have it since Ampere.
        return float(device.attributes["compute_capability"]) >= 8.0
    except (KeyError, ValueError):
        return True


def _has_tf32(device_kind: str) -> bool:
    """Return whether the table has a rate of TF32, for a chip of NVIDIA."""
    published = [
        peaks.peak(device_kind, "float32", precision)
        for precision in ("default", "highest")
    ]
    rates = [peak.flops_per_second for peak in published if peak is not None]
    # XLA rounds products to TF32 through cuBLAS; of ROCm nothing is known.
    return not device_kind.startswith("AMD") and len(set(rates)) == 2


def _size(kind: RoofDtype, setting: Setting) -> int:
    if setting.device.platform == "cpu":
        # Enough for all cores; devices that share them get shorter turns.
        if setting.sharing > 2:
            return 512
        # A product of 1024² keeps eight cores busy for 5 ms.
        return 1024 if setting.cores <= 8 else 2048
    peak = peaks.product_peak(setting.device, kind.dtype, kind.precision)
    side: float = 4096 if kind.dtype == "float32" else 8192
    if peak is not None:
        # The n of a product of 2 n³ operations that takes so long at peak.
        side = (peak.value * SATURATING_SECONDS / 2) ** (1 / 3)
    # Two inputs, and the results that are in flight.
    result = 4 if kind.dtype == "int8" else ITEMSIZE[kind.dtype]
    needed = 2 * ITEMSIZE[kind.dtype] + RESULTS * result
    free = setting.free_bytes
    fitting = [
        size
        for size in SIZES
        if free is None or size * size * needed <= PRODUCT_SHARE * free
    ]
    reaching = [size for size in SIZES if size >= side] or [SIZES[-1]]
    return min(reaching[0], max(fitting, default=SIZES[0]))


def stream_sizes(
    setting: Setting, level: CheckLevel, cache: int | None
) -> tuple[int, ...]:
    """The numbers of elements to stream, ascending; powers of two."""
    nbytes = STREAM_BYTES
    if setting.device.platform == "cpu":
        nbytes = min(CACHES * (cache or 64 * 2**20), STREAM_BYTES)
    smallest = 1 << (nbytes - 1).bit_length()
    counts = [smallest * factor for factor in FACTORS[level]]
    if setting.free_bytes is not None:
        most = max(int(STREAM_SHARE * setting.free_bytes), 2**20)
        counts = [min(count, most) for count in counts]
    elements = {count // ITEMSIZE["float32"] for count in counts}
    return tuple(sorted({1 << (count.bit_length() - 1) for count in elements}))


def last_cache_bytes(root: Path = CPUS) -> int | None:
    """The last level of cache of the host, all of its parts together.

    A processor of several dies, and a machine of several sockets, has one for each
    group of cores; a computation on all cores has all of them.

    Returns:
        ``None`` where the system does not say, as in some containers and on macOS.
    """
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    parts: dict[tuple[int, str], int] = {}
    for folder in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        files = ("level", "size", "type", "shared_cpu_list")
        level, size, kind, shared = (read_text(folder / x).strip() for x in files)
        unit = units.get(size[-1:], 0)
        digits = size[:-1] if unit else size
        if digits.isdigit() and level.isdigit() and kind != "Instruction":
            # Cores that share a part all describe the same one.
            place = (int(level), shared or folder.parts[-3])
            parts[place] = int(digits) * (unit or 1)
    last = max((level for level, _ in parts), default=0)
    return sum(size for (level, _), size in parts.items() if level == last) or None


# Calls, and inputs that a device makes.


@functools.lru_cache(maxsize=256)
def compile_case(case: Case, device: jax.Device, *, into: bool = False) -> Call:
    """The op of a case, compiled for a device: the only place where calls are made.

    It may be called in any thread and outside of ``scope``; arguments must be arrays
    on the device, in the dtypes of the case. It returns one ``jax.Array`` and is as
    asynchronous as the device. Calls are made once per process and kept.

    Args:
        case: Op, size, dtype and precision; mode and inputs are ignored. The precision
            is the one that is written there, whatever ``jax_default_matmul_precision``
            says.
        device: Where it runs, and where the result is.
        into: Take one more argument at the end, an array like the result: it is
            donated, so that the result is written where it was. Without that, each
            result is a fresh allocation, which on a CPU means that the kernel hands out
            pages of zeros: a copy of 128 MB takes five times as long.
    """
    op = ops.get(case.op)
    form = op.bind(case.precision)

    def ignoring_last(*args: Any) -> jax.Array:
        return form(*args[:-1])

    with scope(case, device):
        shapes, jitted = programs.shapes(op, case, device), jax.jit(form)
        if into:
            ignoring_last.__name__ = ignoring_last.__qualname__ = form.__name__
            # Unused as it is, it must be kept, or there is nothing to donate.
            jitted = jax.jit(
                ignoring_last, donate_argnums=len(shapes), keep_unused=True
            )
            shape, dtype = op.result_shape(case.size), op.result_dtype(case.dtype)
            shapes.append(programs.array_shape(shape, dtype, device))
        built: Call = jitted.lower(*shapes).compile()
        return built


def scope(case: Case, device: jax.Device) -> ExitStack:
    """Within it arrays are of the dtypes of the case, and made on the device.

    The setting is local to the thread.
    """
    stack = op_scope(case, device)
    stack.enter_context(jax.default_matmul_precision(case.precision))
    return stack


def arguments(case: Case, device: jax.Device, seed: int = 0) -> tuple[jax.Array, ...]:
    """Inputs of a case, made on the device by its own arithmetic from a seed.

    Drawing 8192² normals in NumPy takes a second, and sending them longer on a slow
    link. They are pseudo-random and not zeros, because zeros flatter: a chip that
    toggles no bits draws less power and clocks higher. Floats are evenly spread over
    [−1, 1), integers over −8 … 7, so that no product overflows. They are the same on
    every device.
    """
    specs = ops.get(case.op).arguments(case.size)
    # CPU devices share one memory: sending costs a copy, compiling for each costs more.
    on_cpu = device.platform == "cpu"
    maker = jax.local_devices(backend="cpu")[0] if on_cpu else device
    with scope(case, maker):
        arrays = [
            _fill(argument, case.dtype, maker)((seed * len(specs) + place) % 2**31)
            for place, argument in enumerate(specs)
        ]
        if maker != device:
            arrays = jax.device_put(arrays, device)
        return tuple(jax.block_until_ready(arrays))


@functools.lru_cache(maxsize=256)
def _fill(argument: Argument, dtype: str, device: jax.Device) -> Call:
    """Fills the shape of an argument from a seed."""
    count, kind = argument.elements(), jnp.dtype(argument.dtype(dtype))

    def fill(seed: jax.Array) -> jax.Array:
        # A counter through a finaliser: Murmur3's, as good as a hash needs to be here.
        bits = jax.lax.iota(jnp.uint32, count) + seed.astype(jnp.uint32) * jnp.uint32(
            0x9E3779B1
        )
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            bits = (bits ^ (bits >> shift)) * jnp.uint32(factor)
        bits = bits ^ (bits >> 16)
        if jnp.issubdtype(kind, jnp.integer):
            numbers = (bits >> 28).astype(jnp.int32) - 8
        else:
            # The upper 24 bits: as many as a float32 holds without rounding.
            wide = jnp.float64 if kind == jnp.float64 else jnp.float32
            numbers = (bits >> 8).astype(wide) / 2**23 - 1
        filled: jax.Array = numbers.astype(kind).reshape(argument.shape)
        return filled

    place = SingleDeviceSharding(device)
    return jax.jit(fill, out_shardings=place)


def prepare(case: Case, device: jax.Device, seed: int) -> Subject:
    """A product or a stream, compiled, with inputs on the device.

    Raises:
        TroubleError: It cannot be compiled, or its inputs do not fit.
    """
    op, what, into = ops.get(case.op), label(case), case.op in STREAMS
    with translate_errors(case, what, "compile"):
        call = compile_case(case, device, into=into)
    with translate_errors(case, what, "inputs"):
        args = arguments(case, device, seed)
        if into:
            call = _rewriting(call, case, device)
    described = devices.describe_device(device)
    unit: Unit = "bytes/s" if into else "flop/s"
    expected = peaks.product_peak(described, case.dtype, case.precision)
    if into:
        expected = peaks.bandwidth_peak(described)
    per = (op.bytes if into else op.flops)(case.size, case.dtype)
    return Subject(what, workload(case, device, call, args), unit, per, expected)


def workload(
    case: Case, device: jax.Device, call: Call, args: tuple[Any, ...] = ()
) -> Workload:
    """A compiled call with its arguments on a device; its result is one array."""
    wait = waiting.wait_for_array
    return Workload(case=case, call=call, args=args, device=device, wait=wait)


def _rewriting(call: Call, case: Case, device: jax.Device) -> Call:
    """A call that writes each result where the last one was, as STREAM does."""
    op = ops.get(case.op)
    with scope(case, device):
        shape, dtype = op.result_shape(case.size), op.result_dtype(case.dtype)
        written: jax.Array = jnp.zeros(shape, dtype, device=device)
        written.block_until_ready()

    def rewriting(*args: Any) -> jax.Array:
        nonlocal written
        written = call(*args, written)
        return written

    return rewriting


# How fast.


def measure(
    test: CheckTest,
    preparations: Mapping[jax.Device, Prepare],
    seconds: float,
    stop: Callable[[], bool],
) -> Iterator[RunEvent]:
    """A reading of one thing on devices that take turns, unless it is stopped."""
    names = tuple(map(name, preparations))
    subjects: dict[Turns, Subject] = {}
    for device, make in preparations.items():
        if stop():
            return
        yield CheckDoing(devices=(name(device),), doing="compiling")
        try:
            if (subject := make()) is not None:
                share = min(WARM_UP_SECONDS, 0.2 * seconds / len(names))
                subjects[_turns_of(subject, share)] = subject
        except Exception as error:
            yield CheckRead(reading=error_reading(test, device, error))
    at_work: tuple[str, ...] = ()
    end = perf_counter() + seconds
    for turns in take_turns(
        [*subjects], seconds, stop=stop, faults=(Exception,), announce=True
    ):
        # Whoever never comes back from its first calls is to blame alone.
        busy = names if turns.warm else (turns.workload.case.device,)
        if busy != at_work:
            at_work = busy
            yield CheckDoing(devices=busy)
        turns.done |= perf_counter() >= end and turns.rounds_taken > 0
    if not stop():
        for turns, subject in subjects.items():
            yield CheckRead(reading=_read(test, subject, turns))


def _turns_of(subject: Subject, warm_up_seconds: float) -> Turns:
    bursts = subject.clock == "bursts"
    return Turns(
        subject.workload,
        queue_depth=DEFAULT_QUEUE_DEPTH,
        latency=not bursts,
        throughput=bursts,
        warm_up_seconds=warm_up_seconds,
        burst_seconds=BURST_SECONDS,
        settles=subject.clock == "calls",
    )


def _read(test: CheckTest, subject: Subject, turns: Turns) -> Reading:
    device = turns.workload.case.device
    if turns.fault is not None:
        try:
            with translate_errors(turns.workload.case, subject.what, "sampling"):
                raise turns.fault
        except TroubleError as trouble:
            return error_reading(test, device, trouble)
    interval = turns.per_call
    if subject.clock == "dispatch":
        interval = rounds_interval([median(block.dispatch) for block in turns.rounds])
    contended = notes.contention(turns.meter.usage)
    # What others do matters where the device computes on the host's cores.
    shared = contended is not None and device.startswith("cpu:")
    return reading(
        test,
        device,
        subject.what,
        interval,
        per=subject.per,
        unit=subject.unit,
        expected=subject.expected,
        remarks=(contended,) if shared else (),
    )


# Readings.


class TroubleError(Exception):
    """A reading could not be made.

    Args:
        what: was to be measured.
        remark: why not; an ``error`` unless it is no fault of the device, which was not
            meant to do this.
    """

    def __init__(self, what: str, remark: Remark) -> None:
        super().__init__(remark.code)
        self.what, self.remark = what, remark


def reading(
    test: CheckTest,
    device: jax.Device | str | None,
    what: str,
    figure: Interval | float | None = None,
    *,
    per: float | None = None,
    **facts: Any,
) -> Reading:
    """Return the reading of a figure, with the interval that it has from rounds.

    The figure is as it was measured, or with ``per`` the seconds in which so many
    operations or bytes were done: then the reading is a rate. Without a device it is
    that of the machine as a whole; all else is as in ``Reading``.
    """
    if isinstance(figure, Interval):
        facts["confidence"] = figure.confidence
        ends = figure.median, figure.low, figure.high
        if per is not None:
            ends = per / figure.median, per / figure.high, per / figure.low
        figure, facts["ci_low"], facts["ci_high"] = ends
    if device is not None and not isinstance(device, str):
        device = name(device)
    return Reading(test=test, device=device, what=what, measured=figure, **facts)


def error_reading(
    test: CheckTest, device: jax.Device | str, error: Exception, **facts: Any
) -> Reading:
    """The reading that says in place of a figure what went wrong."""
    if not isinstance(error, TroubleError):
        detail = errors.full_text(error)
        raised: dict[str, Fact] = {"error": errors.headline(error)}
        error = TroubleError(test, Remark("test-raised", raised, "error", detail))
    return reading(test, device, error.what, remarks=(error.remark,), **facts)


@contextmanager
def translate_errors(case: Case, what: str, phase: str) -> Iterator[None]:
    """Give whatever is raised within a code.

    Raises:
        TroubleError: With the original text; no ``error`` if this kind of device cannot
            do it at all.
    """
    try:
        yield
    except TroubleError:
        raise
    except Exception as error:
        remark = translate(error, case, phase).remark
        if remark.code == messages.UNSUPPORTED:  # no fault of a device
            remark = replace(remark, severity="info")
        raise TroubleError(what, remark) from error
