"""Matrix products in every dtype that matters on a chip: its FLOP/s.

Which dtypes, precisions and sizes say how fast a device computes are pure rules over
what it is: the same device gets the same products every time, because a baseline
compares them by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import msgspec

from jaxtui.measure import ops
from jaxtui.measure.check import work
from jaxtui.measure.check.base import (
    Context,
    Measure,
    Setting,
    TroubleError,
    by_device,
    error_reading,
    setting,
)
from jaxtui.measure.devices import name
from jaxtui.measure.turns import Turns
from jaxtui.model import (
    ITEMSIZE,
    Case,
    CheckDoing,
    CheckDone,
    CheckLevel,
    CheckRead,
    Device,
    Reading,
    RoofDtype,
    RunEvent,
)
from jaxtui.xla import peaks

SATURATING_SECONDS = 0.004
"""A call at peak takes at least so long: dispatch and the ramp at both ends, some
100 µs, are then a few percent at most."""

SIZES = (1024, 2048, 4096, 6144, 8192, 12288, 16384, 20480, 24576, 32768)
"""Multiples of every tile that matrix units work in."""

MEMORY_SHARE = 0.25
"""Fraction of the free memory for two inputs and the results in flight."""

RESULTS = 8
"""Results that may be in flight."""


def test(context: Context) -> Iterator[RunEvent]:
    if context.shared:
        yield from _in_turn(context)
    else:
        yield from by_device(context, _products)


def measure(
    context: Context,
    device: jax.Device,
    kind: RoofDtype,
    seconds: float,
    scale: float = 1.0,
) -> Reading | None:
    """FLOP/s of the product of a kind; ``None`` where the test was stopped.

    Args:
        context: of the test.
        device: where it is computed.
        kind: which product.
        seconds: of measuring.
        scale: of the usual size.

    Raises:
        TroubleError: There is no such product on the device.
    """
    chosen = setting(context, device)
    subject = prepare(kind, chosen, device, context.check.seed, scale=scale)
    return work.measure_rate(context, subject, seconds, **_facts(chosen, subject))


def prepare(
    kind: RoofDtype,
    chosen: Setting,
    device: jax.Device,
    seed: int,
    what: str | None = None,
    scale: float = 1.0,
) -> work.Subject:
    """The product of a kind that keeps a device busy; ready to be called."""
    product = case(kind, chosen)
    product = msgspec.structs.replace(product, size=int(scale * product.size))
    name = what or label(product, device.platform)
    return work.prepare(product, name, device, seed)


def _facts(chosen: Setting, subject: work.Subject) -> dict[str, Any]:
    case = subject.workload.case
    return {
        "per": ops.get(case.op).flops(case.size, case.dtype),
        "unit": "flop/s",
        "expected": peaks.product_peak(chosen.device, case.dtype, case.precision),
    }


def _products(
    context: Context, device: jax.Device, seconds: float
) -> Iterator[Measure]:
    products = kinds(setting(context, device).device, context.check.level)
    for kind in products:
        yield partial(measure, context, device, kind, seconds / len(products))


def _in_turn(context: Context) -> Iterator[RunEvent]:
    """Devices that share their silicon take turns round by round.

    What slows the host for a while slows all of them alike, and a device that is slower
    than the others is slower indeed.
    """
    names = tuple(map(name, context.devices))
    chosen = {device: setting(context, device) for device in context.devices}
    products = kinds(chosen[context.devices[0]].device, context.check.level)
    for kind in products:
        subjects: dict[jax.Device, work.Subject] = {}
        for device in context.devices:
            if context.stop():
                return
            yield CheckDoing(devices=(name(device),), doing="compiling")
            try:
                seed = context.check.seed
                subjects[device] = prepare(kind, chosen[device], device, seed)
            except TroubleError as trouble:
                yield CheckRead(reading=error_reading("compute", device, trouble))
        ended: dict[jax.Device, Turns] = {}
        seconds = context.check.budget_seconds / len(products)
        at_work: tuple[str, ...] = ()
        for turns in work.run_bursts([*subjects.values()], seconds, context.stop):
            device = turns.workload.device
            assert device is not None
            # Whoever never comes back from its first calls is to blame alone.
            busy = names if turns.warm else (name(device),)
            if busy != at_work:
                at_work = busy
                yield CheckDoing(devices=busy)
            if turns.warm:
                ended[device] = turns
        if context.stop():
            return
        for device, turns in ended.items():
            subject = subjects[device]
            facts = _facts(chosen[device], subject)
            try:
                rate = work.rate_reading("compute", subject, turns, **facts)
            except TroubleError as trouble:
                rate = error_reading("compute", device, trouble)
            if rate is not None:
                yield CheckRead(reading=rate)
    yield from (CheckDone(device=device_name) for device_name in names)


# Which products.


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


def natural_product(context: Context, device: jax.Device, what: str) -> work.Subject:
    """The product that a chip is made for; ready to be called."""
    chosen = setting(context, device)
    natural = kinds(chosen.device, "quick")[0]
    return prepare(natural, chosen, device, context.check.seed, what)


def case(kind: RoofDtype, setting: Setting) -> Case:
    """The product of a kind that saturates a device at its peak.

    Where no peak is known the size is a usual one; on a CPU it depends on the cores.
    """
    return Case(
        op="matmul",
        size=_size(kind, setting),
        dtype=kind.dtype,
        precision=kind.precision,
        device=setting.device.name,
        mode="jit",
    )


def label(case: Case, platform: str) -> str:
    """Name a product in readings: ``matmul 4096 float32 highest``.

    The precision is said where it changes what is computed.
    """
    precise = case.dtype == "float32" and platform != "cpu"
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
        if free is None or size * size * needed <= MEMORY_SHARE * free
    ]
    reaching = [size for size in SIZES if size >= side] or [SIZES[-1]]
    return min(reaching[0], max(fitting, default=SIZES[0]))
