"""What a chip is tested with, and what it should reach: rules over every known kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from jaxtui.core.model import (
    CHECK_LEVELS,
    ITEMSIZE,
    CheckLevel,
    Device,
    Expected,
    Precision,
)
from jaxtui.features.bench.measure import rates
from jaxtui.features.bench.measure.rates import Setting, last_cache_bytes
from jaxtui.xla import peaks

MIB, GIB = 2**20, 2**30


def described(kind: str, **attributes: str) -> Device:
    tpu = kind.startswith("TPU")
    return Device(
        id=3,
        platform="tpu" if tpu else kind if kind == "cpu" else "gpu",
        device_kind=kind,
        process_index=0,
        attributes=attributes,
    )


KINDS = ("cpu", "TPU v4", "Tesla T4", "NVIDIA H200", "NVIDIA B200", "NVIDIA Quantum 1")
CPU, TPU, T4, H200, B200, QUANTUM = map(described, KINDS)

# Which products.


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in peaks._table()])
def test_products_saturate_every_chip_of_the_table(pattern: re.Pattern[str]) -> None:
    text = pattern.pattern.strip("^$").replace("( lite|e)", " lite")
    device = described(re.sub(r"\(([^)]*)\)\?|(\w)\?", r"\1\2", text))
    assert pattern.match(device.device_kind)
    full, quick = rates.kinds(device, "full"), rates.kinds(device, "quick")
    assert quick[0] == full[0]
    assert set(quick) <= set(full)
    assert len(set(full)) == len(full)
    # It is first tested with what it is made for.
    assert peaks.product_peak(device, quick[0].dtype)
    for one in full:
        case = rates.product(one, Setting(device))
        assert case.size % 1024 == 0
        peak = peaks.product_peak(device, one.dtype, one.precision)
        if peak is not None:
            assert 2 * case.size**3 / peak.value >= rates.SATURATING_SECONDS


A_TPU = ["8192 bfloat16", "4096 float32 highest", "8192 float32 default", "12288 int8"]
AN_AMPERE = [
    "12288 bfloat16",
    "8192 float32 default",
    "4096 float32 highest",
    "12288 float16",
    "12288 int8",
]
UNKNOWN = ["8192 bfloat16", "4096 float32 highest"]


@pytest.mark.parametrize(
    ("device", "level", "labels"),
    [
        # A TPU computes float32 in six passes, and not every one has int8.
        (described("TPU v5 lite"), "full", A_TPU),
        (described("TPU v5 lite"), "quick", A_TPU[:2]),
        (
            described("TPU v3"),
            "full",
            ["6144 bfloat16", "4096 float32 highest", "6144 float32 default"],
        ),
        (described("NVIDIA A100-SXM4-40GB"), "full", AN_AMPERE),
        (described("NVIDIA A100-SXM4-40GB"), "quick", AN_AMPERE[:2]),
        (H200, "quick", ["16384 bfloat16", "12288 float32 default"]),
        # Without bfloat16, and without TF32: float32 is float32.
        (T4, "full", ["6144 float16", "4096 float32 highest", "8192 int8"]),
        # Of ROCm it is unknown what default means.
        (
            described("AMD Instinct MI300X"),
            "full",
            ["16384 bfloat16", "8192 float32 highest", "16384 float16", "20480 int8"],
        ),
        # A chip that the table lacks speaks for itself.
        (
            described("NVIDIA Quantum 1", compute_capability="7.5"),
            "quick",
            ["8192 float16", "4096 float32 highest"],
        ),
        (
            described("NVIDIA Quantum 1", compute_capability="8.0"),
            "quick",
            UNKNOWN,
        ),
        (
            described("AMD Quantum 1", compute_capability="gfx90a"),
            "quick",
            UNKNOWN,
        ),
        (CPU, "full", ["1024 float32", "1024 float64"]),
    ],
)
def test_products_of_a_chip(
    device: Device, level: CheckLevel, labels: list[str]
) -> None:
    cases = [rates.product(one, Setting(device)) for one in rates.kinds(device, level)]
    assert {(one.op, one.device, one.mode) for one in cases} == {
        ("matmul", device.name, "jit")
    }
    found = [rates.label(case) for case in cases]
    assert found == [f"matmul {label}" for label in labels]


@pytest.mark.parametrize(
    ("setting", "size"),
    [
        (Setting(CPU, cores=2), 1024),
        (Setting(CPU, cores=64), 2048),
        (Setting(CPU, cores=2, sharing=8), 512),
        (Setting(QUANTUM), 8192),
    ],
)
def test_sizes_follow_cores_and_neighbours(setting: Setting, size: int) -> None:
    natural = rates.kinds(setting.device, "quick")[0]
    assert rates.product(natural, setting).size == size


@pytest.mark.parametrize("free", [0, GIB // 10, GIB, 10 * GIB, 1000 * GIB])
def test_short_memory_makes_products_smaller(free: int) -> None:
    for one in rates.kinds(B200, "full"):
        plenty = rates.product(one, Setting(B200)).size
        case = rates.product(one, Setting(B200, free_bytes=free))
        assert case.size == plenty or free < 1000 * GIB
        assert case.size <= plenty
        # Three matrices are the least: two inputs and a result.
        needed = 3 * case.size**2 * ITEMSIZE[case.dtype]
        assert case.size == rates.SIZES[0] or needed <= free / 4


# What should be reached.


def peak(
    device: Device, dtype: str = "", precision: Precision = "default"
) -> Expected | None:
    """Of the memory, where no dtype is named."""
    if not dtype:
        return peaks.bandwidth_peak(device)
    return peaks.product_peak(device, dtype, precision)


def jax_has_a_table() -> bool:
    try:
        peaks._jax_row("TPU v4", 2)
    except Exception:
        return False
    return True


TPUS = ("TPU v2", "TPU v3", "TPU v4", "TPU v4 lite", "TPU v5 lite", "TPU v5")
TPUS += ("TPU v6 lite", "TPU7x", "TPU8i", "TPU8t")


@pytest.mark.skipif(
    not jax_has_a_table(), reason="this jax has no get_tpu_info_for_chip"
)
@pytest.mark.parametrize("kind", TPUS)
def test_jax_and_our_table_agree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = ("bf16_ops_per_second", "mem_bw_bytes_per_second")
    # As jax.md §1.2 and the recorded topologies have them.
    cores = "2" if kind in ("TPU v4", "TPU v5") else "1"
    device = described(kind, num_cores=cores)
    theirs = [peaks._from_jax(device, field) for field in fields]
    # Without the number of cores its table does not count.
    assert peaks._from_jax(described(kind), fields[0]) is None
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: None)
    ours = [peak(device, "bfloat16"), peak(device)]
    for their, our in zip(theirs, ours, strict=True):
        assert our
        assert their == pytest.approx(our.value, rel=0.25)
        assert our.value > 1e11
        assert our.source.facts["source"] != peaks.JAX_TABLE


@pytest.mark.parametrize(
    ("kind", "theirs", "of", "value", "facts"),
    [
        ("TPU v3", 70e12, ("bfloat16",), 70e12, {"source": peaks.JAX_TABLE}),
        ("TPU v99", 5e12, ("bfloat16",), 5e12, {"source": peaks.JAX_TABLE}),
        # A healthy chip must not exceed its own.
        ("TPU v5", 2460e9, (), 2765e9, {"jax": 2460e9}),
        (
            "TPU v6 lite",
            920e12,
            ("float32", "highest"),
            920e12 / 6,
            {"source": peaks.JAX_TABLE, "passes": 6, "precision": "highest"},
        ),
        # Fields that have changed their meaning are not believed.
        ("TPU v5 lite", 819e9 / 2, (), 819e9, None),
        ("TPU v5 lite", 819e9 * 2, (), 819e9, None),
        ("TPU v4", None, ("bfloat16",), 275e12, None),
        # A package that is two devices.
        ("AMD Instinct MI250X", None, ("bfloat16",), 191.5e12, None),
        ("AMD Instinct MI250X", None, (), 1638.5e9, None),
        # There is no default.
        ("Tesla T4", None, ("bfloat16",), None, None),
        ("NVIDIA H200", None, ("float64",), None, None),
        ("TPU v5 lite", None, ("float16",), None, None),
        ("TPU v99", None, ("bfloat16",), None, None),
        ("NVIDIA Quantum 1", None, ("bfloat16",), None, None),
        ("cpu", None, ("float32",), None, None),
        ("TPU v99", None, (), None, None),
        ("NVIDIA Quantum 1", None, (), None, None),
        ("cpu", None, (), None, None),
    ],
)
def test_which_of_two_figures_counts(
    kind: str,
    theirs: float | None,
    of: Any,
    value: float | None,
    facts: dict[str, Any] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: theirs)
    found = peak(described(kind), *of)
    if value is None:
        assert found is None
        return
    assert found
    assert (found.value, found.kind) == (pytest.approx(value), "peak")
    said = found.source.facts
    assert (facts or {}).items() <= said.items()
    assert facts or said["source"] != peaks.JAX_TABLE


def test_what_others_reached_is_known_of_products_of_16_bits() -> None:
    for dtype in ("bfloat16", "float16"):
        found = peak(H200, dtype)
        assert found
        assert found.reached == 794.5e12
    for found in (peak(H200, "float32", "highest"), peak(H200)):
        assert found
        assert found.reached is None


# How much is streamed.

DIES = [
    f"{core} {cache}"
    for core in range(4)
    for cache in (
        f"1 Data 32K {core}",
        f"1 Instruction 32K {core}",
        f"2 Unified 1024K {core}",
        f"3 Unified 32768K {'0-1' if core < 2 else '2-3'}",
    )
]


@pytest.mark.parametrize(
    ("caches", "size"),
    [
        # All parts of the last level count once, and it need not be the third.
        (DIES, 64 * MIB),
        (["0 1 Data 64K 0", "0 2 Unified 4M 0-1", "1 2 Unified 4M 0-1"], 4 * MIB),
        (["0 1 Data 64K 0", "0 1 Instruction 32K 0"], MIB // 16),
        # What Linux does not say is not known.
        (["0 3 Unified  0"], None),
        (["0 3 Unified unknown 0"], None),
        (["0 3 Unified -1K 0"], None),
        ([], None),
    ],
)
def test_the_last_cache(tmp_path: Path, caches: list[str], size: int | None) -> None:
    names = ("level", "type", "size", "shared_cpu_list")
    for index, cache in enumerate(caches):
        core, *facts = cache.split(" ")
        folder = tmp_path / f"cpu{core}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in zip(names, facts, strict=True):
            (folder / name).write_text(f"{text}\n")
    assert last_cache_bytes(tmp_path) == size


@pytest.mark.parametrize(
    ("device", "level", "cache", "sizes"),
    [
        # Four times the last cache, and a power of two.
        (CPU, "quick", 32 * MIB, [128 * MIB]),
        (CPU, "quick", 33 * MIB, [256 * MIB]),
        (CPU, "quick", None, [256 * MIB]),
        (CPU, "quick", 768 * MIB, [GIB]),
        # On accelerators they do not depend on the host.
        (TPU, "quick", None, [GIB]),
        (TPU, "full", 768 * MIB, [GIB, 2 * GIB, 4 * GIB]),
    ],
)
def test_how_large_arrays_are(
    device: Device, level: CheckLevel, cache: int | None, sizes: list[int]
) -> None:
    found = rates.stream_sizes(Setting(device), level, cache)
    assert [4 * size for size in found] == sizes


@pytest.mark.parametrize("level", CHECK_LEVELS)
@pytest.mark.parametrize("free", [0, 100 * MIB, GIB, 7 * GIB, 100 * GIB])
def test_three_arrays_leave_room_for_others(level: CheckLevel, free: int) -> None:
    found = rates.stream_sizes(Setting(TPU, free_bytes=free), level, None)
    assert list(found) == sorted(set(found))
    for size in found:
        assert size & (size - 1) == 0
        assert 12 * size <= free / 2 or 4 * size == 2**20
