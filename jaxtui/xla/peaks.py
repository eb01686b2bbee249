"""The published peaks of devices, from ``peaks.csv``.

The table holds dense figures per chip (per card, for GPUs), each with its source. All
figures here are per JAX device: some chips are two of them.
"""

from __future__ import annotations

import csv
import functools
import importlib
import importlib.resources
import re
from collections.abc import Mapping
from typing import Any

from jaxtui.core.model import Device, Expected, Fact, Peak, Precision, Remark

TPU_PASSES = {"default": 1, "high": 3, "highest": 6}
"""bfloat16 passes of a float32 product on a TPU, from ``jax.lax.Precision``."""

COLUMNS = {
    "bfloat16": "bf16_tflops",
    "float16": "fp16_tflops",
    "float8_e4m3fn": "fp8_tflops",
    "int8": "int8_tops",
}
"""The column of each dtype that has only one."""


def peak(
    device_kind: str,
    dtype: str,
    precision: Precision = "default",
    *,
    matrix: bool = True,
) -> Peak | None:
    """The peak of one JAX device, dense.

    Other ops than matrix products do not run on the matrix units, whose rate would be
    no bound worth naming, so they have a bandwidth only.

    Returns:
        ``None`` for a kind that the table does not have, such as a CPU. A rate that the
        table does not have (float64, complex64, int32, …) is ``None``.
    """
    if (row := _row(device_kind)) is None:
        return None
    rate, rule = _rate(row, dtype, precision) if matrix else (None, {})
    return Peak(
        flops_per_second=_per_device(row, rate, 1e12),
        bytes_per_second=_per_device(row, _number(row, "hbm_GBps"), 1e9),
        source=row["source"],
        basis=_source(row, rule if rate is not None else {}),
    )


def of_group(peak: Peak | None, devices: int) -> Peak | None:
    """The peak of so many devices of a kind, of which that of one is given."""
    if peak is None or devices == 1:
        return peak

    def times(rate: float | None) -> float | None:
        return None if rate is None else devices * rate

    source = peak.basis.facts if peak.basis else {}
    return Peak(
        flops_per_second=times(peak.flops_per_second),
        bytes_per_second=times(peak.bytes_per_second),
        source=peak.source,
        basis=Remark("published", {**source, "devices": devices}),
    )


_AMD = {
    (9, 0, 64): "AMD Instinct MI250X",
    (9, 4, 192): "AMD Instinct MI300X",
    (9, 4, 256): "AMD Instinct MI325X",
    (9, 5, 288): "AMD Instinct MI355X",
}
"""The kind of device by gfx version and GiB, where a trace has no name."""


def amd_kind(stats: Mapping[str, Any]) -> str:
    """Return the kind of an AMD GPU by its figures; empty if unknown."""
    try:
        version = int(stats["compute_cap_major"]), int(stats["compute_cap_minor"])
        memory = int(stats["memory_size"]) / 2**30
    except (KeyError, TypeError, ValueError):
        return ""
    for (major, minor, gib), kind in _AMD.items():
        if (major, minor) == version and abs(memory / gib - 1) < 0.05:
            return kind
    return ""


def _best_known(device_kind: str, dtype: str) -> float | None:
    """The best that a product of 16-bit floats is known to have reached, per device.

    The highest of many shapes, in bfloat16 (maximum achievable matmul FLOP/s, Stas
    Bekman's ML Engineering); float16 runs at the same rate on the chips that have it.
    """
    row = _row(device_kind)
    if row is None or dtype not in ("bfloat16", "float16"):
        return None
    return _per_device(row, _number(row, "mamf_bf16_tflops"), 1e12)


def memory(device_kind: str) -> Expected | None:
    """The memory of one JAX device in bytes, and who says so.

    It is what the chip has; a runtime keeps some of it for itself.
    """
    if (row := _row(device_kind)) is None:
        return None
    if (size := _per_device(row, _number(row, "hbm_GiB"), 2**30)) is None:
        return None
    return Expected(value=size, kind="peak", source=_source(row, {}))


def _rate(
    row: dict[str, str], dtype: str, precision: Precision
) -> tuple[float | None, dict[str, Fact]]:
    """Tera-operations per second of a chip, and the rule behind a derived figure."""
    if dtype in COLUMNS:
        return _number(row, COLUMNS[dtype]), {}
    if dtype != "float32":
        return None, {}
    if "TPU" in row["device_kind_pattern"]:
        rule = _passes(precision)
        rate = _number(row, "bf16_tflops")
        return (None if rate is None else rate / TPU_PASSES[precision]), rule
    tf32 = _number(row, "tf32_tflops")
    if precision != "highest" and tf32 is not None:
        return tf32, {"precision": precision, "tf32": True}
    return _number(row, "f32_tflops"), {}


def _passes(precision: Precision) -> dict[str, Fact]:
    """Return the number of bfloat16 passes of a float32 product on a TPU."""
    return {"precision": precision, "passes": TPU_PASSES[precision]}


