"""What a health check reads on eight imagined chips: one is slow, one is broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxtui.core.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckTest,
    Expected,
    Reading,
    Remark,
    RunEvent,
    RunFinished,
    RunStarted,
)

SLOW, BROKEN = "tpu:5", "tpu:3"


def peak(value: float, reached: float | None = None) -> Expected:
    source = Remark("published", {"source": "cloud.google.com/tpu/docs/v5e"})
    return Expected(value=value, kind="peak", source=source, reached=reached)


ROUNDING = Expected(
    value=8e-3, kind="most", source=Remark("rounding-bound", {"rounded_inputs": False})
)

FIGURES: Mapping[CheckTest, Sequence[tuple[str, str, float, Expected | None]]] = {
    "memory": [("free", "bytes", 16.7e9, peak(16 * 2**30))],
    "compute": [
        ("matmul 8192 bfloat16", "flop/s", 171e12, peak(197e12, 185e12)),
        ("matmul 8192 int8", "flop/s", 338e12, peak(394e12)),
    ],
    "bandwidth": [
        ("copy", "bytes/s", 718e9, peak(819e9)),
        ("triad", "bytes/s", 704e9, peak(819e9)),
    ],
    "transfer": [
        ("host to device", "bytes/s", 12.1e9, None),
        ("device to host", "bytes/s", 8.3e9, None),
    ],
    "dispatch": [("add of 8 elements", "seconds", 38e-6, None)],
    "numerics": [("bfloat16", "relative error", 2e-3, ROUNDING)],
}
"""Of a TPU v5 lite: what, unit, measured and expected."""

OTHER = (("a figure", "seconds", 38e-6, None),)
"""Of a test that is not there."""


def of_machine(check: Check) -> Iterator[Reading]:
    if check.test == "present":
        chips = float(len(check.devices))
        source = Remark("counted-by", {"by": "PCI", "on_bus": len(check.devices)})
        yield Reading(
            test="present",
            device=None,
            what="chips",
            unit="chips",
            measured=chips,
            expected=Expected(value=chips, kind="exact", source=source),
        )


def of_device(check: Check, name: str, faulty: bool) -> Iterator[Reading]:
    """Without faults every chip is in order."""
    if check.test == "present":
        return
    slow = 0.66 if faulty and name == SLOW else 1.0
    slow *= 1 - 0.002 * int(name.partition(":")[2])
    for what, unit, measured, expected in FIGURES.get(check.test, OTHER):
        yield Reading(
            test=check.test,
            device=name,
            what=what,
            unit=unit,  # type: ignore[arg-type]
            measured=measured * slow if unit == "flop/s" else measured,
            expected=expected,
            digest="0" if check.test == "numerics" else "",
        )
    if check.test == "numerics":
        digest = "2" if faulty and name == BROKEN else "1"
        yield Reading(
            test="numerics",
            device=name,
            what="matmul 512 int8",
            unit="relative error",
            measured=0.0,
            digest=digest,
        )


def events(check: Check, *, faulty: bool = True) -> Sequence[RunEvent]:
    """All that a test says, from its beginning to its end."""
    found: list[RunEvent] = [
        RunStarted(),
        CheckDoing(devices=check.devices),
        *(CheckRead(reading=reading) for reading in of_machine(check)),
    ]
    for name in check.devices:
        found += [CheckRead(reading=one) for one in of_device(check, name, faulty)]
        found.append(CheckDone(device=name))
    return [*found, RunFinished(outcome="complete", elapsed_seconds=1.5)]
