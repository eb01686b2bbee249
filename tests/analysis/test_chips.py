"""Figures of real chips: both sides of every threshold, with the peaks in the table.

The peaks are those that the engine hands out (``jaxtui.measure.check.expectations``
takes JAX's own first; the ones here come from ``peaks.csv`` whatever jax there is).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jaxtui.analysis.check import Verdict
from jaxtui.measure import peaks
from tests.analysis.making import device, expected, reading, verdict


@dataclass(frozen=True)
class Chip:
    """A kind of device with its peaks per JAX device, worked out by hand."""

    kind: str
    dtype: str
    flops: float
    bandwidth: float
    low_below: float
    """FLOP/s."""
    reached: float | None = None


HALF, INT8, FP16 = "bfloat16", "int8", "float16"
CHIPS = (
    # Two JAX devices per chip: half of 46, 123, 2307 and 383 TFLOP/s each.
    Chip("TPU v2", HALF, 23e12, 358e9, 13.8e12),
    Chip("TPU v3", HALF, 61.5e12, 450e9, 36.9e12),
    Chip("TPU7x", HALF, 1153.5e12, 3690e9, 692.1e12),
    Chip("AMD Instinct MI250X", HALF, 191.5e12, 1638.5e9, 114.9e12),
    # One, some of two TensorCores.
    Chip("TPU v4", HALF, 275e12, 1200e9, 165e12),
    Chip("TPU v5 lite", HALF, 197e12, 819e9, 118.2e12),
    Chip("TPU v5 lite", INT8, 393e12, 819e9, 235.8e12),
    Chip("TPU v5", HALF, 459e12, 2765e9, 275.4e12),
    Chip("TPU v6 lite", HALF, 918e12, 1638e9, 550.8e12),
    Chip("Tesla T4", FP16, 65e12, 320e9, 39e12),
    # What others have reached is known: three quarters of 271.2, 794.5 and 668.4.
    Chip("NVIDIA A100-SXM4-80GB", HALF, 312e12, 2039e9, 203.4e12, 271.2e12),
    Chip("NVIDIA H100 80GB HBM3", HALF, 989.4e12, 3350e9, 595.875e12, 794.5e12),
    Chip("NVIDIA H200", HALF, 989.4e12, 4800e9, 595.875e12, 794.5e12),
    Chip("AMD Instinct MI300X", HALF, 1307.4e12, 5300e9, 501.3e12, 668.4e12),
)


def chip(kind: str, dtype: str = HALF) -> Chip:
    return next(one for one in CHIPS if (one.kind, one.dtype) == (kind, dtype))


def judged(one: Chip, figure: float, bandwidth: bool = False) -> Verdict:
    """The verdict on a figure, after the peaks were looked up as a test does it."""
    peak = peaks.peak(one.kind, one.dtype, matrix=not bandwidth)
    assert peak is not None
    value = peak.bytes_per_second if bandwidth else peak.flops_per_second
    assert value == pytest.approx(one.bandwidth if bandwidth else one.flops)
    platform = "tpu" if one.kind.startswith("TPU") else "gpu"
    found = verdict(
        reading(
            figure,
            test="bandwidth" if bandwidth else "compute",
            unit="bytes/s" if bandwidth else "flop/s",
            device=f"{platform}:0",
            expected=expected(value, reached=None if bandwidth else one.reached),
        ),
        [device(0, one.kind, platform)],
    )
    assert found.expected == value
    assert found.share == pytest.approx(figure / value)
    return found


@pytest.mark.parametrize("one", CHIPS, ids=lambda one: f"{one.kind} {one.dtype}")
def test_both_sides_of_every_threshold(one: Chip) -> None:
    for factor, word in ((0.05, "low"), (0.999, "low"), (1.001, "pass")):
        assert judged(one, one.low_below * factor).verdict == word
    for factor, word in ((0.95, "pass"), (1.019, "pass"), (1.021, "impossible")):
        assert judged(one, one.flops * factor).verdict == word
        assert judged(one, one.bandwidth * factor, bandwidth=True).verdict == word
    for factor, word in ((0.699, "low"), (0.701, "pass")):
        assert judged(one, one.bandwidth * factor, bandwidth=True).verdict == word


@pytest.mark.parametrize("kind", ["TPU v2", "TPU v3", "TPU7x", "AMD Instinct MI250X"])
def test_a_whole_chip_from_half_of_it_is_impossible(kind: str) -> None:
    one = chip(kind)
    assert judged(one, 1.6 * one.flops).verdict == "impossible"
    assert judged(one, 1.74 * one.bandwidth, bandwidth=True).verdict == "impossible"


@pytest.mark.parametrize(
    ("kind", "measured", "bandwidth", "word"),
    [
        # Published: the best of many shapes.
        ("NVIDIA H100 80GB HBM3", 794.5e12, False, "pass"),
        ("NVIDIA A100-SXM4-80GB", 271.2e12, False, "pass"),
        ("AMD Instinct MI300X", 668.4e12, False, "pass"),
        # design.md: what a first run on a v5e looks like, and its stopwatch.
        ("TPU v5 lite", 169e12, False, "pass"),
        ("TPU v5 lite", 2450e12, False, "impossible"),
        # A figure of sparsity on a dense peak.
        ("NVIDIA H200", 1979e12, False, "impossible"),
        ("TPU7x", 3210e9, True, "pass"),  # Google's microbenchmarks, per device
        ("AMD Instinct MI300X", 3577e9, True, "low"),  # clpeak: 67 %
        ("NVIDIA H100 80GB HBM3", 1905e9, True, "low"),  # the floor of DCGM: 57 %
    ],
)
def test_recorded_figures(
    kind: str, measured: float, bandwidth: bool, word: str
) -> None:
    assert judged(chip(kind), measured, bandwidth).verdict == word


def test_what_decides_explains_itself() -> None:
    low = judged(chip("NVIDIA H200"), 500e12).reason
    assert low.startswith(
        "500 TFLOP/s, 51 % of the peak of 989 TFLOP/s. Others have reached"
        " 794 TFLOP/s on such a device; at least 60 % of it is expected."
    )
    assert "DCGM" in low
    impossible = judged(chip("TPU v5 lite"), 2450e12).reason
    assert impossible.startswith("2.45 PFLOP/s, 1244 % of the peak of 197 TFLOP/s.")
    for cause in ("dispatch was timed", "sparse", "TF32", "share a chip", "folded"):
        assert cause in impossible


@pytest.mark.parametrize("kind", ["NVIDIA H9000 640GB", "cpu", "TPU v99"])
def test_an_unknown_kind_has_no_peak_and_none_is_assumed(kind: str) -> None:
    assert peaks.peak(kind, HALF) is None
    found = verdict(reading(5e18, device="gpu:0"), [device(0, kind, "gpu")])
    assert (found.verdict, found.expected, found.share) == ("pass", None, None)
    assert f"no peak is published for {kind} here" in found.source
    assert found.reason == "5.00 EFLOP/s."
