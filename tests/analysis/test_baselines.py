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
from jaxtui.analysis import baseline as baselines
from jaxtui.analysis.baseline import BaselineError
from tests.analysis.figures import (
    HOST,
    baseline,
    cpus,
    device,
    expected,
    reading,
    tpus,
)

ONE = baseline([reading(1.0)])


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


def refuse(path: Path) -> Any:
    """Root may do everything, so that a refusal must be made up."""
    raise PermissionError(13, "Permission denied", str(path))


def test_the_folder_is_in_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(places.VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert baselines.folder().parts[-2:] == ("jaxtui", "baselines")
    if sys.platform == "linux":
        assert baselines.folder() == tmp_path / "jaxtui" / "baselines"


def test_what_is_saved_is_loaded_and_replaced(folder: Path) -> None:
    kept = baseline([reading(100e12, ci_low=99e12, expected=expected(197e12))])
    assert baselines.names() == ()
    assert baselines.save(kept) == folder / "monday.json"
    assert baselines.load("monday") == kept
    assert baselines.names() == ("monday",)
    baselines.save(ONE)
    assert baselines.load("monday") == ONE


def test_only_figures_that_others_can_be_compared_with_are_kept() -> None:
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


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (Path, "replace")])
def test_a_write_that_fails_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, owner: object, step: str
) -> None:
    baselines.save(ONE)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, full)
        text = refusal(baselines.save, baseline([reading(2e12)]))
    assert "No space left on device" in text
    assert str(folder) in text
    assert baselines.load("monday") == ONE
    assert [path.name for path in folder.iterdir()] == ["monday.json"]


def test_names(folder: Path) -> None:
    for name in ("", ".", "..", "a/b", "../a", "/etc/a", ".hidden", "a b", "ä", "a\n"):
        for call, given in (
            (baselines.check_name, name),
            (baselines.load, name),
            (baselines.save, msgspec.structs.replace(ONE, name=name)),
        ):
            text = refusal(call, given)
            assert f'"{name}"' in text
            assert "letters, digits, dots" in text
    assert not folder.exists()
    none = refusal(baselines.load, "x")
    assert "no other one: `jaxtui check --save-baseline x`" in none
    good = ("-x", "Z" * 64, "a", "a.json", "monday", "v5e-8_2026.11")
    for name in good:
        baselines.save(msgspec.structs.replace(ONE, name=name))
        assert baselines.load(name).name == name
    assert baselines.names() == good
    known = f'There is no baseline "mondya": there is {", ".join(good)}.'
    assert refusal(baselines.load, "mondya") == f"{known} Did you mean monday?"


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"[]", b'{"schema": 1}', b'{"schema": "one"}'),
        *(b"[" * 100_000, msgspec.json.encode(ONE)[:-20]),
    ],
    ids=["empty", "cut", "no text", "list", "no fields", "type", "deep", "truncated"],
)
def test_a_broken_file_is_moved_aside_and_nothing_overwritten(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = put(folder, "monday", content)
    earlier = folder / "monday.json.broken-1"
    earlier.write_bytes(b"an earlier one")
    with monkeypatch.context() as patched:
        patched.setattr(baselines, "put_aside", refuse)
        text = refusal(baselines.load, "monday")
    assert f"could not be moved aside (Permission denied): {path}" in text
    text = refusal(baselines.load, "monday")
    moved = folder / "monday.json.broken-2"
    assert "is broken" in text
    assert str(moved) in text
    assert moved.read_bytes() == content
    assert earlier.read_bytes() == b"an earlier one"
    assert not path.exists()
    assert baselines.names() == ()


def test_files_of_other_versions_and_names(folder: Path) -> None:
    put(folder, "old", b'{"schema": 0, "figures": [1, 2]}')
    assert "older jaxtui (version 0" in refusal(baselines.load, "old")
    assert (folder / "old.json.broken-1").exists()
    path = put(folder, "new", b'{"schema": 99}')
    text = refusal(baselines.load, "new")
    assert "newer jaxtui (version 99" in text
    assert str(path) in text
    assert path.exists()
    # Fields of a later version are no harm, and a copy has the name of its file.
    document = json.loads(msgspec.json.encode(ONE)) | {"more": 1}
    put(folder, "copy", json.dumps(document).encode())
    assert baselines.load("copy") == msgspec.structs.replace(ONE, name="copy")


def test_what_is_in_the_way_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "monday.json").mkdir(parents=True)
    text = refusal(baselines.load, "monday")
    assert "cannot be read" in text
    assert "directory" in text
    (folder / "monday.json").rmdir()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", refuse)
        patched.setattr(Path, "read_bytes", refuse)
        for text in (refusal(baselines.names), refusal(baselines.load, "monday")):
            assert "Permission denied" in text
            assert str(folder) in text
    folder.rmdir()
    folder.write_text("not a folder")
    assert "cannot be listed" in refusal(baselines.names)
    assert "cannot be written" in refusal(baselines.save, ONE)
    assert "cannot be read" in refusal(baselines.load, "monday")


