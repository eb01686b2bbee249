"""Baselines on disk: names, atomic writes, broken and foreign files, other hardware."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui import places
from jaxtui.health import baseline as baselines
from jaxtui.health.baseline import BaselineError
from tests.health.making import (
    HOST,
    baseline,
    cpus,
    device,
    expected,
    reading,
    tpus,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory of its own; not made yet."""
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data" / "baselines"


def put(folder: Path, name: str, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_bytes(content)
    return path


def refusal(call: Any, *args: Any) -> str:
    with pytest.raises(BaselineError) as caught:
        call(*args)
    return str(caught.value)


def test_the_folder_is_in_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(places.VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert baselines.folder().parts[-2:] == ("jaxtui", "baselines")
    if sys.platform == "linux":
        assert baselines.folder() == tmp_path / "jaxtui" / "baselines"


def test_what_is_saved_is_loaded(folder: Path) -> None:
    kept = baseline([reading(100e12, ci_low=99e12, expected=expected(197e12))])
    assert baselines.names() == ()
    path = baselines.save(kept)
    assert path == folder / "monday.json"
    assert baselines.load("monday") == kept
    assert baselines.names() == ("monday",)


def test_only_figures_that_are_a_yardstick_are_kept() -> None:
    good = reading(100e12)
    others = [
        reading(None, said="no figure"),
        reading(math.nan),
        reading(90e12, fault="wrong"),
        reading(None, skipped="not here"),
        reading(300e12, expected=expected(197e12)),
    ]
    baselines.save(baseline([*others, good]))
    assert baselines.load("monday").readings == (good,)
    text = refusal(baselines.save, baseline(others, name="none"))
    assert "no figure to keep" in text
    assert baselines.names() == ("monday",)


def test_one_of_the_same_name_is_replaced() -> None:
    baselines.save(baseline([reading(1e12)]))
    baselines.save(baseline([reading(2e12)]))
    assert baselines.load("monday").readings[0].measured == 2e12


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    baselines.save(baseline([reading(1e12)]))

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, step, full)
        text = refusal(baselines.save, baseline([reading(2e12)]))
    assert "No space left on device" in text
    assert str(folder) in text
    assert baselines.load("monday").readings[0].measured == 1e12
    assert [path.name for path in folder.iterdir()] == ["monday.json"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../a", "/etc/a", ".hidden", "a b", "ä", "a\n"]
)
def test_names_that_are_no_file_names(folder: Path, name: str) -> None:
    for call in (
        baselines.check_name,
        baselines.load,
        lambda name: baselines.save(baseline([reading(1.0)], name=name)),
    ):
        text = refusal(call, name)
        assert f'"{name}"' in text
        assert "letters, digits, dots" in text
    assert not folder.exists()


@pytest.mark.parametrize("name", ["a", "v5e-8_2026.11", "-x", "a.json", "Z" * 64])
def test_names_that_are(name: str) -> None:
    baselines.save(baseline([reading(1.0)], name=name))
    assert baselines.names() == (name,)
    assert baselines.load(name).name == name


def test_an_unknown_baseline_lists_those_there_are() -> None:
    assert "no other one: `jaxtui check --save-baseline x`" in refusal(
        baselines.load, "x"
    )
    for name in ("monday", "friday"):
        baselines.save(baseline([reading(1.0)], name=name))
    text = refusal(baselines.load, "mondya")
    assert text == (
        'There is no baseline "mondya": there is friday, monday. Did you mean monday?'
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"schema": 1}',
        b'{"schema": "one"}',
        b"[" * 100_000,
        msgspec.json.encode(baseline([reading(1.0)]))[:-20],
    ],
    ids=["empty", "cut", "no text", "list", "no fields", "type", "deep", "truncated"],
)
def test_a_broken_file_is_moved_aside_and_nothing_overwritten(
    folder: Path, content: bytes
) -> None:
    path = put(folder, "monday", content)
    earlier = folder / "monday.json.broken-1"
    earlier.write_bytes(b"an earlier one")
    text = refusal(baselines.load, "monday")
    moved = folder / "monday.json.broken-2"
    assert "is broken" in text
    assert str(moved) in text
    assert moved.read_bytes() == content
    assert earlier.read_bytes() == b"an earlier one"
    assert not path.exists()
    assert baselines.names() == ()


def test_an_older_file_is_moved_aside(folder: Path) -> None:
    put(folder, "old", b'{"schema": 0, "figures": [1, 2]}')
    text = refusal(baselines.load, "old")
    assert "older jaxtui (version 0" in text
    assert (folder / "old.json.broken-1").exists()


def test_a_newer_file_stays(folder: Path) -> None:
    path = put(folder, "new", b'{"schema": 99}')
    text = refusal(baselines.load, "new")
    assert "newer jaxtui (version 99" in text
    assert str(path) in text
    assert path.exists()


