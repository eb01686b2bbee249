"""What a device should reach at most, and who says so.

JAX's own table of TPUs comes first where there is one, then ``peaks.csv``. A kind that
neither has, such as a CPU, has no peak: nothing is ever assumed.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtui import format as fmt
from jaxtui.measure import peaks
from jaxtui.model import Device, Expected, Precision

AGREEMENT = 1.35
"""JAX's table and ours differ by up to 14 % (``TPU v3``). A larger factor means that
JAX's fields no longer mean what they did, and ours alone is believed."""

ROUNDING = 1.01
"""Figures that differ by less are the same figure."""

JAX_TABLE = "JAX's own table (jax.experimental.pallas.tpu.get_tpu_info_for_chip)"


@dataclass(frozen=True)
class _Figure:
    value: float
    source: str


def product_peak(
    device: Device, dtype: str, precision: Precision = "default"
) -> Expected | None:
    """The dense peak of a matrix product on one JAX device, in operations per second.

    Args:
        device: Its kind and its number of cores count.
        dtype: Of the inputs.
        precision: Of a float32 product.
    """
    known = peaks.peak(device.device_kind, dtype, precision)
    ours = None
    if known is not None and known.flops_per_second is not None:
        ours = _Figure(known.flops_per_second, known.source)
    passes = peaks.TPU_PASSES[precision] if dtype == "float32" else 1
    field = {"bfloat16": "bf16", "float32": "bf16", "int8": "int8"}.get(dtype)
    rule = (
        f"; float32 at precision {precision} is {passes} bfloat16"
        f" pass{'es' if passes > 1 else ''} (jax.lax.Precision)"
        if dtype == "float32"
        else ""
    )
    jax_has = field and _from_jax(device, f"{field}_ops_per_second")
    theirs = _Figure(jax_has / passes, JAX_TABLE + rule) if jax_has else None
    best = _reconciled(theirs, ours, fmt.flops_rate)
    if best is None:
        return None
    return Expected(
        value=best.value,
        kind="peak",
        source=best.source,
        reached=peaks.reached(device.device_kind, dtype),
    )


def bandwidth_peak(device: Device) -> Expected | None:
    """The peak bandwidth of the memory of one JAX device, in bytes per second."""
    known = peaks.peak(device.device_kind, "float32", matrix=False)
    ours = None
    if known is not None and known.bytes_per_second is not None:
        ours = _Figure(known.bytes_per_second, known.source)
    jax_has = _from_jax(device, "mem_bw_bytes_per_second")
    theirs = _Figure(jax_has, JAX_TABLE) if jax_has else None
    best = _reconciled(theirs, ours, fmt.bytes_rate)
    if best is None:
        return None
    return Expected(value=best.value, kind="peak", source=best.source)


def _reconciled(
    theirs: _Figure | None, ours: _Figure | None, text: Callable[[float], str]
) -> _Figure | None:
    """JAX's figure; ours where JAX has none, or one that is lower.

    A peak is what cannot be exceeded. Of two that are published, the lower one would
    make a healthy chip impossible.
    """
    if theirs is None or ours is None:
        return theirs or ours
    ratio = theirs.value / ours.value
    if not 1 / AGREEMENT <= ratio <= AGREEMENT:
        return ours
    if ratio * ROUNDING < 1:
        return _Figure(ours.value, f"{ours.source}; JAX says {text(theirs.value)}")
    return theirs


def _from_jax(device: Device, field: str) -> float | None:
    """A field of JAX's table for one JAX device; it has them per core."""
    if device.platform != "tpu":
        return None
    try:
        cores = int(device.attributes["num_cores"])
        return float(getattr(_row(device.device_kind, cores), field)) * cores or None
    # Whatever has become of a table that JAX calls experimental, ours is there.
    except Exception:
        return None


@functools.cache
def _row(device_kind: str, cores: int) -> Any:
    """The row of a kind. Here since jax 0.11; half of it is private.

    Raises:
        Exception: There is no such table, or no such row.
    """
    # By name: a type checker beside an older jax finds no such module.
    kinds = importlib.import_module("jax._src.tpu_info")
    tpu = importlib.import_module("jax.experimental.pallas.tpu")
    version = kinds.chip_version_from_device_kind(device_kind)
    return tpu.get_tpu_info_for_chip(version, cores)
