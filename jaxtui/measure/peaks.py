"""What a device could do at most, from ``peaks.csv``.

The table holds dense figures per chip (per card, for GPUs), each with its source. All
figures here are per JAX device: some chips are two of them.
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
import re

from jaxtui.model import Peak, Precision

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

    Args:
        device_kind: ``Device.device_kind``.
        dtype: The dtype of the inputs.
        precision: The precision of a float32 product.
        matrix: Whether the op is a matrix product. Other ops do not run on the matrix
            units, whose rate would be no bound worth naming, so they have a bandwidth
            only.

    Returns:
        ``None`` for a kind that the table does not have, such as a CPU. A rate that the
        table does not have (float64, complex64, int32, …) is ``None``.
    """
    row = _row(device_kind)
    if row is None:
        return None
    per_chip = float(row["jax_devices_per_chip"])
    rate, rule = _rate(row, dtype, precision) if matrix else (None, "")
    bandwidth = _number(row, "hbm_GBps")
    return Peak(
        flops_per_second=None if rate is None else rate * 1e12 / per_chip,
        bytes_per_second=None if bandwidth is None else bandwidth * 1e9 / per_chip,
        source=_source(row, rule if rate is not None else ""),
    )


def reached(device_kind: str, dtype: str) -> float | None:
    """The best that a product of 16-bit floats is known to have reached, per device.

    The highest of many shapes, in bfloat16 (maximum achievable matmul FLOP/s, Stas
    Bekman's ML Engineering); float16 runs at the same rate on the chips that have it.
    """
    row = _row(device_kind)
    if row is None or dtype not in ("bfloat16", "float16"):
        return None
    rate = _number(row, "mamf_bf16_tflops")
    if rate is None:
        return None
    return rate * 1e12 / float(row["jax_devices_per_chip"])


def memory(device_kind: str) -> tuple[float, str] | None:
    """The memory of one JAX device in bytes, and who says so.

    It is what the chip has; a runtime keeps some of it for itself.
    """
    row = _row(device_kind)
    size = None if row is None else _number(row, "hbm_GiB")
    if row is None or size is None:
        return None
    return size * 2**30 / float(row["jax_devices_per_chip"]), _source(row, "")


def _rate(
    row: dict[str, str], dtype: str, precision: Precision
) -> tuple[float | None, str]:
    """Tera-operations per second of a chip, and the rule behind a derived figure."""
    if dtype in COLUMNS:
        return _number(row, COLUMNS[dtype]), ""
    if dtype != "float32":
        return None, ""
    if "TPU" in row["device_kind_pattern"]:
        passes = TPU_PASSES[precision]
        rate = _number(row, "bf16_tflops")
        rule = f"float32 at precision {precision} is {passes} bfloat16 pass"
        rule += "" if passes == 1 else "es"
        return (None if rate is None else rate / passes), rule
    tf32 = _number(row, "tf32_tflops")
    if precision != "highest" and tf32 is not None:
        return tf32, f"float32 at precision {precision} is TF32 where the chip has it"
    return _number(row, "f32_tflops"), ""


def _source(row: dict[str, str], rule: str) -> str:
    parts = [row["source"]]
    if int(row["jax_devices_per_chip"]) > 1:
        parts.append(f"per chip, shared by {row['jax_devices_per_chip']} JAX devices")
    if rule:
        parts.append(f"{rule} (jax.lax.Precision)")
    doubt = row["confidence"]
    if any(word in doubt.lower() for word in ("disagree", "guess", "lower", "infer")):
        parts.append(f"uncertain: {doubt}")
    return "; ".join(parts)


def _number(row: dict[str, str], column: str) -> float | None:
    return float(row[column]) if row[column] else None


def _row(device_kind: str) -> dict[str, str] | None:
    for pattern, row in _table():
        if pattern.match(device_kind):
            return row
    return None


@functools.cache
def _table() -> tuple[tuple[re.Pattern[str], dict[str, str]], ...]:
    text = importlib.resources.files("jaxtui.measure").joinpath("peaks.csv")
    rows = csv.DictReader(text.read_text(encoding="utf-8").splitlines())
    return tuple((re.compile(row["device_kind_pattern"]), row) for row in rows)
