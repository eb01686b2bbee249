"""Matrix products in every dtype that matters on a chip: its FLOP/s.

Which dtypes, precisions and sizes say how fast a device computes are pure rules over
what it is: the same device gets the same products every time, because a baseline
compares them by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax

from jaxtui.measure import ops, peaks
from jaxtui.measure.check import work
from jaxtui.measure.check.base import (
    Context,
    Measure,
    Setting,
    by_device,
    setting,
)
from jaxtui.model import (
    ITEMSIZE,
    Case,
    CheckLevel,
    Device,
    Reading,
    RoofDtype,
    RunEvent,
)

SATURATING_SECONDS = 0.004
"""A call at peak takes at least so long: dispatch and the ramp at both ends, some
100 µs, are then a few percent at most."""

SIZES = (1024, 2048, 4096, 6144, 8192, 12288, 16384, 20480, 24576, 32768)
"""Multiples of every tile that matrix units work in."""

MEMORY_SHARE = 0.25
"""Of the free memory, for two inputs and the results that are in flight."""

RESULTS = 8
"""Results that may be in flight."""

FEW_CORES = 8
"""Up to so many cores, a product of 1024² keeps them busy for 5 ms and more."""


def test(context: Context) -> Iterator[RunEvent]:
    yield from by_device(context, "multiplying matrices", _products, again=True)


def _products(
    context: Context, device: jax.Device, seconds: float
) -> Iterator[Measure]:
    chosen = setting(context, device)
    wanted = kinds(chosen.device, context.check.level)
    for kind in wanted:
        share = seconds / len(wanted)
        yield partial(measure, context, device, kind, share)


def measure(
    context: Context, device: jax.Device, kind: RoofDtype, seconds: float
) -> Reading | None:
    """FLOP/s of the product of a kind; ``None`` where the test was stopped.

    Raises:
        TroubleError: There is no such product on the device.
    """
    chosen = setting(context, device)
    product = case(kind, chosen)
    what = label(product, device.platform)
    return work.rate_reading(
        context,
        work.prepare(product, what, device, context.check.seed),
        seconds,
        per=ops.get(product.op).flops(product.size, product.dtype),
        unit="flop/s",
        expected=peaks.product_peak(chosen.device, product.dtype, product.precision),
    )


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


def natural_product(
    context: Context,
    device: jax.Device,
    what: str,
    seconds: float = SATURATING_SECONDS,
) -> work.Subject:
    """The product that a chip is made for, which takes so long; ready to be called."""
    chosen = setting(context, device)
    natural = kinds(chosen.device, "quick")[0]
    product = case(natural, chosen, seconds)
    what = what.format(label(product, device.platform))
    return work.prepare(product, what, device, context.check.seed)


def case(
    kind: RoofDtype, setting: Setting, seconds: float = SATURATING_SECONDS
) -> Case:
    """The product of a kind that keeps a device busy for so long, at its peak.

    Where no peak is known the size is a usual one, and half of that for a shorter time;
    on a CPU it depends on the cores.
    """
    return Case(
        op="matmul",
        size=_size(kind, setting, seconds),
        dtype=kind.dtype,
        precision=kind.precision,
        device=setting.device.name,
        mode="jit",
    )


def label(case: Case, platform: str) -> str:
    """How readings name a product: ``matmul 4096 float32 highest``.

    The precision is said where it changes what is computed.
    """
    precise = case.dtype == "float32" and platform != "cpu"
    shown = f" {case.precision}" if precise else ""
    return f"{case.op} {case.size} {case.dtype}{shown}"


def _has_bfloat16(device: Device) -> bool:
    """What the table says; of a kind that it lacks, what the chip says of itself."""
    known = peaks.peak(device.device_kind, "bfloat16")
    if known is not None:
        return known.flops_per_second is not None
    try:
        # NVIDIA's tensor cores have it since Ampere.
        return float(device.attributes["compute_capability"]) >= 8.0
    except (KeyError, ValueError):
        return True


def _has_tf32(device_kind: str) -> bool:
    """Whether the table has a rate of TF32, for a chip of NVIDIA."""
    found = [
        peaks.peak(device_kind, "float32", precision)
        for precision in ("default", "highest")
    ]
    rates = [peak.flops_per_second for peak in found if peak is not None]
    # XLA rounds products to TF32 through cuBLAS; of ROCm nothing is known.
    return not device_kind.startswith("AMD") and len(set(rates)) == 2


def _size(kind: RoofDtype, setting: Setting, seconds: float) -> int:
    brief = seconds < SATURATING_SECONDS
    if setting.device.platform == "cpu":
        # Enough for all cores; devices that share them get shorter turns.
        if setting.sharing > 2 or brief:
            return 512
        return 1024 if setting.cores <= FEW_CORES else 2048
    peak = peaks.product_peak(setting.device, kind.dtype, kind.precision)
    wanted = (4096 if kind.dtype == "float32" else 8192) / (2 if brief else 1)
    if peak is not None:
        # The n of a product of 2 n³ operations that takes so long at peak.
        wanted = (peak.value * seconds / 2) ** (1 / 3)
    # Two inputs, and the results that are in flight.
    result = 4 if kind.dtype == "int8" else ITEMSIZE[kind.dtype]
    needed = 2 * ITEMSIZE[kind.dtype] + RESULTS * result
    free = setting.free_bytes
    fitting = [
        size
        for size in SIZES
        if free is None or size * size * needed <= MEMORY_SHARE * free
    ]
    reaching = [size for size in SIZES if size >= wanted] or [SIZES[-1]]
    return min(reaching[0], max(fitting, default=SIZES[0]))
