"""Devices, readings and hosts for the tests of the health check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxtui.analysis.baseline import Baseline
from jaxtui.analysis.check import Verdict, judge
from jaxtui.model import (
    Device,
    Expected,
    ExpectedKind,
    Host,
    Reading,
)

HOST = Host(
    hostname="box",
    python="3.12.1",
    jax="0.12.0",
    jaxlib="0.12.0",
    numpy="2.3.0",
    platform_version="cpu",
    cpu_model="Xeon",
    cpu_count=4,
)


def device(
    number: int = 0, kind: str = "TPU v5 lite", platform: str = "tpu", **more: Any
) -> Device:
    return Device(
        id=number, platform=platform, device_kind=kind, process_index=0, **more
    )


def tpus(number: int = 8) -> tuple[Device, ...]:
    return tuple(
        device(index, coords=(index % 4, index // 4, 0), core_on_chip=0)
        for index in range(number)
    )


def cpus(number: int = 4, simulated: bool = True) -> tuple[Device, ...]:
    return tuple(
        device(index, "cpu", "cpu", simulated=simulated) for index in range(number)
    )


def expected(
    value: float, kind: ExpectedKind = "peak", reached: float | None = None
) -> Expected:
    return Expected(value=value, kind=kind, source="a datasheet", reached=reached)


def reading(measured: float | None = 100e12, **more: Any) -> Reading:
    given: dict[str, Any] = {
        "test": "compute",
        "device": "tpu:0",
        "what": "matmul 8192 bfloat16",
        "unit": "flop/s",
        "measured": measured,
    }
    return Reading(**(given | more))


def baseline(
    readings: Sequence[Reading],
    devices: Sequence[Device] | None = None,
    host: Host = HOST,
    name: str = "monday",
) -> Baseline:
    return Baseline(
        name=name,
        saved_at="2026-11-20T08:00:00+00:00",
        host=host,
        devices=tuple(devices or tpus()),
        readings=tuple(readings),
    )


def verdict(
    one: Reading,
    devices: Sequence[Device] | None = None,
    kept: Baseline | None = None,
) -> Verdict:
    (found,) = judge([one], devices or tpus(), kept)
    return found
