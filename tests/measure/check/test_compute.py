"""What a chip is tested with, and what it should reach: rules over every known kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from jaxtui.measure import peaks
from jaxtui.measure.check import bandwidth, compute
from jaxtui.measure.check.bandwidth import last_cache_bytes
from jaxtui.measure.check.base import Setting
from jaxtui.measure.check.compute import Kind
from jaxtui.measure.peaks import _table
from jaxtui.model import CHECK_LEVELS, CheckLevel, Device, Expected

MIB = 2**20
GIB = 2**30

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


def tpu(kind: str) -> Device:
    return described(kind, num_cores=str(CORES[kind]))


CPU = Device(id=0, platform="cpu", device_kind="cpu", process_index=0)


def product(device: Device, dtype: str, precision: Any = "default") -> Expected:
    found = peaks.product_peak(device, dtype, precision)
    assert found is not None
    return found


def memory(device: Device) -> Expected:
    found = peaks.bandwidth_peak(device)
    assert found is not None
    return found


# Which compute.


def test_every_row_has_an_example() -> None:
    assert len(set(KINDS)) == len(_table()) > 30
    for kind, (pattern, _) in zip(KINDS, _table(), strict=True):
        assert pattern.match(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_products_saturate_every_chip_of_the_table(kind: str) -> None:
    device = described(kind)
    full = compute.kinds(device, "full")
    quick = compute.kinds(device, "quick")
    assert len(set(full)) == len(full)
    assert set(quick) <= set(full)
    assert quick[0] == full[0] == compute.natural(device)
    assert [one.dtype for one in quick][1:] == ["float32"]
    assert quick[0].dtype in ("bfloat16", "float16")
    assert peaks.product_peak(device, quick[0].dtype) is not None
    for one in full:
        case = compute.case(one, Setting(device))
        assert (case.op, case.device, case.mode) == ("matmul", device.name, "jit")
        assert case.size % 1024 == 0
        peak = peaks.product_peak(device, one.dtype, one.precision)
        if peak is not None:
            assert 2 * case.size**3 / peak.value >= compute.SATURATING_SECONDS


@pytest.mark.parametrize("kind", ["Tesla T4", "Tesla V100-SXM", "Tesla V100-PCIE"])
def test_chips_without_bfloat16_are_not_asked_for_it(kind: str) -> None:
    found = compute.kinds(described(kind), "full")
    assert found[0] == Kind("float16")
    assert "bfloat16" not in {one.dtype for one in found}
    # They have no TF32: float32 is float32.
    assert [one.precision for one in found if one.dtype == "float32"] == ["highest"]


@pytest.mark.parametrize(
    ("kind", "level", "has", "has_not"),
    [
        # A TPU computes float32 in six passes, an Ampere in both ways; of ROCm it is
        # unknown what default means.
        ("TPU v5 lite", "quick", ["bfloat16", "float32 highest"], ["float32 default"]),
        ("TPU v5 lite", "full", ["int8"], []),
        ("TPU v3", "full", [], ["int8"]),
        ("NVIDIA A100-SXM4-40GB", "quick", ["bfloat16", "float32 default"], []),
        ("NVIDIA A100-SXM4-40GB", "full", ["float32 highest", "float16", "int8"], []),
        ("AMD Instinct MI300X", "full", ["float32 highest"], ["float32 default"]),
    ],
)
def test_kinds_of_products(
    kind: str, level: CheckLevel, has: list[str], has_not: list[str]
) -> None:
    found = set()
    for one in compute.kinds(described(kind), level):
        precise = f" {one.precision}" if one.dtype == "float32" else ""
        found.add(f"{one.dtype}{precise}")
    assert set(has) <= found
    assert not found & set(has_not)


@pytest.mark.parametrize(
    ("capability", "dtype"),
    [("7.5", "float16"), ("8.0", "bfloat16"), ("gfx90a", "bfloat16")],
)
def test_a_chip_that_the_table_lacks_speaks_for_itself(
    capability: str, dtype: str
) -> None:
    device = described("NVIDIA Quantum 1", compute_capability=capability)
    assert compute.natural(device).dtype == dtype
    case = compute.case(compute.natural(device), Setting(device))
    assert case.size == 8192


def test_sizes_of_known_chips() -> None:
    def size(kind: str, dtype: str, precision: str = "default") -> int:
        one = Kind(dtype, precision)  # type: ignore[arg-type]
        return compute.case(one, Setting(described(kind))).size

    assert size("TPU v5 lite", "bfloat16") == 8192
    assert size("TPU v5 lite", "float32", "highest") == 4096
    assert size("NVIDIA H200", "bfloat16") == 16384
    assert size("Tesla T4", "float32", "highest") == 4096


@pytest.mark.parametrize("free", [0, GIB // 10, GIB, 10 * GIB, 1000 * GIB])
def test_short_memory_makes_products_smaller(free: int) -> None:
    device = described("NVIDIA B200")
    for one in compute.kinds(device, "full"):
        plenty = compute.case(one, Setting(device)).size
        case = compute.case(one, Setting(device, free_bytes=free))
        assert compute.SIZES[0] <= case.size <= plenty
        least = case.size == compute.SIZES[0]
        assert least or compute._fits(case.size, case.dtype, free)
    assert case.size == plenty or free < 1000 * GIB


def test_a_cpu_gets_sizes_by_its_cores_and_its_neighbours() -> None:
    single, double = compute.kinds(CPU, "quick")
    assert (single.dtype, double.dtype) == ("float32", "float64")

    def size(cores: int, sharing: int) -> int:
        return compute.case(single, Setting(CPU, cores=cores, sharing=sharing)).size

    assert (size(2, 1), size(64, 1), size(2, 8)) == (1024, 2048, 512)


def test_a_short_call_is_a_smaller_product() -> None:
    for device in (described("NVIDIA H200"), described("NVIDIA Quantum 1"), CPU):
        natural, setting = compute.natural(device), Setting(device)
        short = compute.case(natural, setting, 0.001)
        assert short.size < compute.case(natural, setting).size


def test_labels_say_the_precision_where_there_is_a_choice() -> None:
    device = described("TPU v5 lite")
    labels = [
        compute.label(compute.case(one, Setting(device)), device.platform)
        for one in compute.kinds(device, "full")
    ]
    assert labels == [
        "matmul 8192 bfloat16",
        "matmul 4096 float32 highest",
        "matmul 8192 float32 default",
        "matmul 12288 int8",
    ]
    on_cpu = compute.case(Kind("float32"), Setting(CPU))
    assert compute.label(on_cpu, "cpu") == "matmul 1024 float32"


# What should be reached.


def without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: Any) -> Any:
        raise ImportError("cannot import name 'tpu_info' from 'jax._src'")

    monkeypatch.setattr(peaks, "_jax_row", absent)


def jax_has_a_table() -> bool:
    try:
        peaks._jax_row("TPU v4", 2)
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
    flops = peaks._from_jax(device, "bf16_ops_per_second")
    moved = peaks._from_jax(device, "mem_bw_bytes_per_second")
    without_jax(monkeypatch)
    ours = product(device, "bfloat16")
    assert flops == pytest.approx(ours.value, rel=0.25)
    assert moved == pytest.approx(memory(device).value, rel=0.25)
    assert ours.value > 1e13
    assert "JAX's own table" not in ours.source


@needs_table
def test_megacore_counts_both_of_its_cores() -> None:
    assert product(tpu("TPU v5"), "int8").value == pytest.approx(918e12)


def test_which_of_two_figures_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = {
        ("TPU v3", "bf16_ops_per_second"): 70e12,
        ("TPU v5", "mem_bw_bytes_per_second"): 2460e9,
        ("TPU v6 lite", "bf16_ops_per_second"): 920e12,
        ("TPU v99", "bf16_ops_per_second"): 5e12,
    }
    row = lambda device, field: theirs.get((device.device_kind, field))  # noqa: E731
    monkeypatch.setattr(peaks, "_from_jax", row)
    first = product(tpu("TPU v3"), "bfloat16")
    assert (first.value, first.kind) == (70e12, "peak")
    assert "get_tpu_info_for_chip" in first.source
    # A healthy chip must not exceed its own.
    found = memory(tpu("TPU v5"))
    assert found.value == 2765e9
    assert "JAX says 2.46 TB/s" in found.source
    passes = product(tpu("TPU v6 lite"), "float32", "highest")
    assert passes.value == pytest.approx(920e12 / 6)
    assert "6 bfloat16 passes" in passes.source
    assert product(described("TPU v99"), "bfloat16").value == 5e12
    assert product(tpu("TPU v4"), "bfloat16").value == 275e12


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_fields_that_have_changed_their_meaning_are_not_believed(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: 819e9 * factor)
    assert memory(tpu("TPU v5 lite")).value == 819e9


def test_figures_are_those_of_one_jax_device() -> None:
    # Without the number of cores JAX's table does not count.
    found = product(described("TPU v4"), "bfloat16")
    assert (found.value, "JAX" in found.source) == (275e12, False)
    package = described("AMD Instinct MI250X")
    assert product(package, "bfloat16").value == 191.5e12
    assert memory(package).value == 1638.5e9
    assert memory(tpu("TPU7x")).value == pytest.approx(3700e9, rel=0.01)
    # What others reached is known of products of 16 bits.
    h200 = described("NVIDIA H200")
    assert product(h200, "bfloat16").reached == 794.5e12
    assert product(h200, "float16").reached == 794.5e12
    assert product(h200, "float32", "highest").reached is None
    assert memory(h200).reached is None


@pytest.mark.parametrize(
    ("device", "dtype"),
    [
        (described("Tesla T4"), "bfloat16"),
        (described("NVIDIA H200"), "float64"),
        (described("NVIDIA Quantum 1"), "bfloat16"),
        (described("TPU v99", num_cores="1"), "bfloat16"),
        (tpu("TPU v5 lite"), "float16"),
        (CPU, "float32"),
    ],
)
def test_there_is_no_default_peak(device: Device, dtype: str) -> None:
    assert peaks.product_peak(device, dtype) is None
    assert (peaks.bandwidth_peak(device) is None) == (
        device.device_kind in ("cpu", "NVIDIA Quantum 1", "TPU v99")
    )


# How much is streamed.


def core(root: Path, number: int, *caches: tuple[int, str, str, str]) -> None:
    """One core and its caches: level, type, size, who shares it."""
    for index, (level, kind, size, shared) in enumerate(caches):
        folder = root / f"cpu{number}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (
            ("level", str(level)),
            ("type", kind),
            ("size", size),
            ("shared_cpu_list", shared),
        ):
            (folder / name).write_text(f"{text}\n")


def test_all_parts_of_the_last_level_count_once(tmp_path: Path) -> None:
    for number in range(4):
        core(
            tmp_path,
            number,
            (1, "Data", "32K", str(number)),
            (1, "Instruction", "32K", str(number)),
            (2, "Unified", "1024K", str(number)),
            (3, "Unified", "32768K", "0-1" if number < 2 else "2-3"),
        )
    assert last_cache_bytes(tmp_path) == 64 * MIB


def test_the_last_level_need_not_be_the_third(tmp_path: Path) -> None:
    core(tmp_path, 0, (1, "Data", "64K", "0"), (2, "Unified", "4M", "0-1"))
    core(tmp_path, 1, (1, "Data", "64K", "1"), (2, "Unified", "4M", "0-1"))
    assert last_cache_bytes(tmp_path) == 4 * MIB


@pytest.mark.parametrize("size", ["", "unknown", "-1K"])
def test_what_linux_does_not_say_is_not_known(tmp_path: Path, size: str) -> None:
    core(tmp_path, 0, (3, "Unified", size, "0"))
    assert last_cache_bytes(tmp_path) is None
    assert last_cache_bytes(tmp_path / "absent") is None


TPU = described("TPU v4")


def array_bytes(setting: Setting, level: CheckLevel, cache: int | None) -> list[int]:
    return [4 * size for size in bandwidth.sizes(setting, level, cache)]


def test_arrays_are_four_times_the_last_cache() -> None:
    assert array_bytes(Setting(CPU), "quick", 32 * MIB) == [128 * MIB]
    assert array_bytes(Setting(CPU), "quick", 33 * MIB) == [256 * MIB]
    assert array_bytes(Setting(CPU), "quick", None) == [256 * MIB]
    assert array_bytes(Setting(CPU), "quick", 768 * MIB) == [GIB]


def test_arrays_on_accelerators_do_not_depend_on_the_host() -> None:
    for cache in (None, 768 * MIB):
        assert array_bytes(Setting(TPU), "quick", cache) == [GIB]
    assert array_bytes(Setting(TPU), "full", None) == [GIB, 2 * GIB, 4 * GIB]


@pytest.mark.parametrize("level", CHECK_LEVELS)
@pytest.mark.parametrize("free", [0, 100 * MIB, GIB, 7 * GIB, 100 * GIB])
def test_three_arrays_leave_room_for_others(level: CheckLevel, free: int) -> None:
    found = array_bytes(Setting(TPU, free_bytes=free), level, None)
    assert found == sorted(set(found))
    for size in found:
        assert size & (size - 1) == 0
        assert 3 * size <= free / 2 or size == bandwidth.SMALLEST_BYTES
