"""Measurements and roofs to place: a CPU of 150 GFLOP/s and 12 GB/s."""

from __future__ import annotations

from jaxtui.model import Case, Measurement, Mode, Note, Phases, Summary
from jaxtui.model.roofs import MissingRoof, Roof, RoofDtype, RoofsMeasured

FLOAT32 = RoofDtype(dtype="float32")


def bandwidth(per_second: float = 12e9, **changes: object) -> Roof:
    facts: dict[str, object] = {
        "kind": "bandwidth",
        "of": None,
        "per_second": per_second,
        "ci_low": 0.9 * per_second,
        "ci_high": 1.1 * per_second,
        "what": "triad of 128 MiB jit",
    }
    return Roof(**{**facts, **changes})  # type: ignore[arg-type]


def compute(
    per_second: float = 150e9, of: RoofDtype = FLOAT32, **changes: object
) -> Roof:
    facts: dict[str, object] = {
        "kind": "compute",
        "of": of,
        "per_second": per_second,
        "ci_low": 0.9 * per_second,
        "ci_high": 1.1 * per_second,
        "what": f"matmul 1024 {of.dtype} jit",
    }
    return Roof(**{**facts, **changes})  # type: ignore[arg-type]


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
    notes: tuple[Note, ...] = (),
    mode: Mode = "jit",
    **of: object,
) -> Measurement:
    host = mode == "numpy"
    facts: dict[str, object] = {
        "op": "selu",
        "size": 1000,
        "dtype": "float32",
        "device": "host" if host else "cpu:0",
        "mode": mode,
        "inputs": "host" if host else "device",
    }
    ready = Summary(
        n=100,
        rounds=8,
        median=seconds,
        mean=seconds,
        mad=0.0,
        p10=seconds,
        p90=seconds,
        p99=seconds,
        max=seconds,
        ci_low=seconds,
        ci_high=seconds,
    )
    return Measurement(
        case=Case(**{**facts, **of}),  # type: ignore[arg-type]
        phases=Phases(),
        dispatch=None,
        ready=ready,
        pipelined_seconds=None,
        flops=flops,
        bytes=bytes,
        flops_per_second=flops / seconds if rated and flops is not None else None,
        bytes_per_second=bytes / seconds if rated and bytes is not None else None,
        output_dtype="float32",
        error_vs_float64=None,
        stopped="target",
        stable=True,
        notes=notes,
    )
