"""What a chip is tested with, and what it should reach: rules over every known kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from jaxtui.core.model import CHECK_LEVELS, ITEMSIZE, Device, Expected
from jaxtui.features.bench.measure import rates
from jaxtui.features.bench.measure.rates import Setting, last_cache_bytes
from jaxtui.xla import peaks
from tests.golden.test_documents import DOCUMENTS, check_frozen

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


CPU, TPU, QUANTUM = map(described, ("cpu", "TPU v4", "NVIDIA Quantum 1"))
KINDS = ("TPU v2", "TPU v3", "TPU v5 lite", "TPU v6 lite", "TPU7x", "TPU v99")
KINDS += ("Tesla T4", "NVIDIA A100-SXM4-40GB", "NVIDIA H200", "NVIDIA B200")
KINDS += ("AMD Instinct MI250X", "AMD Instinct MI300X")
# A chip that the table lacks speaks for itself.
CAPABLE = [
    described("NVIDIA Quantum 1", compute_capability="7.5"),
    described("NVIDIA Quantum 1", compute_capability="8.0"),
    described("AMD Quantum 1", compute_capability="gfx90a"),
]
DTYPES = ("bfloat16", "float16", "float32", "float32 high", "float32 highest")
DTYPES += ("float64", "int8")


def peak(device: Device, of: str = "") -> Expected | None:
    """Of the memory, where no dtype is named."""
    if not of:
        return peaks.bandwidth_peak(device)
    dtype, _, precision = of.partition(" ")
    return peaks.product_peak(device, dtype, precision or "default")  # type: ignore[arg-type]


def test_products_arrays_and_peaks_of_chips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: None)
    lines = []
    for device in (CPU, TPU, *map(described, KINDS), *CAPABLE):
        lines.append(f"# {device.device_kind} {device.attributes or ''}".rstrip())
        setting = Setting(device)
        for level in ("quick", "full"):
            cases = [rates.product(one, setting) for one in rates.kinds(device, level)]
            assert {(x.op, x.device, x.mode) for x in cases} == {
                ("matmul", device.name, "jit")
            }
            labels = [rates.label(case).removeprefix("matmul ") for case in cases]
            lines.append(f"{level}: {', '.join(labels)}")
            sizes = {
                cache: [4 * x // MIB for x in rates.stream_sizes(setting, level, cache)]
                for cache in (None, 32 * MIB, 33 * MIB, 768 * MIB)
            }
            lines.append(f"  MiB of an array, by last cache: {sizes}")
        for of in (*DTYPES, ""):
            if found := peak(device, of):
                best = f", reached {found.reached:.4g}" if found.reached else ""
                passes = found.source.facts.get("passes", 1)
                more = f" ({passes} passes)" if passes != 1 else ""
                lines.append(f"  {of or 'bandwidth'}: {found.value:.4g}{more}{best}")
    check_frozen(DOCUMENTS / "chips.txt", "\n".join(lines) + "\n")


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


@pytest.mark.parametrize("free", [0, GIB // 10, GIB, 7 * GIB, 1000 * GIB])
def test_short_memory_makes_products_and_arrays_smaller(free: int) -> None:
    device = described("NVIDIA B200")
    for one in rates.kinds(device, "full"):
        plenty = rates.product(one, Setting(device)).size
        case = rates.product(one, Setting(device, free_bytes=free))
        assert case.size == plenty or free < 1000 * GIB
        assert case.size <= plenty
        # Three matrices are the least: two inputs and a result.
        needed = 3 * case.size**2 * ITEMSIZE[case.dtype]
        assert case.size == rates.SIZES[0] or needed <= free / 4
    for level in CHECK_LEVELS:
        found = rates.stream_sizes(Setting(TPU, free_bytes=free), level, None)
        assert list(found) == sorted(set(found))
        for size in found:
            assert size & (size - 1) == 0
            assert 12 * size <= free / 2 or 4 * size == 2**20


# What should be reached.


def jax_has_a_table() -> bool:
    try:
        peaks._jax_row("TPU v4", 2)
    except Exception:
        return False
    return True


TPUS = ("TPU v2", "TPU v3", "TPU v4", "TPU v4 lite", "TPU v5 lite", "TPU v5")
TPUS += ("TPU v6 lite", "TPU7x", "TPU8i", "TPU8t")


@pytest.mark.skipif(not jax_has_a_table(), reason="no get_tpu_info_for_chip")
@pytest.mark.parametrize("kind", TPUS)
def test_jax_and_our_table_agree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = ("bf16_ops_per_second", "mem_bw_bytes_per_second")
    # As the recorded topologies have them.
    cores = "2" if kind in ("TPU v4", "TPU v5") else "1"
    device = described(kind, num_cores=cores)
    theirs = [peaks._from_jax(device, field) for field in fields]
    # Without the number of cores its table does not count.
    assert peaks._from_jax(described(kind), fields[0]) is None
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: None)
    for their, our in zip(
        theirs, (peak(device, "bfloat16"), peak(device)), strict=True
    ):
        assert our
        assert their == pytest.approx(our.value, rel=0.25)
        assert our.value > 1e11
        assert our.source.facts["source"] != peaks.JAX_TABLE


JAXS: dict[str, Any] = {"source": peaks.JAX_TABLE}


@pytest.mark.parametrize(
    ("kind", "theirs", "of", "value", "facts"),
    [
        ("TPU v3", 70e12, "bfloat16", 70e12, JAXS),
        ("TPU v99", 5e12, "bfloat16", 5e12, JAXS),
        # A healthy chip must not exceed its own.
        ("TPU v5", 2460e9, "", 2765e9, {"jax": 2460e9}),
        ("TPU v6 lite", 920e12, "float32 highest", 920e12 / 6, JAXS | {"passes": 6}),
        # Fields that have changed their meaning are not believed.
        ("TPU v5 lite", 819e9 / 2, "", 819e9, None),
        ("TPU v5 lite", 819e9 * 2, "", 819e9, None),
    ],
)
def test_which_of_two_figures_counts(
    kind: str,
    theirs: float,
    of: str,
    value: float,
    facts: dict[str, Any] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: theirs)
    found = peak(described(kind), of)
    assert found
    assert (found.value, found.kind) == (pytest.approx(value), "peak")
    said = found.source.facts
    assert (facts or {}).items() <= said.items()
    assert facts or said["source"] != peaks.JAX_TABLE


# The last cache, which arrays are larger than.

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
