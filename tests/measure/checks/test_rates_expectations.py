"""What a chip should reach, from JAX's table and from ours."""

from __future__ import annotations

from typing import Any

import pytest

from jaxtui.measure.checks import expectations
from jaxtui.model import Device

CORES = {
    "TPU v2": 1,
    "TPU v3": 1,
    "TPU v4": 2,
    "TPU v4 lite": 1,
    "TPU v5 lite": 1,
    "TPU v5": 2,
    "TPU v6 lite": 1,
    "TPU7x": 1,
    "TPU8i": 1,
    "TPU8t": 1,
}
"""TensorCores of one JAX device, by kind (recorded topologies; jax.md §1.2)."""


def tpu(kind: str, cores: int | None = None) -> Device:
    cores = CORES[kind] if cores is None else cores
    return Device(
        id=0,
        platform="tpu",
        device_kind=kind,
        process_index=0,
        attributes={"num_cores": str(cores)} if cores else {},
    )


def gpu(kind: str, **attributes: str) -> Device:
    return Device(
        id=0,
        platform="gpu",
        device_kind=kind,
        process_index=0,
        attributes=attributes,
    )


def without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: Any) -> Any:
        raise ImportError("cannot import name 'tpu_info' from 'jax._src'")

    monkeypatch.setattr(expectations, "_row", absent)


def jax_has_a_table() -> bool:
    try:
        expectations._row("TPU v4", 2)
    except Exception:
        return False
    return True


needs_table = pytest.mark.skipif(
    not jax_has_a_table(), reason="this jax has no get_tpu_info_for_chip"
)


@needs_table
@pytest.mark.parametrize("kind", CORES)
def test_jax_and_our_table_agree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tpu(kind)
    flops = expectations._from_jax(device, "bf16_ops_per_second")
    moved = expectations._from_jax(device, "mem_bw_bytes_per_second")
    without_jax(monkeypatch)
    product = expectations.product_peak(device, "bfloat16")
    memory = expectations.bandwidth_peak(device)
    assert product is not None
    assert memory is not None
    assert flops == pytest.approx(product.value, rel=0.25)
    assert moved == pytest.approx(memory.value, rel=0.25)


@needs_table
def test_jax_comes_first_and_is_named() -> None:
    found = expectations.product_peak(tpu("TPU v3"), "bfloat16")
    assert found is not None
    assert found.value == 70e12
    assert found.kind == "peak"
    assert "get_tpu_info_for_chip" in found.source


@needs_table
def test_megacore_counts_both_of_its_cores() -> None:
    found = expectations.product_peak(tpu("TPU v5"), "int8")
    assert found is not None
    assert found.value == pytest.approx(918e12)


@needs_table
def test_of_two_figures_a_healthy_chip_must_not_exceed_its_own() -> None:
    found = expectations.bandwidth_peak(tpu("TPU v5"))
    assert found is not None
    assert found.value == 2765e9
    assert "JAX says 2.46 TB/s" in found.source


@needs_table
def test_float32_is_passes_of_bfloat16_in_either_table() -> None:
    found = expectations.product_peak(tpu("TPU v6 lite"), "float32", "highest")
    assert found is not None
    assert found.value == pytest.approx(920e12 / 6)
    assert "6 bfloat16 passes" in found.source


@pytest.mark.parametrize("kind", CORES)
def test_without_jax_our_table_has_every_kind(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_jax(monkeypatch)
    found = expectations.product_peak(tpu(kind), "bfloat16")
    assert found is not None
    assert found.value > 1e13
    assert "JAX's own table" not in found.source


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_fields_that_have_changed_their_meaning_are_not_believed(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expectations, "_from_jax", lambda *_: 819e9 * factor)
    found = expectations.bandwidth_peak(tpu("TPU v5 lite"))
    assert found is not None
    assert found.value == 819e9


def test_without_the_number_of_cores_jax_is_not_asked() -> None:
    found = expectations.product_peak(tpu("TPU v4", cores=0), "bfloat16")
    assert found is not None
    assert found.value == 275e12
    assert "JAX" not in found.source


def test_figures_are_those_of_one_jax_device() -> None:
    package = expectations.product_peak(gpu("AMD Instinct MI250X"), "bfloat16")
    assert package is not None
    assert package.value == 191.5e12
    memory = expectations.bandwidth_peak(gpu("AMD Instinct MI250X"))
    assert memory is not None
    assert memory.value == 1638.5e9
    half = expectations.bandwidth_peak(tpu("TPU7x"))
    assert half is not None
    assert half.value == pytest.approx(3700e9, rel=0.01)


def test_what_others_reached_is_said_of_products_of_16_bits() -> None:
    h200 = gpu("NVIDIA H200")
    for dtype in ("bfloat16", "float16"):
        found = expectations.product_peak(h200, dtype)
        assert found is not None
        assert found.reached == 794.5e12
    single = expectations.product_peak(h200, "float32", "highest")
    assert single is not None
    assert single.reached is None
    assert expectations.bandwidth_peak(h200).reached is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("device", "dtype"),
    [
        (gpu("Tesla T4"), "bfloat16"),
        (gpu("NVIDIA H200"), "float64"),
        (gpu("NVIDIA Quantum 1"), "bfloat16"),
        (tpu("TPU v99", 1), "bfloat16"),
        (tpu("TPU v5 lite", 1), "float16"),
    ],
)
def test_there_is_no_default_peak(device: Device, dtype: str) -> None:
    assert expectations.product_peak(device, dtype) is None


def test_a_cpu_has_no_peak_at_all() -> None:
    cpu = Device(id=0, platform="cpu", device_kind="cpu", process_index=0)
    assert expectations.product_peak(cpu, "float32") is None
    assert expectations.bandwidth_peak(cpu) is None
