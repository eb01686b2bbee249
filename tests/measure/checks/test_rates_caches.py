"""The last cache of a host, as Linux describes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.measure.checks import bandwidth
from jaxtui.measure.checks.caches import last_cache_bytes
from jaxtui.measure.checks.setting import Setting
from jaxtui.model import CHECK_LEVELS, CheckLevel, Device

MIB = 2**20
GIB = 2**30


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


CPU = Device(id=0, platform="cpu", device_kind="cpu", process_index=0)
TPU = Device(id=0, platform="tpu", device_kind="TPU v4", process_index=0)


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
