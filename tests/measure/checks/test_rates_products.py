"""Which products a chip is tested with: rules over every kind of the table."""

from __future__ import annotations

import re

import pytest

from jaxtui.measure.checks import expectations, products
from jaxtui.measure.checks.products import Kind
from jaxtui.measure.checks.setting import Setting
from jaxtui.measure.peaks import _table
from jaxtui.model import Device

GB = 10**9


def example(pattern: str) -> str:
    """A kind that the pattern of a row matches."""
    text = pattern.strip("^$").replace("( lite|e)", " lite")
    return re.sub(r"\(([^)]*)\)\?|(\w)\?", r"\1\2", text)


KINDS = [example(pattern.pattern) for pattern, _ in _table()]


def described(kind: str, **attributes: str) -> Device:
    platform = "tpu" if kind.startswith("TPU") else "gpu"
    return Device(
        id=3,
        platform=platform,
        device_kind=kind,
        process_index=0,
        attributes=attributes,
    )


CPU = Device(id=0, platform="cpu", device_kind="cpu", process_index=0)


def test_every_row_has_an_example() -> None:
    assert len(set(KINDS)) == len(_table()) > 30
    for kind, (pattern, _) in zip(KINDS, _table(), strict=True):
        assert pattern.match(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_products_saturate_every_chip_of_the_table(kind: str) -> None:
    device = described(kind)
    full = products.kinds(device, "full")
    quick = products.kinds(device, "quick")
    assert len(set(full)) == len(full)
    assert set(quick) <= set(full)
    assert quick[0] == full[0] == products.natural(device)
    assert [one.dtype for one in quick][1:] == ["float32"]
    for one in full:
        case = products.case(one, Setting(device))
        assert (case.op, case.device, case.mode) == ("matmul", device.name, "jit")
        assert case.size % 1024 == 0
        peak = expectations.product_peak(device, one.dtype, one.precision)
        if peak is not None:
            assert 2 * case.size**3 / peak.value >= products.SATURATING_SECONDS


@pytest.mark.parametrize("kind", KINDS)
def test_the_natural_dtype_has_a_peak(kind: str) -> None:
    device = described(kind)
    natural = products.natural(device)
    assert natural.dtype in ("bfloat16", "float16")
    assert expectations.product_peak(device, natural.dtype) is not None


@pytest.mark.parametrize("kind", ["Tesla T4", "Tesla V100-SXM", "Tesla V100-PCIE"])
def test_chips_without_bfloat16_are_not_asked_for_it(kind: str) -> None:
    found = products.kinds(described(kind), "full")
    assert found[0] == Kind("float16")
    assert "bfloat16" not in {one.dtype for one in found}
    # They have no TF32: float32 is float32.
    assert [one.precision for one in found if one.dtype == "float32"] == ["highest"]


def test_a_tpu_computes_float32_in_six_passes() -> None:
    found = products.kinds(described("TPU v5 lite"), "quick")
    assert found == (Kind("bfloat16"), Kind("float32", "highest"))
    assert Kind("int8") in products.kinds(described("TPU v5 lite"), "full")
    assert Kind("int8") not in products.kinds(described("TPU v3"), "full")


def test_an_ampere_computes_float32_in_both_ways() -> None:
    device = described("NVIDIA A100-SXM4-40GB")
    assert products.kinds(device, "quick") == (
        Kind("bfloat16"),
        Kind("float32", "default"),
    )
    full = products.kinds(device, "full")
    assert Kind("float32", "highest") in full
    assert {"float16", "int8"} <= {one.dtype for one in full}


def test_of_rocm_nobody_knows_what_default_means() -> None:
    found = products.kinds(described("AMD Instinct MI300X"), "full")
    assert [one for one in found if one.dtype == "float32"] == [
        Kind("float32", "highest")
    ]


@pytest.mark.parametrize(
    ("capability", "dtype"),
    [("7.5", "float16"), ("8.0", "bfloat16"), ("gfx90a", "bfloat16")],
)
def test_a_chip_that_the_table_lacks_speaks_for_itself(
    capability: str, dtype: str
) -> None:
    device = described("NVIDIA Quantum 1", compute_capability=capability)
    assert products.natural(device).dtype == dtype
    case = products.case(products.natural(device), Setting(device))
    assert case.size == 8192


def test_sizes_of_known_chips() -> None:
    def size(kind: str, dtype: str, precision: str = "default") -> int:
        one = Kind(dtype, precision)  # type: ignore[arg-type]
        return products.case(one, Setting(described(kind))).size

    assert size("TPU v5 lite", "bfloat16") == 8192
    assert size("TPU v5 lite", "float32", "highest") == 4096
    assert size("NVIDIA H200", "bfloat16") == 16384
    assert size("Tesla T4", "float32", "highest") == 4096


@pytest.mark.parametrize("free", [0, GB // 10, GB, 10 * GB, 1000 * GB])
def test_short_memory_makes_products_smaller(free: int) -> None:
    device = described("NVIDIA B200")
    for one in products.kinds(device, "full"):
        plenty = products.case(one, Setting(device)).size
        case = products.case(one, Setting(device, free_bytes=free))
        assert products.SIZES[0] <= case.size <= plenty
        least = case.size == products.SIZES[0]
        assert least or products._fits(case.size, case.dtype, free)
    assert case.size == plenty or free < 1000 * GB


def test_a_cpu_gets_sizes_by_its_cores_and_its_neighbours() -> None:
    single, double = products.kinds(CPU, "quick")
    assert (single.dtype, double.dtype) == ("float32", "float64")

    def size(cores: int, sharing: int) -> int:
        return products.case(single, Setting(CPU, cores=cores, sharing=sharing)).size

    assert (size(2, 1), size(64, 1), size(2, 8)) == (1024, 2048, 512)


def test_a_short_call_is_a_smaller_product() -> None:
    for device in (described("NVIDIA H200"), described("NVIDIA Quantum 1"), CPU):
        natural, setting = products.natural(device), Setting(device)
        short = products.case(natural, setting, 0.001)
        assert short.size < products.case(natural, setting).size


def test_labels_say_the_precision_where_there_is_a_choice() -> None:
    device = described("TPU v5 lite")
    labels = [
        products.label(products.case(one, Setting(device)), device.platform)
        for one in products.kinds(device, "full")
    ]
    assert labels == [
        "matmul 8192 bfloat16",
        "matmul 4096 float32 highest",
        "matmul 8192 float32 default",
        "matmul 12288 int8",
    ]
    on_cpu = products.case(Kind("float32"), Setting(CPU))
    assert products.label(on_cpu, "cpu") == "matmul 1024 float32"
