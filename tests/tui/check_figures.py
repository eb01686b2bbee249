"""What a health check reads on eight imagined chips: one is slow, one is broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    CheckTest,
    Expected,
    Reading,
    RunEvent,
    RunFinished,
)

SLOW, BROKEN = "tpu:5", "tpu:3"

PEAKS = "cloud.google.com/tpu/docs/v5e"
WHAT: dict[CheckTest, str] = {
    "memory": "reading the memory statistics",
    "compute": "compiling matmul 8192 bfloat16",
    "bandwidth": "copying 2 GiB",
    "numerics": "comparing bits",
}


def peak(value: float, reached: float | None = None) -> Expected:
    return Expected(value=value, kind="peak", source=PEAKS, reached=reached)


def at_most(value: float) -> Expected:
    return Expected(value=value, kind="most", source="twice the rounding of the dtype")


def of_machine(check: Check) -> Iterator[Reading]:
    if check.test == "present":
        yield Reading(
            test="present",
            device=None,
            what="chips",
            unit="chips",
            measured=float(len(check.devices)),
            expected=Expected(
                value=float(len(check.devices)),
                kind="exact",
                source="the chips on the PCI bus",
            ),
        )


def of_device(check: Check, name: str, faulty: bool) -> Iterator[Reading]:
    """Figures of a TPU v5 lite; without faults every chip is in order."""
    slow = 0.66 if faulty and name == SLOW else 1.0
    slow *= 1 - 0.002 * int(name.partition(":")[2])

    def reading(what: str, unit: str, measured: float, **more: object) -> Reading:
        return Reading(
            test=check.test,
            device=name,
            what=what,
            unit=unit,  # type: ignore[arg-type]
            measured=measured,
            **more,  # type: ignore[arg-type]
        )

    match check.test:
        case "memory":
            least = Expected(value=15e9, kind="least", source="jax, 15.75 GiB of HBM")
            yield reading("free", "bytes", 16.7e9, expected=least)
        case "compute":
            reached = peak(197e12, 185e12)
            measured = 171e12 * slow
            yield reading("matmul 8192 bfloat16", "flop/s", measured, expected=reached)
            yield reading(
                "matmul 8192 int8", "flop/s", 338e12 * slow, expected=peak(394e12)
            )
        case "bandwidth":
            yield reading("copy", "bytes/s", 718e9, expected=peak(819e9))
            yield reading("triad", "bytes/s", 704e9, expected=peak(819e9))
        case "transfer":
            yield reading("host to device", "bytes/s", 12.1e9)
            yield reading("device to host", "bytes/s", 8.3e9)
        case "dispatch":
            yield reading("add of 8 elements", "seconds", 38e-6)
        case "numerics":
            yield reading("bfloat16", "relative error", 2e-3, expected=at_most(8e-3))
            if faulty and name == BROKEN:
                yield Reading(
                    test="numerics",
                    device=name,
                    what="identical bits",
                    fault=f"{name} gives other bits than its seven sisters for the "
                    "same input: 4 of 1048576 elements differ.",
                )
        case "steady":
            least = Expected(value=0.95, kind="least", source="a chip that is cooled")
            yield reading("last quarter against first", "", 0.992, expected=least)
        case "together":
            yield reading("matmul 8192 bfloat16", "flop/s", 169e12 * slow)
        case _:
            return


def events(check: Check, *, faulty: bool = True) -> Sequence[RunEvent]:
    """All that a test says, from its beginning to its end."""
    what = f"{WHAT.get(check.test, check.test)} on {len(check.devices)} devices"
    found: list[RunEvent] = [
        CheckStarted(check=check),
        CheckDoing(devices=check.devices, what=what),
        *(CheckRead(reading=reading) for reading in of_machine(check)),
    ]
    for name in check.devices:
        found += [CheckRead(reading=one) for one in of_device(check, name, faulty)]
        found.append(CheckDone(device=name))
    return [*found, RunFinished(outcome="complete", elapsed_seconds=1.5)]
