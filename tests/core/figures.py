"""Devices, readings, machines and roofs that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxtui.core.model import (
    Case,
    Device,
    Expected,
    ExpectedKind,
    Host,
    Measurement,
    Mode,
    Phases,
    Reading,
    Remark,
    Sampled,
)
from jaxtui.core.model.roofs import MissingRoof, Roof, RoofDtype, RoofsMeasured
from jaxtui.features.check import baseline as baselines
from jaxtui.features.check.baseline import Baseline
from jaxtui.features.check.judge import Verdict, judge
from jaxtui.features.check.messages import Checked
from jaxtui.features.check.report import figure_of
from jaxtui.ui.documents import DeviceRow, encode
from tests import records
from tests.fake_engine import HOST, cpu_devices, tpu_devices
from tests.records import case, summary

# The health check.


def device(
    number: int = 0, kind: str = "TPU v5 lite", platform: str = "tpu", **more: Any
) -> Device:
    return records.device(f"{platform}:{number}", device_kind=kind, **more)


def tpus(number: int = 8) -> tuple[Device, ...]:
    return tpu_devices()[:number]


def cpus(number: int = 4, simulated: bool = True) -> tuple[Device, ...]:
    return cpu_devices(number, simulated)


def expected(
    value: float, kind: ExpectedKind = "peak", reached: float | None = None
) -> Expected:
    source = Remark("published", {"source": "a datasheet"})
    return Expected(value=value, kind=kind, source=source, reached=reached)


def reading(measured: float | None = 100e12, **more: Any) -> Reading:
    facts: dict[str, Any] = {
        "test": "compute",
        "device": "tpu:0",
        "what": "matmul 8192 bfloat16",
        "unit": "flop/s",
        "measured": measured,
    }
    return Reading(**(facts | more))


def wrong(**facts: Any) -> dict[str, Any]:
    """A reading that is wrong beyond doubt."""
    return {"measured": None, "remarks": (Remark("wrong-figure", facts, "error"),)}


def skipped(**facts: Any) -> dict[str, Any]:
    return {"measured": None, "remarks": (Remark("no-time-left", facts),)}


def doubted(measured: float = 100e12) -> dict[str, Any]:
    """A reading that is low by itself."""
    return {
        "measured": measured,
        "remarks": (Remark("cpu-fallback", UNUSED, "warning"),),
    }


UNUSED: dict[str, Any] = {
    "chips": "4 TPU v5e chips",
    "platform": "cpu",
    "lacking": "libtpu",
}


NO_PRODUCT = Remark("no-product", {"dtype": "bfloat16"}, detail="XLA refuses it.")


def crowded(used: float = 1.5) -> Remark:
    facts: dict[str, Any] = {"by": "processes", "used_cores": used, "cores": 2}
    return Remark("contended", facts, "warning")


def baseline(
    readings: Sequence[Reading],
    devices: Sequence[Device] | None = None,
    host: Host = HOST,
    file: str = "monday.json",
) -> Baseline:
    """What a document with these readings, all of them passed, is read as."""
    judged = (Verdict(reading=one, word="pass") for one in readings)
    return baselines.decode(printed(judged, devices or tpus(), host), file)


def printed(
    verdicts: Iterable[Verdict], devices: Sequence[Device], host: Host | None
) -> bytes:
    """The document of a check."""
    document = Checked(
        command="check",
        host=host,
        complete=True,
        devices=tuple(map(DeviceRow.of, devices)),
        level="quick",
        baseline=None,
        tests=tuple(map(figure_of, verdicts)),
        verdict="pass",
    )
    return encode(document)


def verdict(
    one: Reading, devices: Sequence[Device] | None = None, kept: Baseline | None = None
) -> Verdict:
    (found,) = judge([one], devices or tpus(), kept)
    return found


# Crossovers: machines on which the seconds of a call are a function of the size.

Seconds = Callable[[int], float]

START = Phases(
    transfer=1e-4, trace=1e-3, lower=2e-3, compile=0.04, first_call=1e-3, fetch=1e-5
)
"""44 ms for a start, 110 µs for the copies of a call."""

NUMPY, JIT = case("numpy"), case("jit")


def measurement(
    of: Case,
    seconds: float,
    width: float = 0.005,
    phases: Phases | None = None,
    rounds: int = 12,
) -> Measurement:
    phases = phases or (Phases(first_call=seconds) if of.on_host else START)
    ready = summary(seconds, width, rounds=rounds)
    return records.measurement(of, ready, phases=phases)


def sampled(index: int, round_: int, measured: Measurement, seconds: float) -> Sampled:
    calls = (seconds * 0.9, seconds, seconds * 2)
    return records.sampled(index, round_, measured, calls)


# Roofs: a CPU of 150 GFLOP/s and 12 GB/s.

FLOAT32, BFLOAT16 = RoofDtype(dtype="float32"), RoofDtype(dtype="bfloat16")


def bandwidth(per_second: float = 12e9, **changes: Any) -> Roof:
    facts: dict[str, Any] = {
        "kind": "bandwidth",
        "of": None,
        "what": "triad of 128 MiB jit",
    }
    ends = {"ci_low": 0.9 * per_second, "ci_high": 1.1 * per_second}
    return Roof(per_second=per_second, **{**facts, **ends, **changes})


def compute(per_second: float = 150e9, of: RoofDtype = FLOAT32, **changes: Any) -> Roof:
    what = f"matmul 1024 {of.dtype} jit"
    return bandwidth(
        per_second, **{"kind": "compute", "of": of, "what": what, **changes}
    )


def roofs(
    *found: Roof,
    device: str = "cpu:0",
    missing: tuple[MissingRoof, ...] = (),
    cache: int | None = None,
) -> RoofsMeasured:
    return RoofsMeasured(
        device=device,
        device_kind=device.partition(":")[0],
        roofs=found or (bandwidth(), compute()),
        missing=missing,
        cache_bytes=cache,
    )


def measured(
    flops: float | None = 1e6,
    bytes: float | None = 1e6,  # noqa: A002
    seconds: float = 1e-3,
    *,
    rated: bool = True,
    notes: tuple[Any, ...] = (),
    mode: Mode = "jit",
    **of: object,
) -> Measurement:
    return records.measurement(
        case(mode, **of),
        seconds,
        flops=flops,
        bytes=bytes,
        flops_per_second=flops / seconds if rated and flops is not None else None,
        bytes_per_second=bytes / seconds if rated and bytes is not None else None,
        notes=notes,
    )
