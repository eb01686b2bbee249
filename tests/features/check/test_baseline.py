"""Saved documents as baselines: what is read, and which hardware is another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui.core.model import SelectionError
from jaxtui.features.check import baseline as baselines
from jaxtui.features.check.judge import judge
from tests.core.figures import (
    baseline,
    cpus,
    device,
    expected,
    printed,
    reading,
    skipped,
    tpus,
    wrong,
)
from tests.fake_engine import HOST


def test_what_a_check_prints_is_a_baseline(tmp_path: Path) -> None:
    good = reading(100e12, ci_low=99e12)
    others = [
        reading(what="a", **skipped()),
        reading(what="b", **wrong() | {"measured": 100e12}),
        reading(300e12, what="c", expected=expected(197e12)),
        reading(90e12, what="d", expected=expected(197e12)),
    ]
    verdicts = judge([good, *others], tpus())
    file = tmp_path / "monday.json"
    file.write_bytes(printed(verdicts, tpus(), HOST))
    kept = baselines.load(str(file))
    assert (kept.name, kept.host) == ("monday.json", HOST)
    # What failed, was skipped or is impossible is nothing to compare with.
    assert [one.what for one in kept.figures] == [good.what, "d"]
    found = kept.find(good)
    assert found is not None
    assert (found.measured, found.ci_low) == (100e12, 99e12)
    assert not baselines.other_hardware(kept, tpus(), HOST)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "\xff",
        '{"schema": 1, "measurements": []}',
        '{"schema": 2, "host": null, "devices": [], "tests": []}',
        '{"schema": 1, "host": null, "devices": [], "tests": []}',
        "[" * 100_000,
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content, encoding="latin-1")
    for one in (file, tmp_path, tmp_path / "none"):
        with pytest.raises(SelectionError, match=re.escape(str(one))):
            baselines.load(str(one))


V5 = "1 × TPU v5 lite"


@pytest.mark.parametrize(
    ("before", "now", "differs"),
    [
        (tpus(2), tpus(2), None),
        (tpus(2), tpus(4), ("devices", "2 × TPU v5 lite", "4 × TPU v5 lite")),
        (tpus(1), [device(0, "TPU v4")], ("devices", V5, "1 × TPU v4")),
        (cpus(2), cpus(2, False), ("devices", "2 × cpu (simulated)", "2 × cpu")),
        (
            *([device(0, "H100", "cuda")], [device(0, "H100", "rocm")]),
            ("platform", "cuda", "rocm"),
        ),
    ],
)
def test_other_devices(before: Any, now: Any, differs: Any) -> None:
    found = baselines.other_hardware(baseline([], before), now, HOST)
    assert found == ((differs,) if differs else ())


@pytest.mark.parametrize(
    ("devices", "changed", "differ"),
    [
        (cpus(), {"cpu_model": "EPYC", "cpu_count": 64}, 2),
        (cpus(), {"cpu_model": None, "cpu_count": None}, 0),
        (cpus(), {"hostname": "another"}, 0),
        # A TPU is the same one beside another processor.
        (tpus(), {"cpu_model": "EPYC"}, 0),
    ],
)
def test_the_processor_counts_where_it_is_what_computes(
    devices: Any, changed: dict[str, object], differ: int
) -> None:
    host = msgspec.structs.replace(HOST, **changed)
    found = baselines.other_hardware(baseline([], devices), devices, host)
    assert len(found) == differ


def test_what_has_changed_beside_the_hardware() -> None:
    kept = baseline([reading()])
    assert baselines.differences(kept, HOST) == ()
    changed = msgspec.structs.replace(
        HOST, jax="0.13.0", environment={"XLA_FLAGS": "--fast", "HOME": "/root"}
    )
    assert baselines.differences(kept, changed) == (
        ("jax", "0.12.0", "0.13.0"),
        ("XLA_FLAGS", "none", "--fast"),
    )