def test_a_broken_file_that_cannot_be_moved_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(folder, "monday", b"{")

    def refuse(path: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(baselines, "put_aside", refuse)
    text = refusal(baselines.load, "monday")
    assert "could not be moved aside (Permission denied)" in text
    assert str(path) in text


def test_fields_of_a_later_jaxtui_are_no_harm(folder: Path) -> None:
    document = json.loads(msgspec.json.encode(baseline([reading(1.0)])))
    put(folder, "monday", json.dumps(document | {"more": 1}).encode())
    assert baselines.load("monday").readings[0].measured == 1.0


def test_a_copied_file_has_the_name_that_it_was_given(folder: Path) -> None:
    document = msgspec.json.encode(baseline([reading(1.0)]))
    put(folder, "copy", document)
    assert baselines.load("copy").name == "copy"


def test_a_folder_where_the_file_should_be(folder: Path) -> None:
    (folder / "monday.json").mkdir(parents=True)
    text = refusal(baselines.load, "monday")
    assert "cannot be read" in text
    assert "directory" in text


def test_a_file_where_the_folder_should_be(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("not a folder")
    assert "cannot be listed" in refusal(baselines.names)
    assert "cannot be written" in refusal(baselines.save, baseline([reading(1.0)]))
    assert "cannot be read" in refusal(baselines.load, "monday")


@pytest.mark.parametrize("call", ["names", "load"])
def test_a_folder_without_permission(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    # Root may read everything, so the refusal is made up.
    def refuse(self: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    args = ("monday",) if call == "load" else ()
    text = refusal(getattr(baselines, call), *args)
    assert "Permission denied" in text
    assert str(folder) in text


# Other hardware.


def test_the_same_hardware_is_not_refused() -> None:
    kept = baseline([reading(1.0)], tpus(8))
    sister = msgspec.structs.replace(HOST, hostname="b", cpu_model="EPYC", cpu_count=9)
    baselines.refuse_other_hardware(kept, tpus(8), sister)
    baselines.refuse_other_hardware(kept, tuple(reversed(tpus(8))))


@pytest.mark.parametrize(
    ("here", "difference"),
    [
        (
            tuple(device(index, "TPU v4") for index in range(4)),
            "baseline: 8 × TPU v5 lite; here: 4 × TPU v4.",
        ),
        (tpus(4), "baseline: 8 × TPU v5 lite; here: 4 × TPU v5 lite."),
        (cpus(8), "baseline: 8 × TPU v5 lite; here: 8 × cpu (simulated)."),
        (
            (device(0, "NVIDIA T4", "gpu"), *tpus(7)),
            "here: 1 × NVIDIA T4, 7 × TPU v5 lite.",
        ),
        ((), "here: none."),
        (
            tuple(device(index, platform="axon") for index in range(8)),
            "platform: baseline: tpu; here: axon.",
        ),
    ],
)
def test_other_hardware_is_refused_with_the_difference(
    here: Any, difference: str
) -> None:
    kept = baseline([reading(1.0)], tpus(8))
    text = refusal(baselines.refuse_other_hardware, kept, here)
    assert text.startswith('The baseline "monday" is of other hardware. ')
    assert difference in text


def test_simulated_devices_are_not_real_ones() -> None:
    kept = baseline([reading(1.0)], cpus(4, simulated=True))
    text = refusal(baselines.refuse_other_hardware, kept, cpus(4, simulated=False))
    assert "baseline: 4 × cpu (simulated); here: 4 × cpu." in text


def test_another_processor_matters_where_there_are_only_cpu_devices() -> None:
    kept = baseline([reading(1.0)], cpus())
    other = msgspec.structs.replace(HOST, cpu_model="EPYC", cpu_count=64)
    text = refusal(baselines.refuse_other_hardware, kept, cpus(), other)
    assert (
        "processor: baseline: Xeon; here: EPYC. cores: baseline: 4; here: 64." in text
    )
    unknown = msgspec.structs.replace(HOST, cpu_model=None, cpu_count=None)
    baselines.refuse_other_hardware(kept, cpus(), unknown)
    renamed = msgspec.structs.replace(HOST, hostname="sister")
    baselines.refuse_other_hardware(kept, cpus(), renamed)


def test_other_versions_are_no_reason_to_refuse_but_can_be_said() -> None:
    kept = baseline([reading(1.0)])
    assert baselines.differences(kept, HOST) == ()
    now = msgspec.structs.replace(
        HOST,
        hostname="sister",
        jax="0.13.0",
        environment={"XLA_FLAGS": "--xla_fast", "TPU_WORKER_ID": "3"},
    )
    assert baselines.differences(kept, now) == (
        "jax: baseline: 0.12.0; here: 0.13.0",
        "hostname: baseline: box; here: sister",
        "XLA_FLAGS: baseline: none; here: --xla_fast",
    )
    baselines.refuse_other_hardware(kept, tpus(), now)
