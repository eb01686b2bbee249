"""Free memory."""

from __future__ import annotations

import os
from typing import Any

import pytest

from jaxtui.core.model import Holder, Remark
from jaxtui.features.check.measure import memory
from jaxtui.machine.gpu_memory import GpuMemory
from jaxtui.machine.survey import Survey
from jaxtui.tasks import host
from jaxtui.ui import words
from tests.features.check.faults import NAMES, check, done, events, readings

GIB = 1024**3

# From a public log of a v4 chip (jax#1491).
TPU = {
    "bytes_in_use": 2 * GIB,
    "bytes_limit": 33014415360,
    "bytes_reserved": GIB,
    "largest_free_block_bytes": 29000000000,
}


def test_every_device_has_the_memory_of_the_host() -> None:
    found = events(check("memory"))
    read = readings(found)
    assert done(found) == [one.device for one in read] == NAMES
    for one in read:
        assert 0 < (one.measured or 0) <= (host.host().memory_bytes or 0)
        assert one.unit == "bytes"


@pytest.mark.parametrize("available", [GIB, None])
def test_a_host(available: int | None) -> None:
    reading = memory.of_host("cpu:0", available)
    assert reading.measured == available
    assert bool(reading.remarks) == (available is None)


def test_what_statistics_say() -> None:
    reading = memory.of_device("tpu:0", "TPU v4", TPU)
    assert reading.measured == TPU["bytes_limit"] - 3 * GIB
    assert reading.expected is not None
    assert reading.expected.value == 32 * GIB
    facts: dict[str, Any] = {"used": 3 * GIB, "limit": TPU["bytes_limit"]}
    assert reading.remarks == (Remark("memory-in-use", facts),)
    assert memory.of_device("gpu:0", "none", TPU).expected is None


@pytest.mark.parametrize(
    ("variables", "share"),
    [
        ({}, 0.75),
        ({"XLA_PYTHON_CLIENT_MEM_FRACTION": ".9"}, 0.9),
        ({"XLA_CLIENT_MEM_FRACTION": "0.5"}, 0.5),
        ({"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}, None),
        ({"XLA_PYTHON_CLIENT_MEM_FRACTION": "most"}, None),
    ],
)
def test_the_limit_of_a_gpu_is_that_of_jax(
    variables: dict[str, str], share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", variables)
    stats = {"bytes_limit": 75 * GIB, "bytes_in_use": 0}
    reading = memory.of_device("gpu:0", "NVIDIA H100", stats)
    facts: dict[str, Any] = {"limit": 75 * GIB, "share": share}
    assert reading.remarks == ((Remark("memory-pool", facts),) if share else ())
    assert memory.of_device("tpu:0", "TPU v4", stats).remarks == ()


def test_a_runtime_may_not_say() -> None:
    silent = memory.of_device("gpu:0", "none", {})
    assert (silent.measured, silent.remarks) == (None, (Remark("no-memory-figure"),))


def test_memory_that_others_have_is_not_free() -> None:
    holder = Holder(pid=7, user="ada", command="python t.py", paths=("/dev/nvidia1",))
    seen = Survey(holders=(holder,))
    card = GpuMemory(1, 60 * GIB, 80 * GIB)
    stats = {"bytes_limit": 59 * GIB, "bytes_in_use": GIB, "pool_bytes": 2 * GIB}
    reading = memory.of_device("gpu:0", "NVIDIA H100", stats, card, seen)
    assert reading.measured == 21 * GIB
    (taken,) = [one for one in reading.remarks if one.code == "card-taken"]
    assert (taken.severity, taken.facts["pid"]) == ("warning", 7)
    assert "process 7 of ada" in words.text(taken)
    unknown = memory.of_device("gpu:0", "NVIDIA H100", stats, card)
    assert "another process" in words.text(unknown.remarks[-1])
    half = GpuMemory(1, 30 * GIB, 80 * GIB)
    assert "card-taken" not in [
        one.code
        for one in memory.of_device("gpu:0", "NVIDIA H100", stats, half, seen).remarks
    ]
