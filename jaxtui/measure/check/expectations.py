"""What a device should reach at most, and who says so.

JAX's own table of TPUs comes first where there is one, then ``peaks.csv``. A kind that
neither has, such as a CPU, has no peak: nothing is ever assumed.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
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


def product_peak(
    device: Device, dtype: str, precision: Precision = "default"
) -> Expected | None:
    """The dense peak of a matrix product on one JAX device, in operations per second.

    Args:
        device: Its kind and its number of cores count.
        dtype: Of the inputs.
        precision: Of a float32 product.
    """
    passes, rule = 1, ""
    if dtype == "float32":
        passes = peaks.TPU_PASSES[precision]
        rule = (
            f"; float32 at precision {precision} is {passes} bfloat16"
            f" pass{'es' if passes > 1 else ''} (jax.lax.Precision)"
        )
    field = {"bfloat16": "bf16", "float32": "bf16", "int8": "int8"}.get(dtype)
    theirs = _from_jax(device, f"{field}_ops_per_second") if field else None
    known = peaks.peak(device.device_kind, dtype, precision)
    return _reconciled(
        theirs and theirs / passes,
        JAX_TABLE + rule,
        known.flops_per_second if known else None,
        known.source if known else "",
        fmt.flops_rate,
        reached=peaks.reached(device.device_kind, dtype),
    )


def bandwidth_peak(device: Device) -> Expected | None:
    """The peak bandwidth of the memory of one JAX device, in bytes per second."""
    known = peaks.peak(device.device_kind, "float32", matrix=False)
    return _reconciled(
        _from_jax(device, "mem_bw_bytes_per_second"),
        JAX_TABLE,
        known.bytes_per_second if known else None,
        known.source if known else "",
        fmt.bytes_rate,
    )


def _reconciled(
    theirs: float | None,
    their_source: str,
    ours: float | None,
    our_source: str,
    text: Callable[[float], str],
    reached: float | None = None,
) -> Expected | None:
    """JAX's figure; ours where JAX has none, or one that is lower.

    A peak is what cannot be exceeded. Of two that are published, the lower one would
    make a healthy chip impossible.
    """
    value, source = theirs, their_source
    if ours is not None:
        ratio = None if theirs is None else theirs / ours
        if ratio is None or not 1 / AGREEMENT <= ratio <= AGREEMENT:
            value, source = ours, our_source
        elif theirs is not None and ratio * ROUNDING < 1:
            value, source = ours, f"{our_source}; JAX says {text(theirs)}"
    if value is None:
        return None
    return Expected(value=value, kind="peak", source=source, reached=reached)


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