# Other hardware.

RENAMED = msgspec.structs.replace(HOST, hostname="sister")
OTHER_CPU = msgspec.structs.replace(HOST, cpu_model="EPYC", cpu_count=64)
UNKNOWN_CPU = msgspec.structs.replace(HOST, cpu_model=None, cpu_count=None)


SMALLER = tuple(device(index, "TPU v4") for index in range(4))
TUNNELLED = tuple(device(index, platform="axon") for index in range(8))
MIXED = (device(0, "NVIDIA T4", "gpu"), *tpus(7))


@pytest.mark.parametrize(
    ("before", "here", "host", "difference"),
    [
        (tpus(8), tuple(reversed(tpus(8))), OTHER_CPU, ""),
        (cpus(), cpus(), UNKNOWN_CPU, ""),
        (cpus(), cpus(), RENAMED, ""),
        (tpus(8), SMALLER, HOST, "baseline: 8 × TPU v5 lite; here: 4 × TPU v4."),
        (tpus(8), tpus(4), None, "baseline: 8 × TPU v5 lite; here: 4 × TPU v5 lite."),
        (tpus(8), MIXED, None, "here: 1 × NVIDIA T4, 7 × TPU v5 lite."),
        (tpus(8), (), None, "here: none."),
        (tpus(8), TUNNELLED, None, "platform: baseline: tpu; here: axon."),
        # Simulated devices are not real ones.
        (cpus(), cpus(4, simulated=False), None, "4 × cpu (simulated); here: 4 × cpu."),
        (cpus(), cpus(), OTHER_CPU, "processor: baseline: Xeon; here: EPYC. cores: "),
    ],
)
def test_other_hardware_is_refused_with_the_difference(
    before: Any, here: Any, host: Any, difference: str
) -> None:
    kept = baseline([reading(1.0)], before)
    if not difference:
        baselines.refuse_other_hardware(kept, here, host)
        return
    text = refusal(baselines.refuse_other_hardware, kept, here, host)
    assert text.startswith('The baseline "monday" is of other hardware. ')
    assert difference in text


def test_other_versions_are_no_reason_to_refuse_but_can_be_said() -> None:
    assert baselines.differences(ONE, HOST) == ()
    now = msgspec.structs.replace(
        RENAMED,
        jax="0.13.0",
        platform_version="cpu 2",
        environment={"XLA_FLAGS": "--xla_fast", "TPU_WORKER_ID": "3"},
        settings={"jax_enable_x64": "True"},
    )
    assert baselines.differences(ONE, now) == (
        "hostname: baseline: box; here: sister",
        "jax: baseline: 0.12.0; here: 0.13.0",
        "platform version: baseline: cpu; here: cpu 2",
        "jax_enable_x64: baseline: none; here: True",
        "XLA_FLAGS: baseline: none; here: --xla_fast",
    )
    baselines.refuse_other_hardware(ONE, tpus(), now)