def _source(row: dict[str, str], rule: Mapping[str, Fact]) -> Remark:
    """Return the publisher of a chip's figures, and the rule from chip to device."""
    facts: dict[str, Fact] = {"source": row["source"], **rule}
    if int(row["jax_devices_per_chip"]) > 1:
        facts["devices_per_chip"] = int(row["jax_devices_per_chip"])
    doubt = row["confidence"]
    if any(word in doubt.lower() for word in ("disagree", "guess", "lower", "infer")):
        facts["doubt"] = doubt
    return Remark("published", facts)


def _number(row: dict[str, str], column: str) -> float | None:
    return float(row[column]) if row[column] else None


def _per_device(
    row: dict[str, str], per_chip: float | None, unit: float
) -> float | None:
    """Convert a figure per chip of the table to one per JAX device."""
    if per_chip is None:
        return None
    return per_chip * unit / float(row["jax_devices_per_chip"])


def _row(device_kind: str) -> dict[str, str] | None:
    if " MIG " in device_kind:
        return None  # a part of the card
    for pattern, row in _table():
        if pattern.match(device_kind):
            return row
    return None


@functools.cache
def _table() -> tuple[tuple[re.Pattern[str], dict[str, str]], ...]:
    text = importlib.resources.files("jaxtui.xla").joinpath("peaks.csv")
    rows = csv.DictReader(text.read_text(encoding="utf-8").splitlines())
    patterns = ((row["device_kind_pattern"], row) for row in rows)
    # A trace writes "TPU v6 Lite" where JAX writes "TPU v6 lite".
    return tuple((re.compile(pattern, re.IGNORECASE), row) for pattern, row in patterns)


# What a device should reach at most, and who says so: JAX's own table of TPUs first,
# where there is one. A kind that neither has, such as a CPU, has no peak.

AGREEMENT = 1.35
"""JAX's table and ours differ by up to 14 % (``TPU v3``). A larger factor means that
JAX's fields no longer mean what they did, and ours alone is believed."""

ROUNDING = 1.01
"""Figures that differ by less are the same figure."""

JAX_TABLE = "jax.experimental.pallas.tpu.get_tpu_info_for_chip"


def product_peak(
    device: Device, dtype: str, precision: Precision = "default"
) -> Expected | None:
    """The dense peak of a matrix product on one JAX device, operations per second."""
    rule = _passes(precision) if dtype == "float32" else {}
    passes = TPU_PASSES[precision] if rule else 1
    field = {"bfloat16": "bf16", "float32": "bf16", "int8": "int8"}.get(dtype)
    from_jax = _from_jax(device, f"{field}_ops_per_second") if field else None
    published = peak(device.device_kind, dtype, precision)
    return _reconcile(
        from_jax and from_jax / passes,
        rule,
        published.flops_per_second if published else None,
        published.basis if published else None,
        reached=_best_known(device.device_kind, dtype),
    )


def bandwidth_peak(device: Device) -> Expected | None:
    """The peak bandwidth of the memory of one JAX device, in bytes per second."""
    published = peak(device.device_kind, "float32", matrix=False)
    return _reconcile(
        _from_jax(device, "mem_bw_bytes_per_second"),
        {},
        published.bytes_per_second if published else None,
        published.basis if published else None,
    )


def _reconcile(
    by_jax: float | None,
    rule: Mapping[str, Fact],
    published: float | None,
    basis: Remark | None,
    reached: float | None = None,
) -> Expected | None:
    """JAX's figure; ours where JAX has none, or one that is lower.

    A peak is what cannot be exceeded. Of two that are published, the lower one would
    make a healthy chip impossible.
    """
    value, source = by_jax, Remark("published", {"source": JAX_TABLE, **rule})
    if published is not None and basis is not None:
        ratio = None if by_jax is None else by_jax / published
        if ratio is None or not 1 / AGREEMENT <= ratio <= AGREEMENT:
            value, source = published, basis
        elif by_jax is not None and ratio * ROUNDING < 1:
            value, source = (
                published,
                Remark("published", {**basis.facts, "jax": by_jax}),
            )
    if value is None:
        return None
    return Expected(value=value, kind="peak", source=source, reached=reached)


def _from_jax(device: Device, field: str) -> float | None:
    """A field of JAX's table for one JAX device; it has them per core."""
    if device.platform != "tpu":
        return None
    try:
        cores = int(device.attributes["num_cores"])
        return (
            float(getattr(_jax_row(device.device_kind, cores), field)) * cores or None
        )
    # Whatever has become of a table that JAX calls experimental, ours is there.
    except Exception:
        return None


@functools.cache
def _jax_row(device_kind: str, cores: int) -> Any:
    """The row of a kind. Here since jax 0.11; half of it is private.

    Raises:
        Exception: There is no such table, or no such row.
    """
    # By name: a type checker beside an older jax finds no such module.
    kinds = importlib.import_module("jax._src.tpu_info")
    tpu = importlib.import_module("jax.experimental.pallas.tpu")
    version = kinds.chip_version_from_device_kind(device_kind)
    return tpu.get_tpu_info_for_chip(version, cores)
