from __future__ import annotations

import json
from typing import Any

import pytest

from jaxtui.xla.peaks import _table, memory, peak
from tests.machine.record import RECORD

TOPOLOGIES = json.loads(RECORD.read_text())

LITE, H100 = "TPU v5 lite", "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    ("kind", "of", "rate"),
    [
        (LITE, ("bfloat16",), 197e12),
        ("TPU v5", ("bfloat16",), 459e12),
        ("TPU v5p", ("bfloat16",), 459e12),
        ("TPU v4", ("bfloat16",), 275e12),
        ("TPU v4 lite", ("bfloat16",), 137e12),
        # Half of the chip's.
        ("TPU v3", ("bfloat16",), 61.5e12),
        ("TPU7x", ("bfloat16",), 1153.5e12),
        # Passes of bfloat16 on a TPU, TF32 until highest on a GPU that has it.
        (LITE, ("float32",), 197e12),
        (LITE, ("float32", "high"), 197e12 / 3),
        (LITE, ("float32", "highest"), 197e12 / 6),
        (H100, ("float32",), 494.5e12),
        (H100, ("float32", "high"), 494.5e12),
        (H100, ("float32", "highest"), 67e12),
        ("Tesla T4", ("float32",), 8.1e12),
        (LITE, ("int8",), 393e12),
        (H100, ("float8_e4m3fn",), 1979e12),
        ("TPU7x", ("float8_e4m3fn",), 4614e12 / 2),
        # What the table does not have.
        (LITE, ("float8_e4m3fn",), None),
        (LITE, ("float16",), None),
        ("Tesla T4", ("bfloat16",), None),
        *((H100, (dtype,), None) for dtype in ("float64", "complex64", "int32")),
    ],
)
def test_rates_are_those_of_one_jax_device(
    kind: str, of: tuple[Any, ...], rate: float | None
) -> None:
    found = peak(kind, *of)
    assert found is not None
    assert found.flops_per_second == (rate and pytest.approx(rate))
    assert found.bytes_per_second


def test_the_source_says_how_a_figure_came_about() -> None:
    v3, high = peak("TPU v3", "bfloat16"), peak(LITE, "float32", "high")
    assert v3 is not None
    assert v3.bytes_per_second == 450e9
    assert v3.basis is not None
    assert v3.basis.facts["devices_per_chip"] == 2
    assert "DISAGREE" in str(v3.basis.facts["doubt"])
    assert high is not None
    assert high.basis is not None
    assert high.basis.facts["passes"] == 3


def test_other_ops_have_a_bandwidth_only() -> None:
    found = peak("TPU v4", "bfloat16", matrix=False)
    assert found is not None
    assert (found.flops_per_second, found.bytes_per_second) == (None, 1200e9)


@pytest.mark.parametrize(
    "kind",
    ["cpu", "", "TPU v99", "Tesla T40", "NVIDIA A1000", f"{H100} MIG 1g.10gb"],
)
def test_unknown_kinds_have_no_peak(kind: str) -> None:
    assert peak(kind, "bfloat16") is None
    assert memory(kind) is None


@pytest.mark.parametrize(
    ("kind", "gibibytes"),
    # Of the last two a chip has twice that, and is two devices.
    [(LITE, 16), ("TPU v4", 32), ("TPU v3", 16), ("TPU7x", 96)],
)
def test_the_memory_of_a_device_is_its_part_of_the_chip(
    kind: str, gibibytes: int
) -> None:
    expected = memory(kind)
    assert expected is not None
    assert expected.value == gibibytes * 2**30


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_real_tpu_kind_is_known(name: str) -> None:
    found = peak(TOPOLOGIES[name]["devices"][0]["device_kind"], "bfloat16")
    assert found is not None
    assert 1e13 < (found.flops_per_second or 0) < 1e16


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
