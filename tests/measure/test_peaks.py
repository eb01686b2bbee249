from __future__ import annotations

import json

import pytest

from jaxtui.machine import topologies
from jaxtui.measure.peaks import _table, peak

TOPOLOGIES = json.loads(topologies.PATH.read_text())


def flops(kind: str, dtype: str, precision: str = "default") -> float | None:
    found = peak(kind, dtype, precision)  # type: ignore[arg-type]
    assert found is not None
    return found.flops_per_second


def test_per_device_figures() -> None:
    assert flops("TPU v5 lite", "bfloat16") == 197e12
    assert flops("TPU v5", "bfloat16") == 459e12
    assert flops("TPU v3", "bfloat16") == pytest.approx(61.5e12)
    assert flops("TPU7x", "bfloat16") == pytest.approx(1153.5e12)
    v3 = peak("TPU v3", "bfloat16")
    assert v3 is not None
    assert v3.bytes_per_second == 450e9
    assert "shared by 2 JAX devices" in v3.source
    assert "DISAGREE" in v3.source


def test_float32_on_a_tpu_is_passes_of_bfloat16() -> None:
    kind = "TPU v5 lite"
    assert flops(kind, "float32") == 197e12
    assert flops(kind, "float32", "high") == pytest.approx(197e12 / 3)
    assert flops(kind, "float32", "highest") == pytest.approx(197e12 / 6)
    found = peak(kind, "float32", "high")
    assert found is not None
    assert "3 bfloat16 passes" in found.source


def test_float32_on_a_gpu_is_tf32_until_highest() -> None:
    kind = "NVIDIA H100 80GB HBM3"
    assert flops(kind, "float32") == 494.5e12
    assert flops(kind, "float32", "high") == 494.5e12
    assert flops(kind, "float32", "highest") == 67e12
    assert flops("Tesla T4", "float32") == 8.1e12


def test_unknown_rates_keep_the_bandwidth() -> None:
    for dtype in ("float64", "complex64", "int32"):
        found = peak("NVIDIA H200", dtype)
        assert found is not None
        assert found.flops_per_second is None
        assert found.bytes_per_second == 4800e9
    assert flops("TPU v5 lite", "float16") is None
    assert flops("Tesla T4", "bfloat16") is None
    assert flops("TPU v5 lite", "int8") == 393e12


def test_float8_has_its_own_column() -> None:
    assert flops("NVIDIA H100 80GB HBM3", "float8_e4m3fn") == 1979e12
    assert flops("TPU7x", "float8_e4m3fn") == pytest.approx(4614e12 / 2)
    assert flops("TPU v5 lite", "float8_e4m3fn") is None


def test_other_ops_have_a_bandwidth_only() -> None:
    found = peak("TPU v4", "bfloat16", matrix=False)
    assert found is not None
    assert found.flops_per_second is None
    assert found.bytes_per_second == 1200e9


@pytest.mark.parametrize("kind", ["cpu", "", "TPU v99", "Tesla T40", "NVIDIA A1000"])
def test_unknown_kinds_have_no_peak(kind: str) -> None:
    assert peak(kind, "bfloat16") is None


def test_kinds_are_told_apart() -> None:
    v4, lite = flops("TPU v4", "bfloat16"), flops("TPU v4 lite", "bfloat16")
    assert (v4, lite) == (275e12, 137e12)
    assert flops("TPU v5p", "bfloat16") == flops("TPU v5", "bfloat16")


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_real_tpu_kind_is_known(name: str) -> None:
    kind = TOPOLOGIES[name]["devices"][0]["device_kind"]
    rate = flops(kind, "bfloat16")
    assert rate is not None
    assert 1e13 < rate < 1e16


def test_every_row_reads_as_numbers_and_has_a_source() -> None:
    assert len(_table()) > 30
    for pattern, row in _table():
        assert pattern.pattern.startswith("^")
        assert row["source"]
        assert int(row["jax_devices_per_chip"]) in (1, 2)
        assert float(row["hbm_GBps"]) > 0
        for column, value in row.items():
            if column.endswith(("_tflops", "_tops")):
                assert value == "" or float(value) > 0, (pattern.pattern, column)
