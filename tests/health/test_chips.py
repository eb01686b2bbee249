"""Figures of real chips: both sides of every threshold, with the peaks in the table.

The peaks are those that the engine hands out (``jaxtui.measure.checks.expectations``
takes JAX's own first; the ones here come from ``peaks.csv`` whatever jax there is).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jaxtui.health.verdict import judge
from jaxtui.measure import peaks
from jaxtui.model import Device, Expected, Reading
from tests.health.making import device


@dataclass(frozen=True)
class Chip:
    """A kind of device with its peaks per JAX device, worked out by hand."""

    kind: str
    platform: str
    dtype: str
    flops: float
    bandwidth: float
    low_below: float
    """FLOP/s."""
    reached: float | None = None


CHIPS = (
    # Two JAX devices per chip: half of 46, 123, 2307 and 383 TFLOP/s each.
    Chip("TPU v2", "tpu", "bfloat16", 23e12, 358e9, 13.8e12),
    Chip("TPU v3", "tpu", "bfloat16", 61.5e12, 450e9, 36.9e12),
    Chip("TPU7x", "tpu", "bfloat16", 1153.5e12, 3690e9, 692.1e12),
    Chip("AMD Instinct MI250X", "gpu", "bfloat16", 191.5e12, 1638.5e9, 114.9e12),
    # One, some of two TensorCores.
    Chip("TPU v4", "tpu", "bfloat16", 275e12, 1200e9, 165e12),
    Chip("TPU v5 lite", "tpu", "bfloat16", 197e12, 819e9, 118.2e12),
    Chip("TPU v5 lite", "tpu", "int8", 393e12, 819e9, 235.8e12),
    Chip("TPU v5", "tpu", "bfloat16", 459e12, 2765e9, 275.4e12),
    Chip("TPU v6 lite", "tpu", "bfloat16", 918e12, 1638e9, 550.8e12),
    Chip("Tesla T4", "gpu", "float16", 65e12, 320e9, 39e12),
    # What others have reached is known: three quarters of 271.2, 794.5 and 668.4.
    Chip(
        "NVIDIA A100-SXM4-80GB", "gpu", "bfloat16", 312e12, 2039e9, 203.4e12, 271.2e12
    ),
    Chip(
        "NVIDIA H100 80GB HBM3",
        "gpu",
        "bfloat16",
        989.4e12,
        3350e9,
        595.875e12,
        794.5e12,
    ),
    Chip("NVIDIA H200", "gpu", "bfloat16", 989.4e12, 4800e9, 595.875e12, 794.5e12),
    Chip(
        "AMD Instinct MI300X", "gpu", "bfloat16", 1307.4e12, 5300e9, 501.3e12, 668.4e12
    ),
)

each = pytest.mark.parametrize(
    "chip", CHIPS, ids=lambda chip: f"{chip.kind} {chip.dtype}"
)


def judged(chip: Chip, share_of: float, factor: float, bandwidth: bool = False) -> str:
    """The verdict on a figure, after the peaks were looked up as a test does it."""
    peak = peaks.peak(chip.kind, chip.dtype, matrix=not bandwidth)
    assert peak is not None
    value = peak.bytes_per_second if bandwidth else peak.flops_per_second
    assert value is not None
    reached = None if bandwidth else chip.reached
    one = Reading(
        test="bandwidth" if bandwidth else "compute",
        device=f"{chip.platform}:0",
        what="copy" if bandwidth else f"matmul 8192 {chip.dtype}",
        unit="bytes/s" if bandwidth else "flop/s",
        measured=share_of * factor,
        expected=Expected(
            value=value, kind="peak", source=peak.source, reached=reached
        ),
    )
    (found,) = judge([one], [device(0, chip.kind, chip.platform)])
    assert found.source == peak.source
    assert found.expected == value
    assert found.share == pytest.approx(share_of * factor / value)
    return found.verdict


@each
def test_the_peaks_are_those_of_one_device(chip: Chip) -> None:
    peak = peaks.peak(chip.kind, chip.dtype)
    assert peak is not None
    assert peak.flops_per_second == pytest.approx(chip.flops)
    assert peak.bytes_per_second == pytest.approx(chip.bandwidth)


@each
@pytest.mark.parametrize(
    ("factor", "word"), [(0.05, "low"), (0.999, "low"), (1.001, "pass")]
)
def test_compute_on_both_sides_of_low(chip: Chip, factor: float, word: str) -> None:
    assert judged(chip, chip.low_below, factor) == word


@each
@pytest.mark.parametrize(
    ("factor", "word"),
    [(0.95, "pass"), (1.0, "pass"), (1.019, "pass"), (1.021, "impossible")],
)
def test_compute_on_both_sides_of_the_peak(
    chip: Chip, factor: float, word: str
) -> None:
    assert judged(chip, chip.flops, factor) == word


@each
@pytest.mark.parametrize(
    ("factor", "word"),
    [(0.699, "low"), (0.701, "pass"), (1.019, "pass"), (1.021, "impossible")],
)
def test_bandwidth(chip: Chip, factor: float, word: str) -> None:
    assert judged(chip, chip.bandwidth, factor, bandwidth=True) == word


@pytest.mark.parametrize("kind", ["TPU v2", "TPU v3", "TPU7x", "AMD Instinct MI250X"])
def test_a_whole_chip_from_half_of_it_is_impossible(kind: str) -> None:
    chip = next(one for one in CHIPS if one.kind == kind)
    assert judged(chip, 2 * chip.flops, 0.8) == "impossible"
    assert judged(chip, 2 * chip.bandwidth, 0.87, bandwidth=True) == "impossible"


@pytest.mark.parametrize(
    ("kind", "dtype", "measured", "word"),
    [
        # Published: the best of many shapes.
        ("NVIDIA H100 80GB HBM3", "bfloat16", 794.5e12, "pass"),
        ("NVIDIA A100-SXM4-80GB", "bfloat16", 271.2e12, "pass"),
        ("AMD Instinct MI300X", "bfloat16", 668.4e12, "pass"),
        # design.md: what a first run on a v5e looks like, and its stopwatch.
        ("TPU v5 lite", "bfloat16", 169e12, "pass"),
        ("TPU v5 lite", "bfloat16", 2450e12, "impossible"),
        # A figure of sparsity on a dense peak.
        ("NVIDIA H200", "bfloat16", 1979e12, "impossible"),
    ],
)
def test_recorded_products(kind: str, dtype: str, measured: float, word: str) -> None:
    chip = next(one for one in CHIPS if (one.kind, one.dtype) == (kind, dtype))
    assert judged(chip, measured, 1) == word


@pytest.mark.parametrize(
    ("kind", "measured", "word"),
    [
        ("TPU7x", 3210e9, "pass"),  # Google's microbenchmarks, per device
        ("AMD Instinct MI300X", 3577e9, "low"),  # clpeak: 67 %
        ("NVIDIA H100 80GB HBM3", 1905e9, "low"),  # the floor of DCGM: 57 %
    ],
)
def test_recorded_copies(kind: str, measured: float, word: str) -> None:
    chip = next(one for one in CHIPS if one.kind == kind)
    assert judged(chip, measured, 1, bandwidth=True) == word


def test_what_others_reached_is_named_where_it_decides() -> None:
    one = Reading(
        test="compute",
        device="gpu:0",
        what="matmul 8192 bfloat16",
        unit="flop/s",
        measured=500e12,
        expected=Expected(
            value=989.4e12, kind="peak", source="a datasheet", reached=794.5e12
        ),
    )
    (found,) = judge([one], [device(0, "NVIDIA H200", "gpu")])
    assert found.reason.startswith(
        "500 TFLOP/s, 51 % of the peak of 989 TFLOP/s. Others have reached"
        " 794 TFLOP/s on such a device; at least 60 % of it is expected."
    )
    assert "DCGM" in found.reason


def test_a_figure_that_cannot_be_explains_itself() -> None:
    one = Reading(
        test="compute",
        device="tpu:0",
        what="matmul 8192 bfloat16",
        unit="flop/s",
        measured=2450e12,
        expected=Expected(value=197e12, kind="peak", source="a datasheet"),
    )
    (found,) = judge([one], [device()])
    for cause in ("dispatch was timed", "sparse", "TF32", "share a chip", "folded"):
        assert cause in found.reason
    assert found.reason.startswith("2.45 PFLOP/s, 1244 % of the peak of 197 TFLOP/s.")


@pytest.mark.parametrize("kind", ["NVIDIA H9000 640GB", "cpu", "TPU v99"])
def test_an_unknown_kind_has_no_peak_and_none_is_assumed(kind: str) -> None:
    assert peaks.peak(kind, "bfloat16") is None
    one = Reading(
        test="compute",
        device="gpu:0",
        what="matmul 8192 bfloat16",
        unit="flop/s",
        measured=5e18,
    )
    unknown: Device = device(0, kind, "gpu")
    (found,) = judge([one], [unknown])
    assert (found.verdict, found.expected, found.share) == ("pass", None, None)
    assert f"no peak is published for {kind} here" in found.source
    assert found.reason == "5.00 EFLOP/s."
